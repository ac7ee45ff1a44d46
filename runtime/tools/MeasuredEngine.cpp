// SPDX-License-Identifier: Apache-2.0
// Makes sequences whose positions count as computed.
#include "runtime/tools/MeasuredEngine.h"

#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"

#include <algorithm>

namespace ingot::runtime {

int64_t MeasuredShape::visiblePositions() const {
  // The last token of a sequence sees all of it, the one before a position less.
  int64_t each = tokens / sequences;
  return sequences * (each * context - each * (each - 1) / 2);
}

Result<std::unique_ptr<MeasuredEngine>> MeasuredEngine::over(Executor &executor) {
  std::unique_ptr<MeasuredEngine> engine(new MeasuredEngine());
  engine->loaded = &executor;
  // Programs are bound at the largest step, as after loading: inputs must have room for it.
  const MemoryPlan &plan = executor.plan();
  const DimSize largest[] = {{schema::dim::tokens, plan.maxTokens},
                             {schema::dim::sequences, plan.maxSequences},
                             {schema::dim::logitRows, plan.maxLogitRows}};
  if (Status status = executor.beginStep(largest); !status.ok())
    return status;
  Result<StepProgram> step = StepProgram::bind(executor);
  if (!step.ok())
    return std::move(step).status();
  engine->step = std::move(*step);
  engine->indices = {engine->step->index()};
  Result<SampleProgram> sample =
      SampleProgram::bind(executor, uint32_t(engine->step->vocabulary()));
  if (sample.ok()) {
    engine->sample = std::move(*sample);
    engine->indices.push_back(*executor.findProgram(schema::program::sample));
  }
  engine->cache.emplace(executor.plan().groups);
  return engine;
}

Result<std::unique_ptr<MeasuredEngine>> MeasuredEngine::open(const std::string &path,
                                                             const SessionOptions &options) {
  Result<std::shared_ptr<const EngineFile>> file =
      EngineFile::open(path, VerifyOptions{options.verifyWeights});
  if (!file.ok())
    return std::move(file).status();
  Result<std::unique_ptr<Executor>> executor = Session::load(std::move(*file), options);
  if (!executor.ok())
    return std::move(executor).status();
  Result<std::unique_ptr<MeasuredEngine>> engine = over(**executor);
  if (engine.ok())
    (*engine)->owned = std::move(*executor);
  return engine;
}

Status MeasuredEngine::reserve(const MeasuredShape &shape) {
  for (const std::unique_ptr<Sequence> &old : sequences)
    cache->release(*old);
  sequences.clear();
  uint32_t vocabulary = uint32_t(step->vocabulary());
  for (int64_t i = 0; i < shape.sequences; ++i) {
    auto sequence = std::make_unique<Sequence>();
    for (int64_t j = 0; j < shape.context; ++j)
      sequence->tokens.push_back(int32_t((uint64_t(j) * 7919 + uint64_t(i) * 104729) % vocabulary));
    sequence->computed = shape.context - shape.tokens / shape.sequences;
    sequence->promptTokens = shape.context;
    sequence->sampling.temperature = 0;
    sequence->slot = i;
    cache->prepare(shape.context, *sequence);
    if (!cache->extend(*sequence, sequence->pending()))
      return Status::error("INGOT-E6022",
                           std::to_string(shape.sequences) + " sequences of " +
                               std::to_string(shape.context) + " positions do not fit the KV cache",
                           "choose a smaller --context or fewer --tokens, or give more --memory");
    sequences.push_back(std::move(sequence));
  }
  return {};
}

Result<MeasuredShape> MeasuredEngine::prepare(int64_t tokens, int64_t context) {
  const MemoryPlan &plan = loaded->plan();
  bool decodes = tokens <= std::min(plan.maxSequences, plan.maxLogitRows);
  MeasuredShape shape;
  shape.tokens = tokens;
  shape.sequences = shape.logitRows = decodes ? tokens : 1;
  shape.context = std::max(context, tokens / shape.sequences);
  if (tokens > plan.maxTokens || shape.context > plan.maxContext)
    return Status::error("INGOT-E6022",
                         "a step of " + std::to_string(tokens) + " tokens at context " +
                             std::to_string(shape.context) + " is outside the limits of " +
                             std::to_string(plan.maxTokens) + " tokens and " +
                             std::to_string(plan.maxContext) + " positions",
                         "choose a smaller --context or fewer --tokens");
  if (Status status = reserve(shape); !status.ok())
    return status;
  std::vector<BatchEntry> batch;
  std::vector<SampleRow> rows;
  for (const std::unique_ptr<Sequence> &sequence : sequences) {
    batch.push_back({sequence.get(), sequence->pending(), 1});
    rows.push_back({sequence.get(), int64_t(sequence->tokens.size())});
  }
  if (Status status = step->prepare(batch, *cache); !status.ok())
    return status;
  step->run();
  if (!sample) {
    // Reading waits for the step, and tells whether it failed.
    float logit = 0;
    if (Status status = loaded->read(step->logits(), &logit, sizeof logit); !status.ok())
      return status;
    return shape;
  }
  for (const SampleRow &row : rows)
    sample->admit(*row.sequence);
  if (Status status = sample->finish(sample->start(rows)); !status.ok())
    return status;
  return shape;
}

void MeasuredEngine::run() {
  for (uint32_t program : indices)
    loaded->run(program);
}

} // namespace ingot::runtime
