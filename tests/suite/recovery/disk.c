/* Stands between a program and its database files (LD_PRELOAD). Built by the tests with the system's C compiler.
 *
 * SHIM_DIR     folder whose files "unavez.db*" are watched
 * SHIM_SHADOW  folder that holds what a power cut would leave: each file as of its last completed sync
 * SHIM_CUT=K   at the K-th sync, before it is done, the process is killed: the shadow is the disk, the outside has gone on
 * SHIM_FAIL=K:E[+]  the K-th write, truncation, sync or creation fails with errno E; with "+" all after it too
 * SHIM_COUNT   file that gets the number of syncs and of operations seen so far
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *dir, *shadow, *count_file;
static long cut, fail_at, syncs, operations;
static int fail_errno, fail_on, ready;
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int), (*real_fdatasync)(int), (*real_ftruncate)(int, off_t);
static int (*real_open)(const char *, int, ...), (*real_unlink)(const char *);

static void prepare(void) {
  if (ready) return;
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_open = dlsym(RTLD_NEXT, "open64");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  dir = getenv("SHIM_DIR");
  shadow = getenv("SHIM_SHADOW");
  count_file = getenv("SHIM_COUNT");
  cut = getenv("SHIM_CUT") ? atol(getenv("SHIM_CUT")) : 0;
  const char *fail = getenv("SHIM_FAIL");
  if (fail) {
    char *rest;
    fail_at = strtol(fail, &rest, 10);
    fail_errno = *rest == ':' ? (int)strtol(rest + 1, &rest, 10) : EIO;
    fail_on = *rest == '+';
  }
  ready = 1;
}

/* The name of a watched file behind a path, or NULL. */
static const char *watched_path(const char *path) {
  size_t length = dir ? strlen(dir) : 0;
  if (!length || strncmp(path, dir, length) || path[length] != '/') return NULL;
  const char *name = path + length + 1;
  size_t end = strlen(name);
  if (strncmp(name, "unavez.db", 9) || strchr(name, '/')) return NULL;
  return end > 4 && !strcmp(name + end - 4, "-shm") ? NULL : name;
}

static const char *watched(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = dir ? readlink(link, path, size - 1) : -1;
  if (length < 0) return NULL;
  path[length] = 0;
  return watched_path(path);
}

static void report(void) {
  if (!count_file) return;
  char text[64];
  int fd = real_open(count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return;
  int length = snprintf(text, sizeof text, "%ld %ld\n", syncs, operations);
  if (real_write(fd, text, length) < 0) { /* only a count */ }
  close(fd);
}

/* Counts one operation; nonzero when it has to fail. */
static int fails(void) {
  pthread_mutex_lock(&lock);
  operations++;
  int bad = fail_at && (operations == fail_at || (fail_on && operations > fail_at));
  report();
  pthread_mutex_unlock(&lock);
  if (bad) errno = fail_errno;
  return bad;
}

static void copy(const char *from, const char *name) {
  char to[4096], part[4096], buffer[65536];
  snprintf(to, sizeof to, "%s/%s", shadow, name);
  snprintf(part, sizeof part, "%s/%s.part", shadow, name);
  int in = real_open(from, O_RDONLY), out = real_open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ssize_t got;
  while (in >= 0 && out >= 0 && (got = read(in, buffer, sizeof buffer)) > 0)
    if (real_write(out, buffer, got) != got) abort();
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  rename(part, to);
}

static int synced(int fd, int (*real)(int)) {
  char path[4096];
  prepare();
  const char *name = watched(fd, path, sizeof path);
  if (!name) return real(fd);
  if (fails()) return -1;
  pthread_mutex_lock(&lock);
  syncs++;
  report();
  if (cut && syncs == cut) kill(getpid(), SIGKILL);
  int result = real(fd);
  if (result == 0 && shadow) copy(path, name);
  pthread_mutex_unlock(&lock);
  return result;
}

int fsync(int fd) { prepare(); return synced(fd, real_fsync); }
int fdatasync(int fd) { prepare(); return synced(fd, real_fdatasync); }

ssize_t write(int fd, const void *bytes, size_t size) {
  char path[4096];
  prepare();
  if (watched(fd, path, sizeof path) && fails()) return -1;
  return real_write(fd, bytes, size);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at) {
  char path[4096];
  prepare();
  if (watched(fd, path, sizeof path) && fails()) return -1;
  return real_pwrite(fd, bytes, size, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return pwrite64(fd, bytes, size, at); }

int ftruncate64(int fd, off_t size) {
  char path[4096];
  prepare();
  if (watched(fd, path, sizeof path) && fails()) return -1;
  return real_ftruncate(fd, size);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* A deleted file is gone from the disk as well: SQLite syncs the folder after it. */
int unlink(const char *path) {
  char gone[4096];
  prepare();
  const char *name = watched_path(path);
  if (name && shadow) {
    snprintf(gone, sizeof gone, "%s/%s", shadow, name);
    real_unlink(gone);
  }
  return real_unlink(path);
}

int open64(const char *path, int flags, ...) {
  mode_t mode = 0;
  prepare();
  if (flags & O_CREAT) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
    if (watched_path(path) && access(path, F_OK) && fails()) return -1;
  }
  return real_open(path, flags, mode);
}
int open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  return open64(path, flags, mode);
}
