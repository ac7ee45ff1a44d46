// SPDX-License-Identifier: Apache-2.0
// Reading rotary position settings. Every type that is read has a row in `ropeTypes`.
#include "compiler/checkpoint/config/Rope.h"

#include "compiler/checkpoint/files/JsonFields.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ingot::checkpoint {

namespace {

struct RopeRow {
  std::string_view name;
  RopeType type;
  std::vector<std::string_view> keys; ///< what it takes beside the type and the shared keys
};

/// Keys that may stand in config.json itself or in one of its objects.
constexpr std::string_view betaKey = "llama_4_scaling_beta", thetaKey = "rope_theta",
                           rotatedKey = "partial_rotary_factor",
                           originalKey = "original_max_position_embeddings";
/// Says whether the model was trained after its rotation was scaled.
constexpr std::string_view trainedKey = "finetuned";

const std::vector<RopeRow> &ropeTypes() {
  static const std::vector<std::string_view> longrope = {"short_factor", "long_factor", "factor",
                                                         "attention_factor"};
  static const std::vector<RopeRow> rows = {
      // Tokens of text have three equal positions, so sections of pairs for each take no part.
      {"default", RopeType::Default, {"mrope_section", "mrope_interleaved"}},
      {"mrope", RopeType::Default, {"mrope_section", "mrope_interleaved"}},
      {"linear", RopeType::Linear, {"factor"}},
      {"dynamic", RopeType::Dynamic, {"factor"}},
      // As Hunyuan's files have it, with numbers that take no part.
      {"dynamic",
       RopeType::Alpha,
       {"alpha", "factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"}},
      {"llama3", RopeType::Llama3, {"factor", "low_freq_factor", "high_freq_factor"}},
      {"yarn",
       RopeType::Yarn,
       {"factor", "beta_fast", "beta_slow", "truncate", "attention_factor", "attn_factor", "mscale",
        "mscale_all_dim", "max_position_embeddings", "mrope_section", "mrope_interleaved",
        betaKey}},
      {"longrope", RopeType::LongRope, longrope},
      {"su", RopeType::LongRope, longrope}, // its older name
      {"proportional", RopeType::Proportional, {"factor"}},
  };
  return rows;
}

/// The row of the type that `object` names by `rope_type` or, in older files, `type`. Both may
/// stand there with names of one type: transformers 5 keeps the older name of what it saves again.
Expected<const RopeRow *> ropeRow(const Json &object) {
  const RopeRow *found = nullptr;
  for (std::string_view key : {"rope_type", "type"}) {
    auto member = object.find(key);
    if (!member || member->isNull())
      continue;
    auto name = member->string();
    if (!name)
      return name.error();
    const auto row = std::ranges::find(ropeTypes(), *name, &RopeRow::name);
    if (row == ropeTypes().end())
      return member->error("INGOT-E1052",
                           message("rope type ", inQuotes(*name), " is not supported"),
                           "supported are default, linear, dynamic, llama3, yarn, longrope and "
                           "proportional");
    if (found && found->type != row->type)
      return member->error(
          "INGOT-E1056",
          message("rope_type and type name different types: ", found->name, " and ", row->name),
          "remove one of them");
    if (!found)
      found = &*row;
  }
  return found ? found : &ropeTypes().front();
}

/// Refuses members the type does not take: they would change the model if they were understood.
Outcome checkRopeKeys(const Json &object, const RopeRow &row) {
  for (const std::string &key : object.keys()) {
    if (key == "rope_type" || key == "type" || key == thetaKey || key == rotatedKey ||
        key == originalKey || key == trainedKey || object.find(key)->isNull() ||
        std::find(row.keys.begin(), row.keys.end(), key) != row.keys.end())
      continue;
    if (key == "factor" && object.find(key)->number(1.0, 1.0))
      continue; // says that nothing is scaled
    return object.find(key)->error(
        "INGOT-E1056", message("rope type ", row.name, " does not take ", inQuotes(key)),
        "remove the key, or correct rope_type");
  }
  return {};
}

/// What the places that may give the shared keys give together.
struct SharedKeys {
  std::optional<double> theta, rotated, original;

