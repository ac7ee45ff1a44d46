// SPDX-License-Identifier: Apache-2.0
// Keys of config.json that no reader asks for: refused, told, or known to change nothing.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

/// The keys of `root` that are not in `read`, and not known to change no number; in their order.
std::vector<std::string> unknownKeys(const Json &root, const JsonFields::Keys &read,
                                     const Family &family);

/// unknownKeys as one Deviation to be told; nothing where all are
/// known to change no number. Errors: INGOT-E1057 for one that is known to change what a model
/// computes, unless its value says that it does not.
Expected<std::optional<Deviation>> findUnreadKeys(const Json &root, const JsonFields::Keys &read,
                                                  const Family &family);

} // namespace ingot::checkpoint
