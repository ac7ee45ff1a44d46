// SPDX-License-Identifier: Apache-2.0
// Integers packed in words of 32 bits, with groups of inputs that share a scale.
#pragma once

#include "compiler/importers/StoredMatrix.h"

namespace ingot::compiler {

/// What the fields of words are, words along the inputs, scales of a row.
struct PackedWords {
  StoredMatrix::Fields fields;
  int64_t extent = 0, groups = 0;
};

/// The words in part `name` with the scales in part `scales`; `axis`: that of the inputs in both.
checkpoint::Expected<PackedWords> wordsOf(const StoredMatrix &matrix, llvm::StringRef name,
                                          llvm::StringRef scales, size_t axis);

/// Values and encoding; `packed` has the inputs along its rows. Bytes become signed ones.
checkpoint::Expected<llm::EncodedWeight> encodedFrom(StoredMatrix &matrix, const PackedWords &words,
                                                     mlir::Value packed, bool hasZeros);

/// The part `name` [K]: the group of each input. Inputs are put in the order of their groups.
checkpoint::Outcome readColumnOrder(StoredMatrix &matrix, llvm::StringRef name,
                                    const StoredMatrix::Fields &fields);

/// What stored zero points are more than those of the encoding: bytes are signed there.
inline int64_t zeroBias(int64_t bits) { return bits == 8 ? 128 : 0; }

} // namespace ingot::compiler
