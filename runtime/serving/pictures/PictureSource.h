// SPDX-License-Identifier: Apache-2.0
// Where the pictures of requests come from.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

enum class PictureSources { Data, DataAndFiles };

/// The file of a picture. `source`: a `data:` URL in base64 or, where these are allowed, a path.
/// Nothing is ever fetched. INGOT-E6815: another kind of URL, or one that is malformed.
/// INGOT-E71xx: a file that cannot be read. INGOT-E6804: it has more than `mostBytes`.
Result<std::vector<uint8_t>> readPictureSource(const std::string &source, PictureSources allowed,
                                               uint64_t mostBytes);

} // namespace ingot::runtime
