/* Lets changes fail that a process makes to files below $FAULT_ROOT: writes, syncs, renames, and making files and folders.
   $FAULT_AT: the number of the change that fails, with the error $FAULT_ERROR; with $FAULT_ON all behind it fail, too.
   $FAULT_ROOM: files below the root have no more bytes than these in all: what does not fit is "no space left".
   $FAULT_COUNT: a file outside of the root that is told how many changes there were. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static long at, count, is_on, room = -1;
static int error, is_begun;
static off64_t used;

#define REAL(name, result, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static void begin(void) {
    if (is_begun) return;
    is_begun = 1;
    root = getenv("FAULT_ROOT");
    const char *number = getenv("FAULT_AT");
    at = number ? atol(number) : 0;
    number = getenv("FAULT_ERROR");
    error = number ? atoi(number) : EIO;
    is_on = getenv("FAULT_ON") != NULL;
    number = getenv("FAULT_ROOM");
    room = number ? atol(number) : -1;
}

static int is_below(const char *path) {
    size_t length = root ? strlen(root) : 0;
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static int is_of_root(int fd) {
    char link[64], path[4096];
    if (!root) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
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
    begin();
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

static int is_below_root(const char *path) {
    pthread_mutex_lock(&lock);
    begin();
    pthread_mutex_unlock(&lock);
    return root && is_below(path);
}
static int is_in_root(int fd) { return is_below_root("") || (root && is_of_root(fd)); }

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
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t write(int fd, const void *data, size_t length) {
    REAL("write", ssize_t, int, const void *, size_t);
    int concerns = is_in_root(fd);
    if (fails(concerns, concerns ? growth(fd, lseek64(fd, 0, SEEK_CUR) + length) : 0)) return -1;
    return real(fd, data, length);
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
    ssize_t all = 0;
    for (int i = 0; i < number; i++) {
        ssize_t done = write(fd, parts[i].iov_base, parts[i].iov_len);
        if (done < 0) return all ? all : done;
        all += done;
        if ((size_t)done < parts[i].iov_len) break;
    }
    return all;
}

int open64(const char *path, int flags, ...) {
    REAL("open64", int, const char *, int, ...);
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (flags & O_CREAT && is_below_root(path) && access(path, F_OK) && fails(1, 4096)) return -1;
    return real(path, flags, mode);
}
int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open64(path, flags, mode);
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
    return fails(is_below_root(to), 0) ? -1 : real(from, to);
}

int mkdir(const char *path, mode_t mode) {
    REAL("mkdir", int, const char *, mode_t);
    return fails(is_below_root(path), 4096) ? -1 : real(path, mode);
}
