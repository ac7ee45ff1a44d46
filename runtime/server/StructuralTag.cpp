// SPDX-License-Identifier: Apache-2.0
// A table of formats, each with its members.
#include "runtime/server/StructuralTag.h"

#include "runtime/guided/grammars/GrammarText.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

using Format = guided::TagFormat;
using Read = std::optional<Format>;

/// Reads formats at places of a request, for messages.
class TagReader {
public:
  Read read(const Json &value, const std::string &place) {
    if (!value.is_object())
      return std::nullopt;
    const std::string type = wordOf(value, "type");
    for (const Row &row : rows())
      if (row.type == type)
        return hasOnly(value, row.members) ? (this->*row.reading)(value, place) : std::nullopt;
    return std::nullopt;
  }

private:
  using Reading = Read (TagReader::*)(const Json &, const std::string &);
  struct Row {
    std::string_view type;
    std::initializer_list<std::string_view> members;
    Reading reading;
  };

  static std::span<const Row> rows() {
    static const Row table[] = {
        {"const_string", {"value"}, &TagReader::constant},
        {"any_text", {"excludes"}, &TagReader::anyText},
        {"regex", {"pattern"}, &TagReader::regex},
        {"grammar", {"grammar"}, &TagReader::grammar},
        {"json_schema", {"json_schema", "style"}, &TagReader::schema},
        {"qwen_xml_parameter", {"json_schema"}, &TagReader::schema},
        {"sequence", {"elements"}, &TagReader::parts},
        {"or", {"elements"}, &TagReader::parts},
        {"tag", {"begin", "content", "end"}, &TagReader::tag},
        {"triggered_tags",
         {"triggers", "tags", "at_least_one", "stop_after_first", "excludes"},
         &TagReader::triggered},
        {"tags_with_separator",
         {"tags", "separator", "at_least_one", "stop_after_first"},
         &TagReader::separated},
        {"optional", {"content"}, &TagReader::repeated},
        {"star", {"content"}, &TagReader::repeated},
        {"plus", {"content"}, &TagReader::repeated},
    };
    return table;
  }

  static bool hasOnly(const Json &value, std::initializer_list<std::string_view> members) {
    return std::ranges::all_of(value.items(), [&](const auto &item) {
      return item.key() == "type" || item.value().is_null() ||
             std::ranges::find(members, item.key()) != members.end();
    });
  }

  /// A list of texts, or one; nothing where the member is something else.
  static bool takeTexts(const Json &value, const char *name, std::vector<std::string> &texts) {
    const Json member = value.value(name, Json());
    if (member.is_string())
      texts.push_back(member.get<std::string>());
    return member.is_null() || member.is_string() || take(member, texts);
  }

  static bool takeFlag(const Json &value, const char *name, bool &flag) {
    const Json member = value.value(name, Json());
    if (member.is_boolean())
      flag = member.get<bool>();
    return member.is_boolean() || member.is_null();
  }

  Read constant(const Json &value, const std::string &) {
    std::string text;
    return take(value.value("value", Json()), text) ? Read(Format::marker(text)) : std::nullopt;
  }

  Read anyText(const Json &value, const std::string &) {
    Format text = Format::textWithout({});
    return takeTexts(value, "excludes", text.words) ? Read(std::move(text)) : std::nullopt;
  }

  Read regex(const Json &value, const std::string &place) {
    Format format = {.kind = Format::Kind::Regex, .place = place};
    return take(value.value("pattern", Json()), format.text) ? Read(std::move(format))
                                                             : std::nullopt;
  }

  Read grammar(const Json &value, const std::string &place) {
    Format format = {.place = place};
    if (!take(value.value("grammar", Json()), format.text))
      return std::nullopt;
    format.kind = guided::syntaxOf(format.text) == guided::GrammarSyntax::Gbnf ? Format::Kind::Gbnf
                                                                               : Format::Kind::Lark;
    return format;
  }

  Read schema(const Json &value, const std::string &place) {
    const Json schema = value.value("json_schema", Json());
    const std::string style =
        wordOf(value, "type") == "qwen_xml_parameter" ? "qwen_xml" : wordOf(value, "style");
    if (!schema.is_object() && !schema.is_boolean())
      return std::nullopt;
    Format format = {.kind = Format::Kind::Schema, .text = textOf(schema), .place = place};
    if (style == "qwen_xml") {
      format.kind = Format::Kind::Arguments;
      format.closed = true;
      format.style = {.kind = guided::ArgumentStyle::Kind::Tagged,
                      .key = "<parameter=",
                      .keyEnd = ">",
                      .valueEnd = "</parameter>",
                      .onLines = true};
    } else if (!style.empty() && style != "json") {
      return std::nullopt;
    }
    return format;
  }

