// SPDX-License-Identifier: Apache-2.0
// What stands for pictures in the text of a prompt.
#pragma once

#include "runtime/core/Span.h"
#include "runtime/schema/Engine_generated.h"
#include "runtime/serving/Tokenizer.h"
#include "runtime/serving/pictures/PromptPicture.h"

#include <span>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// A prompt, and the parts of it that are the words of strangers.
struct PromptText {
  std::string text;
  std::vector<Span> literal;
};

/// How many placeholders of pictures stand outside the literal parts of a prompt.
size_t countPlaceholders(std::string_view text, std::span<const Span> literal,
                         const schema::Images &images);

/// The prompt with all that stands for each picture in the place of its placeholder: tokens of its
/// rows, and what is around them. INGOT-E6811: there are more placeholders than pictures, or fewer.
Result<PromptText> putPictures(std::string_view text, std::span<const Span> literal,
                               const PromptPictures &pictures, const schema::Images &images);

/// The ids of a prompt with pictures, as Tokenizer::encodePrompt gives them. INGOT-E64xx, E6811.
Result<std::vector<int32_t>> encodeWithPictures(const Tokenizer &tokenizer, std::string_view text,
                                                std::span<const Span> literal, bool addSpecial,
                                                const PromptPictures &pictures,
                                                const schema::Images &images);

/// The parts of a text in which nothing is special but placeholders of pictures.
std::vector<Span> outsidePlaceholders(std::string_view text, const schema::Images &images);

} // namespace ingot::runtime
