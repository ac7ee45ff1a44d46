// SPDX-License-Identifier: Apache-2.0
// Stages, and what the passes are told: target, recipe and declared shapes, as attributes.
#include "compiler/build/Pipeline.h"

#include "compiler/analysis/Products.h"
#include "compiler/build/RegisterPasses.h"
#include "compiler/recipe/RecipeWords.h"
#include "dialects/engine/EngineOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/FusionReport.h"
#include "passes/fuse/Passes.h"
#include "passes/plan/Passes.h"
#include "passes/quantize/Passes.h"
#include "passes/weights/Passes.h"
#include "runtime/schema/Names.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

void addRecipePasses(OpPassManager &manager) {
  manager.addPass(createApplyRecipePass());
  manager.addPass(createCSEPass()); // a tied weight in one format is one value again
  manager.addPass(createFoldNormPass());
}

void addFusePasses(OpPassManager &manager) {
  manager.addPass(createFuseDequantizePass());
  manager.addPass(createQuantizeActivationsPass());
  manager.addPass(createFuseEpiloguePass());
  manager.addPass(createFuseRoundPass());
  manager.addPass(createMergeQkvPass());
  manager.addPass(createMergeGateUpPass());
  manager.addPass(createFuseSwigluPass());
  manager.addPass(createFuseNormPass());
  manager.addPass(createFuseQuantizeActivationPass());
  manager.addPass(createFuseRopeAppendPass());
  manager.addPass(createFp8ContextAttentionPass());
  manager.addPass(createCSEPass());
}

void addWeightsPasses(OpPassManager &manager) {
  manager.addPass(createChooseLayoutsPass());
  manager.addPass(createHoistWeightsPass());
}

void addPlanPasses(OpPassManager &manager) {
  manager.addPass(createChooseSumsPass());
  manager.addPass(createSchedulePass());
  manager.addPass(createSelectKernelsPass());
  manager.addPass(createPlanMemoryPass());
  manager.addPass(createProveCoveragePass());
}

Type numberType(MLIRContext *context, recipe::NumberFormat format) {
  using enum recipe::NumberFormat;
  switch (format) {
  case F32:
    return Float32Type::get(context);
  case BF16:
    return BFloat16Type::get(context);
  case F16:
    return Float16Type::get(context);
  case Int8:
  case Int8Static:
    return IntegerType::get(context, 8);
  case E4M3:
  case E4M3Static:
    return Float8E4M3FNType::get(context);
  case E5M2:
    return Float8E5M2Type::get(context);
  case Int3: // formats of weights, which are encodings
  case Int4:
  case Int5:
  case Int6:
  case NF4:
  case FP4:
  case NVFP4:
  case MXFP4:
  case Stored:
    break;
  }
  llvm_unreachable("the recipe is settled");
}

/// The attribute that tells ApplyRecipe a weight's format; null for weights as stored.
Attribute formatAttribute(MLIRContext *context, const recipe::WeightFormat &format) {
  if (format.type == recipe::NumberFormat::Stored)
    return {};
  if (!recipe::isNarrow(format.type))
    return TypeAttr::get(numberType(context, format.type));
  std::optional<EncodingKind> kind = findEncoding(recipe::wordFor(recipe::Format, format.type));
  return llm::EncodingAttr::get(context, Encoding{*kind, format.group, format.zeroPoints});
}

/// The name that the model uses, which a tied weight may not be stored under.
StringRef modelName(Operation *op) {
  return op->getLoc()->findInstanceOf<NameLoc>().getName().strref();
}

/// Calls `visit` with each matrix that the recipe gives another format than it is stored in.
void visitFormats(ModuleOp module, const recipe::Recipe &recipe,
                  llvm::function_ref<void(Operation *, StringRef name, Attribute)> visit) {
  module.walk([&](Operation *op) {
    if (!llm::isQuantizableMatrix(op))
      return;
    const StringRef name = modelName(op);
    Attribute format = formatAttribute(module.getContext(), recipe.formatFor(name));
    // What is stored in this format already keeps its scales.
    if (auto decoded = dyn_cast<llm::DequantizeOp>(op); decoded && decoded.getEncoding() == format)
      return;
    if (format && !(isa<llm::EncodingAttr>(format) && isSmall(op)))
      visit(op, name, format);
  });
}

/// Whether the weight is made of numbers that are stored quantized.
bool isDequantized(Value weight) {
  Operation *op = weight.getDefiningOp();
  return op && (isa<llm::DequantizeOp>(op) || llvm::any_of(op->getOperands(), isDequantized));
}

