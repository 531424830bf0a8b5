/* Writes down every change that a process makes to files below $RECORDER_ROOT, in order, into $RECORDER_LOG:
   one record "op path-length path offset data-length data" a change, numbers as 64-bit integers of the machine. */
#include "../preload.h"
#include <stdint.h>

static int log_fd = -2;

static ssize_t plain_write(int fd, const void *data, size_t length) {
    REAL("write", ssize_t, int, const void *, size_t);
    return real(fd, data, length);
}

static void all(const void *data, size_t length) {
    const char *at = data;
    while (length) {
        ssize_t done = plain_write(log_fd, at, length);
        if (done <= 0) abort();
        at += done;
        length -= done;
    }
}

static int begin(void) {
    pthread_mutex_lock(&lock);
    if (log_fd == -2) {
        const char *path = getenv("RECORDER_LOG");
        root = getenv("RECORDER_ROOT");
        REAL("open64", int, const char *, int, ...);
        log_fd = path && root ? real(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    }
    return log_fd >= 0;
}

static void end(void) { pthread_mutex_unlock(&lock); }

static void note(char op, const char *path, uint64_t offset, const void *data, uint64_t length) {
    uint64_t path_length = strlen(path);
    all(&op, 1);
    all(&path_length, 8);
    all(path, path_length);
    all(&offset, 8);
    all(&length, 8);
    all(data, length);
}

static void wrote(int fd, off64_t offset, const void *data, ssize_t length) {
    char path[4096];
    if (length > 0 && name(fd, path)) note('w', path, offset, data, length);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t);
    int on = begin();
    ssize_t done = real(fd, data, length, offset);
    if (on) wrote(fd, offset, data, done);
    end();
    return done;
}

ssize_t write(int fd, const void *data, size_t length) {
    int on = begin();
    ssize_t done = plain_write(fd, data, length);
    if (on && done > 0) wrote(fd, lseek64(fd, 0, SEEK_CUR) - done, data, done);
    end();
    return done;
}

static int opened(const char *path, int flags, int fd, int was_there) {
    if (fd >= 0 && is_below(path)) {
        if (!was_there && (flags & O_CREAT)) note('c', path, 0, "", 0);
        else if (flags & O_TRUNC) note('t', path, 0, "", 0);
    }
    return fd;
}

static int opens(const char *path, int flags, mode_t mode) {
    REAL("open64", int, const char *, int, ...);
    int on = begin(), was_there = !access(path, F_OK), fd = real(path, flags, mode);
    if (on) opened(path, flags, fd, was_there);
    end();
    return fd;
}

int ftruncate64(int fd, off64_t length) {
    REAL("ftruncate64", int, int, off64_t);
    char path[4096];
    int on = begin(), done = real(fd, length);
    if (on && !done && name(fd, path)) note('t', path, length, "", 0);
    end();
    return done;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int synced(int fd, int done) {
    char path[4096];
    if (!done && name(fd, path)) note('s', path, 0, "", 0);
    return done;
}
int fsync(int fd) {
    REAL("fsync", int, int);
    int on = begin(), done = real(fd);
    if (on) synced(fd, done);
    end();
    return done;
}
int fdatasync(int fd) {
    REAL("fdatasync", int, int);
    int on = begin(), done = real(fd);
    if (on) synced(fd, done);
    end();
    return done;
}

int rename(const char *from, const char *to) {
    REAL("rename", int, const char *, const char *);
    int on = begin(), done = real(from, to);
    if (on && !done && is_below(to)) note('r', from, 0, to, strlen(to));
    end();
    return done;
}

int unlink(const char *path) {
    REAL("unlink", int, const char *);
    int on = begin(), done = real(path);
    if (on && !done && is_below(path)) note('u', path, 0, "", 0);
    end();
    return done;
}

int mkdir(const char *path, mode_t mode) {
    REAL("mkdir", int, const char *, mode_t);
    int on = begin(), done = real(path, mode);
    if (on && !done && is_below(path)) note('d', path, 0, "", 0);
    end();
    return done;
}
