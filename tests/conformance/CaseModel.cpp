// SPDX-License-Identifier: Apache-2.0
// The file is one safetensors file whose header the types determine.
#include "tests/conformance/CaseModel.h"

#include "dialects/engine/EngineOps.h"
#include "dialects/llm/LaunchScalars.h"
#include "dialects/llm/LlmWeightOps.h"
#include "mlir/IR/Builders.h"
#include "runtime/schema/Names.h"

#include <cstring>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr llvm::StringLiteral kFile = "model.safetensors";
checkpoint::DType storedType(Type element) {
  using checkpoint::DType;
  if (element.isF32())
    return DType::F32;
  if (element.isF16())
    return DType::F16;
  if (element.isBF16())
    return DType::BF16;
  if (isa<Float8E4M3FNType>(element))
    return DType::F8E4M3;
  return isa<Float8E5M2Type>(element) ? DType::F8E5M2 : DType::I8;
}

/// The tensors of a file with these weights.
std::vector<checkpoint::Tensor> tensorsOf(llvm::ArrayRef<CaseWeight> weights) {
  std::vector<checkpoint::Tensor> tensors;
  for (const CaseWeight &weight : weights)
    tensors.push_back(weight.tensor);
  return tensors;
}

/// Rows of elements, least significant bits first, each row in whole bytes.
std::string packedRows(const CaseWeight &weight, const HostTensor &values) {
  int64_t bits = engine::elementBits(weight.type.getElementType());
  int64_t rowBytes = (values.columns * bits + 7) / 8;
  std::string bytes(size_t(values.rows * rowBytes), '\0');
  for (int64_t row = 0; row < values.rows; ++row)
    for (int64_t column = 0; column < values.columns; ++column) {
      uint32_t code = values.codes[row * values.columns + column];
      if (bits % 8 == 0) {
        std::memcpy(&bytes[row * rowBytes + column * bits / 8], &code, size_t(bits / 8));
        continue;
      }
      for (int64_t bit = 0; bit < bits; ++bit) {
        int64_t place = column * bits + bit;
        bytes[row * rowBytes + place / 8] |= char((code >> bit & 1) << place % 8);
      }
    }
  return bytes;
}

void declareDims(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto declare = [&](llvm::StringRef name, llvm::StringRef source, int64_t max) {
    engine::DimOp::create(builder, module.getLoc(), name, source, 1, max);
  };
  declare("T", "step", kMostTokens);
  declare("S", "step", kMostSequences);
  declare("L", "step", kMostLogitRows);
  declare("B", "load", kMostBlocks);
  // Of other programs than a step, where there are some: memory is planned for all dims together.
  std::set<std::string> used;
  module.walk([&](Operation *op) {
    auto scalars = llm::launchScalars(op);
    used.insert(scalars.begin(), scalars.end());
  });
  if (used.count("P"))
    declare("P", "step", kMostTokens);
  if (used.count("Q"))
    declare("Q", "step", kMostSequences);
}

} // namespace

static std::string prefixOf(llvm::StringRef function) {
  return function == kStepFunction ? "" : (function + ".").str();
}

std::string conformance::inputName(unsigned argument, llvm::StringRef function) {
  return prefixOf(function) + "in" + std::to_string(argument);
}
std::string conformance::outputName(unsigned result, llvm::StringRef function) {
  return prefixOf(function) + "out" + std::to_string(result);
}

/// Appends what `function`, the one at `place`, has as weights.
static void addWeights(func::FuncOp function, unsigned place, std::vector<CaseWeight> &weights) {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape() || type.getElementType().isInteger(32))
      continue;
    CaseWeight &weight = weights.emplace_back();
    weight.function = place;
    weight.argument = argument.getArgNumber();
    weight.type = weight.stored = type;
    int64_t bits = engine::elementBits(type.getElementType());
    if (bits < 8)
      weight.stored =
          RankedTensorType::get({type.getDimSize(0), (type.getDimSize(1) * bits + 7) / 8},
                                IntegerType::get(type.getContext(), 8));
    weight.tensor.name = "w" + std::to_string(weights.size());
    weight.tensor.dtype = storedType(weight.stored.getElementType());
    weight.tensor.shape.assign(weight.stored.getShape().begin(), weight.stored.getShape().end());
    weight.tensor.bytes =
        uint64_t(weight.stored.getNumElements()) * (weight.stored.getElementTypeBitWidth() / 8);
  }
}

