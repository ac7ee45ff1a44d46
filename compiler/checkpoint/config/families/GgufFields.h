// SPDX-License-Identifier: Apache-2.0
// GgufFields: the members of a GGUF file's metadata that belong to its architecture.
#pragma once

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/files/Tensor.h"

#include <algorithm>
#include <charconv>
#include <span>

namespace ingot::checkpoint {

/// Tensors that are no weights: what the frequency of each rotary pair is divided by, always, and
/// for sequences up to and beyond the trained length.
inline constexpr std::string_view kDivisors = "rope_freqs.weight",
                                  kShortDivisors = "rope_factors_short.weight",
                                  kLongDivisors = "rope_factors_long.weight";

/// JsonFields, with names that stand behind "ARCHITECTURE.".
class GgufFields {
public:
  /// All must outlive this; `fields` reads `metadata`.
  GgufFields(JsonFields &fields, const Json &metadata, std::string_view architecture,
             std::span<const Tensor> tensors)
      : fields(fields), metadata(metadata), prefix(message(architecture, ".")), tensors(tensors) {}

  std::string key(std::string_view name) const { return prefix + std::string(name); }
  bool has(std::string_view name) const { return fields.has(key(name)); }
  bool isNull(std::string_view name) const { return fields.isNull(key(name)); }
  uint64_t unsignedInteger(std::string_view name, uint64_t least, uint64_t most) {
    return fields.unsignedInteger(key(name), least, most);
  }
  uint64_t unsignedIntegerOr(std::string_view name, uint64_t fallback, uint64_t least,
                             uint64_t most) {
    return fields.unsignedIntegerOr(key(name), fallback, least, most);
  }
  std::optional<std::vector<uint64_t>> unsignedIntegers(std::string_view name, uint64_t least,
                                                        uint64_t most) {
    return fields.unsignedIntegers(key(name), least, most);
  }
  /// Of a key without the architecture's name: one number for all layers, or one for each.
  std::vector<double> ofLayers(std::string_view whole, uint64_t layers, double least, double most) {
    std::vector<double> values = fields.numbers(whole, least, most).value_or(std::vector<double>{});
    if (values.size() == 1)
      values.resize(layers, values.front());
    if (values.size() != layers)
      fields.fail(whole, "INGOT-E1114",
                  message("this is no number for each of ", layers, " layers"),
                  "convert the model again");
    values.resize(layers);
    return values;
  }
  /// Of a key that must be given: one integer for all layers, or a list of one for each, and maybe
  /// for each of `drafts` more, which only draft.
  std::vector<uint64_t> countsOfLayers(std::string_view name, uint64_t layers, uint64_t least,
                                       uint64_t most, uint64_t drafts = 0) {
    const auto member = metadata.find(key(name));
    if (!member || !member->isArray())
      return std::vector<uint64_t>(layers, unsignedInteger(name, least, most));
    std::vector<uint64_t> values =
        unsignedIntegers(name, least, most).value_or(std::vector<uint64_t>{});
    if (values.size() != layers && values.size() != layers + drafts)
      fail(name, message("a list of ", values.size(), " numbers for ", layers, " layers"),
           "convert the model again");
    values.resize(layers, least);
    return values;
  }
  /// Of a key that must be given: a flag for each layer. More may follow, of layers that only
  /// draft.
  std::vector<bool> flagsOfLayers(std::string_view name, uint64_t layers) {
    fields.has(key(name));
    const auto member = metadata.at(key(name));
    std::vector<bool> flags;
    for (size_t i = 0; member && member->isArray() && i < member->size(); ++i)
      if (const auto flag = member->element(i).boolean())
        flags.push_back(*flag);
    if (!member)
      fail(name, member.error().what, member.error().fix, member.error().code);
    else if (flags.size() < layers || flags.size() != member->size())
      fail(name, message("this is no list of a flag for each of ", layers, " layers"),
           "convert the model again");
    flags.resize(layers);
    return flags;
  }
  double number(std::string_view name, double least, double most) {
    return fields.number(key(name), least, most);
  }
  double numberOr(std::string_view name, double fallback, double least, double most) {
    return fields.numberOr(key(name), fallback, least, most);
  }
  bool booleanOr(std::string_view name, bool fallback) {
    return fields.booleanOr(key(name), fallback);
  }
  std::string stringOr(std::string_view name, std::string fallback) {
    return fields.stringOr(key(name), std::move(fallback));
  }
  void fail(std::string_view name, std::string what, std::string fix,
            std::string code = "INGOT-E1114") {
    fields.fail(key(name), std::move(code), std::move(what), std::move(fix));
  }

  /// Whether the name of a key was asked for so far.
  bool isAsked(std::string_view name) const { return fields.asked().contains(key(name)); }
  bool hasFailed() const { return fields.error().has_value(); }

  bool hasTensor(std::string_view name) const {
    return std::ranges::any_of(tensors, [&](const Tensor &tensor) { return tensor.name == name; });
  }
  /// Of each of `layers` layers whether it has the tensor `name` ("attn_q.bias").
  std::vector<bool> layersWith(std::string_view name, uint64_t layers) const {
    constexpr std::string_view prefix = "blk.";
    std::vector<bool> with(layers);
    for (const Tensor &tensor : tensors) {
      std::string_view rest = tensor.name;
      if (!rest.starts_with(prefix))
        continue;
      rest.remove_prefix(prefix.size());
      uint64_t layer = layers;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
      if (error == std::errc() && layer < layers && rest.starts_with('.') && rest.substr(1) == name)
        with[layer] = true;
    }
    return with;
  }
  bool hasInLayers(std::string_view name, uint64_t layers) const {
    return std::ranges::count(layersWith(name, layers), true) != 0;
  }

private:
  JsonFields &fields;
  const Json &metadata;
  std::string prefix;
  std::span<const Tensor> tensors;
};

} // namespace ingot::checkpoint
