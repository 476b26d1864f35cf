/*
 * Files: opened for reading (plain reads, or a memory mapping on top), and written so that a file
 * of the final name is always a whole one. Offsets and sizes are 64 bits everywhere.
 */
#pragma once
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* A regular file open for reading, or bytes in memory in the place of one. The owner of the struct
 * may read its fields. */
struct vv_file {
    char *path;                  /* as it was given */
    int descriptor;              /* -1: in memory */
    uint64_t size;               /* bytes, when it was opened */
    const unsigned char *bytes;  /* [size]: the mapping after vv_file_map, else NULL */
    struct timespec modified;    /* when it was last written to, as seen at opening */
    struct vv_file_guard *guard; /* not NULL: `bytes` is a mapping of ours */
};

/* Opens a regular file; a directory, pipe or device is refused by name, without waiting for it. On
 * failure `file` is all zero. */
int vv_file_open(const char *path, struct vv_file *file, struct vv_error *error);

/* Bytes in memory (which must outlive `file`) as a file; `name` stands for its path. */
int vv_file_from_memory(const void *bytes, size_t size, const char *name, struct vv_file *file,
                        struct vv_error *error);

/* Maps the whole file, read-only. An empty file has no mapping and is refused. */
int vv_file_map(struct vv_file *file, struct vv_error *error);

/* Reads `bytes` bytes from `offset` on, over as many system calls as it takes. `*got` is how many
 * came; a file that ends earlier is no error here: compare the two. VV_ERROR_IO if a call fails. */
int vv_file_read(const struct vv_file *file, uint64_t offset, size_t bytes, void *to, size_t *got,
                 struct vv_error *error);

/* Fails (VV_ERROR_IO, naming the file) if it was written to or cut short since it was opened, or if
 * part of its mapping was lost (see below). One system call; a new file put in its place by rename
 * does no harm and is not reported. */
int vv_file_check_unchanged(const struct vv_file *file, struct vv_error *error);

/* Closes what is open. A zeroed or closed struct is let be. */
void vv_file_close(struct vv_file *file);

/*
 * Touching a mapped page that the file no longer has raises SIGBUS, which ends a process. After
 * this call such a page, and the rest of that mapping, reads as zeros instead: the work goes on to
 * its end, and vv_file_check_unchanged then fails, so that one request is lost and no other. Takes
 * the process's SIGBUS handler for good (signals from elsewhere go on to the handler before), so
 * the library never calls it: the command and the server do, once, at their start.
 */
int vv_file_guard_mappings(struct vv_error *error);

/*
 * A file being written: until vv_output_finish it exists only as PATH.partial, which is removed on
 * failure. A leftover of a killed process is written over; one that another process is writing is
 * refused. An existing PATH stays whole until the new file takes its place.
 */
struct vv_output;

int vv_output_open(const char *path, struct vv_output **out, struct vv_error *error);

/* Appends. After a failure only vv_output_abandon may follow. */
int vv_output_write(struct vv_output *output, const void *bytes, size_t size,
                    struct vv_error *error);

/* Bytes written so far. */
uint64_t vv_output_size(const struct vv_output *output);

/* Brings everything to the disk, gives the file its name, and frees `output`, on failure too. */
int vv_output_finish(struct vv_output *output, struct vv_error *error);

/* Removes what was written and frees `output`. NULL is let be. */
void vv_output_abandon(struct vv_output *output);

/* What of a path fits into a message: its last parts, 300 bytes at most. Points into `path`. */
const char *vv_path_tail(const char *path);

/* The sentence for a system call that failed: "PATH cannot be DONE: reason", with what to do where
 * that is known (a full disk, too many open files). `number` is errno; `done` a
 * participle: "opened", "read", "written". Returns VV_ERROR_IO. */
int vv_fail_system(struct vv_error *error, int number, const char *path, const char *done);