std::vector<CaseWeight> conformance::weightsOf(ModuleOp functions) {
  std::vector<CaseWeight> weights;
  for (auto [place, function] : llvm::enumerate(functions.getOps<func::FuncOp>()))
    addWeights(function, unsigned(place), weights);
  std::vector<checkpoint::Tensor> tensors = tensorsOf(weights);
  (void)test::safetensorsHeader(tensors);
  for (auto [weight, tensor] : llvm::zip_equal(weights, tensors))
    weight.tensor.offset = tensor.offset;
  return weights;
}

/// Makes `program` one that names its inputs and results and reads `weights` from files.
static void nameArguments(func::FuncOp program, llvm::ArrayRef<CaseWeight> weights) {
  Builder names(program.getContext());
  llvm::StringRef function = program.getName();
  for (unsigned i = 0; i < program.getNumArguments(); ++i)
    program.setArgAttr(i, llm::LlmDialect::InputAttrHelper::getNameStr(),
                       names.getStringAttr(inputName(i, function)));
  for (unsigned i = 0; i < program.getNumResults(); ++i)
    program.setResultAttr(i, llm::LlmDialect::OutputAttrHelper::getNameStr(),
                          names.getStringAttr(outputName(i, function)));
  auto builder = OpBuilder::atBlockBegin(&program.getBody().front());
  llvm::BitVector erased(program.getNumArguments());
  for (const CaseWeight &weight : weights) {
    Value value = llm::WeightOp::create(builder, program.getLoc(), weight.stored,
                                        weight.tensor.name, kFile, int64_t(weight.tensor.offset));
    if (weight.stored != weight.type)
      value = llm::UnpackOp::create(builder, program.getLoc(), weight.type, value,
                                    engine::elementBits(weight.type.getElementType()));
    program.getArgument(weight.argument).replaceAllUsesWith(value);
    erased.set(weight.argument);
  }
  (void)program.eraseArguments(erased);
}

OwningOpRef<ModuleOp> conformance::modelOf(ModuleOp functions, llvm::ArrayRef<CaseWeight> weights,
                                           engine::TargetAttr target) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(functions.getLoc());
  engine::setAttribute<engine::EngineDialect::TargetAttrHelper>(*module, target);
  for (auto [place, function] : llvm::enumerate(functions.getOps<func::FuncOp>())) {
    func::FuncOp program = function.clone();
    module->push_back(program);
    auto own = [place = unsigned(place)](const CaseWeight &one) { return one.function == place; };
    nameArguments(program, llvm::to_vector(llvm::make_filter_range(weights, own)));
    if (program.getName() == kStepFunction)
      program.setName(schema::program::step);
  }
  declareDims(*module);
  return module;
}

checkpoint::Expected<checkpoint::Checkpoint>
conformance::writeCheckpoint(llvm::ArrayRef<CaseWeight> weights,
                             llvm::ArrayRef<const HostTensor *> values) {
  std::vector<checkpoint::Tensor> tensors = tensorsOf(weights);
  std::string header = test::safetensorsHeader(tensors), data;
  for (auto [weight, tensor] : llvm::zip_equal(weights, values))
    data += packedRows(weight, *tensor);
  temporaryFolder().write("config.json", test::plainConfig);
  temporaryFolder().write(kFile.str(), test::safetensorsFile(header, data));
  return checkpoint::Checkpoint::open(temporaryFolder().path());
}

const test::TemporaryDirectory &conformance::temporaryFolder() {
  static const test::TemporaryDirectory folder;
  return folder;
}
