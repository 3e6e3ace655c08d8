/*
 * Preloaded into a process, it records every call that changes a file below ROWAN_SHIM_ROOT, in the order in which they
 * took effect, to the file ROWAN_SHIM_LOG, and makes one of them fail: ROWAN_SHIM_FAIL is "<call> <number> <errno>".
 *
 * A record is a line "<kind> <number> <bytes> <path>[\t<path>]" and so many bytes. Kinds: C created, W appended, P written at a place, B a sync
 * began, E it ended (both with its number), T cut to a length, D folder synced, R renamed, U removed, L linked, M folder made.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS 4096
#define PATH 1024
#define REAL(name) ((typeof(&name))real(#name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *paths[FDS];
static const char *root;
static int log_fd = -1;
static char fail_call[32];
static long fail_at = -1, fail_errno, seen, syncs;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  root = getenv("ROWAN_SHIM_ROOT");
  const char *log = getenv("ROWAN_SHIM_LOG"), *fail = getenv("ROWAN_SHIM_FAIL");
  if (!root || !log) return;
  log_fd = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (fail) sscanf(fail, "%31s %ld %ld", fail_call, &fail_at, &fail_errno);
}

/* The path as it is known below the root, or NULL. A folder that is held is named /proc/self/fd/N. */
static const char *known(const char *path, char *buffer) {
  int fd, used;
  if (log_fd < 0 || !path) return NULL;
  if (sscanf(path, "/proc/self/fd/%d%n", &fd, &used) == 1 && fd >= 0 && fd < FDS && paths[fd]) {
    if (snprintf(buffer, PATH, "%s%s", paths[fd], path + used) >= PATH) return NULL;
    size_t length = strlen(buffer);
    while (length > 1 && buffer[length - 1] == '/') buffer[--length] = 0;
    return buffer;
  }
  return strncmp(path, root, strlen(root)) == 0 ? path : NULL;
}

static const char *path_of(int fd) { return log_fd >= 0 && fd >= 0 && fd < FDS ? paths[fd] : NULL; }

static void note(char kind, long number, const void *bytes, size_t length, const char *a, const char *b) {
  char line[2 * PATH + 80];
  int head = snprintf(line, sizeof line, "%c %ld %zu %s%s%s\n", kind, number, length, a, b ? "\t" : "", b ? b : "");
  REAL(write)(log_fd, line, (size_t)head);
  for (size_t done = 0; done < length;) {
    ssize_t n = REAL(write)(log_fd, (const char *)bytes + done, length - done);
    if (n <= 0) abort();
    done += (size_t)n;
  }
}

/* Whether this call is the one that fails; what the test itself notes never does. */
static int fails(const char *call, const char *path) {
  if (fail_at < 0 || strcmp(call, fail_call) || strstr(path, "/acks")) return 0;
  return seen++ == fail_at;
}

static int fail(void) {
  errno = (int)fail_errno;
  return -1;
}

static int opened(const char *path, int flags, mode_t mode) {
  char buffer[PATH];
  const char *name = known(path, buffer);
  if (!name) return REAL(open)(path, flags, mode);
  pthread_mutex_lock(&lock);
  int fd = -1;
  if (fails("open", name)) fail();
  else {
    int fresh = (flags & O_CREAT) && access(path, F_OK) != 0;
    fd = REAL(open)(path, flags, mode);
    if (fd >= 0 && fd < FDS) {
      free(paths[fd]);
      paths[fd] = strdup(name);
      if (fresh) note('C', 0, NULL, 0, name, NULL);
    }
  }
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return opened(path, flags, mode);
}

