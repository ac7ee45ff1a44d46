// SPDX-License-Identifier: Apache-2.0
// Sums over the arguments of an instruction.
#include "runtime/tools/KernelWork.h"

#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

namespace ingot::runtime {

using schema::Role;

namespace {

const schema::Instruction &instructionOf(const Executor &executor, const TimedInstruction &timed) {
  return *executor.target().programs()->Get(timed.program)->instructions()->Get(timed.instruction);
}

double bytesOf(const Executor &executor, const schema::Kernel &kernel, uint32_t index,
               const MeasuredShape &shape) {
  const schema::Buffer &buffer = *executor.target().buffers()->Get(index);
  switch (buffer.role()) {
  case Role::Weight: { // counted by row where the kernel reads some rows
    if (!factTextOf(kernel, "weight_bytes_per_row").empty())
      return 0;
    auto bytes = double(executor.file().weight(uint32_t(buffer.weight())).size());
    double experts = factOf(kernel, "experts");
    if (experts == 0)
      return bytes;
    // Rows may all go to different experts as long as there are some.
    double reached = double(rowsOf(kernel, shape)) * factOf(kernel, "experts_per_row");
    return bytes * std::min(reached, experts) / experts;
  }
  case Role::Kv: {
    int64_t block = executor.target().kv_groups()->Get(uint32_t(buffer.group()))->block_tokens();
    bool reads = factOf(kernel, "operations_per_position") > 0;
    int64_t positions = reads ? shape.sequences * shape.context : shape.tokens;
    return double(executor.bufferBytes(index)) * double(positions) / double(block);
  }
  case Role::State:
    return 0;
  default:
    return buffer.zeroed() ? 0 : double(executor.bufferBytes(index));
  }
}

} // namespace

std::string_view factTextOf(const schema::Kernel &kernel, std::string_view key) {
  for (uint32_t i = 0; i < count(kernel.facts()); ++i)
    if (const schema::Fact &fact = *kernel.facts()->Get(i); fact.key()->string_view() == key)
      return fact.value() ? fact.value()->string_view() : std::string_view();
  return {};
}

double factOf(const schema::Kernel &kernel, std::string_view key) {
  std::string_view text = factTextOf(kernel, key);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? double(value) : 0;
}

int64_t rowsOf(const schema::Kernel &kernel, const MeasuredShape &shape) {
  std::string_view dim = factTextOf(kernel, "row_dim");
  return dim == schema::dim::tokens      ? shape.tokens
         : dim == schema::dim::sequences ? shape.sequences
         : dim == schema::dim::logitRows ? shape.logitRows
                                         : 0;
}

double predictedSeconds(const schema::Kernel &kernel, int64_t tokens) {
  constexpr double micro = 1e-6;
  std::istringstream facts{std::string(factTextOf(kernel, "predicted_us"))};
  std::string wanted = std::to_string(tokens) + ":";
  for (std::string fact; facts >> fact;)
    if (fact.starts_with(wanted))
      return std::strtod(fact.c_str() + wanted.size(), nullptr) * micro;
  return 0;
}

KernelWork workOf(const Executor &executor, const TimedInstruction &timed,
                  const MeasuredShape &shape) {
  KernelWork work;
  const schema::Instruction &instruction = instructionOf(executor, timed);
  if (!timed.variant) {
    // Read once and written once.
    work.bytes = 2 * double(executor.bytesOf(*instruction.operation_as_Copy()));
    return work;
  }
  const schema::Kernel &kernel = *executor.target().kernels()->Get(timed.variant->kernel());
  std::vector<uint32_t> seen;
  for (const schema::Arg *arg : *instruction.operation_as_Launch()->args()) {
    if (arg->kind() != schema::ArgKind::Buffer ||
        std::find(seen.begin(), seen.end(), arg->buffer()) != seen.end())
      continue;
    seen.push_back(arg->buffer());
    work.bytes += bytesOf(executor, kernel, arg->buffer(), shape);
  }
  double rows = double(rowsOf(kernel, shape));
  work.bytes += rows * factOf(kernel, "weight_bytes_per_row");
  work.operations = rows * factOf(kernel, "operations_per_row") +
                    double(shape.visiblePositions()) * factOf(kernel, "operations_per_position");
  constexpr double tera = 1e12;
  work.peak = factOf(kernel, "peak_teraflops") * tera;
  return work;
}

std::vector<uint64_t> signatureOf(const Executor &executor, const TimedInstruction &timed) {
  const schema::Instruction &instruction = instructionOf(executor, timed);
  if (!timed.variant)
    return {timed.program, UINT64_MAX, executor.bytesOf(*instruction.operation_as_Copy())};
  std::vector<uint64_t> signature = {timed.program, timed.variant->kernel()};
  for (const schema::Arg *arg : *instruction.operation_as_Launch()->args()) {
    if (arg->kind() != schema::ArgKind::Buffer)
      continue;
    const schema::Buffer &buffer = *executor.target().buffers()->Get(arg->buffer());
    signature.push_back(uint64_t(buffer.role()));
    signature.push_back(buffer.role() == Role::Weight
                            ? executor.file().weight(uint32_t(buffer.weight())).size()
                            : executor.bufferBytes(arg->buffer()));
  }
  return signature;
}

} // namespace ingot::runtime
