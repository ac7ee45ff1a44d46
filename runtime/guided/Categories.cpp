// SPDX-License-Identifier: Apache-2.0
// General categories and cases of Unicode, by the tables of utf8proc.
#include "runtime/guided/Characters.h"

#include <algorithm>
#include <array>

#include <utf8proc.h>

namespace ingot::runtime::guided {

constexpr utf8proc_int32_t characters = 0x110000;

/// The names of each category, in the order of utf8proc's numbers.
constexpr std::array<std::array<std::string_view, 2>, 30> categoryNames{{
    {"Cn", "Unassigned"},
    {"Lu", "Uppercase_Letter"},
    {"Ll", "Lowercase_Letter"},
    {"Lt", "Titlecase_Letter"},
    {"Lm", "Modifier_Letter"},
    {"Lo", "Other_Letter"},
    {"Mn", "Nonspacing_Mark"},
    {"Mc", "Spacing_Mark"},
    {"Me", "Enclosing_Mark"},
    {"Nd", "Decimal_Number"},
    {"Nl", "Letter_Number"},
    {"No", "Other_Number"},
    {"Pc", "Connector_Punctuation"},
    {"Pd", "Dash_Punctuation"},
    {"Ps", "Open_Punctuation"},
    {"Pe", "Close_Punctuation"},
    {"Pi", "Initial_Punctuation"},
    {"Pf", "Final_Punctuation"},
    {"Po", "Other_Punctuation"},
    {"Sm", "Math_Symbol"},
    {"Sc", "Currency_Symbol"},
    {"Sk", "Modifier_Symbol"},
    {"So", "Other_Symbol"},
    {"Zs", "Space_Separator"},
    {"Zl", "Line_Separator"},
    {"Zp", "Paragraph_Separator"},
    {"Cc", "Control"},
    {"Cf", "Format"},
    {"Cs", "Surrogate"},
    {"Co", "Private_Use"},
}};

/// Categories in common by the first letter of their short names.
constexpr std::array<std::array<std::string_view, 2>, 7> groupNames{{{"C", "Other"},
                                                                     {"L", "Letter"},
                                                                     {"M", "Mark"},
                                                                     {"N", "Number"},
                                                                     {"P", "Punctuation"},
                                                                     {"S", "Symbol"},
                                                                     {"Z", "Separator"}}};

using CategoryRanges = std::array<std::vector<CharacterRange>, categoryNames.size()>;

/// Made once, in a pass over all characters.
static const CategoryRanges &categoryRanges() {
  static const CategoryRanges ranges = [] {
    CategoryRanges all;
    for (utf8proc_int32_t c = 0; c < characters; ++c) {
      auto &list = all[size_t(utf8proc_category(c))];
      if (!list.empty() && list.back().last + 1 == char32_t(c))
        ++list.back().last;
      else
        list.push_back({char32_t(c), char32_t(c)});
    }
    return all;
  }();
  return ranges;
}

bool generalCategory(std::string_view name, CharacterSet &set) {
  auto named = [&](const auto &names) { return name == names[0] || name == names[1]; };
  auto group = std::ranges::find_if(groupNames, named);
  bool cased = name == "LC" || name == "Cased_Letter";
  std::vector<CharacterRange> parts;
  bool found = false;
  for (size_t i = 0; i < categoryNames.size(); ++i) {
    std::string_view code = categoryNames[i][0];
    bool inGroup = group != groupNames.end() && code[0] == (*group)[0][0];
    bool isCased = cased && (code == "Lu" || code == "Ll" || code == "Lt");
    if (!named(categoryNames[i]) && !inGroup && !isCased)
      continue;
    found = true;
    const auto &ranges = categoryRanges()[i];
    parts.insert(parts.end(), ranges.begin(), ranges.end());
  }
  if (found)
    set = CharacterSet(std::move(parts));
  return found;
}

/// Pairs of characters that differ by their case, both ways.
static const std::vector<std::array<char32_t, 2>> &casePairs() {
  static const std::vector<std::array<char32_t, 2>> pairs = [] {
    std::vector<std::array<char32_t, 2>> all;
    for (utf8proc_int32_t c = 0; c < characters; ++c) {
      // As ECMA-262 does without "u" for the Kelvin sign: nothing else folds into ASCII.
      for (utf8proc_int32_t other : {utf8proc_toupper(c), utf8proc_tolower(c)})
        if (other != c && (c < 0x80) == (other < 0x80)) {
          all.push_back({char32_t(c), char32_t(other)});
          all.push_back({char32_t(other), char32_t(c)});
        }
    }
    return all;
  }();
  return pairs;
}

CharacterSet withOtherCases(const CharacterSet &set) {
  std::vector<CharacterRange> parts(set.parts().begin(), set.parts().end());
  for (auto [character, other] : casePairs())
    if (set.contains(character))
      parts.push_back({other, other});
  return CharacterSet(std::move(parts));
}

} // namespace ingot::runtime::guided
