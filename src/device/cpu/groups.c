#include "device/cpu/groups.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { GROUP_MAX = 1024, NAME_MAX_HERE = 4096 };

struct walk {
    const char *root;
    void (*each)(void *context, const char *folder);
    void *context;
};

long long vv_group_number(const char *folder, const char *name, long long missing) {
    char path[NAME_MAX_HERE];
    long long value = missing;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file) {
        value = fscanf(file, "%lld", &value) == 1 ? value : missing;
        fclose(file);
    }
    return value;
}

/* A group and all above it, below one mount. */
static void walk_up(const struct walk *w, const char *mount, const char *group) {
    char folder[NAME_MAX_HERE], path[GROUP_MAX];
    snprintf(path, sizeof path, "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", w->root, mount, path);
        w->each(w->context, folder);
        char *slash = strrchr(path, '/');
        if (!slash) {
            return;
        }
        *slash = 0;
    }
}

/* Whether a list such as "cpu,cpuacct" has the controller. */
static bool has(const char *controllers, const char *controller) {
    size_t length = strlen(controller);
    for (const char *at = controllers; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == length && memcmp(at, controller, n) == 0) {
            return true;
        }
        at += n;
    }
    return false;
}

/* One line of the list: NUMBER:CONTROLLERS:PATH, without controllers in version 2. */
static void walk_line(const struct walk *w, char *line, const char *controller) {
    char mount[GROUP_MAX];
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) {
        return;
    }
    *group++ = 0;
    controllers++;
    if (*controllers == 0) {
        walk_up(w, "", group);
        walk_up(w, "/unified", group);
    } else if (has(controllers, controller)) {
        snprintf(mount, sizeof mount, "/%s", controller);
        walk_up(w, mount, group);
        if (strcmp(controllers, controller) != 0) {
            snprintf(mount, sizeof mount, "/%s", controllers);
            walk_up(w, mount, group);
        }
    }
}

void vv_control_groups(const char *root, const char *controller,
                       void (*each)(void *context, const char *folder), void *context) {
    const struct walk w = {root, each, context};
    char name[NAME_MAX_HERE], line[GROUP_MAX];
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof line, file)) {
        walk_line(&w, line, controller);
    }
    if (file) {
        fclose(file);
    }
}
