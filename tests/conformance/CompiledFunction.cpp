// SPDX-License-Identifier: Apache-2.0
// The build's part: from the text of a function to an engine file.
#include "tests/conformance/CompiledFunction.h"

#include "compiler/build/Pipeline.h"
#include "compiler/engine_file/EngineWriter.h"
#include "dialects/engine/EngineOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "runtime/schema/Names.h"
#include "tests/conformance/SourceDigest.h"
#include "tests/conformance/StageSeconds.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

/// The kind of cache entries that hold what a run leaves: memory arguments, then results.
static constexpr llvm::StringLiteral kAnswers = "conformance-answer";

MLIRContext &conformance::sharedContext() {
  static auto *context = [] {
    auto *created = new MLIRContext(MLIRContext::Threading::DISABLED);
    compiler::prepareContext(*created);
    return created;
  }();
  return *context;
}

static std::optional<int64_t> dimValue(llvm::StringRef name, Dims dims) {
  if (name == "T")
    return dims.T;
  if (name == "S")
    return dims.S;
  if (name == "L")
    return dims.L;
  if (name == "P")
    return dims.P;
  if (name == "Q")
    return dims.Q;
  return name == "B" ? std::optional(dims.B) : std::nullopt;
}

int64_t conformance::rowsOf(RankedTensorType type, Dims dims) {
  if (!isa_and_nonnull<StringAttr>(type.getEncoding()))
    return type.getShape().front();
  auto parsed = engine::Expr::parse(llm::rowsOf(type).getText());
  return parsed->evaluate([&](llvm::StringRef name) { return dimValue(name, dims); }).value();
}

func::FuncOp CompiledFunction::function(unsigned place) {
  return *std::next(source->getOps<func::FuncOp>().begin(), place);
}

std::unique_ptr<CompiledFunction>
CompiledFunction::compile(MLIRContext &context, const std::string &name, const std::string &text,
                          llvm::ArrayRef<Dims> runs, CudaCode code, engine::SumsAttr sums) {
  auto made = std::make_unique<CompiledFunction>();
  made->source = parseSourceString<ModuleOp>(text, &context);
  std::string error;
  auto target = codegen::findTarget(&context, name, error);
  if (!made->source || failed(target)) {
    ADD_FAILURE() << name << ": " << error << "\n" << text;
    return nullptr;
  }
  made->target = target->second;
  made->weights = weightsOf(*made->source);
  for (const CaseWeight &weight : made->weights)
    made->loaded.emplace_back(weight.type.getElementType(), weight.type.getDimSize(0),
                              weight.type.getRank() < 2 ? 1 : weight.type.getShape().back());
  made->compiled.module = modelOf(*made->source, made->weights, made->target);
  if (sums)
    made->compiled.module->walk([&](llm::SumsOpInterface op) { op.setSumsAttr(sums); });
  StageTimer timer("compile " + name);
  for (const compiler::Stage &stage : compiler::stages()) {
    if (stage.name != "weights" && stage.name != "plan")
      continue;
    PassManager manager(&context);
    stage.addPasses(manager);
    if (failed(manager.run(*made->compiled.module))) {
      ADD_FAILURE() << name << " has no kernel for\n" << text;
      return nullptr;
    }
  }
  if (made->compileKernels(*target->first, runs, code))
    return made;
  ADD_FAILURE() << name << " does not compile\n" << text;
  return nullptr;
}

//===- Kernels ------------------------------------------------------------------------------===//

static bool holds(const auto &ranges, Dims dims) {
  return llvm::all_of(ranges, [&](engine::RangeAttr range) {
    std::optional<int64_t> value = dimValue(range.getDim(), dims);
    return value && range.getMin() <= *value && *value <= range.getMax();
  });
}

/// The place among its variants of the one that `launch` runs; their number where none fits.
static size_t variantAt(engine::UnitOp unit, engine::LaunchOp launch, Dims dims) {
  size_t place = 0;
  for (auto variant : launch.getVariants().getAsRange<engine::VariantAttr>()) {
    auto kernel = cast<engine::KernelOp>(SymbolTable::lookupSymbolIn(unit, variant.getKernel()));
    if (holds(variant.getRanges(), dims) &&
        holds(kernel.getGuards().getAsRange<engine::RangeAttr>(), dims))
      return place;
    ++place;
  }
  return place;
}

