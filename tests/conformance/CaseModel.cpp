// SPDX-License-Identifier: Apache-2.0
// The file is one safetensors file whose header the types determine.
#include "tests/conformance/CaseModel.h"

#include "dialects/engine/EngineOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/JSON.h"

#include <cstring>
#include <fstream>
#include <stdlib.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr llvm::StringLiteral kFile = "model.safetensors";
/// Nothing of it is used: the model is the case's.
constexpr llvm::StringLiteral kConfig =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_act":"silu",)"
    R"("hidden_size":64,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":1,)"
    R"("num_key_value_heads":1,"vocab_size":64,"max_position_embeddings":64,)"
    R"("rms_norm_eps":1e-5,"rope_theta":10000.0})";

llvm::StringRef storedName(Type element) {
  if (element.isF32())
    return "F32";
  if (element.isF16())
    return "F16";
  if (element.isBF16())
    return "BF16";
  if (isa<Float8E4M3FNType>(element))
    return "F8_E4M3";
  return isa<Float8E5M2Type>(element) ? "F8_E5M2" : "I8";
}

std::string headerOf(llvm::ArrayRef<CaseWeight> weights) {
  std::string header = "{";
  uint64_t end = 0;
  for (const CaseWeight &weight : weights) {
    std::string shape;
    for (int64_t extent : weight.stored.getShape())
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    header += (header.size() > 1 ? ",\"" : "\"") + weight.name + "\":{\"dtype\":\"" +
              storedName(weight.stored.getElementType()).str() + "\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(end) + "," +
              std::to_string(end + weight.bytes) + "]}";
    end += weight.bytes;
  }
  return header + "}";
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
}

} // namespace

std::string conformance::inputName(unsigned argument) { return "in" + std::to_string(argument); }
std::string conformance::outputName(unsigned result) { return "out" + std::to_string(result); }

std::vector<CaseWeight> conformance::weightsOf(func::FuncOp function) {
  std::vector<CaseWeight> weights;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape() || type.getElementType().isInteger(32))
      continue;
    CaseWeight &weight = weights.emplace_back();
    weight.argument = argument.getArgNumber();
    weight.type = weight.stored = type;
    weight.name = "w" + std::to_string(weights.size());
    int64_t bits = engine::elementBits(type.getElementType());
    if (bits < 8)
      weight.stored =
          RankedTensorType::get({type.getDimSize(0), (type.getDimSize(1) * bits + 7) / 8},
                                IntegerType::get(type.getContext(), 8));
    weight.bytes =
        uint64_t(weight.stored.getNumElements()) * (weight.stored.getElementTypeBitWidth() / 8);
  }
  uint64_t next = sizeof(uint64_t) + headerOf(weights).size();
  for (CaseWeight &weight : weights) {
    weight.offset = next;
    next += weight.bytes;
  }
  return weights;
}

OwningOpRef<ModuleOp> conformance::modelOf(func::FuncOp function,
                                           llvm::ArrayRef<CaseWeight> weights,
                                           engine::TargetAttr target) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  func::FuncOp step = function.clone();
  step.setName("step");
  module->push_back(step);
  (*module)->setAttr("engine.target", target);
  declareDims(*module);
  Builder names(module->getContext());
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    step.setArgAttr(i, "llm.input", names.getStringAttr(inputName(i)));
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    step.setResultAttr(i, "llm.output", names.getStringAttr(outputName(i)));
  auto builder = OpBuilder::atBlockBegin(&step.getBody().front());
  llvm::BitVector erased(step.getNumArguments());
  for (const CaseWeight &weight : weights) {
    Value value = llm::WeightOp::create(builder, step.getLoc(), weight.stored, weight.name, kFile,
                                        int64_t(weight.offset));
    if (weight.stored != weight.type)
      value = llm::UnpackOp::create(builder, step.getLoc(), weight.type, value,
                                    engine::elementBits(weight.type.getElementType()));
    step.getArgument(weight.argument).replaceAllUsesWith(value);
    erased.set(weight.argument);
  }
  (void)step.eraseArguments(erased);
  return module;
}

checkpoint::Expected<checkpoint::Checkpoint>
conformance::writeCheckpoint(const std::filesystem::path &folder,
                             llvm::ArrayRef<CaseWeight> weights,
                             llvm::ArrayRef<const HostTensor *> values) {
  std::ofstream(folder / "config.json") << kConfig.str();
  std::string header = headerOf(weights);
  uint64_t length = header.size();
  std::ofstream file(folder / kFile.str(), std::ios::binary);
  file.write(reinterpret_cast<const char *>(&length), sizeof length);
  file << header;
  for (auto [weight, tensor] : llvm::zip_equal(weights, values))
    file << packedRows(weight, *tensor);
  file.close();
  return checkpoint::Checkpoint::open(folder);
}

const std::filesystem::path &conformance::temporaryFolder() {
  struct Folder {
    Folder() {
      std::string name = (std::filesystem::temp_directory_path() / "conformance.XXXXXX").string();
      path = mkdtemp(name.data());
    }
    ~Folder() {
      std::error_code error;
      std::filesystem::remove_all(path, error);
    }
    std::filesystem::path path;
  };
  static const Folder folder;
  return folder.path;
}
