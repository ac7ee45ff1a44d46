// SPDX-License-Identifier: Apache-2.0
// What can be said of a cubin before a driver sees it.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// Checks that `code` is a whole 64-bit CUDA ELF file (machine 190) for `architecture` ("sm_90a"),
/// with section headers inside the file. Whether it is of the architecture's own variant ("a") only
/// the driver can tell. INGOT-E5023 otherwise; `name` is for the message.
Status verifyCubin(std::span<const uint8_t> code, std::string_view architecture,
                   const std::string &name);

} // namespace ingot::runtime
