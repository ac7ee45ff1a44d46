// SPDX-License-Identifier: Apache-2.0
// Codes of what the tensors of an encoded weight hold, as #llm.encoding says.
#pragma once

#include "Elements.cuh"

/// What a weight's zeros are; as llm::Zeros.
enum ZerosCode : i64 { kNoZeros = 0, kZeroPoints, kOffsets, kCodeBook };

/// How scales are stored; as llm::ScaleForm.
enum ScaleFormCode : i64 { kPlainScales = 0, kBlockScales, kTableScales };

/// Columns of a block of scale codes; llm::kSuperColumns.
constexpr i64 kSuperColumns = 256;
