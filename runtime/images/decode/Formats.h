// SPDX-License-Identifier: Apache-2.0
// The formats that are decoded; each reads the size from its header, then the pixels as stored.
#pragma once

#include "runtime/images/Resize.h"
#include "runtime/images/decode/Bytes.h"
#include "runtime/images/decode/PictureHeader.h"

namespace ingot::runtime::images {

/// Header of a file of this format; sizes are not yet held against limits.
Result<PictureHeader> readPngHeader(ByteSpan bytes);
Result<PictureHeader> readJpegHeader(ByteSpan bytes);
Result<PictureHeader> readWebPHeader(ByteSpan bytes);

/// Pixels, not yet turned, into `pixels`, which has the size of the header and room.
Status decodePng(ByteSpan bytes, Pixels &pixels);
Status decodeJpeg(ByteSpan bytes, Pixels &pixels);
Status decodeWebP(ByteSpan bytes, Pixels &pixels);

} // namespace ingot::runtime::images
