// SPDX-License-Identifier: Apache-2.0
// Words in the order of the Marlin kernel, of AutoGPTQ and AutoAWQ.
#include "compiler/importers/formats/FormatReaders.h"

#include "dialects/llm/LlmWeightOps.h"

#include <array>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::message;
using llm::EncodedWeight;

/// Inputs and outputs of a tile; tiles side by side whose numbers are mixed.
static constexpr int64_t kTile = 16, kTiles = 4, kOutputs = kTiles * kTile;

/// Which field of 1024 has input k of output n, at n * 16 + k: a warp's threads, for each tile what
/// one of them multiplies, two times four numbers of which the even ones come first.
static constexpr std::array<int64_t, kOutputs * kTile> kOrder = [] {
  std::array<int64_t, kOutputs * kTile> order{};
  int64_t field = 0;
  for (int64_t thread = 0; thread < 32; ++thread)
    for (int64_t tile = 0; tile < kTiles; ++tile)
      for (int64_t place : {0, 2, 4, 6, 1, 3, 5, 7}) {
        int64_t input = thread % 4 * 2 + place % 2 + place / 2 % 2 * 8,
                output = tile * kTile + thread / 4 + place / 4 * 8;
        order[static_cast<size_t>(output * kTile + input)] = field++;
      }
  return order;
}();

/// B [K / 16, N * 2] of I32, s [K / group, N], or as AutoAWQ calls them; symmetric. Scales of 64
/// outputs stand as those of the threads that need them, of 32 where there is one for each output.
Expected<EncodedWeight> compiler::readMarlin(StoredMatrix &matrix) {
  bool isAwq = matrix.find(".qweight") != nullptr;
  StringRef wordsName = isAwq ? ".qweight" : ".B", scalesName = isAwq ? ".scales" : ".s";
  int64_t rows = matrix.shape[0], columns = matrix.shape[1], tiles = columns / kTile;
  if (rows % kOutputs != 0 || columns % kTile != 0)
    return matrix.unsupported(message("packing marlin of ", rows, " x ", columns),
                              "64 must divide the outputs, and 16 the inputs");
  auto scale = matrix.part(scalesName);
  if (!scale)
    return scale.error();
  auto words = matrix.part(wordsName);
  if (!words)
    return words.error();
  auto fields = matrix.fieldsOf(**words, static_cast<uint64_t>(columns * kNibble),
                                (*scale)->shape.empty() ? 0 : (*scale)->shape[0]);
  if (!fields)
    return fields.error();
  auto groups = static_cast<int64_t>((*scale)->shape[0]);
  auto stored = matrix.read(wordsName, matrix.integer(32), {tiles, rows * kTile * kNibble / 32});
  auto scales = matrix.readScales(scalesName, {rows, groups}, true);
  for (const auto *value : {&stored, &scales})
    if (!*value)
      return value->error();
  auto held = matrix.encoding(kNibble, fields->group);
  if (!held)
    return held.error();
  Value byTile = matrix.unpack(*stored, rows * kTile, matrix.integer(4), kNibble, 0, 0, kOrder);
  Value byOutput =
      matrix.permuteRows(matrix.reshape(byTile, {tiles * rows, kTile}), {tiles, rows}, {1, 0});
  return EncodedWeight{matrix.reshape(byOutput, {rows, columns}),
                       groups == 1 ? matrix.permuteRows(*scales, {rows / 32, 4, 4, 2}, {0, 2, 1, 3})
                                   : matrix.permuteRows(*scales, {rows / 64, 8, 8}, {0, 2, 1}),
                       {},
                       {},
                       *held};
}
