// SPDX-License-Identifier: Apache-2.0
// Runs prompts greedily on the reference and records the tokens and the distances of the two best
// logits.
#include "compiler/build/GoldenTokens.h"

#include "compiler/build/PreviewEngine.h"
#include "ingot/ingot.hpp"

#include "llvm/ADT/ScopeExit.h"
#include <cmath>

using namespace ingot;
using namespace ingot::compiler;

/// The reference is slow, and a build's memory must not depend on the size of the model.
static constexpr uint64_t kWeights = uint64_t{32} << 20;
/// What building and running needs beside the weights: the smallest cap that builds accept is less.
static constexpr uint64_t kMemory = uint64_t{192} << 20;

static constexpr const char *kPrompts[] = {"Once upon a time", "The capital of France is",
                                           "1, 2, 3,"};
static constexpr int64_t kTokens = 16;
static constexpr int64_t kContext = 128;
static constexpr float kMarginStep = 1.0f / 16;

/// What two correct engines may differ by in a logit. Where a sum is rounded to a narrow type, its
/// last bit in f32 decides now and then which of two neighbours it becomes.
static float allowance(const recipe::Recipe &recipe) {
  using namespace recipe;
  const Activations &activations = recipe.activations;
  bool eightBits =
      isNarrow(activations.compute) || isNarrow(recipe.kvCache) || isNarrow(recipe.attention);
  bool sixteenBits =
      llvm::any_of(std::array{activations.compute, activations.store, recipe.kvCache},
                   [](NumberFormat format) { return format != NumberFormat::F32; });
  return eightBits ? 4 * kMarginStep : sixteenBits ? kMarginStep : 0;
}

/// `most`: tokens of the prompt, so that an answer has room in a short context.
static GoldenCase runPrompt(Engine &engine, const char *prompt, size_t most, float allowed) {
  GoldenCase golden;
  golden.prompt = engine.tokenize(prompt);
  golden.prompt.resize(std::min(golden.prompt.size(), most));
  Request request;
  request.tokens = golden.prompt.data();
  request.token_count = golden.prompt.size();
  request.sampling.max_tokens = kTokens;
  request.sampling.logprobs = 2;
  engine.submit(request);
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<Event> event = engine.nextEvent()) {
      if (event->finish == INGOT_FINISH_FAILED)
        throw event->error();
      golden.tokens.push_back(event->token);
      // The normaliser cancels: differences of log probabilities are differences of logits.
      float margin = event->top.size() < 2 ? 0 : event->top[0].logprob - event->top[1].logprob;
      float steps = std::floor(std::max(0.0f, margin - allowed) / kMarginStep);
      golden.margins.push_back(steps * kMarginStep);
    }
  }
  return golden;
}

static checkpoint::Expected<std::vector<GoldenCase>>
runPrompts(const std::filesystem::path &path, const EngineLimits &limits, float allowed) {
  try {
    Options options;
    options.max_sequences = 1;
    options.max_logit_rows = 1;
    options.max_batch_tokens = std::min(kTokens, limits.maxTokens);
    options.max_context = std::min(kContext, limits.maxContext);
    Engine engine(path.string(), options);
    std::vector<GoldenCase> cases;
    for (const char *prompt : kPrompts)
      cases.push_back(runPrompt(engine, prompt, size_t(options.max_context + 1) / 2, allowed));
    return cases;
  } catch (const ingot::Error &error) {
    return errorOfRuntime(error.code(), error.what(), "golden tokens");
  }
}

/// Why the reference target is not asked.
static GoldenTokens tooSlow() {
  return {{},
          "the reference target is too slow for a model of more than " + readableBytes(kWeights)};
}

/// What the weights take up at least, whatever the recipe: their stored bytes, or 4 bits each.
static uint64_t leastBytes(const checkpoint::Checkpoint &model) {
  uint64_t bytes = 0;
  for (const checkpoint::Tensor &tensor : model.tensors()) {
    uint64_t halves = 1;
    for (uint64_t size : tensor.shape)
      halves *= size;
    bytes += std::min(tensor.bytes, halves / 2);
  }
  return bytes;
}

checkpoint::Expected<GoldenTokens>
compiler::makeGoldenTokens(mlir::MLIRContext &context, BuildRequest &request,
                           const checkpoint::TokenizerSpec &tokenizer, const BuildOptions &options,
                           const EngineDescription &description) {
  if (options.randomWeights)
    return GoldenTokens{{}, "the weights are random"};
  // Known before anything is compiled for it.
  if (leastBytes(request.checkpoint) > kWeights)
    return tooSlow();
  std::string error;
  auto reference = codegen::findTarget(&context, "reference", error);
  if (failed(reference))
    return checkpoint::Error{"INGOT-E3001", error, "golden tokens", ""};
  auto targets = std::exchange(request.targets, {*reference});
  llvm::scope_exit restore([&] { request.targets = std::move(targets); });
  auto planned = planPreview(context, request, options);
  if (!planned)
    return planned.error();
  const uint64_t weights = planned->streamer.totalBytes();
  if (weights > kWeights)
    return tooSlow();
  if (kMemory + weights > options.maxBuildMemory)
    return GoldenTokens{
        {}, "running the model needs --max-build-memory " + readableBytes(kMemory + weights)};
  auto preview =
      makePreview(context, request, std::move(*planned), tokenizer, options, description);
  if (!preview)
    return preview.error();
  auto cases = runPrompts(preview->path, request.limits, allowance(request.recipe));
  if (!cases)
    return cases.error();
  return GoldenTokens{std::move(*cases), "by the reference target"};
}