llvm::SmallVector<engine::SumsAttr, 0> CompiledFunction::orders() {
  llvm::SetVector<engine::SumsAttr> found;
  compiled.unit().walk([&](engine::KernelOp kernel) {
    if (auto sums = kernel.getFactsAttr().getAs<StringAttr>("sums"))
      found.insert(cast<engine::SumsAttr>(
          parseAttribute(("#engine.sums<" + sums.getValue() + ">").str(), kernel.getContext())));
  });
  return {found.begin(), found.end()};
}

std::vector<size_t> CompiledFunction::kernelsAt(Dims dims) {
  std::vector<size_t> chosen;
  compiled.unit().walk(
      [&](engine::LaunchOp launch) { chosen.push_back(variantAt(compiled.unit(), launch, dims)); });
  return chosen;
}

/// Takes from launches the variants that none of `runs` takes, and from the unit what no launch
/// runs then.
static void leaveOut(engine::UnitOp unit, llvm::ArrayRef<Dims> runs) {
  std::set<llvm::StringRef> taken;
  unit.walk([&](engine::LaunchOp launch) {
    std::set<size_t> places;
    for (Dims dims : runs)
      places.insert(variantAt(unit, launch, dims));
    SmallVector<Attribute> kept;
    for (auto [place, attribute] : llvm::enumerate(launch.getVariants()))
      if (places.contains(place)) {
        kept.push_back(attribute);
        taken.insert(cast<engine::VariantAttr>(attribute).getKernel().getValue());
      }
    launch.setVariantsAttr(ArrayAttr::get(unit.getContext(), kept));
  });
  for (auto kernel : llvm::make_early_inc_range(unit.getBody().getOps<engine::KernelOp>()))
    if (!taken.contains(kernel.getSymName()))
      kernel.erase();
}

/// Gives the kernels of `whole` what compiling those of `part` gave; those that are not there get a
/// library without code.
static void takeLibraries(engine::UnitOp whole, engine::UnitOp part) {
  auto builder = OpBuilder::atBlockBegin(&whole.getBody().front());
  for (auto library : part.getBody().getOps<engine::LibraryOp>())
    builder.clone(*library);
  whole.setToolkitAttr(part.getToolkitAttr());
  whole.setMinimumDriverAttr(part.getMinimumDriverAttr());
  for (auto kernel : whole.getBody().getOps<engine::KernelOp>()) {
    auto done = part.lookupSymbol<engine::KernelOp>(kernel.getSymName());
    kernel.setLibraryAttr(done ? done.getLibraryAttr()
                               : FlatSymbolRefAttr::get(whole.getContext(), kLeftOut));
  }
}

/// Gives the launches of `whole`, and the proof, the kernels that those of `part` have left.
static void takeVariants(engine::UnitOp whole, engine::UnitOp part) {
  llvm::SmallVector<Operation *> to, from;
  for (auto [unit, list] : {std::pair(whole, &to), std::pair(part, &from)})
    unit.walk([list = list](Operation *op) {
      if (isa<engine::LaunchOp, engine::CoverageOp>(op))
        list->push_back(op);
    });
  for (auto [mine, other] : llvm::zip_equal(to, from))
    mine->setAttrs(other->getAttrs());
}

bool CompiledFunction::compileKernels(const codegen::Target &backend, llvm::ArrayRef<Dims> runs,
                                      CudaCode code) {
  engine::UnitOp whole = compiled.unit();
  whole.setSymName(target.getName());
  OwningOpRef<engine::UnitOp> part = whole.clone();
  if (!runs.empty())
    leaveOut(*part, runs);
  codegen::CompileOptions options;
  options.threads = kThreads;
  options.cache = buildCache().get();
  options.ptxOnly = code != CudaCode::PtxAndBinary;
  options.takeFallbacks = code == CudaCode::PtxOfFallbacks;
  auto libraries = backend.compile(*part, options);
  if (failed(libraries))
    return false;
  compiled.libraries = std::move(*libraries);
  takeLibraries(whole, *part);
  if (options.takeFallbacks)
    takeVariants(whole, *part);
  std::string kind = isCuda() ? "ptx" : compiled.libraries.front().kind;
  auto builder = OpBuilder::atBlockBegin(&whole.getBody().front());
  engine::LibraryOp::create(builder, whole.getLoc(), kLeftOut, kind);
  compiled.libraries.push_back({kLeftOut, kind, "no code"});
  return true;
}

