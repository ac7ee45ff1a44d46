// SPDX-License-Identifier: Apache-2.0
// How the decoding process locks itself up before it reads the first byte of a picture.
#pragma once

#include <cstdint>

namespace ingot::runtime::images {

/// Seconds of processor time after which the process ends by itself, and after which the kernel
/// ends it.
inline constexpr uint32_t mostSeconds = 600, deadlySeconds = 660;

/// Whether this build does all of it: sanitizers need much of what is forbidden.
extern const bool locksUp;

/// From here on the process has `memory` bytes of addresses more than it has, no new files or
/// processes, and the system calls that computing and the socket need; any other ends it. Null, or
/// which step failed.
const char *lockUp(int socket, uint64_t memory);

} // namespace ingot::runtime::images
