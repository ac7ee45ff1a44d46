// SPDX-License-Identifier: Apache-2.0
// Runs prompts greedily on an engine that has the weights of the one that is made, or is it, and
// records the tokens and the distances of the two best logits.
#include "compiler/build/GoldenTokens.h"

#include "compiler/build/DiagnosticCollector.h"
#include "compiler/build/PageLimit.h"
#include "compiler/build/PreviewEngine.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/engine_file/EngineWriter.h"
#include "ingot/ingot.hpp"

#include "llvm/ADT/ScopeExit.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace ingot;
using namespace ingot::compiler;

/// What sizes are told in here: bytes of weights at 4 bits each, so that no recipe changes them.
static constexpr uint64_t kMebi = uint64_t{1} << 20;

/// A target that makes golden tokens.
struct Maker {
  llvm::StringLiteral name;
  uint64_t most;    ///< of weights
  uint64_t traffic; ///< of weights that generating may read; each token reads all of them
};
/// The oracle takes some nanoseconds for a weight. Beyond what it does in seconds: the least level
/// with fast kernels, which has the same bits on every CPU.
static constexpr Maker kMakers[] = {{"reference", 128 * kMebi, 512 * kMebi},
                                    {"x86-64-v3", UINT64_MAX, 4096 * kMebi}};

/// What running needs beside the weights: the smallest cap that builds accept is less.
static constexpr uint64_t kMemory = 192 * kMebi;
/// A cap under which pages of weights may come and go.
static constexpr uint64_t kPagedMemory = 512 * kMebi;

static constexpr const char *kPrompts[] = {"Once upon a time", "The capital of France is",
                                           "1, 2, 3,"};
static constexpr int64_t kTokens = 16, kLeastTokens = 4;
static constexpr int64_t kContext = 128;
static constexpr float kMarginStep = 1.0f / 16;
static constexpr float kAllowedLayers = 5; ///< that one such step, or four of them, are for

/// What two correct engines may differ by in a logit. Where a sum is rounded to a narrow type, its
/// last bit in f32 decides now and then which of two neighbours it becomes; layers add that up.
static float allowance(const recipe::Recipe &recipe, uint64_t layers) {
  using namespace recipe;
  const Activations &activations = recipe.activations;
  bool eightBits =
      isNarrow(activations.compute) || isNarrow(recipe.kvCache) || isNarrow(recipe.attention);
  bool sixteenBits =
      llvm::any_of(std::array{activations.compute, activations.store, recipe.kvCache},
                   [](NumberFormat format) { return format != NumberFormat::F32; });
  const float narrow = eightBits ? 4 * kMarginStep : sixteenBits ? kMarginStep : 0;
  return narrow * std::max(1.0f, static_cast<float>(layers) / kAllowedLayers);
}

/// Runs all prompts at once. `most`: tokens of a prompt, so that an answer has room in a short
/// context.
static std::vector<GoldenCase> runPrompts(Engine &engine, size_t most, int64_t tokens,
                                          float allowed, Progress &progress) {
  uint64_t done = 0;
  std::vector<GoldenCase> cases;
  llvm::DenseMap<uint64_t, size_t> caseOf;
  for (const char *prompt : kPrompts) {
    GoldenCase &golden = cases.emplace_back();
    golden.prompt = engine.tokenize(prompt);
    golden.prompt.resize(std::min(golden.prompt.size(), most));
    Request request;
    request.tokens = golden.prompt.data();
    request.token_count = golden.prompt.size();
    request.sampling.max_tokens = tokens;
    request.sampling.logprobs = 2;
    caseOf[engine.submit(request)] = cases.size() - 1;
  }
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<Event> event = engine.nextEvent()) {
      if (event->finish == INGOT_FINISH_FAILED)
        throw event->error();
      GoldenCase &golden = cases[caseOf.at(event->request)];
      golden.tokens.push_back(event->token);
      progress.update(++done, std::size(kPrompts) * static_cast<uint64_t>(tokens));
      // The normaliser cancels: differences of log probabilities are differences of logits.
      float margin = event->top.size() < 2 ? 0 : event->top[0].logprob - event->top[1].logprob;
      float steps = std::floor(std::max(0.0f, margin - allowed) / kMarginStep);
      golden.margins.push_back(steps * kMarginStep);
    }
  }
  return cases;
}

