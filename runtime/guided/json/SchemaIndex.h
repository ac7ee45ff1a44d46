// SPDX-License-Identifier: Apache-2.0
// Where the references of a schema lead: JSON pointers, anchors, identifiers within the document.
#pragma once

#include "runtime/guided/json/JsonDocument.h"

#include <string>
#include <unordered_map>

namespace ingot::runtime::guided {

/// `reference` against `base`, as RFC 3986 section 5.2 resolves them.
std::string resolvedUri(std::string_view base, std::string_view reference);

/// Of one document, which must outlive it.
class SchemaIndex {
public:
  /// INGOT-E6612: two schemas have the same identifier or anchor.
  static Result<SchemaIndex> of(const JsonDocument &document);

  /// The schema that a `$ref` names, given the string itself. INGOT-E6612: it leads out of the
  /// document or to nothing.
  Result<JsonId> target(JsonId reference) const;
  /// Whether where the `$dynamicRef` or `$recursiveRef` leads depends on how its schema was
  /// reached: the anchor is there more than once.
  bool isDynamic(JsonId reference) const;

private:
  explicit SchemaIndex(const JsonDocument &document) : document(&document) {}

  Status walk();
  Status note(JsonId schema, std::string &base);
  std::string baseOf(JsonId value) const;
  Result<JsonId> pointed(JsonId from, std::string_view pointer, JsonId reference) const;

  const JsonDocument *document;
  std::unordered_map<std::string, JsonId> places;     ///< absolute URI, with a fragment for anchors
  std::unordered_map<JsonId, std::string> identified; ///< schemas with an `$id`, and its URI
  std::unordered_map<std::string, int>
      dynamicAnchors; ///< how many there are of a name; "#": of 2019-09
};

} // namespace ingot::runtime::guided
