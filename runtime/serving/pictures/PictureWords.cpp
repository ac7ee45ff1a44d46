// SPDX-License-Identifier: Apache-2.0
// Text becomes text, since tokenizers join what stands around a placeholder with its neighbours.
#include "runtime/serving/pictures/PictureWords.h"

#include "runtime/serving/LiteralText.h"

#include <functional>

namespace ingot::runtime {

namespace {

std::string_view view(const flatbuffers::String *text) {
  return text ? text->string_view() : std::string_view();
}

/// `text` with {row} and {column}.
std::string numbered(std::string_view text, uint32_t row, uint32_t column) {
  std::string result(text);
  for (auto [word, number] : {std::pair(std::string_view("{row}"), row), {"{column}", column}})
    if (size_t at = result.find(word); at != std::string::npos)
      result.replace(at, word.size(), std::to_string(number));
  return result;
}

void append(std::string &text, std::string_view token, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    text += token;
}

std::string wordsOf(const images::PictureLayout &layout, const schema::Images &images) {
  std::string text;
  size_t tile = 0;
  for (uint32_t row = 1; row <= layout.tileRows; ++row) {
    for (uint32_t column = 1; column <= layout.tileColumns; ++column) {
      text += numbered(view(images.before_tile()), row, column);
      append(text, view(images.token()), layout.tiles[tile++].tokens());
    }
    text += view(images.after_tile_row());
  }
  if (tile > 0)
    text += view(images.after_tiles());
  text += view(images.before());
  append(text, view(images.token()), layout.tiles[tile].tokens());
  text += view(images.after());
  return text;
}

/// Calls visit(begin, end) for each placeholder outside the literal parts.
void forEachPlaceholder(std::string_view text, std::span<const Span> literal,
                        const schema::Images &images,
                        const std::function<void(size_t begin, size_t end)> &visit) {
  const std::string_view placeholder = view(images.placeholder());
  const LiteralText words(literal);
  for (size_t at = 0; (at = text.find(placeholder, at)) != std::string_view::npos;) {
    const size_t end = at + placeholder.size();
    if (words.touches(at, end)) {
      ++at;
      continue;
    }
    visit(at, end);
    at = end;
  }
}

} // namespace

size_t countPlaceholders(std::string_view text, std::span<const Span> literal,
                         const schema::Images &images) {
  size_t count = 0;
  forEachPlaceholder(text, literal, images, [&](size_t, size_t) { ++count; });
  return count;
}

Result<PromptText> putPictures(std::string_view text, std::span<const Span> literal,
                               const PromptPictures &pictures, const schema::Images &images) {
  if (size_t places = countPlaceholders(text, literal, images); places != pictures.size())
    return Status::error("INGOT-E6811",
                         "the prompt has " + std::to_string(places) + " places for pictures, and " +
                             std::to_string(pictures.size()) + " pictures are given",
                         "write " + std::string(view(images.placeholder())) +
                             " where each picture stands");
  PromptText result;
  size_t from = 0, next = 0;
  auto part = literal.begin();
  auto copyUpTo = [&](size_t end) {
    for (; part != literal.end() && part->end <= end; ++part)
      result.literal.push_back({uint32_t(part->begin - from + result.text.size()),
                                uint32_t(part->end - from + result.text.size())});
    result.text += text.substr(from, end - from);
  };
  forEachPlaceholder(text, literal, images, [&](size_t begin, size_t end) {
    copyUpTo(begin);
    result.text += wordsOf(pictures[next++]->layout, images);
    from = end;
  });
  copyUpTo(text.size());
  return result;
}

Result<std::vector<int32_t>> encodeWithPictures(const Tokenizer &tokenizer, std::string_view text,
                                                std::span<const Span> literal, bool addSpecial,
                                                const PromptPictures &pictures,
                                                const schema::Images &images) {
  Result<PromptText> prompt = putPictures(text, literal, pictures, images);
  if (!prompt.ok())
    return std::move(prompt).status();
  return tokenizer.encodePrompt(prompt->text, prompt->literal, addSpecial);
}

std::vector<Span> outsidePlaceholders(std::string_view text, const schema::Images &images) {
  std::vector<Span> parts;
  size_t from = 0;
  auto add = [&](size_t end) {
    if (end > from)
      parts.push_back({uint32_t(from), uint32_t(end)});
  };
  forEachPlaceholder(text, {}, images, [&](size_t begin, size_t end) {
    add(begin);
    from = end;
  });
  add(text.size());
  return parts;
}

} // namespace ingot::runtime