/// What products read, where that is narrow; null otherwise.
llm::ComputeAttr computeAttribute(MLIRContext *context, const recipe::Activations &activations) {
  if (!recipe::isNarrow(activations.compute))
    return {};
  return llm::ComputeAttr::get(context, numberType(context, activations.compute),
                               recipe::isStatic(activations.compute), activations.group);
}

/// Writes the recipe into the module: formats on matrices, the rest as module attributes.
void annotate(ModuleOp module, const recipe::Recipe &recipe) {
  using llm::LlmDialect;
  MLIRContext *context = module.getContext();
  visitFormats(module, recipe, [](Operation *op, StringRef, Attribute format) {
    engine::setAttribute<LlmDialect::FormatAttrHelper>(op, format);
  });
  engine::setAttribute<LlmDialect::StoreAttrHelper>(
      module, TypeAttr::get(numberType(context, recipe.activations.store)));
  engine::setAttribute<LlmDialect::KvAttrHelper>(
      module, TypeAttr::get(numberType(context, recipe.kvCache)));
  if (llm::ComputeAttr compute = computeAttribute(context, recipe.activations))
    engine::setAttribute<LlmDialect::ComputeAttrHelper>(module, compute);
  if (recipe.attention != recipe::NumberFormat::Stored)
    engine::setAttribute<LlmDialect::Fp8AttentionAttrHelper>(module, UnitAttr::get(context));
}

/// The type of a matrix's numbers where these are not quantized, by the recipe or as stored.
Type plainElement(Operation *op) {
  auto format = engine::attributeOf<llm::LlmDialect::FormatAttrHelper>(op);
  if (auto type = dyn_cast_or_null<TypeAttr>(format))
    return type.getValue();
  return format || !isa<llm::WeightOp>(op) ? Type() : getElementTypeOrSelf(op->getResult(0));
}

/// Encoders store f32 where their weights or the rest have it, else bf16: some have numbers beyond
/// the range of f16.
void annotateEncoder(ModuleOp module, const recipe::Recipe &recipe) {
  using llm::LlmDialect;
  auto encode = module.lookupSymbol<func::FuncOp>(schema::program::encode);
  if (!encode)
    return;
  MLIRContext *context = module.getContext();
  auto bf16 = TypeAttr::get(BFloat16Type::get(context)),
       f32 = TypeAttr::get(Float32Type::get(context));
  bool isWide = recipe.activations.store == recipe::NumberFormat::F32;
  encode.walk([&](Operation *op) {
    if (!llm::isQuantizableMatrix(op))
      return;
    Type element = plainElement(op);
    isWide |= element && element.isF32();
    if (element && element.isF16())
      engine::setAttribute<LlmDialect::FormatAttrHelper>(op, bf16);
  });
  engine::setAttribute<LlmDialect::StoreAttrHelper>(encode, isWide ? f32 : bf16);
}

/// Writes what the lockfile says of `target` into the module.
void annotate(ModuleOp module, const KernelTuning &tuning, engine::TargetAttr target) {
  MLIRContext *context = module.getContext();
  SmallVector<Attribute> entries;
  for (const tuning::TuningEntry &entry : tuning.lock.entries)
    if (entry.target == target.getName())
      entries.push_back(engine::TuningAttr::get(context, entry.product(), entry.first, entry.last,
                                                entry.kernel, entry.digest));
  using engine::EngineDialect;
  if (!entries.empty())
    engine::setAttribute<EngineDialect::TuningAttrHelper>(module, ArrayAttr::get(context, entries));
  engine::setAttribute<EngineDialect::DeterminismAttrHelper>(
      module, engine::DeterminismAttr::get(context, tuning.determinism));
  if (tuning.candidates)
    engine::setAttribute<EngineDialect::TuningCandidatesAttrHelper>(module, UnitAttr::get(context));
}

bool hasInput(func::FuncOp program, StringRef name) {
  return llvm::any_of(llvm::seq(program.getNumArguments()), [&](unsigned i) {
    auto own =
        program.getArgAttrOfType<StringAttr>(i, llm::LlmDialect::InputAttrHelper::getNameStr());
    return own && own.getValue() == name;
  });
}

