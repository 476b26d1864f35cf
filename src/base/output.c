#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct vv_output {
    char *path;
    char *partial; /* PATH.partial */
    FILE *file;
    uint64_t size;
};

static void free_output(struct vv_output *o) {
    free(o->path);
    free(o->partial);
    free(o);
}

/* One try at opening PARTIAL and locking it: its descriptor, -1 with an error, or -2 if the file
 * was finished or removed by another process in between. */
static int try_partial(const char *partial, struct vv_error *error) {
    int descriptor = open(partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) {
        vv_fail_system(error, errno, partial, "created");
        return -1;
    }
    struct stat ours, named;
    int result = descriptor;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            vv_fail(error, VV_ERROR_IO,
                    "%s is being written by another process: wait for it, or choose another name",
                    vv_path_tail(partial));
        } else {
            vv_fail_system(error, errno, partial, "locked");
        }
        result = -1;
    } else if (fstat(descriptor, &ours) != 0 || stat(partial, &named) != 0 ||
               ours.st_ino != named.st_ino || ours.st_dev != named.st_dev) {
        result = -2;
    } else if (ftruncate(descriptor, 0) != 0) {
        vv_fail_system(error, errno, partial, "emptied");
        result = -1;
    }
    if (result < 0) {
        close(descriptor);
    }
    return result;
}

static int open_partial(struct vv_output *o, struct vv_error *error) {
    struct stat s;
    if (stat(o->path, &s) == 0 && !S_ISREG(s.st_mode)) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s exists and is no regular file: choose another name for the output",
                       vv_path_tail(o->path));
    }
    int descriptor;
    do {
        descriptor = try_partial(o->partial, error);
    } while (descriptor == -2);
    if (descriptor < 0) {
        return error->code;
    }
    o->file = fdopen(descriptor, "wb");
    if (!o->file) {
        int number = errno;
        unlink(o->partial);
        close(descriptor);
        return vv_fail_system(error, number, o->partial, "created");
    }
    return VV_OK;
}

int vv_output_open(const char *path, struct vv_output **out, struct vv_error *error) {
    static const char suffix[] = ".partial";
    size_t length = strlen(path);
    struct vv_output *o = calloc(1, sizeof *o);
    *out = NULL;
    if (!o || !(o->path = strdup(path)) || !(o->partial = malloc(length + sizeof suffix))) {
        if (o) {
            free_output(o);
        }
        return vv_fail_memory(error, 2 * length + sizeof *o, "an output file's record");
    }
    memcpy(o->partial, path, length);
    memcpy(o->partial + length, suffix, sizeof suffix);
    int code = open_partial(o, error);
    if (code != VV_OK) {
        free_output(o);
        return code;
    }
    *out = o;
    return VV_OK;
}

int vv_output_write(struct vv_output *output, const void *bytes, size_t size,
                    struct vv_error *error) {
    if (size > 0 && fwrite(bytes, 1, size, output->file) != size) {
        return vv_fail_system(error, errno, output->path, "written");
    }
    output->size += size;
    return VV_OK;
}

uint64_t vv_output_size(const struct vv_output *output) {
    return output->size;
}

/* The new name reaches the disk with its folder. Not every file system can do that for a folder,
 * and the file itself is safe by then: nothing is reported. */
static void sync_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    char *folder = strndup(slash ? path : ".", length);
    int descriptor = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
    free(folder);
}

int vv_output_finish(struct vv_output *output, struct vv_error *error) {
    if (fflush(output->file) != 0 || fsync(fileno(output->file)) != 0) {
        vv_fail_system(error, errno, output->path, "written");
        vv_output_abandon(output);
        return error->code;
    }
    /* Still locked: between the renaming and here nobody else can take the partial file over. */
    if (rename(output->partial, output->path) != 0) {
        vv_fail_system(error, errno, output->path, "replaced");
        vv_output_abandon(output);
        return error->code;
    }
    sync_folder_of(output->path);
    fclose(output->file);
    free_output(output);
    return VV_OK;
}

void vv_output_abandon(struct vv_output *output) {
    if (output) {
        unlink(output->partial);
        fclose(output->file);
        free_output(output);
    }
}