  Outcome take(const Json &object) {
    JsonFields fields(object);
    auto merge = [&](std::string_view key, std::optional<double> &known, auto read) {
      if (!fields.has(key))
        return;
      double value = read(key);
      if (known && *known != value)
        fields.fail(key, "INGOT-E1056", message(key, " is given twice, with different values"),
                    "remove one of them");
      known = value;
    };
    merge(thetaKey, theta, [&](auto key) { return fields.number(key, 1.0, 1e15); });
    merge(rotatedKey, rotated, [&](auto key) { return fields.number(key, 0.0, 1.0); });
    merge(originalKey, original, [&](auto key) {
      return static_cast<double>(fields.unsignedInteger(key, 1, Rope::mostPositions));
    });
    return fields.error() ? Outcome(*fields.error()) : Outcome();
  }
};

/// The trained length, where the type has one.
void readOriginal(JsonFields &fields, std::optional<double> given, uint64_t maxPositions,
                  std::optional<uint64_t> trained, Rope &rope) {
  if (rope.type == RopeType::Llama3 && !given)
    fields.unsignedInteger(originalKey, 1, Rope::mostPositions); // fails
  rope.originalPositions = given ? static_cast<uint64_t>(*given) : trained.value_or(maxPositions);
  // transformers scales from max_position_embeddings; another length is not what it computes.
  if (rope.type == RopeType::Dynamic && rope.originalPositions != maxPositions)
    fields.fail(originalKey, "INGOT-E1056",
                "differs from max_position_embeddings, from which dynamic scaling starts",
                "make them equal, or remove this key");
}

void readLlama3(JsonFields &fields, Rope &rope) {
  rope.lowFrequencyFactor = fields.number("low_freq_factor", 1e-6, 1e6);
  rope.highFrequencyFactor = fields.number("high_freq_factor", 1e-6, 1e6);
  if (rope.highFrequencyFactor <= rope.lowFrequencyFactor)
    fields.fail("high_freq_factor", "INGOT-E1051", "is not above low_freq_factor",
                "correct the two factors");
}

void readYarn(JsonFields &fields, Rope &rope) {
  rope.fastTurns = fields.numberOr("beta_fast", 32, 1e-6, 1e6);
  rope.slowTurns = fields.numberOr("beta_slow", 1, 1e-6, 1e6);
  rope.wholePairs = fields.booleanOr("truncate", true);
  if (rope.fastTurns < rope.slowTurns)
    fields.fail("beta_fast", "INGOT-E1051", "is below beta_slow", "correct the two");
  auto growth = [&](double scale) { return 0.1 * scale * std::log(rope.factor) + 1; };
  double scale = fields.numberOr("mscale", 0, 0, 1e6),
         allScale = fields.numberOr("mscale_all_dim", 0, 0, 1e6);
  rope.allGrowth = allScale != 0 ? growth(allScale) : 1;
  bool both = scale != 0 && allScale != 0;
  // By YaRN's authors, whom transformers does not follow here, `attn_factor` multiplies what
  // follows from the growth of the context; `attention_factor` replaces it.
  double found = (both ? growth(scale) / growth(allScale) : growth(1)) *
                 fields.numberOr("attn_factor", 1, 1e-6, 1e6);
  rope.attentionFactor = fields.numberOr("attention_factor", found, 1e-6, 1e6);
  if (fields.has("attn_factor") && fields.has("attention_factor") &&
      std::abs(rope.attentionFactor - found) > 1e-6 * found)
    fields.fail("attn_factor", "INGOT-E1056",
                message("with it the factor is ", found, ", but attention_factor is ",
                        rope.attentionFactor),
                "remove one of the two");
}

/// One divisor for each pair.
Expected<std::vector<double>> readDivisors(const Json &object, std::string_view key) {
  constexpr size_t most = 1u << 14;
  auto list = object.at(key);
  if (!list)
    return list.error();
  if (!list->isArray() || list->size() > most)
    return list->wrongType("a list with a number for each pair");
  std::vector<double> divisors;
  for (size_t i = 0; i < list->size(); ++i) {
    auto number = list->element(i).number(1e-6, 1e6);
    if (!number)
      return number.error();
    divisors.push_back(*number);
  }
  return divisors;
}

/// `growth`: the model's positions over the trained ones. Releases of transformers differ in which
/// counts where it is not `factor`.
Outcome readLongRope(const Json &object, JsonFields &fields, std::optional<double> growth,
                     Rope &rope) {
  for (auto [key, divisors] : {std::pair("short_factor", &rope.shortDivisors),
                               std::pair("long_factor", &rope.longDivisors)}) {
    auto read = readDivisors(object, key);
    if (!read)
      return read.error();
    *divisors = *std::move(read);
  }
  double factor = fields.numberOr("factor", growth.value_or(1), 1e-6, 1e6);
  if (growth && std::abs(factor - *growth) > 1e-6 * *growth)
    fields.fail("factor", "INGOT-E1056",
                message("differs from max_position_embeddings / ", originalKey, ", ", *growth),
                "make them equal, or remove this key");
  double trained = std::log(std::max(2.0, static_cast<double>(rope.originalPositions)));
  double scale = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / trained);
  rope.attentionFactor = fields.numberOr("attention_factor", scale, 1e-6, 1e6);
  return {};
}

