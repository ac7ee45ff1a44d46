// SPDX-License-Identifier: Apache-2.0
// Words, and the order of columns that they may be in.
#include "compiler/importers/formats/PackedWords.h"

#include <span>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Expected;
using checkpoint::Outcome;
using checkpoint::Tensor;
using llm::EncodedWeight;

Expected<PackedWords> compiler::wordsOf(const StoredMatrix &matrix, StringRef name,
                                        StringRef scales, size_t axis) {
  auto words = matrix.part(name), scale = matrix.part(scales);
  if (!words)
    return words.error();
  if (!scale)
    return scale.error();
  if ((*words)->dtype != DType::I32)
    return matrix.unsupported("a packed weight of " + std::string(dtypeName((*words)->dtype)) +
                                  " elements",
                              "supported: integers packed in I32 words");
  if ((*words)->shape.size() != 2 || (*scale)->shape.size() != 2)
    return matrix.unsupported("words or scales that are no matrices",
                              "download the checkpoint again");
  uint64_t extent = (*words)->shape[axis], groups = (*scale)->shape[axis];
  auto fields = matrix.fieldsOf(**words, extent * kWordBits, groups);
  if (!fields)
    return fields.error();
  return PackedWords{*fields, static_cast<int64_t>(extent), static_cast<int64_t>(groups)};
}

Expected<EncodedWeight> compiler::encodedFrom(StoredMatrix &matrix, const PackedWords &words,
                                              Value packed, bool hasZeros) {
  int64_t bits = words.fields.bits;
  auto held = matrix.encoding(bits, words.fields.group, hasZeros);
  if (!held)
    return held.error();
  Type element = matrix.integer(static_cast<unsigned>(bits));
  return EncodedWeight{
      matrix.unpack(packed, matrix.shape[1], element, bits, 0, zeroBias(bits), matrix.columnOrder),
      {},
      {},
      {},
      *held};
}

Outcome compiler::readColumnOrder(StoredMatrix &matrix, StringRef name,
                                  const StoredMatrix::Fields &fields) {
  const Tensor *stored = matrix.find(name);
  if (!stored)
    return {};
  std::vector<int32_t> groups(static_cast<size_t>(matrix.shape[1]));
  if (stored->dtype != DType::I32 || stored->bytes != groups.size() * sizeof(int32_t))
    return matrix.unsupported("a g_idx of another size than the inputs",
                              "download the checkpoint again");
  if (auto done = matrix.checkpoint.read(*stored, 0, std::as_writable_bytes(std::span(groups)));
      !done)
    return done;
  // Old files have zeros where columns are in order.
  if (llvm::all_of(groups, [](int32_t group) { return group == 0; }))
    return {};
  SmallVector<int64_t> sorted = llvm::to_vector(llvm::seq<int64_t>(0, matrix.shape[1]));
  llvm::stable_sort(sorted, [&](int64_t a, int64_t b) { return groups[a] < groups[b]; });
  for (auto [k, column] : llvm::enumerate(sorted))
    if (groups[column] != (fields.group == 0 ? 0 : static_cast<int64_t>(k) / fields.group))
      return matrix.unsupported("a g_idx whose groups have different sizes",
                                "download the checkpoint again");
  if (!llvm::is_sorted(sorted))
    matrix.columnOrder = std::move(sorted);
  return {};
}