/// `path`: an engine that has `golden`'s target.
static checkpoint::Expected<std::vector<GoldenCase>>
runEngine(const std::filesystem::path &path, const GoldenMaker &golden, const BuildRequest &request,
          const BuildOptions &build, Progress &progress) {
  const std::string target = golden.target.second.getName().str();
  const EngineLimits &limits = request.limits;
  const auto count = static_cast<int64_t>(std::size(kPrompts));
  try {
    Options options;
    options.target = target.c_str();
    options.threads = build.threads;
    options.max_sequences = std::min(count, limits.maxSequences);
    options.max_logit_rows = std::min(count, limits.maxLogitRows);
    options.max_batch_tokens = std::min(kTokens, limits.maxTokens);
    options.max_context = std::min(kContext, limits.maxContext);
    Engine engine(path.string(), options);
    const uint64_t cap = build.maxBuildMemory;
    PageLimit pages(path, cap - std::min(cap / 8, uint64_t{128} << 20));
    return runPrompts(engine, size_t(options.max_context + 1) / 2, golden.tokens,
                      allowance(request.recipe, request.checkpoint.config().layerCount()),
                      progress);
  } catch (const ingot::Error &error) {
    return errorOfRuntime(error.code(), error.what(), "golden tokens");
  }
}

/// Of the tensors that the engine is built with.
struct Sizes {
  uint64_t packed = 0; ///< at 4 bits an element
  uint64_t stored = 0;
};

static Sizes sizesOf(const BuildRequest &request) {
  Sizes sizes;
  const std::set<std::string> unread(request.unreadTensors.begin(), request.unreadTensors.end());
  for (const checkpoint::Tensor &tensor : request.checkpoint.tensors()) {
    if (unread.contains(tensor.name))
      continue;
    uint64_t elements = 1;
    for (uint64_t size : tensor.shape)
      elements *= size;
    // Words of packed integers hold several weights.
    const bool isPacked =
        tensor.dtype == checkpoint::DType::I32 || tensor.dtype == checkpoint::DType::U8;
    sizes.packed += isPacked ? tensor.bytes : elements / 2;
    sizes.stored += tensor.bytes;
  }
  return sizes;
}

/// Whether this machine has every feature of the target.
static bool runsHere(mlir::MLIRContext &context, engine::TargetAttr target) {
  std::string error;
  auto native = codegen::findTarget(&context, codegen::kNativeTarget, error);
  return succeeded(native) && native->second.getArch() == target.getArch() &&
         llvm::all_of(target.getFeatures(), [&](mlir::StringAttr feature) {
           return llvm::is_contained(native->second.getFeatures(), feature);
         });
}

/// Calls `work` with the maker in place of the request's targets, and without what tunes those.
template <class Work>
static auto withMaker(BuildRequest &request, const GoldenMaker &golden, const Work &work) {
  KernelTuning plain;
  plain.determinism = request.tuning.determinism;
  auto targets = std::exchange(request.targets, {golden.target});
  auto tuning = std::exchange(request.tuning, std::move(plain));
  llvm::scope_exit restore([&] {
    request.targets = std::move(targets);
    request.tuning = std::move(tuning);
  });
  return work();
}

/// Runs the stages of the maker; those of a target of the engine have run.
static checkpoint::Expected<GoldenMaker> planMaker(mlir::MLIRContext &context,
                                                   BuildRequest &request,
                                                   const BuildOptions &options, const Maker &maker,
                                                   uint64_t weights) {
  std::string error;
  auto target = codegen::findTarget(&context, maker.name, error);
  if (failed(target))
    return checkpoint::Error{"INGOT-E3001", error, "golden tokens", ""};
  GoldenMaker golden{*target, {}, 0, ""};
  if (!runsHere(context, target->second)) {
    golden.reason = "this machine does not run " + maker.name.str() +
                    ", which makes those of models of this size";
    return golden;
  }
  if (!llvm::is_contained(llvm::make_second_range(request.targets), target->second)) {
    auto planned =
        withMaker(request, golden, [&] { return planPreview(context, request, options); });
    if (!planned)
      return planned.error();
    golden.planned = std::move(planned->targets.front());
  }
  golden.tokens = std::clamp(static_cast<int64_t>(maker.traffic / std::max<uint64_t>(weights, 1)),
                             kLeastTokens, kTokens);
  return golden;
}