const std::string *CompiledFunction::library(llvm::StringRef name) const {
  for (const codegen::CompiledLibrary &one : compiled.libraries)
    if (one.name == name)
      return &one.bytes;
  return nullptr;
}

bool CompiledFunction::changePtx(llvm::function_ref<std::string(const std::string &)> change) {
  bool changed = false;
  for (codegen::CompiledLibrary &one : compiled.libraries)
    if (one.kind == "ptx") {
      std::string text = change(one.bytes);
      changed |= text != one.bytes;
      one.bytes = std::move(text);
    }
  file = nullptr;
  return changed;
}

std::string CompiledFunction::portablePtx() const {
  std::string text;
  for (const codegen::CompiledLibrary &one : compiled.libraries)
    if (one.kind == "ptx")
      for (llvm::StringRef line : llvm::split(one.bytes, '\n'))
        if (!line.starts_with(".target") && !line.starts_with("//"))
          text += (line + "\n").str();
  return text;
}

//===- The engine file ----------------------------------------------------------------------===//

bool CompiledFunction::load(const std::vector<HostValue> &arguments, unsigned place) {
  bool same = file != nullptr;
  for (auto [weight, known] : llvm::zip_equal(weights, loaded))
    if (weight.function == place && known.codes != arguments[weight.argument].tensor.codes) {
      known = arguments[weight.argument].tensor;
      same = false;
    }
  if (same)
    return true;
  file = nullptr;
  std::vector<const HostTensor *> values;
  for (const HostTensor &known : loaded)
    values.push_back(&known);
  return writeEngine(values);
}

/// Reports what was expected; null, or the value.
template <class T> static T *reported(checkpoint::Expected<T> &expected) {
  if (expected)
    return &*expected;
  ADD_FAILURE() << expected.error().str();
  return nullptr;
}

bool CompiledFunction::writeEngine(llvm::ArrayRef<const HostTensor *> values) {
  auto checkpoint = writeCheckpoint(weights, values);
  if (!reported(checkpoint))
    return false;
  SmallVector<compiler::CompiledTarget> targets;
  targets.push_back({compiled.module->clone(), compiled.libraries});
  compiler::StreamOptions stream;
  stream.memoryCap = uint64_t{1} << 40;
  stream.threads = 1; // ctest runs shards side by side
  auto streamer =
      compiler::WeightStreamer::create({targets.front().weights()}, *checkpoint, stream);
  if (!reported(streamer))
    return false;
  compiler::BuildOptions options;
  options.output = temporaryFolder().path() / "case.ingot";
  compiler::Progress progress(compiler::ProgressStyle::Silent);
  auto assembly =
      compiler::assemble(*target.getContext(), targets, *streamer, {}, options, progress);
  if (!reported(assembly))
    return false;
  compiler::EngineDescription description;
  description.name = "case";
  description.serving.vocabulary = 1;
  description.serving.maxContext = kMostContext;
  auto metadata = compiler::writeEngineMetadata(*assembly->ir, description,
                                                assembly->file.sections(), assembly->placements);
  if (failed(metadata))
    return false;
  // The file needs no name: what is mapped stays.
  auto path = compiler::previewEngineFile(assembly->file, *metadata);
  if (!reported(path))
    return false;
  auto opened = runtime::EngineFile::open(path->string());
  if (!opened.ok()) {
    ADD_FAILURE() << opened.status().toString();
    return false;
  }
  file = *opened;
  return true;
}

//===- Runs ---------------------------------------------------------------------------------===//

