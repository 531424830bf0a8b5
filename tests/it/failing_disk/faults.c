/* Lets changes fail that a process makes to files below $FAULT_ROOT: writes, syncs, renames, and making files and folders.
   $FAULT_AT: the number of the change that fails, with the error $FAULT_ERROR; with $FAULT_ON all behind it fail, too.
   $FAULT_ROOM: files below the root have no more bytes than these in all: what does not fit is "no space left".
   $FAULT_COUNT: a file outside of the root that is told how many changes there were. */
#include "../preload.h"
#include <errno.h>
#include <ftw.h>

static long at, count, is_on, room = -1;
static int error;
static off64_t used;

__attribute__((constructor)) static void begin(void) {
    root = getenv("FAULT_ROOT");
    const char *number = getenv("FAULT_AT");
    at = number ? atol(number) : 0;
    number = getenv("FAULT_ERROR");
    error = number ? atoi(number) : EIO;
    is_on = getenv("FAULT_ON") != NULL;
    number = getenv("FAULT_ROOM");
    room = number ? atol(number) : -1;
}

static int add(const char *path, const struct stat *data, int kind, struct FTW *ftw) {
    (void)path, (void)ftw;
    if (kind == FTW_F) used += data->st_blocks * 512;
    return 0;
}

/* Whether `more` bytes do not fit below the root. */
static int is_full(off64_t more) {
    if (room < 0 || more <= 0) return 0;
    used = 0;
    nftw(root, add, 16, FTW_PHYS);
    return used + more > room;
}

/* Whether the change that is about to be made fails; `grows` says by how many bytes, if so. */
static int fails(int concerns, off64_t grows) {
    int result = 0;
    pthread_mutex_lock(&lock);
    if (concerns) {
        count++;
        if (at && (count == at || (is_on && count > at))) result = error;
        else if (is_full(grows)) result = ENOSPC;
        const char *path = getenv("FAULT_COUNT");
        if (path) {
            static FILE *file;
            if (!file) file = fopen(path, "w");
            if (file) rewind(file), fprintf(file, "%ld\n", count), fflush(file);
        }
    }
    pthread_mutex_unlock(&lock);
    if (result) errno = result;
    return result;
}

static int is_in_root(int fd) {
    char path[4096];
    return name(fd, path);
}

static off64_t growth(int fd, off64_t end) {
    struct stat64 data;
    if (room < 0 || fstat64(fd, &data)) return 0;
    /* A hole is filled, too. */
    off64_t there = data.st_blocks * 512 < data.st_size ? data.st_blocks * 512 : data.st_size;
    return end > there ? end - there : 0;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t);
    int concerns = is_in_root(fd);
    if (fails(concerns, concerns ? growth(fd, offset + length) : 0)) return -1;
    return real(fd, data, length, offset);
}

ssize_t write(int fd, const void *data, size_t length) {
    REAL("write", ssize_t, int, const void *, size_t);
    int concerns = is_in_root(fd);
    if (fails(concerns, concerns ? growth(fd, lseek64(fd, 0, SEEK_CUR) + length) : 0)) return -1;
    return real(fd, data, length);
}

static int opens(const char *path, int flags, mode_t mode) {
    REAL("open64", int, const char *, int, ...);
    if (flags & O_CREAT && is_below(path) && access(path, F_OK) && fails(1, 4096)) return -1;
    return real(path, flags, mode);
}

#define SYNC(name) \
    int name(int fd) { \
        REAL(#name, int, int); \
        return fails(is_in_root(fd), 0) ? -1 : real(fd); \
    }
SYNC(fsync)
SYNC(fdatasync)

int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
    REAL("sync_file_range", int, int, off64_t, off64_t, unsigned);
    return fails(is_in_root(fd), 0) ? -1 : real(fd, offset, length, flags);
}

int rename(const char *from, const char *to) {
    REAL("rename", int, const char *, const char *);
    return fails(is_below(to), 0) ? -1 : real(from, to);
}

int mkdir(const char *path, mode_t mode) {
    REAL("mkdir", int, const char *, mode_t);
    return fails(is_below(path), 4096) ? -1 : real(path, mode);
}
