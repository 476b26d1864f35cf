/* What the files of the emulated driver share. */
#pragma once
#include "runtime.h"
#include <mutex>

namespace vv_emulated {

/* Held in every call of the runtime: one thread of the process at a time. */
extern std::recursive_mutex driver_lock;
#define VV_DRIVER std::lock_guard<std::recursive_mutex> locked(vv_emulated::driver_lock)

/* Notes an error for cudaGetLastError; returns it. */
cudaError_t noted(cudaError_t error);
/* Whether the next call that takes memory is to fail. */
bool may_take();
/* What the environment asks for, once. */
void read_environment();
extern bool eager;

/* Host memory that a copy may read or write after the call. */
bool is_pageable(const void *at);
/* Does all that is in any stream. */
void finish_all();
/* Whether a stream of this process captures, so that calls that wait for the device are refused. */
bool anyone_captures();

} // namespace vv_emulated
