// SPDX-License-Identifier: Apache-2.0
// Which of an engine's targets a device runs.
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/schema/Engine_generated.h"

#include <span>
#include <string>

namespace ingot::runtime {

/// What of a target's needs the device lacks: "needs avx2 fma; missing here: fma". Empty: nothing.
std::string lackOf(std::string_view architecture, std::span<const std::string> features,
                   const Device &device);

/// Index of the runnable target of highest preference (the first of equals), or of the one named
/// `forced` when that is not empty. INGOT-E5016 says what each target lacks; INGOT-E5017 lists the
/// names when `forced` is not among them.
Result<uint32_t> chooseTarget(const schema::Engine &engine, const Device &device,
                              std::string_view forced = {});

} // namespace ingot::runtime
