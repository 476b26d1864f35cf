/* A team of threads that sleeps between runs and spins a little before it sleeps. */
#pragma once
#include "device/cpu/placement.h"

/* NULL and a sentence in `error` when threads can't be had. `placement` must live as long as the
 * team; one of only a number of threads leaves them to the system. Where that refuses a thread its
 * place, it runs anywhere. */
struct vv_team *vv_team_new(const struct vv_placement *placement, struct vv_error *error);
void vv_team_free(struct vv_team *team);
/* Thread 0 is the caller, who runs in that thread's place meanwhile. */
void vv_team_run(struct vv_team *team, vv_team_body body, void *context);
