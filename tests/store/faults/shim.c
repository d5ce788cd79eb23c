/* Loaded before the C library (LD_PRELOAD): counts what a process does to the files of one folder, and lets the
 * operation with a given number fail, or the process die there. A log of all operations can be replayed elsewhere.
 *
 * fault_arm(folder, k, kind, log): kind 0 only counts; 1 fails with "no space"; 2 fails with "I/O error"; 3 dies before
 * it; 4 dies after it; 5 dies in the middle of a write (half of it is done); 6 fails in the middle of a write.
 * fault_count() tells how many there were.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static size_t folder_length;
static long count, wanted;
static int kind, armed, log_to = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

long fault_count(void) { return count; }

void fault_arm(const char *where, long k, int how, int log)
{
    strncpy(folder, where, sizeof folder - 1);
    folder_length = strlen(folder);
    count = 0, wanted = k, kind = how, log_to = log, armed = 1;
}

void fault_disarm(void) { armed = 0; }

static int inside(const char *path)
{
    return armed && !strncmp(path, folder, folder_length) && (path[folder_length] == '/' || !path[folder_length]);
}

static int path_of(int fd, char *path, size_t size)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = armed ? readlink(link, path, size - 1) : -1;
    if (length < 0)
        return 0;
    path[length] = 0;
    char *deleted = strstr(path, " (deleted)");
    return !deleted && inside(path);
}

static int full_path(const char *name, char *path, size_t size)
{
    if (!armed)
        return 0;
    if (name[0] == '/')
        snprintf(path, size, "%s", name);
    else {
        if (!getcwd(path, size))
            return 0;
        size_t length = strlen(path);
        snprintf(path + length, size - length, "/%s", name);
    }
    return inside(path);
}

static void put(const void *data, size_t length)
{
    ssize_t (*real)(int, const void *, size_t) = REAL(write);
    const char *at = data;
    while (length) {
        ssize_t done = real(log_to, at, length);
        if (done <= 0)
            _exit(99);
        at += done, length -= done;
    }
}

/* One line about the operation, and what is written after it. */
static void note(const char *what, const char *path, const char *other, long offset, size_t length, const void *data)
{
    char line[9000];
    if (log_to < 0)
        return;
    int size = snprintf(line, sizeof line, "%s\t%s\t%s\t%ld\t%zu\n", what, path + folder_length,
                        other ? other + folder_length : "", offset, length);
    put(line, size);
    if (data)
        put(data, length);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* 0: do it; 1: it fails. */
static int now(int *after)
{
    *after = 0;
    if (++count != wanted)
        return 0;
    if (kind == 1 || kind == 2 || kind == 6) {
        errno = kind == 2 ? EIO : ENOSPC;
        return 1;
    }
    if (kind == 3)
        die();
    *after = kind == 4 || kind == 5;
    return 0;
}

static ssize_t write_at(int fd, const void *data, size_t length, off_t offset, int positioned)
{
    char path[4096];
    ssize_t (*plain)(int, const void *, size_t) = REAL(write);
    ssize_t (*placed)(int, const void *, size_t, off_t) = REAL(pwrite);
    int after = 0, ours = path_of(fd, path, sizeof path), failed = 0;
    if (ours) {
        if (!positioned)
            offset = lseek(fd, 0, SEEK_CUR);
        failed = now(&after);
        if (failed && kind != 6)
            return -1;
        if (failed || (after && kind == 5))
            length /= 2;
    }
    ssize_t done = length ? (positioned ? placed(fd, data, length, offset) : plain(fd, data, length)) : 0;
    if (ours && done > 0)
        note("write", path, NULL, offset, done, data);
    if (after)
        die();
    if (failed) {
        errno = ENOSPC;
        return -1;
    }
    return done;
}

ssize_t write(int fd, const void *data, size_t length) { return write_at(fd, data, length, 0, 0); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return write_at(fd, data, length, at, 1); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) { return write_at(fd, data, length, at, 1); }

/* Copying inside the kernel is refused, so that it is done by writes. */
ssize_t sendfile(int out, int in, off_t *offset, size_t length) { return errno = ENOTSOCK, -1; }
ssize_t sendfile64(int out, int in, off64_t *offset, size_t length) { return errno = ENOTSOCK, -1; }

/* What has one descriptor. */
#define ON_FD(call, what, offset)                                                                                      \
    char path[4096];                                                                                                   \
    int after = 0, ours = path_of(fd, path, sizeof path);                                                              \
    if (ours && now(&after))                                                                                           \
        return -1;                                                                                                     \
    int done = call;                                                                                                   \
    if (ours && !done)                                                                                                 \
        note(what, path, NULL, offset, 0, NULL);                                                                       \
    if (after)                                                                                                         \
        die();                                                                                                         \
    return done;

int fsync(int fd) { ON_FD(REAL(fsync)(fd), "sync", 0) }
int fdatasync(int fd) { ON_FD(REAL(fdatasync)(fd), "sync", 0) }
int ftruncate(int fd, off_t length) { ON_FD(REAL(ftruncate)(fd, length), "cut", (long)length) }
int ftruncate64(int fd, off64_t length) { ON_FD(REAL(ftruncate64)(fd, length), "cut", (long)length) }

/* What has one or two names. */
#define ON_NAMES(call, what, first, second)                                                                            \
    char path[4096], other[4096] = "";                                                                                 \
    int after = 0, ours = full_path(first, path, sizeof path);                                                         \
    const char *to_name = second;                                                                                      \
    if (to_name)                                                                                                       \
        full_path(to_name, other, sizeof other);                                                                       \
    if (ours && now(&after))                                                                                           \
        return -1;                                                                                                     \
    int done = call;                                                                                                   \
    if (ours && done >= 0)                                                                                             \
        note(what, path, other[0] ? other : NULL, 0, 0, NULL);                                                         \
    if (after)                                                                                                         \
        die();                                                                                                         \
    return done;

int unlink(const char *name) { ON_NAMES(REAL(unlink)(name), "unlink", name, (const char *)NULL) }
int rename(const char *name, const char *to) { ON_NAMES(REAL(rename)(name, to), "rename", name, to) }
int link(const char *name, const char *to) { ON_NAMES(REAL(link)(name, to), "link", name, to) }

/* Only what makes a file counts; opening one that is there changes nothing. */
static int open_any(int (*real)(const char *, int, ...), const char *name, int flags, mode_t mode)
{
    char path[4096];
    int after = 0;
    int ours = (flags & O_CREAT) && full_path(name, path, sizeof path) && access(name, F_OK);
    if (ours && now(&after))
        return -1;
    int done = real(name, flags, mode);
    if (ours && done >= 0)
        note("create", path, NULL, 0, 0, NULL);
    if (after)
        die();
    return done;
}

#define MODE                                                                                                           \
    mode_t mode = 0;                                                                                                   \
    if (flags & O_CREAT) {                                                                                             \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }

int open(const char *name, int flags, ...) { MODE return open_any(REAL(open), name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE return open_any(REAL(open64), name, flags, mode); }
