// SPDX-License-Identifier: Apache-2.0
// In what forms the tensors beside an encoded weight are. The numbers are constants of kernels.
#pragma once

#include "runtime/schema/Elements.h"

namespace ingot {

/// What scales are for: nothing, the whole weight, a row or groups of it.
enum ScaleExtent : unsigned char { kNoScales, kTensorScale, kRowScales };

/// How scales are stored: as they are; as codes in blocks of kSuperColumns columns, which the
/// fourth tensor, "super_scales", has numbers for; as places in a table, which the super-block
/// scales are.
enum ScaleForm : unsigned char { kPlainScales, kBlockScales, kTableScales };

/// Columns of a block of scale codes, and numbers of a table of scales.
INGOT_TABLE int kSuperColumns = 256;
INGOT_TABLE int kTableNumbers = 256;

/// What the third tensor, "zeros", has: nothing, zero points, offsets to add, a code book.
enum ZeroForm : unsigned char { kNoZeros, kZeroPoints, kOffsets, kCodeBook };

} // namespace ingot
