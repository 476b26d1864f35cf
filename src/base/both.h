/* Small functions that host and GPU kernels share: static inline, and compiled for both by nvcc. */
#pragma once

#ifdef __CUDACC__
#define VV_BOTH static inline __host__ __device__
#else
#define VV_BOTH static inline
#endif
