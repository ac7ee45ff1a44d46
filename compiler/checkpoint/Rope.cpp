// SPDX-License-Identifier: Apache-2.0
// Reading rotary position settings. Every type that is read has a row in `ropeTypes`.
#include "compiler/checkpoint/Rope.h"

#include "compiler/checkpoint/JsonFields.h"

#include <algorithm>

namespace ingot::checkpoint {

namespace {

struct RopeRow {
  std::string_view name;
  RopeType type;
  std::vector<std::string_view> keys; ///< what it takes beside rope_theta and the type
};

const std::vector<RopeRow> &ropeTypes() {
  static const std::vector<RopeRow> rows = {
      {"default", RopeType::Default, {"original_max_position_embeddings"}},
      {"linear", RopeType::Linear, {"factor", "original_max_position_embeddings"}},
      {"dynamic", RopeType::Dynamic, {"factor", "original_max_position_embeddings"}},
      {"llama3",
       RopeType::Llama3,
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}},
  };
  return rows;
}

/// The row of the type that `object` names by `rope_type` or, in older files, `type`.
Expected<const RopeRow *> ropeRow(const Json &object) {
  std::optional<std::string> name;
  for (std::string_view key : {"rope_type", "type"}) {
    auto member = object.find(key);
    if (!member || member->isNull())
      continue;
    auto text = member->string();
    if (!text)
      return text.error();
    if (name && *name != *text)
      return member->error("INGOT-E1056", "rope_type and type name different types",
                           "remove one of them");
    name = *text;
  }
  std::string wanted = name.value_or("default");
  for (const RopeRow &row : ropeTypes())
    if (row.name == wanted)
      return &row;
  return object.error("INGOT-E1052", message("rope type ", inQuotes(wanted), " is not supported"),
                      "supported are default, linear, dynamic and llama3");
}

/// Refuses members the type does not take: they would change the model if they were understood.
Outcome checkRopeKeys(const Json &object, const RopeRow &row) {
  for (const std::string &key : object.keys()) {
    if (key == "rope_type" || key == "type" || key == "rope_theta" || object.find(key)->isNull() ||
        std::find(row.keys.begin(), row.keys.end(), key) != row.keys.end())
      continue;
    auto one = object.find(key)->number(1.0, 1.0);
    if (one && (key == "factor" || key == "partial_rotary_factor"))
      continue; // says that nothing is scaled
    return object.find(key)->error(
        "INGOT-E1056", message("rope type ", row.name, " does not take ", inQuotes(key)),
        "remove the key, or correct rope_type");
  }
  return {};
}

/// Reads the scaling of `rope_scaling` or `rope_parameters` into `rope`.
Outcome readRopeObject(const Json &object, uint64_t maxPositions, Rope &rope) {
  if (!object.isObject())
    return object.wrongType("an object");
  auto row = ropeRow(object);
  if (!row)
    return row.error();
  if (auto checked = checkRopeKeys(object, **row); !checked)
    return checked;
  JsonFields fields(object);
  rope.type = (*row)->type;
  if (rope.type != RopeType::Default)
    rope.factor = fields.number("factor", 1.0, 1e6);
  if (rope.type == RopeType::Dynamic) {
    // transformers scales from max_position_embeddings; another length is not what it computes.
    rope.originalPositions = fields.unsignedIntegerOr("original_max_position_embeddings",
                                                      maxPositions, 1, Rope::mostPositions);
    if (rope.originalPositions != maxPositions)
      fields.fail("original_max_position_embeddings", "INGOT-E1056",
                  "differs from max_position_embeddings, from which dynamic scaling starts",
                  "make them equal, or remove this key");
  }
  if (rope.type == RopeType::Llama3) {
    rope.lowFrequencyFactor = fields.number("low_freq_factor", 1e-6, 1e6);
    rope.highFrequencyFactor = fields.number("high_freq_factor", 1e-6, 1e6);
    rope.originalPositions =
        fields.unsignedInteger("original_max_position_embeddings", 1, Rope::mostPositions);
    if (rope.highFrequencyFactor <= rope.lowFrequencyFactor)
      fields.fail("high_freq_factor", "INGOT-E1051", "is not above low_freq_factor",
                  "correct the two factors");
  }
  if (fields.error())
    return *fields.error();
  return {};
}

/// Merges `rope_theta` of one of the places that may give it.
Outcome takeTheta(const Json &object, std::optional<double> &theta) {
  JsonFields fields(object);
  if (!fields.has("rope_theta"))
    return {};
  double value = fields.number("rope_theta", 1.0, 1e15);
  if (theta && *theta != value)
    fields.fail("rope_theta", "INGOT-E1056", "rope_theta is given twice, with different values",
                "remove one of them");
  theta = value;
  if (fields.error())
    return *fields.error();
  return {};
}

} // namespace

Expected<Rope> Rope::read(const Json &root, uint64_t maxPositions) {
  std::optional<double> theta;
  if (auto taken = takeTheta(root, theta); !taken)
    return taken.error();
  std::optional<Rope> rope;
  for (std::string_view key : {"rope_scaling", "rope_parameters"}) {
    auto object = root.find(key);
    if (!object || object->isNull())
      continue;
    Rope found;
    if (auto read = readRopeObject(*object, maxPositions, found); !read)
      return read.error();
    if (auto taken = takeTheta(*object, theta); !taken)
      return taken.error();
    if (rope && *rope != found)
      return object->error("INGOT-E1056", "rope_parameters and rope_scaling disagree",
                           "remove one of them");
    rope = found;
  }
  Rope result = rope.value_or(Rope{});
  result.theta = theta.value_or(Rope{}.theta);
  return result;
}

} // namespace ingot::checkpoint
