/* SPDX-License-Identifier: Apache-2.0
 * Sizes of version 1, for code of another one. */
#pragma once

#include <stddef.h>

typedef struct Sizes1 {
  size_t options, memory_plan, info, sampling, request, event, counters;
} Sizes1;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const Sizes1 sizes1;