  bool readAll(const Json &value, const char *name, const std::string &place,
               std::vector<Format> &parts) {
    const Json list = value.value(name, Json());
    if (!list.is_array() || list.empty())
      return false;
    for (size_t i = 0; i < list.size(); ++i) {
      Read part = read(list[i], place + '.' + name + '[' + std::to_string(i) + ']');
      if (!part)
        return false;
      parts.push_back(*std::move(part));
    }
    return true;
  }

  Read parts(const Json &value, const std::string &place) {
    std::vector<Format> parts;
    if (!readAll(value, "elements", place, parts))
      return std::nullopt;
    return wordOf(value, "type") == "or" ? Format::choice(std::move(parts))
                                         : Format::sequence(std::move(parts));
  }

  Read tag(const Json &value, const std::string &place) {
    std::string begin;
    std::vector<std::string> ends;
    if (!take(value.value("begin", Json()), begin) || !takeTexts(value, "end", ends) ||
        ends.empty())
      return std::nullopt;
    Read content = read(value.value("content", Json()), place + ".content");
    if (!content)
      return std::nullopt;
    // Free text ends with the first end.
    if (content->kind == Format::Kind::Text)
      for (const std::string &end : ends)
        if (!end.empty())
          content->words.push_back(end);
    std::vector<Format> ways;
    for (const std::string &end : ends)
      ways.push_back(Format::marker(end));
    return Format::sequence(
        {Format::marker(begin), *std::move(content), Format::choice(std::move(ways))});
  }

  Read triggered(const Json &value, const std::string &place) {
    Format text = Format::textWithout({});
    std::vector<Format> tags;
    bool atLeastOne = false, stops = false;
    if (!takeTexts(value, "triggers", text.words) || text.words.empty() ||
        std::ranges::find(text.words, "") != text.words.end() ||
        !readAll(value, "tags", place, tags) || !takeFlag(value, "at_least_one", atLeastOne) ||
        !takeFlag(value, "stop_after_first", stops))
      return std::nullopt;
    for (const Format &tag : tags) { // what begins with no trigger never comes
      const std::string &begin = tag.parts.empty() ? tag.text : tag.parts[0].text;
      if (std::ranges::none_of(text.words,
                               [&](const std::string &word) { return begin.starts_with(word); }))
        return std::nullopt;
    }
    if (!takeTexts(value, "excludes", text.words))
      return std::nullopt;
    Format one = Format::choice(std::move(tags));
    if (stops)
      return Format::sequence({text, Format::list({std::move(one)}, atLeastOne, 1)});
    return Format::sequence(
        {text, Format::list({Format::sequence({std::move(one), text})}, atLeastOne)});
  }

  Read separated(const Json &value, const std::string &place) {
    std::vector<Format> tags;
    std::string separator;
    bool atLeastOne = false, stops = false;
    if (!readAll(value, "tags", place, tags) ||
        !take(value.value("separator", Json()), separator) ||
        !takeFlag(value, "at_least_one", atLeastOne) || !takeFlag(value, "stop_after_first", stops))
      return std::nullopt;
    return Format::list({Format::choice(std::move(tags)), Format::marker(separator)}, atLeastOne,
                        stops ? 1 : guided::ExpressionArena::unbounded);
  }

  Read repeated(const Json &value, const std::string &place) {
    Read content = read(value.value("content", Json()), place + ".content");
    if (!content)
      return std::nullopt;
    const std::string type = wordOf(value, "type");
    return Format::list({*std::move(content)}, type == "plus",
                        type == "optional" ? 1 : guided::ExpressionArena::unbounded);
  }
};

/// The form that vLLM had first.
Json withoutStructures(const Json &value) {
  Json tags = Json::array();
  for (const Json &one : value["structures"]) {
    if (!one.is_object())
      return {};
    tags.push_back(
        {{"type", "tag"},
         {"begin", one.value("begin", Json())},
         {"content", {{"type", "json_schema"}, {"json_schema", one.value("schema", Json())}}},
         {"end", one.value("end", Json())}});
  }
  return {
      {"type", "triggered_tags"}, {"triggers", value.value("triggers", Json())}, {"tags", tags}};
}

} // namespace

std::optional<guided::TagFormat> readStructuralTag(const Json &value) {
  if (!value.is_object() || wordOf(value, "type") != "structural_tag")
    return std::nullopt;
  if (value.value("structures", Json()).is_array() && !value.contains("format"))
    return TagReader().read(withoutStructures(value), "structural_tag");
  return TagReader().read(value.value("format", Json()), "structural_tag.format");
}

} // namespace ingot::runtime
