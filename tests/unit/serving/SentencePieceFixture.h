// SPDX-License-Identifier: Apache-2.0
// Small sentencepiece models made on the spot, and a character map made by sentencepiece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::test {

/// A precompiled_charsmap in base64, as sentencepiece makes it from these rules: "A" and U+FF21 to
/// "a", "\u00E9" to "e", "e" U+0301 to "ee", U+00AD to nothing, U+3000 and tab to a space, "12" to
/// "3", U+AC00 to U+1100 U+1161.
constexpr std::string_view characterMap =
    "AAQAAAAgAAAJDQAAAQAAgDIdAAADAACABQAAgMwAAgCBOQAArQkAAAkAAIAAAACAqR0AAAcAAICADAIAgDEAALB8AgCA"
    "BQAADAAAgLyAAgChWQAAFQAAABQAAAAXAAAAFgAAABkAAAAYAAAAGwAAABoAAAAdAAAAHAAAAB8AAAAeAAAAIQAAACAA"
    "AAAjAAAAIgAAACUAAAAkAAAAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAA"
    "ADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADEgAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAA"
    "RQAAAEQAAABHAAAARgAAAEkAAABBMQEASwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABU"
    "AAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcA"
    "AABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABlnAIAbwAAAG4AAABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAA"
    "AHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAACDAAAAggAAAIUAAACEAAAAhwAAAIYAAACJAAAA"
    "iAAAAIsAAACKAAAAjQAAAIwAAACPAAAAjgAAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACb"
    "AAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAKMAAACiAAAApQAAAKQAAACnAAAApgAAAKkAAACoAAAAqwAAAKoA"
    "AACtAAAArAAAAK8AAACuAAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAA"
    "ALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAyQAAAMgAAADCvAEAw6QBAM0AAADMAAAA"
    "zwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADe"
    "AAAA4QAAAOAAAADqdAEA4gAAAOUAAADkAAAA5wAAAO8kAQDpAAAA6AAAAOsAAADjmAEA7QAAAOwAAADvAAAA7gAAAPEA"
    "AADwAAAA8wAAAPIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAIAAzAGEA"
    "ZQBlZQDhhIDhhaEA";

/// Appends a protobuf field: a varint, or a length-delimited one.
inline void putVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline void putBytes(std::string &out, unsigned field, std::string_view bytes) {
  putVarint(out, field << 3 | 2);
  putVarint(out, bytes.size());
  out += bytes;
}

inline void putNumber(std::string &out, unsigned field, uint64_t value) {
  putVarint(out, field << 3);
  putVarint(out, value);
}

struct SentencePieceSettings {
  unsigned kind = 2; ///< 1 Unigram, 2 BPE
  bool byteFallback = false;
  std::string map{}; ///< the bytes of a character map
};

/// A sentencepiece model of a few pieces of every type. Pieces: 0 <unk>, 1 <s>, 2 </s>, 3 to 258
/// the bytes (unused ones without byteFallback), 259 <tool>, 260 ten (unused), 261 on, 262 _on, and
/// from 263 on the characters o n _ c e.
inline std::string smallModel(const SentencePieceSettings &settings) {
  std::string model;
  auto piece = [&](std::string_view text, float score, unsigned type) {
    std::string message;
    putBytes(message, 1, text);
    message += static_cast<char>(2 << 3 | 5);
    message.append(reinterpret_cast<const char *>(&score), sizeof score);
    putNumber(message, 3, type);
    putBytes(model, 1, message);
  };
  piece("<unk>", 0, 2);
  piece("<s>", 0, 3);
  piece("</s>", 0, 3);
  constexpr char digits[] = "0123456789ABCDEF";
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char name[] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
    piece({name, sizeof name}, 0, settings.byteFallback ? 6 : 5);
  }
  piece("<tool>", 0, 4);
  piece("ten", -0.5, 5);
  piece("on", -1, 1);
  piece("\u2581on", -2, 1);
  for (const char *character : {"o", "n", "\u2581", "c", "e"})
    piece(character, -10, 1);
  std::string trainer, normalizer;
  putNumber(trainer, 3, settings.kind);
  putNumber(trainer, 35, settings.byteFallback);
  putNumber(trainer, 41, 1);
  putBytes(model, 2, trainer);
  putBytes(normalizer, 1, "identity");
  putBytes(normalizer, 2, settings.map);
  putNumber(normalizer, 3, 1);
  putNumber(normalizer, 4, 1);
  putBytes(model, 3, normalizer);
  return model;
}

} // namespace ingot::test
