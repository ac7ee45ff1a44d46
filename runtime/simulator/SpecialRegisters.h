// SPDX-License-Identifier: Apache-2.0
// The values of the special registers.
#pragma once

#include "runtime/simulator/Machine.h"

namespace ingot::simulator {

/// Writes the special registers that the program reads into the registers of the warp.
void fillSpecialRegisters(Warp &warp);

} // namespace ingot::simulator
