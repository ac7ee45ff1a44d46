// SPDX-License-Identifier: Apache-2.0
// A JSON text as it was written: members in order, numbers exact, every value with its place.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/guided/json/Decimal.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// A value of one document.
using JsonId = uint32_t;
constexpr JsonId noJson = ~0u;

struct JsonMember {
  std::string name;
  JsonId value;
};

struct JsonValue {
  enum class Kind : uint8_t { Null, False, True, Number, String, Array, Object };

  Kind kind = Kind::Null;
  JsonId parent = noJson;
  uint32_t place = 0;              ///< the index among the parent's items or members
  Decimal number;                  ///< of a Number
  std::string text;                ///< of a String: UTF-8
  std::vector<JsonId> items;       ///< of an Array
  std::vector<JsonMember> members; ///< of an Object, names unique

  bool isBoolean() const { return kind == Kind::False || kind == Kind::True; }
  bool isContainer() const { return kind == Kind::Array || kind == Kind::Object; }
};

struct JsonLimits {
  size_t bytes = size_t(1) << 20;
  size_t values = 200000;
  size_t depth = 128;
};

/// Value 0 is the root.
class JsonDocument {
public:
  /// INGOT-E6610: `text` is no JSON, repeats a name in an object, has an unpaired surrogate, a
  /// number beyond 10^±308, or is over a limit.
  static Result<JsonDocument> read(std::string_view text, const JsonLimits &limits = {});

  const JsonValue &operator[](JsonId id) const { return values[id]; }
  size_t size() const { return values.size(); }
  /// The member of an object; noJson where it has none or is no object.
  JsonId member(JsonId object, std::string_view name) const;
  /// "#" for the root, "#/properties/a~1b" below it.
  std::string pointer(JsonId id) const;

private:
  friend class JsonReader;
  std::vector<JsonValue> values;
};

} // namespace ingot::runtime::guided
