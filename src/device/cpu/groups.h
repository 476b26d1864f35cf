/* The control groups that a process is in (Linux, cgroups(7)). */
#pragma once

/*
 * Calls `each` with the folder of every group that limits this process in what `controller` ("cpu",
 * "memory") counts: its own and all above it, of versions 1 and 2. A container may see its own
 * group as the top, while the path is the host's: folders need not exist.
 */
void vv_control_groups(const char *root, const char *controller,
                       void (*each)(void *context, const char *folder), void *context);

/* The number that a file of a folder begins with; `missing` where there is none, or a word. */
long long vv_group_number(const char *folder, const char *name, long long missing);
