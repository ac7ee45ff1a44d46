// SPDX-License-Identifier: Apache-2.0
// Reads the tokenizer of a checkpoint: of a directory tokenizer.json, sentencepiece's
// tokenizer.model or a tiktoken file, with tokenizer_config.json, special_tokens_map.json and the
// chat templates beside it; of a GGUF file its metadata.
#pragma once

#include "compiler/checkpoint/files/Json.h"
#include "compiler/checkpoint/tokenizer/TokenizerSpec.h"

#include <filesystem>

namespace ingot::checkpoint {

/// The tokenizer of the checkpoint at `path`: a directory, or a GGUF file (any part of a split
/// one). In a directory, tokenizer.json wins over tokenizer.model (of either kind) and that over a
/// tiktoken file; chat_template.jinja over the template of tokenizer_config.json, and both over
/// chat_template.json; tokenizer_config.json over special_tokens_map.json. Errors: INGOT-E1401 (no
/// tokenizer there), those below, those of readText() and of openGguf().
Expected<TokenizerSpec> readTokenizer(const std::filesystem::path &path);

/// The files beside the weights that readTokenizer reads, in a fixed order; of a GGUF file none.
std::vector<std::filesystem::path> tokenizerFiles(const std::filesystem::path &path);

/// A tokenizer.json (format of the Hugging Face tokenizers library) with a BPE or Unigram model.
/// Errors: those of Json, and INGOT-E1403 to E1412, E1422.
Expected<TokenizerSpec> parseTokenizerJson(std::string_view text, const std::string &fileName);

/// A sentencepiece model with a BPE or Unigram vocabulary. Errors: INGOT-E1403 to E1405, E1409,
/// E1413.
Expected<TokenizerSpec> parseSentencePiece(std::string_view bytes, const std::string &fileName);

/// The tokenizer in the metadata of a GGUF file: sentencepiece BPE or byte-level BPE. Errors: those
/// of Json, INGOT-E1403 to E1407, E1409, E1413, INGOT-E1116 for an unknown way to cut words, and
/// INGOT-E1117 for lists of different lengths.
Expected<TokenizerSpec> parseGgufTokenizer(const Json &metadata);

/// Adds what a parsed tokenizer_config.json says: added tokens, special ids, whether these are put
/// around a text, where a sentencepiece model adds its first space, chat templates.
/// Errors: INGOT-E1404, E1405, E1414, and wrong types.
Outcome applyTokenizerConfig(TokenizerSpec &spec, const Json &config);

/// Takes the template of a parsed chat_template.json, which processors of text and images wrote
/// until 4.57 of transformers, if `spec` has none; else says where the two differ.
Outcome applyProcessorTemplate(TokenizerSpec &spec, const Json &file);

/// Sets the special ids that `spec` does not have yet from a parsed special_tokens_map.json.
Outcome applySpecialTokensMap(TokenizerSpec &spec, const Json &map);

} // namespace ingot::checkpoint
