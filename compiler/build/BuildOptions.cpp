// SPDX-License-Identifier: Apache-2.0
// The table of build options, and what follows from a row alone.
#include "compiler/build/BuildOptions.h"

#include "compiler/checkpoint/config/ModelConfig.h"

#include <array>
#include <charconv>

using namespace ingot;
using namespace ingot::compiler;

namespace {

using Options = BuildOptions;
using Form = OptionForm;
constexpr unsigned kModel = kBuild | kPlan | kRun | kServe;
constexpr unsigned kCaching = kBuild | kRun | kServe | kVerify | kQuantize;

// Groups of help.
constexpr char kAccuracy[] = "Quantization and accuracy", kLimits[] = "Limits",
               kKernels[] = "Kernels", kWeights[] = "Weights", kCache[] = "Cache",
               kOutput[] = "Output";

constexpr BuildOption kOptions[] = {
    // The files of the model count by themselves, in records and in keys.
    {.flag = "MODEL",
     .field = [](Options &o) -> OptionField { return &o.model; },
     .help = "Hugging Face checkpoint directory, GGUF file (any part of a split one), "
             "checkpoint of llama2.c, or a name that `ingot pull` takes",
     .form = Form::Required,
     .file = OptionFile::ReadByName,
     .commands = kModel},
    {.flag = "-o,--output",
     .field = [](Options &o) -> OptionField { return &o.output; },
     .help = "the engine file to write",
     .form = Form::Required,
     .file = OptionFile::Written,
     .commands = kBuild},
    {.flag = "--target",
     .field = [](Options &o) -> OptionField { return &o.targets; },
     .help = "what to build for, such as x86-64-v4+vnni+bf16, znver5 or sm_90a; may be given "
             "several times (default: native, this machine)",
     .decides = Decides::Engine,
     .commands = kModel},
    {.flag = "--recipe",
     .field = [](Options &o) -> OptionField { return &o.recipe; },
     .help = "recipe file, or the name of one that --help-all lists (default: by the checkpoint "
             "and the "
             "targets)",
     .decides = Decides::Input,
     .commands = kModel},
    {.flag = "--calibration-text",
     .field = [](Options &o) -> OptionField { return &o.calibrationText; },
     .help = "text, .jsonl file with conversations or folder of them that the model is run on, for "
             "recipes that quantize with calibration; may be given several times (default: a "
             "built-in one)",
     .group = kAccuracy,
     .file = OptionFile::Read,
     .commands = kBuild | kRun | kServe},
    // A search gives formats to matrices; the recipe that it writes is what the engine records.
    {.flag = "--target-size",
     .field = [](Options &o) -> OptionField { return &o.targetSize; },
     .help = "first search for the most exact mix of formats of this size of all weights, such as "
             "4.2GiB, of the matrices that the recipe quantizes",
     .group = kAccuracy,
     .form = Form::Bytes,
     .commands = kBuild,
     .needs = "--recipe",
     .excludes = "--max-kl"},
    {.flag = "--max-kl",
     .field = [](Options &o) -> OptionField { return &o.maxDivergence; },
     .help = "first search for the smallest mix of this estimated KL divergence, such as 0.02",
     .group = kAccuracy,
     .form = Form::Positive,
     .commands = kBuild,
     .needs = "--recipe",
     .excludes = "--bits"},
    {.flag = "--bits",
     .field = [](Options &o) -> OptionField { return &o.meanBits; },
     .help = "first search for the most exact mix of this many bits a weight of the layers' "
             "matrices, such as 4.5",
     .group = kAccuracy,
     .form = Form::Positive,
     .commands = kBuild,
     .needs = "--recipe",
     .excludes = "--target-size"},
    {.flag = "--lockfile",
     .field = [](Options &o) -> OptionField { return &o.lockfile; },
     .help = "recipe file to write what a search chose to (default: OUTPUT.lock.yaml)",
     .group = kAccuracy,
     .file = OptionFile::Written,
     .commands = kBuild},
    {.flag = "--gate",
     .field = [](Options &o) -> OptionField { return &o.gate; },
     .help = "accuracy that the engine must have to be written (exit status 3 otherwise), such as "
             "'kl<=0.02,ppl<=+1.5%,top1>=98%'; also p99 and layer",
     .commands = kBuild},
    {.flag = "--gate-text",
     .field = [](Options &o) -> OptionField { return &o.gateText; },
     .help =
         "what accuracy is measured on, as --calibration-text names it (default: a built-in text)",
     .group = kAccuracy,
     .file = OptionFile::Read,
     .commands = kBuild,
     .needs = "--gate"},
    {.flag = "--gate-model",
     .field = [](Options &o) -> OptionField { return &o.gateModel; },
     .help = "checkpoint that the engine is compared with (default: MODEL)",
     .group = kAccuracy,
     .file = OptionFile::Read,
     .commands = kBuild,
     .needs = "--gate"},
    {.flag = "--gate-report",
     .field = [](Options &o) -> OptionField { return &o.gateReports; },
     .help = "page (.html) or data (.json) with what the gate measured, part by part, also where "
             "it refuses; may be given several times",
     .group = kAccuracy,
     .file = OptionFile::Written,
     .commands = kBuild,
     .needs = "--gate"},
    {.flag = "--tuning",
     .field = [](Options &o) -> OptionField { return &o.tuning; },
     .help = "tuning lockfile that chooses kernels (default: the targets' cost models)",
     .group = kKernels,
     .decides = Decides::Input,
     .file = OptionFile::Read,
     .commands = kModel},
    {.flag = "--tuning-candidates",
     .field = [](Options &o) -> OptionField { return &o.tuningCandidates; },
     .help = "also put every kernel into the engine that `ingot-run tune` may choose",
     .group = kKernels,
     .decides = Decides::Engine,
     .recorded = "as asked"},
    {.flag = "--determinism",
     .field = [](Options &o) -> OptionField { return &o.determinism; },
     .help =
         "strict: a token is the same alone and in any batch; fast: GPU kernels cut sums by the "
         "number of tokens",
     .group = kKernels,
     .decides = Decides::Engine,
     .recorded = "as asked",
     .words = [] { return std::vector<std::string>{"strict", "fast"}; }},
    {.flag = "--max-batch-tokens",
     .field = [](Options &o) -> OptionField { return &o.limits.maxTokens; },
     .help = "most tokens of one step",
     .group = kLimits,
     .decides = Decides::Engine,
     .form = Form::Limit,
     .formerly = "--max-tokens"},
    {.flag = "--max-sequences",
     .field = [](Options &o) -> OptionField { return &o.limits.maxSequences; },
     .help = "most sequences in one step",
     .decides = Decides::Engine,
     .form = Form::Limit},
    {.flag = "--max-context",
     .field = [](Options &o) -> OptionField { return &o.limits.maxContext; },
     .help = "most positions of one sequence (default: the model's own limit)",
     .decides = Decides::Engine,
     .form = Form::Limit},
    {.flag = "--max-logit-rows",
     .field = [](Options &o) -> OptionField { return &o.limits.maxLogitRows; },
     .help = "most rows of logits in one step",
     .group = kLimits,
     .decides = Decides::Engine,
     .form = Form::Limit},
    {.flag = "--max-image-rows",
     .field = [](Options &o) -> OptionField { return &o.limits.maxImageRows; },
     .help = "most tokens' places that pictures fill in one run of the encoder, which is also the "
             "most of one picture or tile (default: the model's largest, up to 4096)",
     .group = kLimits,
     .decides = Decides::Engine,
     .form = Form::VisionLimit,
     .excludes = "--no-vision"},
    {.flag = "--no-vision",
     .field = [](Options &o) -> OptionField { return &o.noVision; },
     .help = "leave out the part of the model that sees",
     .group = kWeights,
     .decides = Decides::Engine,
     .commands = kModel,
     .recorded = "as asked; the engine has the model's text part alone"},
    {.flag = "--max-build-memory",
     .field = [](Options &o) -> OptionField { return &o.maxBuildMemory; },
     .help = "hard cap on the memory of this build, such as 2GiB",
     .form = Form::Bytes,
     .commands = kModel},
    {.flag = "--lora",
     .field = [](Options &o) -> OptionField { return &o.lora; },
     .help = "folder of a LoRA adapter as PEFT saves it, to be merged into the weights before they "
             "are quantized",
     .decides = Decides::Input,
     .file = OptionFile::ReadByName,
     .commands = kModel},
    {.flag = "--lora-scale",
     .field = [](Options &o) -> OptionField { return &o.loraScale; },
     .help = "factor of the adapter's own scale",
     .group = kWeights,
     .decides = Decides::Engine,
     .commands = kModel,
     .recorded = "times the adapter's own",
     .needs = "--lora"},
    {.flag = "--random-weights",
     .field = [](Options &o) -> OptionField { return &o.randomWeights; },
     .help = "a seed: read no weights, let the engine make random ones when it is loaded; MODEL, a "
             "directory, needs config.json and the tokenizer only",
     .group = kWeights,
     .decides = Decides::Engine,
     .recorded = "random weights made at load; no weight file was read"},
    {.flag = "--no-ptx",
     .field = [](Options &o) -> OptionField { return &o.noPtx; },
     .help = "leave out the PTX of CUDA kernels: a smaller engine that cannot be simulated",
     .group = kKernels,
     .decides = Decides::Engine},
    {.flag = "--no-golden-tokens",
     .field = [](Options &o) -> OptionField { return &o.noGoldenTokens; },
     .help = "record no tokens for `selftest`, which saves a share of the build's time and, while "
             "it runs, up to as much disk as the weights take",
     .group = kOutput,
     .decides = Decides::Engine,
     .commands = kBuild,
     .recorded = "selftest has nothing to compare"},
    {.flag = "--threads",
     .field = [](Options &o) -> OptionField { return &o.threads; },
     .help = "threads to use (default: all)",
     .form = Form::Positive},
    {.flag = "--nvrtc",
     .field = [](Options &o) -> OptionField { return &o.nvrtc; },
     .help = "library or folder of NVRTC, for CUDA targets (default: the usual places)",
     .group = kKernels,
     .decides = Decides::Library,
     .file = OptionFile::ReadByName,
     .commands = kModel},
    {.flag = "--cache",
     .field = [](Options &o) -> OptionField { return &o.cacheChoice.folder; },
     .help = "folder that keeps compiled kernels and searches for later runs (default: ingot in "
             "$XDG_CACHE_HOME or in ~/.cache)",
     .group = kCache,
     .commands = kCaching,
     .excludes = "--no-cache"},
    {.flag = "--cache-limit",
     .field = [](Options &o) -> OptionField { return &o.cacheChoice.limit; },
     .help = "what that folder may grow to, such as 2GiB",
     .group = kCache,
     .form = Form::Bytes,
     .commands = kCaching,
     .excludes = "--no-cache"},
    {.flag = "--no-cache",
     .field = [](Options &o) -> OptionField { return &o.cacheChoice.none; },
     .help = "compile every kernel, and keep nothing",
     .group = kCache,
     .commands = kCaching & ~kServe},
    {.flag = "--report",
     .field = [](Options &o) -> OptionField { return &o.report; },
     .help = "write what was done, and why not, to this JSON file",
     .file = OptionFile::Written,
     .commands = kBuild},
    {.flag = "--dump-stage",
     .field = [](Options &o) -> OptionField { return &o.dumpStage; },
     .help = "print the IR after this stage to stdout",
     .group = kOutput,
     .commands = kBuild,
     .words = stageNames},
    {.flag = "--json-events",
     .field = [](Options &o) -> OptionField { return &o.jsonEvents; },
     .help = "progress on stdout, as one JSON object a line (docs/build-events.schema.json)",
     .group = kOutput,
     .commands = kBuild,
     .excludes = "--dump-stage"},
};

template <class... Cases> struct Overloaded : Cases... {
  using Cases::operator()...;
};

template <class Number> Number numberOf(const std::string &text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

} // namespace

checkpoint::ModelParts BuildOptions::parts() const {
  return noVision ? checkpoint::ModelParts::Text : checkpoint::ModelParts::All;
}

llvm::ArrayRef<BuildOption> compiler::buildOptions() { return kOptions; }

std::string compiler::exactly(double number) {
  std::array<char, 32> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::string BuildOption::text(const BuildOptions &options) const {
  // Only read: rows lead to fields that may be written.
  return std::visit(
      Overloaded{
          [](bool *value) { return std::string(*value ? "on" : ""); },
          [](double *value) { return exactly(*value); },
          [](std::string *value) { return *value; },
          [](std::filesystem::path *value) { return value->string(); },
          [](std::vector<std::string> *value) { return llvm::join(*value, ", "); },
          [](std::optional<uint64_t> *value) { return *value ? std::to_string(**value) : ""; },
          [](auto *value) { return std::to_string(*value); },
      },
      field(const_cast<BuildOptions &>(options)));
}

void BuildOption::readText(BuildOptions &options, const std::string &text) const {
  std::visit(Overloaded{
                 // What the record says became of it is for people.
                 [](bool *value) { *value = true; },
                 [&](std::string *value) { *value = text; },
                 [&](std::filesystem::path *value) { *value = text; },
                 [&](std::vector<std::string> *value) { value->push_back(text); },
                 [&](std::optional<uint64_t> *value) { *value = numberOf<uint64_t>(text); },
                 [&]<class Number>(Number *value) { *value = numberOf<Number>(text); },
             },
             field(options));
}

bool BuildOption::isDefault(const BuildOptions &options) const {
  return text(options) == text(BuildOptions());
}

bool BuildOption::takesValue() const {
  BuildOptions options;
  return !std::holds_alternative<bool *>(field(options));
}

static const BuildOption *optionCalled(llvm::StringRef flag) {
  const auto *found = llvm::find_if(kOptions, [&](const BuildOption &option) {
    return flag == option.flag || (option.formerly && flag == option.formerly);
  });
  return found == std::end(kOptions) ? nullptr : found;
}

std::vector<OptionRecord> compiler::recordsAsGiven(const BuildOptions &options) {
  std::vector<OptionRecord> records;
  for (const BuildOption &option : kOptions) {
    // One that goes with another counts wherever that one does.
    const BuildOption &given = option.needs ? *optionCalled(option.needs) : option;
    if (option.recorded && !given.isDefault(options))
      records.push_back({option.flag, option.text(options), option.text(options), option.recorded});
  }
  return records;
}

BuildOptions compiler::optionsOf(llvm::ArrayRef<OptionRecord> records) {
  BuildOptions options;
  for (const OptionRecord &record : records)
    if (const BuildOption *option = optionCalled(record.name);
        option && option->decides == Decides::Engine)
      option->readText(options, record.effective);
  return options;
}
