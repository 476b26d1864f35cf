/* A team of threads that sleeps between runs and spins a little before it sleeps. */
#pragma once
#include "device/device.h"

/* NULL and a sentence in `error` when threads can't be had. */
struct vv_team *vv_team_new(unsigned threads, struct vv_error *error);
void vv_team_free(struct vv_team *team);
/* Thread 0 is the caller. */
void vv_team_run(struct vv_team *team, vv_team_body body, void *context);
