// SPDX-License-Identifier: Apache-2.0
// Words and types of the engine dialect and their counterparts in Engine.fbs, in both directions.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include "runtime/schema/Engine_generated.h"

#include <array>
#include <optional>

namespace ingot::engine {
class KernelOp;
} // namespace ingot::engine

namespace ingot::compiler {

/// The dialect's words for an enum of the schema, in the enum's order.
template <class Enum> struct Words;
template <> struct Words<schema::DimSource> {
  static constexpr std::array<llvm::StringLiteral, 3> list = {"step", "load", "device"};
};
template <> struct Words<schema::Role> {
  static constexpr std::array<llvm::StringLiteral, 7> list = {"input", "output", "weight", "arena",
                                                              "kv",    "state",  "slot"};
};
template <> struct Words<schema::KvKind> {
  static constexpr std::array<llvm::StringLiteral, 4> list = {"global", "sliding", "latent",
                                                              "recurrent"};
};
template <> struct Words<schema::LibraryKind> {
  static constexpr std::array<llvm::StringLiteral, 3> list = {"host_shared_object", "cubin", "ptx"};
};
template <> struct Words<schema::CollectiveKind> {
  static constexpr std::array<llvm::StringLiteral, 7> list = {
      "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send", "receive"};
};

/// The enumerator that `word` stands for; the verifiers let only known words pass.
template <class Enum> Enum enumOf(llvm::StringRef word) {
  static_assert(Words<Enum>::list.size() == size_t(Enum::MAX) + 1);
  const auto *found = llvm::find(Words<Enum>::list, word);
  assert(found != Words<Enum>::list.end() && "the verifier accepts only these words");
  return Enum(found - Words<Enum>::list.begin());
}

/// The word for `value`; nothing for a value outside the enum.
template <class Enum> std::optional<llvm::StringRef> wordOf(Enum value) {
  if (size_t(value) >= Words<Enum>::list.size())
    return std::nullopt;
  return Words<Enum>::list[size_t(value)];
}

/// The schema's name for a storable element type (engine::elementBits is not 0).
schema::DType dtypeOf(mlir::Type element);

/// The element type that `dtype` stands for; null for a value outside the enum.
mlir::Type elementOf(mlir::MLIRContext *context, schema::DType dtype);

/// The digits of a layout without its mnemonic, "[0, 1, 64], [1, 1, 256]"; "" for none.
std::string layoutText(mlir::Attribute layout);

/// The text of a kernel's epilogue region, braces included; "" for none.
std::string epilogueText(engine::KernelOp kernel);

/// What stands before `epilogueText` to make it a kernel that can be parsed.
inline constexpr llvm::StringLiteral epiloguePrefix = "engine.kernel @k from \"k\" epilogue ";

} // namespace ingot::compiler
