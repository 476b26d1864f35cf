#include "base/file.h"

#include "base/file_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_BYTES = 300, READ_AT_ONCE = 1 << 30 };

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

const char *vv_path_tail(const char *path) {
    size_t length = strlen(path);
    if (length <= TAIL_BYTES) {
        return path;
    }
    const char *tail = path + (length - TAIL_BYTES), *slash = strchr(tail, '/');
    return slash && slash[1] ? slash + 1 : tail;
}

int vv_fail_system(struct vv_error *error, int number, const char *path, const char *done) {
    const char *advice = "";
    switch (number) {
    case ENOSPC:
        advice = " (free some space, then try again)";
        break;
    case EDQUOT:
        advice = " (free some of your space, then try again)";
        break;
    case EFBIG:
        advice = " (the file system or a limit of this process, see ulimit -f, does not allow it)";
        break;
    case EMFILE:
    case ENFILE:
        advice = " (raise the limit, see ulimit -n)";
        break;
    default:
        break;
    }
    return vv_fail(error, VV_ERROR_IO, "%s cannot be %s: %s%s", vv_path_tail(path), done,
                   strerror(number), advice);
}

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* What fstat says of an open file, if it is one that can be read at any offset. */
static int describe(struct vv_file *file, struct vv_error *error) {
    struct stat s;
    if (fstat(file->descriptor, &s) != 0) {
        return vv_fail_system(error, errno, file->path, "read");
    }
    if (!S_ISREG(s.st_mode)) {
        return vv_fail(error, VV_ERROR_INVALID, "%s is %s: a regular file is wanted",
                       vv_path_tail(file->path), kind_of(s.st_mode));
    }
    file->size = (uint64_t)s.st_size;
    file->modified = s.st_mtim;
    return VV_OK;
}

int vv_file_open(const char *path, struct vv_file *file, struct vv_error *error) {
    *file = (struct vv_file){.path = strdup(path), .descriptor = -1};
    if (!file->path) {
        *file = (struct vv_file){0};
        return vv_fail_memory(error, strlen(path) + 1, "a file name");
    }
    /* Without O_NONBLOCK a pipe would wait here for its writer. */
    file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int code =
        file->descriptor < 0 ? vv_fail_system(error, errno, path, "opened") : describe(file, error);
    if (code != VV_OK) {
        vv_file_close(file);
    }
    return code;
}

int vv_file_from_memory(const void *bytes, size_t size, const char *name, struct vv_file *file,
                        struct vv_error *error) {
    *file = (struct vv_file){.path = strdup(name), .descriptor = -1, .size = size, .bytes = bytes};
    return file->path ? VV_OK : vv_fail_memory(error, strlen(name) + 1, "a file name");
}

int vv_file_map(struct vv_file *file, struct vv_error *error) {
    if (file->size == 0) {
        return vv_fail(error, VV_ERROR_INVALID, "%s is empty", vv_path_tail(file->path));
    }
    if (file->size > SIZE_MAX) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s is larger than this machine's address space: use plain reads",
                       vv_path_tail(file->path));
    }
    size_t size = (size_t)file->size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, file->descriptor, 0);
    if (bytes == MAP_FAILED) {
        return vv_fail_system(error, errno, file->path, "mapped into memory");
    }
    file->guard = vv_file_guard_begin(bytes, size);
    if (!file->guard) {
        munmap(bytes, size);
        return vv_fail_memory(error, sizeof(void *), "the guard of a mapping");
    }
    file->bytes = bytes;
    return VV_OK;
}

int vv_file_read(const struct vv_file *file, uint64_t offset, size_t bytes, void *to, size_t *got,
                 struct vv_error *error) {
    *got = 0;
    if (file->descriptor < 0) {
        uint64_t rest = offset < file->size ? file->size - offset : 0;
        *got = rest < bytes ? (size_t)rest : bytes;
        if (*got > 0) {
            memcpy(to, file->bytes + offset, *got);
        }
        return VV_OK;
    }
    while (*got < bytes) {
        size_t rest = bytes - *got;
        ssize_t n = pread(file->descriptor, (char *)to + *got,
                          rest < READ_AT_ONCE ? rest : READ_AT_ONCE, (off_t)(offset + *got));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return vv_fail_system(error, errno, file->path, "read");
        }
        if (n == 0) {
            return VV_OK;
        }
        *got += (size_t)n;
    }
    return VV_OK;
}

int vv_file_check_unchanged(const struct vv_file *file, struct vv_error *error) {
    if (file->descriptor < 0) {
        return VV_OK;
    }
    struct vv_file now = {.path = file->path, .descriptor = file->descriptor};
    int code = describe(&now, error);
    if (code != VV_OK) {
        return code;
    }
    const char *path = vv_path_tail(file->path);
    if (now.size != file->size) {
        return vv_fail(error, VV_ERROR_IO,
                       "%s has changed while it was in use (it had %llu bytes and now has %llu): "
                       "put it back and open it again",
                       path, (unsigned long long)file->size, (unsigned long long)now.size);
    }
    if (file->guard && vv_file_guard_lost(file->guard)) {
        return vv_fail(error, VV_ERROR_IO,
                       "%s could not be read while it was in use: check the disk, put the file "
                       "back and open it again",
                       path);
    }
    if (now.modified.tv_sec != file->modified.tv_sec ||
        now.modified.tv_nsec != file->modified.tv_nsec) {
        return vv_fail(error, VV_ERROR_IO, "%s was written to while it was in use: open it again",
                       path);
    }
    return VV_OK;
}

void vv_file_close(struct vv_file *file) {
    if (file->guard) {
        vv_file_guard_end(file->guard);
        munmap((void *)file->bytes, (size_t)file->size);
    }
    if (file->path && file->descriptor >= 0) {
        close(file->descriptor);
    }
    free(file->path);
    *file = (struct vv_file){0};
}
