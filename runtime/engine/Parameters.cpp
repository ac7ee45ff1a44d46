// SPDX-License-Identifier: Apache-2.0
// Expressions are compared node by node: what a kernel states was copied from its launches.
#include "runtime/engine/Parameters.h"

#include "runtime/engine/Verify.h"

#include <cstring>
#include <map>

namespace ingot::runtime {
namespace {

using schema::ArgKind;
using schema::Role;
using Expressions = flatbuffers::Vector<flatbuffers::Offset<schema::Expr>>;

bool areEqual(const schema::Expr *one, const schema::Expr *other) {
  uint32_t nodes = one ? count(one->nodes()) : 0;
  if (nodes != (other ? count(other->nodes()) : 0))
    return false;
  return nodes == 0 || std::memcmp(one->nodes()->Data(), other->nodes()->Data(),
                                   nodes * sizeof(schema::ExprNode)) == 0;
}

bool areEqual(const Expressions *one, const Expressions *other) {
  if (count(one) != count(other))
    return false;
  for (uint32_t i = 0; i < count(one); ++i)
    if (!areEqual(one->Get(i), other->Get(i)))
      return false;
  return true;
}

/// Whether `bytes` of a buffer are all that a kernel takes: equal, or constants and no fewer.
bool suffice(const schema::Expr &bytes, const schema::Expr &taken) {
  auto isConstant = [](const schema::Expr &one) {
    return count(one.nodes()) == 1 && one.nodes()->Get(0)->op() == schema::ExprOp::Const;
  };
  if (isConstant(bytes) && isConstant(taken))
    return bytes.nodes()->Get(0)->value() >= taken.nodes()->Get(0)->value();
  return areEqual(&bytes, &taken);
}

std::string_view textOf(const flatbuffers::String *text) {
  return text ? text->string_view() : std::string_view();
}

Status mismatch(const std::string &where, const std::string &what) {
  return Status::error("INGOT-E5024", where + ": " + what,
                       "get the file again or rebuild the engine");
}

bool areAlike(const schema::Parameter &one, const schema::Parameter &other) {
  return one.kind() == other.kind() && one.role() == other.role() &&
         areEqual(one.bytes(), other.bytes()) && one.block_tokens() == other.block_tokens() &&
         one.window() == other.window() && areEqual(one.value(), other.value()) &&
         textOf(one.input()) == textOf(other.input());
}

bool areAlike(const schema::Use &one, const schema::Use &other) {
  if (count(one.parameters()) != count(other.parameters()) || !areEqual(one.grid(), other.grid()))
    return false;
  for (uint32_t i = 0; i < count(one.parameters()); ++i)
    if (!areAlike(*one.parameters()->Get(i), *other.parameters()->Get(i)))
      return false;
  return true;
}

bool areUsedAlike(const schema::Kernel &one, const schema::Kernel &other) {
  if (count(one.uses()) != count(other.uses()))
    return false;
  for (uint32_t i = 0; i < count(one.uses()); ++i)
    if (!areAlike(*one.uses()->Get(i), *other.uses()->Get(i)))
      return false;
  return true;
}

/// A symbol is the name of its kernel or, in "K.cubin" and "K.ptx", which kernels may share, K. On
/// the host it is of one kernel.
Status verifySymbols(const schema::Target &target, const std::string &where) {
  std::map<std::pair<uint32_t, std::string_view>, const schema::Kernel *> known;
  for (uint32_t i = 0; i < count(target.kernels()); ++i) {
    const schema::Kernel &kernel = *target.kernels()->Get(i);
    if (!kernel.uses())
      continue;
    const schema::Library &library = *target.libraries()->Get(kernel.library());
    bool isHost = library.kind() == schema::LibraryKind::HostSharedObject;
    std::string_view symbol = kernel.symbol()->string_view();
    std::string_view expected = kernel.name()->string_view(), stem = library.name()->string_view();
    for (std::string_view ending : {".cubin", ".ptx"})
      if (!isHost && stem.ends_with(ending))
        expected = stem.substr(0, stem.size() - ending.size());
    auto [other, isFirst] = known.insert({{kernel.library(), symbol}, &kernel});
    if (symbol != expected || (isHost && !isFirst && !areUsedAlike(kernel, *other->second)))
      return mismatch(where + ", kernel '" + kernel.name()->str() + "'",
                      "its symbol '" + std::string(symbol) + "' is not '" + std::string(expected) +
                          "', or is that of another kernel");
  }
  return {};
}

/// What is wrong with a buffer as an argument; null: nothing.
const char *problemOf(const schema::Arg &arg, const schema::Parameter &parameter,
                      const schema::Target &target) {
  const schema::Buffer &buffer = *target.buffers()->Get(arg.buffer());
  if (buffer.role() != parameter.role())
    return "is a buffer of a role that its kernel does not take";
  if (!parameter.bytes() || !suffice(*buffer.bytes(), *parameter.bytes()) ||
      !areEqual(arg.value(), parameter.value()))
    return "is not the bytes that its kernel takes";
  // Inputs of one size may count or name different things, and kernels index by them.
  if (buffer.role() == Role::Input && buffer.name()->string_view() != textOf(parameter.input()))
    return "is not the input that its kernel takes";
  if (parameter.block_tokens() == 0)
    return nullptr;
  if (buffer.group() < 0)
    return "has no KV group";
  const schema::KvGroup &group = *target.kv_groups()->Get(uint32_t(buffer.group()));
  if (group.block_tokens() != parameter.block_tokens() || group.window() != parameter.window())
    return "is of a KV group with other blocks than its kernel takes";
  return nullptr;
}

/// What of a launch by `variant` is not as in `use`; empty: nothing.
std::string problemOf(const schema::Launch &launch, const schema::Variant &variant,
                      const schema::Use &use, const schema::Target &target) {
  uint32_t arguments = count(launch.args());
  if (arguments != count(use.parameters()))
    return "it has " + std::to_string(arguments) + " arguments, not " +
           std::to_string(count(use.parameters()));
  if (!areEqual(variant.grid(), use.grid()))
    return "its grid is another";
  for (uint32_t i = 0; i < arguments; ++i) {
    const schema::Arg &arg = *launch.args()->Get(i);
    const schema::Parameter &parameter = *use.parameters()->Get(i);
    const char *problem = nullptr;
    if (arg.kind() != parameter.kind())
      problem = "is of another kind than its kernel takes";
    else if (arg.kind() == ArgKind::Buffer)
      problem = problemOf(arg, parameter, target);
    else if (arg.kind() == ArgKind::Integer && !areEqual(arg.value(), parameter.value()))
      problem = "is not the number that its kernel takes";
    if (problem)
      return "argument " + std::to_string(i) + " " + problem;
  }
  return "";
}

Status verifyVariant(const schema::Launch &launch, const schema::Variant &variant,
                     const schema::Target &target, const std::string &where) {
  const schema::Kernel &kernel = *target.kernels()->Get(variant.kernel());
  if (!kernel.uses())
    return {};
  std::string problem = "it has none";
  for (uint32_t i = 0; i < count(kernel.uses()); ++i)
    if (problem = problemOf(launch, variant, *kernel.uses()->Get(i), target); problem.empty())
      return {};
  return mismatch(where,
                  "is no use of kernel '" + kernel.name()->str() + "'; of the last, " + problem);
}

} // namespace

Status verifyParameters(const schema::Target &target, const std::string &where) {
  if (Status status = verifySymbols(target, where); !status.ok())
    return status;
  for (uint32_t i = 0; i < count(target.programs()); ++i) {
    const schema::Program &program = *target.programs()->Get(i);
    for (uint32_t j = 0; j < count(program.instructions()); ++j) {
      const schema::Instruction &instruction = *program.instructions()->Get(j);
      const schema::Launch *launch = instruction.operation_as_Launch();
      for (uint32_t k = 0; launch && k < count(launch->variants()); ++k)
        if (Status status = verifyVariant(*launch, *launch->variants()->Get(k), target,
                                          where + ", program '" + program.name()->str() +
                                              "', op '" + instruction.name()->str() + "'");
            !status.ok())
          return status;
    }
  }
  return {};
}

} // namespace ingot::runtime
