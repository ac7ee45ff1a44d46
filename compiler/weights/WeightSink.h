// SPDX-License-Identifier: Apache-2.0
// Where streamed weights go.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstddef>
#include <functional>
#include <span>

namespace ingot::compiler {

/// Receives each piece once; `offset` is from the start of the weights. Called from several threads
/// at once, for bytes that never overlap. Bytes between weights are never given: they must read as
/// zero.
using WeightSink =
    std::function<checkpoint::Outcome(uint64_t offset, std::span<const std::byte> bytes)>;

/// Bytes finished and bytes in all. Called by one thread at a time, with growing numbers.
using WeightProgress = std::function<void(uint64_t done, uint64_t total)>;

} // namespace ingot::compiler
