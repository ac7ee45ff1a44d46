// SPDX-License-Identifier: Apache-2.0
// One expression of ECMA-262 a format. `{name}` in it stands for another one of the table.
#include "runtime/guided/json/StringFormats.h"

#include "runtime/guided/RegexSyntax.h"

#include <algorithm>
#include <string>

namespace ingot::runtime::guided {

struct NamedExpression {
  std::string_view name;
  std::string_view expression;
};

static constexpr NamedExpression table[] = {
    // RFC 3339. 29 February of leap years only.
    {"date", R"((?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-)"
             R"((?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|)"
             R"([2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29))"},
    {"offset", R"((?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]))"},
    {"time", R"((?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,32})?{offset}|)"
             R"(23:59:60(?:\.[0-9]{1,32})?(?:[Zz]|[+-]00:00)))"},
    {"date-time", "{date}[Tt]{time}"},
    {"duration", R"(P(?:[0-9]{1,20}W|(?:{years}|{months}|{days})(?:T{clock})?|T{clock}))"},
    {"years", R"([0-9]{1,20}Y(?:[0-9]{1,20}M(?:[0-9]{1,20}D)?)?)"},
    {"months", R"([0-9]{1,20}M(?:[0-9]{1,20}D)?)"},
    {"days", R"([0-9]{1,20}D)"},
    {"clock", R"((?:[0-9]{1,20}H(?:[0-9]{1,20}M(?:[0-9]{1,20}S)?)?|[0-9]{1,20}M(?:[0-9]{1,20}S)?|)"
              R"([0-9]{1,20}S))"},
    // RFC 1123 and 5321; {253} and {254} bound the whole.
    // No label is an A-label ("xn--"): which of these are valid is in tables of IDNA.
    {"label", R"((?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]?[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-])"
              R"((?:[A-Za-z0-9][A-Za-z0-9-]|-[A-Za-z0-9])[A-Za-z0-9-]{0,58}[A-Za-z0-9]|)"
              R"([A-Za-z0-9][A-Za-z0-9-][A-Za-z0-9-][A-Za-z0-9]))"},
    {"hostname", R"({label}(?:\.{label})*)"},
    {"email", R"((?:{atom}(?:\.{atom})*|"(?:[ !#-\[\]-~]|\\[ -~])*")@(?:{hostname}|\[(?:{ipv4}|)"
              R"(IPv6:{ipv6})\]))"},
    {"atom", R"([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)"},
    {"ipv4", R"({octet}(?:\.{octet}){3})"},
    {"octet", R"((?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9]))"},
    {"h", "[0-9A-Fa-f]{1,4}"},
    {"last32", "(?:{h}:{h}|{ipv4})"},
    {"ipv6", "(?:(?:{h}:){6}{last32}|::(?:{h}:){5}{last32}|(?:{h})?::(?:{h}:){4}{last32}|"
             "(?:(?:{h}:){0,1}{h})?::(?:{h}:){3}{last32}|(?:(?:{h}:){0,2}{h})?::(?:{h}:){2}"
             "{last32}|(?:(?:{h}:){0,3}{h})?::{h}:{last32}|(?:(?:{h}:){0,4}{h})?::{last32}|"
             "(?:(?:{h}:){0,5}{h})?::{h}|(?:(?:{h}:){0,6}{h})?::)"},
    {"uuid", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"},
    // As Pydantic names them.
    {"uuid1", "{uuidHead}1{uuidTail}"},
    {"uuid3", "{uuidHead}3{uuidTail}"},
    {"uuid4", "{uuidHead}4{uuidTail}"},
    {"uuid5", "{uuidHead}5{uuidTail}"},
    {"uuid6", "{uuidHead}6{uuidTail}"},
    {"uuid7", "{uuidHead}7{uuidTail}"},
    {"uuid8", "{uuidHead}8{uuidTail}"},
    {"uuidHead", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-"},
    {"uuidTail", "[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"},
    {"ipvanyaddress", "(?:{ipv4}|{ipv6})"},
    // RFC 3986 and, with characters beyond ASCII, 3987.
    {"escaped", "%[0-9A-Fa-f]{2}"},
    {"scheme", R"([A-Za-z][A-Za-z0-9+.-]*)"},
    {"literal", R"(\[(?:{ipv6}|[Vv][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\])"},
    {"pchar", R"((?:[A-Za-z0-9._~!$&'()*+,;=:@-]|{escaped}))"},
    {"authority", R"((?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|{escaped})*@)?(?:{literal}|)"
                  R"((?:[A-Za-z0-9._~!$&'()*+,;=-]|{escaped})*)(?::[0-9]{0,5})?)"},
    {"tail", R"((?:\?(?:{pchar}|[/?])*)?(?:#(?:{pchar}|[/?])*)?)"},
    {"hier", R"((?:\/\/{authority}(?:\/{pchar}*)*|\/(?:{pchar}+(?:\/{pchar}*)*)?|)"
             R"({pchar}+(?:\/{pchar}*)*|))"},
    {"uri", "{scheme}:{hier}{tail}"},
    {"segment", R"((?:[A-Za-z0-9._~!$&'()*+,;=@-]|{escaped})+)"},
    {"relative", R"((?:\/\/{authority}(?:\/{pchar}*)*|\/(?:{pchar}+(?:\/{pchar}*)*)?|)"
                 R"({segment}(?:\/{pchar}*)*|))"},
    {"uri-reference", "(?:{uri}|{relative}{tail})"},
    {"uri-template",
     R"((?:[!#$&-;=?-\[\]_a-z~\u00a0-\ud7ff\ue000-\uffef\u{10000}-\u{1fffd}\u{20000}-\u{10fffd}]|)"
     R"({escaped}|)"
     R"(\{[+#.\/;?&=,!@|]?{variable}(?:,{variable})*\})*)"},
    {"variable",
     R"((?:[A-Za-z0-9_]|{escaped})(?:\.?(?:[A-Za-z0-9_]|{escaped}))*(?::[1-9][0-9]{0,3}|\*)?)"},
    {"json-pointer", R"((?:\/(?:[^~\/]|~[01])*)*)"},
    {"relative-json-pointer", R"((?:0|[1-9][0-9]{0,9})(?:#|(?:\/(?:[^~\/]|~[01])*)*))"},
    {"byte", "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"},
    {"base64", "{byte}"},
    {"base64url", "(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}(?:==)?|[A-Za-z0-9_-]{3}=?)?"},
};

static constexpr std::string_view published[] = {
    "date",          "time",          "date-time",
    "duration",      "hostname",      "email",
    "ipv4",          "ipv6",          "uuid",
    "uuid1",         "uuid3",         "uuid4",
    "uuid5",         "uuid6",         "uuid7",
    "uuid8",         "ipvanyaddress", "base64",
    "base64url",     "uri",           "uri-reference",
    "uri-template",  "byte",          "iri",
    "iri-reference", "json-pointer",  "relative-json-pointer"};

/// The table's expression with those put in that it names.
static std::string expanded(std::string_view name) {
  std::string_view text;
  for (const NamedExpression &entry : table)
    text = entry.name == name ? entry.expression : text;
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    size_t end = text.find('}', at);
    std::string_view inner = text[at] == '{' && end != std::string_view::npos
                                 ? text.substr(at + 1, end - at - 1)
                                 : std::string_view();
    bool isName = false;
    for (const NamedExpression &entry : table)
      isName |= entry.name == inner;
    result += isName ? expanded(inner) : std::string(1, text[at]);
    at = isName ? end : at;
  }
  return result;
}

const WholeRange *wholeFormat(std::string_view format) {
  static constexpr WholeRange ranges[] = {
      {"int8", "-128", "127"},
      {"int16", "-32768", "32767"},
      {"int32", "-2147483648", "2147483647"},
      {"int64", "-9223372036854775808", "9223372036854775807"},
      {"uint8", "0", "255"},
      {"uint16", "0", "65535"},
      {"uint32", "0", "4294967295"},
      {"uint64", "0", "18446744073709551615"},
  };
  for (const WholeRange &range : ranges)
    if (range.name == format)
      return &range;
  return nullptr;
}

bool isAnnotation(std::string_view format) {
  static constexpr std::string_view names[] = {"float", "double",    "password",      "binary",
                                               "path",  "file-path", "directory-path"};
  return std::ranges::find(names, format) != std::end(names);
}

/// IRIs are URIs with more unreserved characters (RFC 3987 section 2.2).
static std::string withWideCharacters(std::string text) {
  static constexpr std::string_view class_ = "[A-Za-z0-9._~!$";
  static constexpr std::string_view wide =
      R"([\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\u{10000}-\u{1fffd}\u{20000}-\u{2fffd})";
  static constexpr std::string_view query = R"((?:\?(?:)",
                                    own = R"([\ue000-\uf8ff\u{f0000}-\u{ffffd}]|)";
  size_t place = text.find(query);
  for (; place != std::string::npos; place = text.find(query, place + query.size()))
    text.insert(place + query.size(), own);
  for (size_t at = text.find(class_); at != std::string::npos; at = text.find(class_, at)) {
    text.replace(at, 1, wide);
    at += wide.size();
  }
  return text;
}

Result<ExpressionId> formatTexts(ExpressionArena &arena, std::string_view format,
                                 Spelling spelling) {
  bool isPublished = false;
  for (std::string_view name : published)
    isPublished |= name == format;
  if (!isPublished)
    return Status::error("INGOT-E6611",
                         "the format '" + std::string(format) + "' cannot be enforced");
  bool isWide = format.starts_with("iri");
  std::string name = isWide ? "u" + std::string(format.substr(1)) : std::string(format);
  std::string expression = expanded(name);
  if (isWide)
    expression = withWideCharacters(std::move(expression));
  RegexOptions options;
  options.spelling = spelling;
  Result<ExpressionId> texts = readRegex(arena, expression, options);
  if (!texts.ok() || (format != "hostname" && format != "email"))
    return texts;
  ExpressionId character = spelled(arena, CharacterSet::all(), spelling);
  return arena.intersection(*texts, arena.repeat(character, 1, format == "email" ? 254 : 253));
}

} // namespace ingot::runtime::guided
