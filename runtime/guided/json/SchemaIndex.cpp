// SPDX-License-Identifier: Apache-2.0
// Walks the places where a schema holds schemas, and follows references.
#include "runtime/guided/json/SchemaIndex.h"

#include <algorithm>
#include <iterator>

namespace ingot::runtime::guided {

static const std::string_view oneSchema[] = {"additionalItems",
                                             "additionalProperties",
                                             "contains",
                                             "else",
                                             "if",
                                             "items",
                                             "not",
                                             "propertyNames",
                                             "then",
                                             "unevaluatedItems",
                                             "contentSchema",
                                             "unevaluatedProperties"};
static const std::string_view listOfSchemas[] = {"allOf", "anyOf", "items", "oneOf", "prefixItems"};
static const std::string_view schemasByName[] = {
    "$defs", "definitions", "dependencies", "dependentSchemas", "properties", "patternProperties"};

template <class List> static bool has(const List &list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// RFC 3986 section 5.2.4.
static std::string withoutDots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool isFolder = false;
  bool isRooted = path.starts_with('/');
  for (size_t at = isRooted; at <= path.size();) {
    size_t end = std::min(path.find('/', at), path.size());
    std::string_view step = path.substr(at, end - at);
    isFolder = step == "." || step == "..";
    if (step == ".." && !kept.empty())
      kept.pop_back();
    if (!isFolder)
      kept.push_back(step);
    at = end + 1;
  }
  std::string result = isRooted ? "/" : "";
  for (size_t i = 0; i < kept.size(); ++i)
    result += (i ? "/" : "") + std::string(kept[i]);
  return isFolder && !result.ends_with('/') ? result + "/" : result;
}

/// The length of "scheme:" at the beginning; 0 for none.
static size_t schemeLength(std::string_view uri) {
  size_t colon = uri.find(':'), other = uri.find_first_of("/?#");
  return colon == std::string_view::npos || colon == 0 || colon > other ? 0 : colon + 1;
}

std::string resolvedUri(std::string_view base, std::string_view reference) {
  if (schemeLength(reference))
    return std::string(reference);
  base = base.substr(0, base.find('#'));
  if (reference.empty() || reference[0] == '#')
    return std::string(base) + std::string(reference);
  size_t scheme = schemeLength(base);
  if (reference.starts_with("//"))
    return std::string(base.substr(0, scheme)) + std::string(reference);
  size_t path = scheme;
  if (base.substr(scheme).starts_with("//"))
    path = std::min(base.find_first_of("/?", scheme + 2), base.size());
  std::string_view basePath = base.substr(path, base.find('?', path) - path);
  size_t tail = std::min(reference.find_first_of("?#"), reference.size());
  std::string target(reference.substr(0, tail));
  if (target.empty())
    target = basePath;
  else if (target[0] != '/') {
    size_t folder = basePath.rfind('/');
    std::string_view above = folder == std::string_view::npos
                                 ? std::string_view(path > scheme ? "/" : "")
                                 : basePath.substr(0, folder + 1);
    target = std::string(above) + target;
  }
  return std::string(base.substr(0, path)) + withoutDots(target) +
         std::string(reference.substr(tail));
}

Result<SchemaIndex> SchemaIndex::of(const JsonDocument &document) {
  SchemaIndex index(document);
  Status walked = index.walk();
  if (!walked.ok())
    return walked;
  return index;
}

/// An empty fragment is none.
static std::string trimmed(std::string uri) {
  if (uri.ends_with('#'))
    uri.pop_back();
  return uri;
}

Status SchemaIndex::note(JsonId schema, std::string &base) {
  auto put = [&](std::string uri) {
    if (places.emplace(std::move(uri), schema).second)
      return Status::success();
    return Status::error("INGOT-E6612", "the schema at " + document->pointer(schema) +
                                            " has the identifier or anchor of another");
  };
  const JsonId dialect = document->member(0, "$schema");
  const std::string_view name = dialect == noJson ? std::string_view() : (*document)[dialect].text;
  JsonId id = document->member(schema, name.find("draft-04") != name.npos ? "id" : "$id");
  bool isRead = id != noJson && (*document)[id].kind == JsonValue::Kind::String;
  if (isRead && document->member(schema, "$ref") != noJson) {
    // Ignored in draft 7, a base since 2019-09.
    if (name.empty() && schema != 0)
      return Status::error("INGOT-E6612",
                           document->pointer(id) +
                               ": '$id' beside '$ref' is read differently by the "
                               "drafts",
                           "say which one in $schema");
    isRead = name.find("draft-0") == std::string_view::npos;
  }
  if (isRead) {
    std::string uri = trimmed(resolvedUri(base, (*document)[id].text));
    bool isAnchor = (*document)[id].text.starts_with('#'); // as draft 7 spells them
    if (!isAnchor) {
      base = uri;
      identified[schema] = base;
    }
    if (schema != 0 || !uri.empty())
      if (Status status = put(uri); !status.ok())
        return status;
  }
  // To `$ref` a dynamic anchor is an anchor.
  for (std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
    JsonId anchor = document->member(schema, keyword);
    if (anchor == noJson || (*document)[anchor].kind != JsonValue::Kind::String)
      continue;
    if (Status status = put(base + "#" + (*document)[anchor].text); !status.ok())
      return status;
    dynamicAnchors[(*document)[anchor].text] += keyword == "$dynamicAnchor";
  }
  const JsonId recursive = document->member(schema, "$recursiveAnchor");
  dynamicAnchors["#"] +=
      recursive != noJson && (*document)[recursive].kind == JsonValue::Kind::True;
  return Status::success();
}

Status SchemaIndex::walk() {
  struct Open {
    JsonId schema;
    std::string base;
  };
  std::vector<Open> open{{0, ""}};
  while (!open.empty()) {
    Open current = std::move(open.back());
    open.pop_back();
    const JsonValue &value = (*document)[current.schema];
    if (value.kind != JsonValue::Kind::Object)
      continue;
    if (Status status = note(current.schema, current.base); !status.ok())
      return status;
    for (const JsonMember &member : value.members) {
      const JsonValue &held = (*document)[member.value];
      if (held.kind == JsonValue::Kind::Array && has(listOfSchemas, member.name))
        for (JsonId item : held.items)
          open.push_back({item, current.base});
      else if (has(oneSchema, member.name))
        open.push_back({member.value, current.base});
      else if (has(schemasByName, member.name))
        for (const JsonMember &entry : held.members)
          open.push_back({entry.value, current.base});
    }
  }
  places.emplace("", 0);
  return Status::success();
}

std::string SchemaIndex::baseOf(JsonId value) const {
  for (JsonId at = value; at != noJson; at = (*document)[at].parent)
    if (auto found = identified.find(at); found != identified.end())
      return found->second;
  return "";
}

static int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// %25 and its like, as they stand in fragments.
static std::string percentDecoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    int high = text[i] == '%' && i + 2 < text.size() ? hexDigit(text[i + 1]) : -1;
    int low = high >= 0 ? hexDigit(text[i + 2]) : -1;
    result += low < 0 ? text[i] : char(high * 16 + low);
    i += low < 0 ? 0 : 2;
  }
  return result;
}

