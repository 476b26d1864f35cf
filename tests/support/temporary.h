/* A folder of its own for a test. */
#pragma once

struct temporary {
    char path[256];
};

/* Makes it, empty. */
struct temporary temporary_make(void);

/* The path of a file in it. Valid until the eighth call from now. */
const char *temporary_file(const struct temporary *t, const char *name);

/* Removes it with all files in it (folders in it: with theirs). */
void temporary_remove(const struct temporary *t);

/* Writes a text file into it; its path, as above. */
const char *temporary_write(const struct temporary *t, const char *name, const char *text);