checkpoint::Expected<GoldenMaker> compiler::chooseGoldenMaker(mlir::MLIRContext &context,
                                                              BuildRequest &request,
                                                              const BuildOptions &options) {
  auto nobody = [](std::string reason) { return GoldenMaker{{}, {}, 0, std::move(reason)}; };
  if (options.noGoldenTokens)
    return nobody("--no-golden-tokens");
  if (options.randomWeights)
    return nobody("the weights are random");
  const Sizes sizes = sizesOf(request);
  const uint64_t needed = std::min(kMemory + sizes.stored, kPagedMemory);
  if (options.maxBuildMemory < needed)
    return nobody("running the model needs --max-build-memory " + readableBytes(needed));
  const auto *maker =
      llvm::find_if(kMakers, [&](const Maker &one) { return sizes.packed <= one.most; });
  return planMaker(context, request, options, *maker, sizes.packed);
}

/// The engine of the maker alone, in the file of the engine that is made.
static checkpoint::Expected<std::filesystem::path>
previewMaker(mlir::MLIRContext &context, BuildRequest &request, const GoldenMaker &golden,
             llvm::MutableArrayRef<CompiledTarget> maker, Assembly &assembly,
             const WeightStreamer &streamer, const BuildOptions &options,
             const EngineDescription &description) {
  Progress silent(ProgressStyle::Silent);
  auto compiled = withMaker(
      request, golden, [&] { return compileKernels(context, request, maker, options, silent); });
  if (!compiled)
    return compiled.error();
  if (auto written = writeLibraries(assembly.file, maker.front()); !written)
    return written.error();
  const auto function = static_cast<uint32_t>(request.targets.size());
  std::vector<WeightPlacement> placements;
  auto ir = mergeTargets(context, maker, streamer, function, assembly.weights, placements);
  DiagnosticCollector diagnostics(context);
  auto metadata = writeEngineMetadata(*ir, description, assembly.file.sections(), placements);
  if (failed(metadata))
    return diagnostics.error();
  return previewEngineFile(assembly.file, *metadata);
}

/// The finished engine, which has the maker among its targets.
static checkpoint::Expected<std::filesystem::path>
previewEngine(mlir::MLIRContext &context, Assembly &assembly,
              const EngineDescription &description) {
  DiagnosticCollector diagnostics(context);
  auto metadata =
      writeEngineMetadata(*assembly.ir, description, assembly.file.sections(), assembly.placements);
  if (failed(metadata))
    return diagnostics.error();
  return previewEngineFile(assembly.file, *metadata);
}

checkpoint::Outcome compiler::makeGoldenTokens(mlir::MLIRContext &context, BuildRequest &request,
                                               const GoldenMaker &golden,
                                               llvm::MutableArrayRef<CompiledTarget> maker,
                                               Assembly &assembly, const WeightStreamer &streamer,
                                               const BuildOptions &options,
                                               EngineDescription &description, Progress &progress) {
  progress.begin("golden tokens");
  OptionRecord record{"golden tokens", "", "none", golden.reason};
  if (golden.tokens) {
    auto path = maker.empty() ? previewEngine(context, assembly, description)
                              : previewMaker(context, request, golden, maker, assembly, streamer,
                                             options, description);
    if (!path)
      return path.error();
    auto cases = runEngine(*path, golden, request, options, progress);
    if (!cases)
      return cases.error();
    description.golden = *std::move(cases);
    record.effective = golden.target.second.getName().str();
    record.reason = "this target continued " + std::to_string(std::size(kPrompts)) +
                    " prompts by " + std::to_string(golden.tokens) + " tokens at most";
  }
  if (!maker.empty())
    assembly.file.removeFrom(assembly.weights.own + 1);
  progress.end(golden.tokens
                   ? std::to_string(std::size(kPrompts)) + " prompts, by " + record.effective
                   : record.reason);
  description.provenance.options.push_back(std::move(record));
  return {};
}
