// SPDX-License-Identifier: Apache-2.0
// GGUF files of small models, with metadata that a test changes.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"

#include <algorithm>
#include <functional>

namespace ingot::test {

/// The metadata of a small model of `architecture`, but for keys in `without`.
inline GgufWriter metadataOf(std::string_view architecture,
                             std::initializer_list<std::string_view> without = {}) {
  GgufWriter writer;
  auto key = [&](std::string_view name, auto value) {
    if (std::find(without.begin(), without.end(), name) == without.end())
      writer.key(checkpoint::message(architecture, ".", name),
                 std::is_same_v<decltype(value), float> ? 6 : 4, GgufWriter::number(value));
  };
  writer.string("general.architecture", architecture);
  key("context_length", 64u);
  key("embedding_length", 8u);
  key("block_count", 2u);
  key("feed_forward_length", 12u);
  key("vocab_size", 4u);
  key("attention.head_count", 2u);
  key("attention.head_count_kv", 1u);
  key("attention.layer_norm_rms_epsilon", 1e-5f);
  return writer;
}

inline checkpoint::Expected<checkpoint::Checkpoint> open(const GgufWriter &writer) {
  TemporaryDirectory directory;
  return checkpoint::Checkpoint::open(directory.write("m.gguf", writer.str()));
}

/// A model of `architecture` to whose metadata `add` adds.
inline checkpoint::Expected<checkpoint::Checkpoint>
openWith(const std::function<void(GgufWriter &)> &add, std::string_view architecture = "llama",
         std::initializer_list<std::string_view> without = {}) {
  GgufWriter writer = metadataOf(architecture, without);
  add(writer);
  return open(writer);
}

/// Adds a list of flags, as converters write it.
inline GgufWriter &addFlags(GgufWriter &writer, std::string_view key,
                            const std::vector<bool> &values) {
  std::string elements;
  for (bool value : values)
    elements.push_back(value ? '\1' : '\0');
  return writer.key(key, 9, GgufWriter::array(7, values.size(), elements));
}

} // namespace ingot::test