/// Declares the dims of a step.
void declareDims(ModuleOp module, const EngineLimits &limits) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto declare = [&](StringRef name, StringRef source, int64_t max, int64_t min = 1) {
    engine::DimOp::create(builder, module.getLoc(), name, source, min, max);
  };
  declare(schema::dim::tokens, "step", limits.maxTokens);
  declare(schema::dim::sequences, "step", limits.maxSequences);
  declare(schema::dim::logitRows, "step", limits.maxLogitRows);
  if (auto encode = module.lookupSymbol<func::FuncOp>(schema::program::encode)) {
    declare(schema::dim::givenRows, "step", limits.maxTokens, 0);
    // A picture and a window have a row or more.
    declare(schema::dim::imageRows, "step", limits.maxImageRows);
    declare(schema::dim::images, "step", limits.maxImageRows);
    if (hasInput(encode, schema::input::windowOffsets))
      declare(schema::dim::windows, "step", limits.maxImageRows);
  }
  std::set<llm::KvGroup> groups;
  for (auto function : module.getOps<func::FuncOp>())
    for (Type type : function.getArgumentTypes())
      if (auto group = llm::kvGroupOf(type))
        groups.insert(*group);
  int64_t first = groups.empty() ? kKvBlockTokens : groups.begin()->blockTokens;
  declare(schema::dim::tableWidth, "load", llvm::divideCeil(limits.maxContext, first));
  for (const llm::KvGroup &group : groups)
    if (group.blockTokens != first)
      declare(schema::dim::tableWidth + ("." + group.name()), "load",
              llvm::divideCeil(limits.maxContext, group.blockTokens));
}

} // namespace

std::vector<std::string> compiler::matrixNames(ModuleOp module) {
  std::vector<std::string> names;
  module.walk([&](Operation *op) {
    if (llm::isQuantizableMatrix(op))
      names.push_back(modelName(op).str());
  });
  return names;
}

std::map<std::string, size_t> compiler::encoderFormats(ModuleOp module,
                                                       const recipe::Recipe &recipe) {
  std::map<std::string, size_t> formats;
  auto encode = module.lookupSymbol<func::FuncOp>(schema::program::encode);
  if (!encode)
    return formats;
  encode.walk([&](Operation *op) {
    if (!llm::isQuantizableMatrix(op))
      return;
    const recipe::WeightFormat format = recipe.formatFor(modelName(op));
    if (Attribute asked = formatAttribute(module.getContext(), format);
        asked && !(isa<llm::EncodingAttr>(asked) && isSmall(op)))
      ++formats[std::string(recipe::wordFor(recipe::Format, format.type))];
    else if (auto decoded = dyn_cast<llm::DequantizeOp>(op))
      ++formats[std::string(decoded.getEncoding().facts().row().name)];
    else if (Type element = getElementTypeOrSelf(op->getResult(0)); element.isF32())
      ++formats["f32"];
    else
      ++formats["bf16"]; // f16 too, which does not reach as far
  });
  return formats;
}

std::vector<std::string> compiler::quantizedAgain(ModuleOp module, const recipe::Recipe &recipe) {
  std::vector<std::string> names;
  visitFormats(module, recipe, [&](Operation *op, StringRef name, Attribute format) {
    if (isa<llm::EncodingAttr>(format) && isDequantized(op->getResult(0)))
      names.push_back(name.str());
  });
  return names;
}

ArrayRef<Stage> compiler::stages() {
  static constexpr Stage list[] = {{"recipe", addRecipePasses},
                                   {"fuse", addFusePasses},
                                   {"weights", addWeightsPasses},
                                   {"plan", addPlanPasses}};
  return list;
}

std::vector<std::string> compiler::stageNames() {
  std::vector<std::string> names{"import"};
  for (const Stage &stage : stages())
    names.push_back(stage.name.str());
  return names;
}

void compiler::prepareContext(MLIRContext &context) {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  injectProviders(*context.getLoadedDialect<engine::EngineDialect>());
}

FailureOr<OwningOpRef<ModuleOp>>
compiler::runPipeline(MLIRContext &context, const checkpoint::Checkpoint &checkpoint,
                      const recipe::Recipe &recipe, engine::TargetAttr target,
                      const EngineLimits &limits, const KernelTuning &tuning,
                      const TappedPart *part, const StageObserver &observer) {
  auto module = importModel(&context, checkpoint,
                            {limits.maxContext, recipe::isStatic(recipe.activations.compute),
                             recipe::isStatic(recipe.kvCache), nullptr, part});
  if (failed(module))
    return failure();
  if (part)
    *part->products = tapProducts(**module, checkpoint.config(), part->tapsCaches);
  engine::setAttribute<engine::EngineDialect::TargetAttrHelper>(**module, target);
  declareDims(**module, limits);
  observer("import", **module);
  annotate(**module, recipe);
  annotateEncoder(**module, recipe);
  annotate(**module, tuning, target);
  for (const Stage &stage : stages()) {
    PassManager manager(&context);
    stage.addPasses(manager);
    if (failed(manager.run(**module)))
      return failure();
    observer(stage.name, **module);
  }
  return module;
}
