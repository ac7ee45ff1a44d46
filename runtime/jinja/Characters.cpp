// SPDX-License-Identifier: Apache-2.0
// Characters: what Python's str knows of code points. Text here is valid UTF-8.
#include "runtime/jinja/Characters.h"

#include <cstdlib>
#include <utf8proc.h>

namespace ingot::runtime::jinja {

size_t characterLength(std::string_view text, size_t offset) {
  return utf8Length(static_cast<unsigned char>(text[offset]));
}

char32_t characterAt(std::string_view text, size_t offset) { return nextCharacter(text, offset); }

size_t previousCharacter(std::string_view text, size_t offset) {
  do
    --offset;
  while (offset > 0 && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80);
  return offset;
}

size_t byteOffset(std::string_view text, size_t count) {
  size_t offset = 0;
  while (count > 0 && offset < text.size()) {
    offset += characterLength(text, offset);
    --count;
  }
  return offset;
}

void appendCharacter(std::string &text, char32_t character) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(utf8proc_int32_t(character), bytes);
  text.append(reinterpret_cast<const char *>(bytes), size_t(length));
}

static utf8proc_category_t categoryOf(char32_t character) {
  return utf8proc_category(utf8proc_int32_t(character));
}

bool isSpace(char32_t character) {
  return isWhitespace(character) || (character >= 0x1C && character <= 0x1F);
}

bool isPrintable(char32_t character) {
  switch (categoryOf(character)) {
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return false;
  case UTF8PROC_CATEGORY_ZS:
    return character == ' ';
  default:
    return true;
  }
}

bool isLetter(char32_t character) {
  const utf8proc_category_t category = categoryOf(character);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool isDecimal(char32_t character) { return categoryOf(character) == UTF8PROC_CATEGORY_ND; }

bool isDigit(char32_t character) {
  // Digits that are not decimal: superscripts, subscripts, and numbers in circles.
  return isDecimal(character) || character == 0xB2 || character == 0xB3 || character == 0xB9 ||
         character == 0x2070 || (character >= 0x2074 && character <= 0x2079) ||
         (character >= 0x2080 && character <= 0x2089) ||
         (character >= 0x2460 && character <= 0x2468);
}

bool isNumeric(char32_t character) {
  const utf8proc_category_t category = categoryOf(character);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool isTitle(char32_t character) { return categoryOf(character) == UTF8PROC_CATEGORY_LT; }

bool isUpper(char32_t character) {
  const utf8proc_category_t category = categoryOf(character);
  return category == UTF8PROC_CATEGORY_LU ||
         (category != UTF8PROC_CATEGORY_LT &&
          utf8proc_tolower(utf8proc_int32_t(character)) != utf8proc_int32_t(character));
}

bool isLower(char32_t character) {
  return categoryOf(character) == UTF8PROC_CATEGORY_LL || character == 0xAA || character == 0xBA ||
         (character >= 0x2B0 && character <= 0x2B8) ||
         (character >= 0x2170 && character <= 0x217F) ||
         (character >= 0x24D0 && character <= 0x24E9);
}

bool isCased(char32_t character) {
  return isUpper(character) || isLower(character) || isTitle(character);
}

namespace {

/// Characters whose capital form is several: those of SpecialCasing.txt without a condition, but
/// for Greek letters with an iota.
struct SpecialCase {
  char32_t character;
  const char *upper;
  const char *title;
};
constexpr SpecialCase specialCases[] = {
    {0xDF, "SS", "Ss"},   {0x149, "ʼN", "ʼN"},  {0x1F0, "J̌", "J̌"},      {0x390, "Ϊ́", "Ϊ́"},
    {0x3B0, "Ϋ́", "Ϋ́"},    {0x587, "ԵՒ", "Եւ"},  {0x1E96, "H̱", "H̱"},     {0x1E97, "T̈", "T̈"},
    {0x1E98, "W̊", "W̊"},   {0x1E99, "Y̊", "Y̊"},   {0x1E9A, "Aʾ", "Aʾ"},   {0xFB00, "FF", "Ff"},
    {0xFB01, "FI", "Fi"}, {0xFB02, "FL", "Fl"}, {0xFB03, "FFI", "Ffi"}, {0xFB04, "FFL", "Ffl"},
    {0xFB05, "ST", "St"}, {0xFB06, "ST", "St"}, {0xFB13, "ՄՆ", "Մն"},   {0xFB14, "ՄԵ", "Մե"},
    {0xFB15, "ՄԻ", "Մի"}, {0xFB16, "ՎՆ", "Վն"}, {0xFB17, "ՄԽ", "Մխ"},
};

std::string encoded(utf8proc_int32_t character) {
  std::string text;
  appendCharacter(text, char32_t(character));
  return text;
}

const SpecialCase *specialCase(char32_t character) {
  if (character >= 0xDF)
    for (const SpecialCase &special : specialCases)
      if (special.character == character)
        return &special;
  return nullptr;
}

/// Whether a capital sigma at `offset` stands after a cased letter and before none.
bool endsWord(std::string_view text, size_t offset) {
  auto ignorable = [](char32_t c) {
    const utf8proc_category_t category = categoryOf(c);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
           category == UTF8PROC_CATEGORY_SK || c == '\'' || c == '.' || c == ':' || c == 0xB7 ||
           c == 0x2019;
  };
  size_t before = offset;
  bool cased = false;
  while (before > 0) {
    before = previousCharacter(text, before);
    const char32_t character = characterAt(text, before);
    if (ignorable(character))
      continue;
    cased = isCased(character);
    break;
  }
  if (!cased)
    return false;
  for (size_t after = offset + characterLength(text, offset); after < text.size();
       after += characterLength(text, after)) {
    const char32_t character = characterAt(text, after);
    if (!ignorable(character))
      return !isCased(character);
  }
  return true;
}

} // namespace

std::string upperOf(char32_t character) {
  if (const SpecialCase *special = specialCase(character))
    return special->upper;
  return encoded(utf8proc_toupper(utf8proc_int32_t(character)));
}

std::string titleOf(char32_t character) {
  if (const SpecialCase *special = specialCase(character))
    return special->title;
  return encoded(utf8proc_totitle(utf8proc_int32_t(character)));
}

std::string lowerAt(std::string_view text, size_t offset) {
  const char32_t character = characterAt(text, offset);
  if (character == 0x3A3)
    return endsWord(text, offset) ? "ς" : "σ";
  if (character == 0x130)
    return "i̇";
  return encoded(utf8proc_tolower(utf8proc_int32_t(character)));
}

std::string foldOf(char32_t character) {
  const std::string one = encoded(utf8proc_int32_t(character));
  utf8proc_uint8_t *folded = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(one.data()),
                                   utf8proc_ssize_t(one.size()), &folded, UTF8PROC_CASEFOLD);
  if (length < 0)
    return one;
  std::string text(reinterpret_cast<const char *>(folded), size_t(length));
  std::free(folded);
  return text;
}

} // namespace ingot::runtime::jinja
