// SPDX-License-Identifier: Apache-2.0
// What the CUDA targets fuse, how they store weights, and which template runs each operation.
#include "codegen/cuda/AttentionKernels.h"
#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/MatmulKernels.h"
#include "codegen/cuda/MatmulLayout.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::LayoutAttr;
using engine::RangeAttr;

namespace {

class CudaProvider final : public engine::KernelProvider {
public:
  explicit CudaProvider(engine::TargetAttr target)
      : target(target), architecture(*findCudaArchitecture(target.getArch())) {}

  std::optional<std::string> declines(engine::Fusion fusion, Operation *site) const override;
  int64_t pairOffset() const override { return kCudaPairOffset; }
  bool scalesInputGroups() const override { return false; }
  FailureOr<LayoutAttr> weightLayout(Operation *user, unsigned operand) const override;
  llvm::SmallVector<engine::SumsAttr> sumsFor(Operation *op,
                                              llvm::ArrayRef<RangeAttr>) const override {
    using Orders = llvm::SmallVector<engine::SumsAttr>;
    return llvm::TypeSwitch<Operation *, Orders>(op)
        .Case([&](llm::MatmulOp matmul) { return cudaMatmulSums(matmul, architecture); })
        .Case([&](llm::AttentionOp attention) {
          return Orders{attentionSums(attention, architecture)};
        })
        .Case([](llm::EncoderAttentionOp encoder) { return Orders{attentionSums(encoder)}; })
        .Default([](Operation *other) {
          engine::SumsAttr sums = rowOperationSums(other);
          return sums ? Orders{sums} : Orders();
        });
  }
  LogicalResult kernelsFor(Operation *op, llvm::ArrayRef<RangeAttr> declared,
                           Kernels &kernels) const override;
  void candidatesFor(Operation *op, llvm::ArrayRef<RangeAttr> declared,
                     Kernels &kernels) const override {
    if (auto matmul = dyn_cast<llm::MatmulOp>(op))
      addMatmulCandidates(matmul, architecture, declared, kernels);
  }

private:
  LogicalResult fail(Operation *op, const llvm::Twine &reason) const {
    return op->emitError() << "INGOT-E4305: target '" << target.getName() << "' has no kernel for '"
                           << op->getName() << "': " << reason;
  }

  engine::TargetAttr target;
  const CudaArchitecture &architecture;
};

} // namespace

std::optional<std::string> CudaProvider::declines(engine::Fusion fusion, Operation *site) const {
  // A fused product must stay within what the templates take.
  if (fusion == engine::Fusion::Epilogue && site->getNumOperands() > kEpilogueOperands + 1)
    return ("an epilogue has at most " + llvm::Twine(kEpilogueOperands) + " operands").str();
  if (fusion == engine::Fusion::Fp8Attention)
    return fp8AttentionDeclined(cast<llm::AttentionOp>(site), architecture);
  auto matmul = dyn_cast<llm::MatmulOp>(site);
  if (fusion == engine::Fusion::QuantizeActivation && matmul &&
      matmul.getEncodedWeight().facts().zeros() > kZeroPoints)
    return "integer products have neither offsets nor codebooks here";
  return std::nullopt;
}

FailureOr<LayoutAttr> CudaProvider::weightLayout(Operation *user, unsigned operand) const {
  auto type = dyn_cast<RankedTensorType>(user->getOperand(operand).getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2)
    return fail(user, "operand " + llvm::Twine(operand) + " is no weight of one or two dimensions");
  if (auto matmul = dyn_cast<llm::MatmulOp>(user))
    return cudaMatmulLayout(matmul, operand);
  return rowMajorLayout(type);
}

LogicalResult CudaProvider::kernelsFor(Operation *op, llvm::ArrayRef<RangeAttr> declared,
                                       Kernels &kernels) const {
  if (!isa<llm::EncodedWeightOpInterface>(op) && !llvm::all_of(op->getOperandTypes(), isRowMajor))
    return fail(op, "it reads weights in row-major order only");
  Declined reason = llvm::TypeSwitch<Operation *, Declined>(op)
                        .Case([&](llm::MatmulOp matmul) {
                          return addMatmulKernels(matmul, architecture, declared, kernels);
                        })
                        .Case([&](llm::AttentionOp attention) {
                          return addAttentionKernels(attention, architecture, declared, kernels);
                        })
                        .Case([&](llm::EncoderAttentionOp encoder) {
                          return addAttentionKernels(encoder, kernels);
                        })
                        .Default([&](Operation *other) {
                          return addRowKernels(other, architecture, declared, kernels);
                        });
  return reason ? fail(op, *reason) : success();
}

std::unique_ptr<engine::KernelProvider> codegen::createCudaProvider(engine::TargetAttr target) {
  return findCudaArchitecture(target.getArch()) ? std::make_unique<CudaProvider>(target) : nullptr;
}
