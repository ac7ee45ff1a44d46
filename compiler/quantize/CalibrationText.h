// SPDX-License-Identifier: Apache-2.0
// From texts to the sequences that a model is calibrated with.
#pragma once

#include "compiler/quantize/Documents.h"

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>

namespace ingot::quantize {

/// Which sequences.
struct TextOptions {
  std::vector<std::filesystem::path> files; ///< as textFiles() takes them; none: builtInText()
  int64_t samples = 128;                    ///< sequences
  int64_t length = 512;                     ///< tokens of each
  uint64_t seed = 0;                        ///< of the choice where there are more
  std::string_view lengthOption = {};       ///< what users give `length` by; empty: nothing
};

/// Whether sequences of `text.length` hold more than the `prefix` ids in front of each, and a token
/// to predict, within the `longest` that the model takes. Errors: INGOT-E2113.
checkpoint::Outcome checkLength(const TextOptions &text, size_t prefix, int64_t longest);

/// Whether the files are there and consist of documents, and are long enough for one sequence of
/// those that have a byte in each token. Errors: INGOT-E2120 and those of reading and of documents.
checkpoint::Outcome checkTexts(const TextOptions &text, size_t prefix);

/// Prose, tables and code in English.
std::string_view builtInText();

/// Sequences, and what they are made from.
struct CalibrationText {
  std::vector<std::vector<int32_t>> sequences;
  /// Names, sizes and digests of the files, their tokens, which sequences were taken, and a digest
  /// of their ids (32 bits each, little-endian).
  nlohmann::ordered_json record;
};

/// A record in a line for people.
std::string describeText(const nlohmann::ordered_json &record);

/// The ids of a document: of a text without special tokens, of a conversation with its template's.
using TokenizeDocument =
    std::function<checkpoint::Expected<std::vector<int32_t>>(const Document &)>;

/// As many windows of the documents' tokens as asked for, or as there are, spread over all of them
/// by the seed and in their order. Each begins with `prefix`, the ids that stand before a text; in
/// front of a document they are dropped. Errors: INGOT-E2113 where nothing stands behind it,
/// INGOT-E2120 where there is not one window, and those of reading, of documents and of `tokenize`.
checkpoint::Expected<CalibrationText> readCalibrationText(const TextOptions &options,
                                                          std::span<const int32_t> prefix,
                                                          const TokenizeDocument &tokenize);

} // namespace ingot::quantize
