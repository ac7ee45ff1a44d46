// SPDX-License-Identifier: Apache-2.0
// Reads the processing steps of a tokenizer.json: normalizer, pre-tokenizer, decoder and
// post-processor. Each is lowered to the few primitive steps of TokenizerSpec.
#pragma once

#include "compiler/checkpoint/files/Json.h"
#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

namespace ingot::checkpoint {

// Each reads one member of tokenizer.json, which is not null, into `spec`.
// Errors: INGOT-E1409 (a step that is not supported, by name), E1410 (a regex), E1411 (a setting).
Outcome readNormalizer(const Json &normalizer, TokenizerSpec &spec);
Outcome readPreTokenizer(const Json &preTokenizer, TokenizerSpec &spec);
Outcome readDecoder(const Json &decoder, TokenizerSpec &spec);

/// Also needs the vocabulary, for the ids it puts around a text.
Outcome readPostProcessor(const Json &postProcessor, const TokenizerVocabulary &vocabulary,
                          TokenizerSpec &spec);

} // namespace ingot::checkpoint
