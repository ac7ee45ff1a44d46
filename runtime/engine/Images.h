// SPDX-License-Identifier: Apache-2.0
// What an engine says of pictures.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/schema/Engine_generated.h"

namespace ingot::runtime {

/// Checks the table Images of an engine whose targets are checked, and what programs "encode" and
/// "step" of each have to do with it. INGOT-E5006.
Status verifyImages(const schema::Engine &engine);

} // namespace ingot::runtime
