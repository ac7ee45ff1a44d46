/* SPDX-License-Identifier: Apache-2.0
 * Sizes that structures had in version 1. */
#include "tests/unit/interface/Ingot1.h"

#include "tests/unit/interface/Sizes1.h"

const Sizes1 sizes1 = {sizeof(ingot_options),  sizeof(ingot_memory_plan), sizeof(ingot_info),
                       sizeof(ingot_sampling), sizeof(ingot_request),     sizeof(ingot_event),
                       sizeof(ingot_counters)};
