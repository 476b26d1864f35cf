/* The parts of `varve bench`. Exit codes. */
#pragma once
#include "options.h"

int bench_model(const struct arguments *arguments);