/// Reads the scaling of `rope_scaling` or `rope_parameters` into `rope`.
Outcome readRopeObject(const Json &object, const SharedKeys &shared, uint64_t maxPositions,
                       const RopeDefaults &absent, Rope &rope) {
  auto row = ropeRow(object);
  if (!row)
    return row.error();
  auto alpha = object.find("alpha");
  if (absent.takesAlpha && (*row)->type == RopeType::Dynamic && alpha && !alpha->isNull())
    row = &*std::ranges::find(ropeTypes(), RopeType::Alpha, &RopeRow::type);
  if (auto checked = checkRopeKeys(object, **row); !checked)
    return checked;
  JsonFields fields(object);
  rope.type = (*row)->type;
  if (rope.type == RopeType::Alpha)
    rope.alpha = fields.number("alpha", 1e-6, 1e9);
  else if (rope.type == RopeType::Proportional)
    rope.factor = fields.numberOr("factor", 1, 1.0, 1e6);
  else if (rope.type != RopeType::Default && rope.type != RopeType::LongRope)
    rope.factor = fields.number("factor", 1.0, 1e6);
  if (rope.type != RopeType::Default && rope.type != RopeType::Linear &&
      rope.type != RopeType::Alpha && rope.type != RopeType::Proportional)
    readOriginal(fields, shared.original, maxPositions, absent.trained, rope);
  if (rope.type == RopeType::Llama3)
    readLlama3(fields, rope);
  if (rope.type == RopeType::Yarn)
    readYarn(fields, rope);
  rope.queryBeta = fields.numberOr(betaKey, 0, 0, 1e6);
  if (rope.queryBeta != 0 && !absent.takesBeta)
    fields.fail(betaKey, "INGOT-E1052", "queries that grow with their position are not supported",
                "use a checkpoint without it");
  if (rope.type == RopeType::LongRope) {
    std::optional<double> growth;
    if (shared.original || absent.trained)
      growth = static_cast<double>(maxPositions) / static_cast<double>(rope.originalPositions);
    if (auto read = readLongRope(object, fields, growth, rope); !read)
      return read;
  }
  if (fields.error())
    return *fields.error();
  return {};
}

constexpr std::array<std::string_view, 2> kinds = {"full_attention", "sliding_attention"};

/// Whether `rope_parameters` has an object for each kind of layer.
bool isByKind(const Json &object) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](std::string_view kind) { return object.find(kind).has_value(); });
}

/// The object of `rope_parameters` for one kind of layer; nothing where there is none.
Expected<std::optional<Json>> parametersOf(const Json &object, std::string_view kind) {
  if (!isByKind(object))
    return std::optional<Json>();
  for (const std::string &key : object.keys())
    if (std::find(kinds.begin(), kinds.end(), key) == kinds.end())
      return object.find(key)->error("INGOT-E1056", message("no kind of layer is ", inQuotes(key)),
                                     "remove the key");
  auto own = object.find(kind);
  if (own && own->isNull())
    return std::optional<Json>();
  if (own && !own->isObject())
    return own->wrongType("an object");
  return own;
}

/// Puts what the shared keys give into `rope`.
Outcome takeShared(const Json &object, const SharedKeys &shared, const RopeDefaults &absent,
                   Rope &rope) {
  rope.theta = shared.theta.value_or(absent.theta);
  rope.rotated = shared.rotated.value_or(absent.rotated);
  if (rope.type == RopeType::Yarn && rope.theta <= 1)
    return object.error("INGOT-E1051", "rope_theta must be above 1 for rope type yarn",
                        "correct rope_theta");
  return {};
}

} // namespace

std::string_view ropeTypeName(RopeType type) {
  return std::ranges::find(ropeTypes(), type, &RopeRow::type)->name;
}

Expected<std::optional<Rope>> Rope::readSliding(const Json &root, uint64_t maxPositions,
                                                const RopeDefaults &absent) {
  auto object = root.find("rope_parameters");
  if (!object)
    return std::optional<Rope>();
  auto own = parametersOf(*object, "sliding_attention");
  if (!own)
    return own.error();
  if (!*own)
    return std::optional<Rope>();
  SharedKeys shared;
  if (auto taken = shared.take(**own); !taken)
    return taken.error();
  Rope rope;
  if (auto read = readRopeObject(**own, shared, maxPositions, {}, rope); !read)
    return read.error();
  if (auto taken = takeShared(**own, shared, absent, rope); !taken)
    return taken.error();
  return std::optional(rope);
}

Expected<Rope> Rope::read(const Json &root, uint64_t maxPositions, const RopeDefaults &absent) {
  SharedKeys shared;
  if (auto taken = shared.take(root); !taken)
    return taken.error();
  std::optional<Rope> rope;
  for (std::string_view key : {"rope_scaling", "rope_parameters"}) {
    auto object = root.find(key);
    if (!object || object->isNull())
      continue;
    if (!object->isObject())
      return object->wrongType("an object");
    auto own = parametersOf(*object, "full_attention");
    if (!own)
      return own.error();
    if (!*own && isByKind(*object))
      continue;
    if (*own)
      object = *own;
    if (auto taken = shared.take(*object); !taken)
      return taken.error();
    Rope found;
    if (auto read = readRopeObject(*object, shared, maxPositions, absent, found); !read)
      return read.error();
    if (rope && *rope != found)
      return object->error("INGOT-E1056", "rope_parameters and rope_scaling disagree",
                           "remove one of them");
    rope = found;
  }
  RopeDefaults defaults = absent;
  Rope result = rope.value_or(Rope{});
  if (!rope && absent.proportional) {
    result.type = RopeType::Proportional;
    defaults.rotated = *absent.proportional;
  }
  if (auto taken = takeShared(root, shared, defaults, result); !taken)
    return taken.error();
  return result;
}

} // namespace ingot::checkpoint