/// A step of a JSON pointer: ~1 is a slash, ~0 a tilde.
static std::string stepOf(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isEscape =
        text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1');
    result += isEscape ? (text[++i] == '0' ? '~' : '/') : text[i];
  }
  return result;
}

Result<JsonId> SchemaIndex::pointed(JsonId from, std::string_view pointer, JsonId reference) const {
  JsonId at = from;
  while (!pointer.empty()) {
    size_t end = std::min(pointer.find('/', 1), pointer.size());
    std::string step = stepOf(pointer.substr(1, end - 1));
    pointer.remove_prefix(end);
    const JsonValue &value = (*document)[at];
    at = noJson;
    if (value.kind == JsonValue::Kind::Object)
      for (const JsonMember &member : value.members)
        at = member.name == step ? member.value : at;
    bool isIndex = !step.empty() && step.size() < 8 &&
                   step.find_first_not_of("0123456789") == std::string::npos;
    if (value.kind == JsonValue::Kind::Array && isIndex &&
        size_t(std::stoi(step)) < value.items.size())
      at = value.items[size_t(std::stoi(step))];
    if (at == noJson)
      return Status::error("INGOT-E6612", document->pointer(reference) + ": the reference '" +
                                              (*document)[reference].text + "' leads to nothing");
  }
  return at;
}

bool SchemaIndex::isDynamic(JsonId reference) const {
  const std::string_view text = (*document)[reference].text;
  const size_t hash = text.find('#');
  const std::string name = hash == std::string_view::npos ? "" : std::string(text.substr(hash + 1));
  const auto found = dynamicAnchors.find(text == "#" ? "#" : percentDecoded(name));
  return found != dynamicAnchors.end() && found->second > 1;
}

Result<JsonId> SchemaIndex::target(JsonId reference) const {
  const std::string &text = (*document)[reference].text;
  // The identifier beside a reference is not its base in draft 7; in 2020-12 it is. Both agree on
  // pointers and anchors of the whole document, which is what people write.
  std::string uri = resolvedUri(baseOf(reference), text);
  size_t hash = uri.find('#');
  std::string resource = uri.substr(0, hash);
  std::string fragment = hash == std::string::npos ? "" : percentDecoded(uri.substr(hash + 1));
  auto found = places.find(resource);
  if (found == places.end())
    return Status::error("INGOT-E6612",
                         document->pointer(reference) + ": the reference '" + text +
                             "' leads out of the document",
                         "put what it names into $defs");
  if (fragment.empty())
    return found->second;
  if (fragment[0] == '/')
    return pointed(found->second, fragment, reference);
  auto anchor = places.find(resource + "#" + fragment);
  if (anchor == places.end())
    return Status::error("INGOT-E6612", document->pointer(reference) + ": the reference '" + text +
                                            "' leads to nothing");
  return anchor->second;
}

} // namespace ingot::runtime::guided
