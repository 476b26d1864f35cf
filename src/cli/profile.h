/* Where the time of a session went. */
#pragma once
#include <varve.h>

/* Writes the classes of steps with their times to standard error, the longest first. */
void profile_report(const struct varve_session *session);