std::string CompiledFunction::keyOf(const std::vector<HostValue> &arguments, Dims dims,
                                    unsigned place) const {
  std::string text;
  llvm::raw_string_ostream(text) << place << " " << dims.T << " " << dims.S << " " << dims.L << " "
                                 << dims.B << " " << dims.P << " " << dims.Q << " "
                                 << int(mode.completion) << " " << mode.warpOrderSeed << " "
                                 << mode.multiprocessors << " " << mode.exactSums;
  codegen::CacheKey key;
  key.add(kSourceDigest).add(llvm::toStringRef(file->digest())).add(text);
  for (const HostValue &argument : arguments) {
    const std::vector<uint32_t> &codes = argument.tensor.codes;
    key.add({reinterpret_cast<const char *>(codes.data()), codes.size() * sizeof codes[0]});
    key.add(llvm::toStringRef(argument.memory));
  }
  return key.text();
}

std::vector<HostValue> CompiledFunction::run(std::vector<HostValue> &arguments, Dims dims,
                                             unsigned place) {
  if (!load(arguments, place))
    return {};
  std::vector<HostValue> results;
  for (Type type : function(place).getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    results.emplace_back().tensor = HostTensor(tensor.getElementType(), rowsOf(tensor, dims),
                                               tensor.getRank() < 2 ? 1 : tensor.getShape().back());
  }
  // What takes long, and is the same on every machine.
  bool isSlow = target.getBackend() == "reference" || (isCuda() && !observer);
  codegen::BuildCache *cache = isSlow ? buildCache().get() : nullptr;
  std::string key = cache ? keyOf(arguments, dims, place) : std::string();
  std::optional<std::string> known = cache ? cache->get(kAnswers, key) : std::nullopt;
  std::vector<uint8_t> answer;
  if (known)
    answer.assign(known->begin(), known->end());
  else if (!execute(arguments, dims, place, answer))
    return {};
  if (cache && !known)
    cache->put(kAnswers, key, llvm::toStringRef(answer));
  llvm::ArrayRef<uint8_t> rest = answer;
  auto take = [&](size_t bytes) {
    llvm::ArrayRef<uint8_t> front = rest.take_front(bytes);
    rest = rest.drop_front(bytes);
    return front;
  };
  for (HostValue &argument : arguments)
    argument.memory = take(argument.memory.size());
  for (HostValue &result : results)
    result.tensor.unpack(take(result.tensor.bytes().size()));
  return results;
}

bool CompiledFunction::execute(const std::vector<HostValue> &arguments, Dims dims, unsigned place,
                               std::vector<uint8_t> &answer) {
  llvm::StringRef name = function(place).getName();
  std::optional<StageTimer> timer;
  if (isCuda())
    timer.emplace("simulate " + target.getName().str());
  std::map<std::string, size_t> memoryBytes;
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (!argument.memory.empty())
      memoryBytes[inputName(unsigned(i), name)] = argument.memory.size();
  auto run = EngineRun::start(file, target, mode, dims, memoryBytes);
  if (!run)
    return false;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    std::string input = inputName(unsigned(i), name);
    if (run->has(input)) // neither weights nor what nothing reads
      run->write(input, argument.memory.empty() ? argument.tensor.bytes() : argument.memory);
  }
  if (!run->execute(name == kStepFunction ? schema::program::step : name.str(),
                    observer ? [&](const EngineRun::Seen &seen) { show(seen); }
                             : EngineRun::Observer()))
    return false;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    std::string input = inputName(unsigned(i), name);
    llvm::append_range(answer, run->has(input) && !argument.memory.empty() ? run->read(input)
                                                                           : argument.memory);
  }
  for (unsigned i = 0; i < function(place).getNumResults(); ++i)
    llvm::append_range(answer, run->read(outputName(i, name)));
  return true;
}

void CompiledFunction::show(const EngineRun::Seen &seen) {
  auto kernel = compiled.unit().lookupSymbol<engine::KernelOp>(seen.call.kernel);
  std::string symbol = kernel.getLibrary()->rsplit('.').first.str();
  static const std::string none;
  const std::string *cubin = library(symbol + ".cubin"), *ptx = library(symbol + ".ptx");
  observer({seen, symbol, kernel.getSource().str(), cubin ? *cubin : none, ptx ? *ptx : none});
}