int close(int fd) {
  if (path_of(fd)) {
    pthread_mutex_lock(&lock);
    free(paths[fd]);
    paths[fd] = NULL;
    pthread_mutex_unlock(&lock);
  }
  return REAL(close)(fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (!path_of(fd)) return REAL(write)(fd, bytes, length);
  pthread_mutex_lock(&lock);
  ssize_t n;
  if (fails("write", paths[fd])) n = fail();
  else if (length > 1 && fails("short", paths[fd])) n = REAL(write)(fd, bytes, length / 2);
  else n = REAL(write)(fd, bytes, length);
  int error = errno;
  if (n > 0) note('W', 0, bytes, (size_t)n, paths[fd], NULL);
  pthread_mutex_unlock(&lock);
  errno = error;
  return n;
}

static ssize_t written_at(int fd, const void *bytes, size_t length, off64_t at) {
  if (!path_of(fd)) return REAL(pwrite64)(fd, bytes, length, at);
  pthread_mutex_lock(&lock);
  ssize_t n;
  if (fails("write", paths[fd])) n = fail();
  else if (length > 1 && fails("short", paths[fd])) n = REAL(pwrite64)(fd, bytes, length / 2, at);
  else n = REAL(pwrite64)(fd, bytes, length, at);
  int error = errno;
  if (n > 0) note('P', (long)at, bytes, (size_t)n, paths[fd], NULL);
  pthread_mutex_unlock(&lock);
  errno = error;
  return n;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return written_at(fd, bytes, length, at); }

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return written_at(fd, bytes, length, at); }

static int synced(int fd, int data) {
  if (!path_of(fd)) return data ? REAL(fdatasync)(fd) : REAL(fsync)(fd);
  struct stat stat;
  char path[PATH];
  pthread_mutex_lock(&lock);
  snprintf(path, PATH, "%s", paths[fd]);
  int folder = fstat(fd, &stat) == 0 && S_ISDIR(stat.st_mode), result;
  if (fails("sync", path)) result = fail();
  else if (folder) {
    result = REAL(fsync)(fd);
    if (result == 0) note('D', 0, NULL, 0, path, NULL);
  } else {
    long number = ++syncs;
    note('B', number, NULL, 0, path, NULL);
    pthread_mutex_unlock(&lock);
    result = data ? REAL(fdatasync)(fd) : REAL(fsync)(fd);
    pthread_mutex_lock(&lock);
    if (result == 0) note('E', number, NULL, 0, path, NULL);
  }
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int fsync(int fd) { return synced(fd, 0); }
int fdatasync(int fd) { return synced(fd, 1); }

static int truncated(int fd, off_t length) {
  if (!path_of(fd)) return REAL(ftruncate)(fd, length);
  pthread_mutex_lock(&lock);
  int result = fails("truncate", paths[fd]) ? fail() : REAL(ftruncate)(fd, length);
  int error = errno;
  if (result == 0) note('T', (long)length, NULL, 0, paths[fd], NULL);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncated(fd, (off_t)length); }

static int named(char kind, const char *call, int (*work)(const char *, const char *), const char *a, const char *b) {
  char first[PATH], second[PATH];
  const char *from = known(a, first), *to = b ? known(b, second) : NULL;
  if (!from) return work(a, b);
  pthread_mutex_lock(&lock);
  int result = fails(call, from) ? fail() : work(a, b);
  int error = errno;
  if (result == 0) note(kind, 0, NULL, 0, from, to);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

static int real_unlink(const char *a, const char *b) { (void)b; return REAL(unlink)(a); }
static int real_rmdir(const char *a, const char *b) { (void)b; return REAL(rmdir)(a); }
static int real_mkdir(const char *a, const char *b) { (void)b; return REAL(mkdir)(a, 0777); }
static int real_rename(const char *a, const char *b) { return REAL(rename)(a, b); }
static int real_link(const char *a, const char *b) { return REAL(link)(a, b); }

int unlink(const char *path) { return named('U', "unlink", real_unlink, path, NULL); }
int rmdir(const char *path) { return named('U', "unlink", real_rmdir, path, NULL); }
int mkdir(const char *path, mode_t mode) { (void)mode; return named('M', "mkdir", real_mkdir, path, NULL); }
int rename(const char *from, const char *to) { return named('R', "rename", real_rename, from, to); }
int link(const char *from, const char *to) { return named('L', "link", real_link, from, to); }
