// SPDX-License-Identifier: Apache-2.0
// Bytes from a launch's buffers, operations from its kernel's constants.
#include "codegen/cuda/LaunchCost.h"

#include "codegen/cuda/KernelEvidence.h"
#include "codegen/cuda/MatmulCost.h"
#include "codegen/cuda/MatmulMethods.h"
#include "dialects/engine/EngineOps.h"
#include "mlir/IR/Builders.h"
#include "runtime/schema/Names.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

/// Tokens of the steps that are stated.
constexpr int64_t kTokens[] = {1, 10, 16, 32, 64, 512, 2048};
constexpr int64_t kMostDecoded = 64, kDecodeContext = 1024;
constexpr int64_t kTileRows = 16, kBlockTokens = 8, kLeastDepth = 64;
/// A guess: the share of what mma.sync does that attention reaches.
constexpr double kAttentionShare = 0.5;
/// A guess: tensor cores' operations for each one of MatmulSimple, which uses none.
constexpr double kSimpleSlowdown = 16;

/// Dims of a step.
struct Step {
  int64_t tokens, sequences, context;

  explicit Step(int64_t count)
      : tokens(count), sequences(count > kMostDecoded ? 1 : count),
        context(count > kMostDecoded ? count : kDecodeContext) {}
  /// The value of a dim that counts rows; others than a step's count as its tokens do.
  int64_t rowsOf(llvm::StringRef dim) const {
    return dim == schema::dim::sequences || dim == schema::dim::logitRows ? sequences : tokens;
  }
  /// Pairs of a token and a position that it attends to.
  int64_t pairs() const {
    return sequences == tokens ? tokens * context : tokens * (tokens + 1) / 2;
  }
};

/// What one launch moves and computes.
struct Work {
  double bytes = 0, operations = 0;
  double peak = 0; ///< operations a second for these operands, of the data sheet
  double rate = 0; ///< that the instructions reach which the kernel uses
};

/// A fact as a number; 0 where there is none.
int64_t fact(engine::KernelOp kernel, llvm::StringRef name) {
  auto facts = kernel.getFacts();
  auto text = facts ? facts->getAs<StringAttr>(name) : StringAttr();
  int64_t value = 0;
  return text && !text.getValue().getAsInteger(10, value) ? value : 0;
}

int64_t constant(engine::KernelOp kernel, llvm::StringRef name) {
  auto value = kernel.getConstants().getAs<IntegerAttr>(name);
  return value ? value.getInt() : 0;
}

class CostModel {
public:
  CostModel(engine::UnitOp unit, const CudaPart &part) : unit(unit), part(part) {}

  /// Bytes of a launch's argument that the kernel reads or writes; 0 for scalars.
  double bytesOf(Attribute argument, engine::LaunchOp launch, engine::KernelOp kernel,
                 const Step &step) const {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(argument);
    if (auto placed = dyn_cast<engine::BufferArgAttr>(argument))
      symbol = placed.getBuffer();
    engine::BufferOp buffer = bufferOf(symbol);
    if (!buffer || buffer.getZeroed()) // the workspace
      return 0;
    auto bytes = double(evaluate(buffer.getBytes(), step));
    if (buffer.getRole() == "kv") {
      int64_t blockTokens = std::max<int64_t>(constant(kernel, "block_tokens"), 1);
      int64_t positions = isAttention(kernel) ? step.sequences * step.context : step.tokens;
      return bytes * double(positions) / double(blockTokens);
    }
    if (buffer.getRole() == "state")
      return bytes * double(step.sequences);
    // Of a stack the experts that are reached, at most one for each row.
    if (buffer.getRole() == "weight" && isMatmul(kernel) && constant(kernel, "experts") > 0)
      return bytes * double(reached(launch, kernel, step)) / double(constant(kernel, "experts"));
    if (buffer.getRole() == "weight" && kernel.getSource() == "Embed") {
      auto rows = evaluate(cast<engine::ExprAttr>(buffer.getShape()[0]), step);
      return bytes * double(std::min(rows, step.tokens)) / double(std::max<int64_t>(rows, 1));
    }
    return bytes;
  }

  Work workOf(engine::LaunchOp launch, engine::KernelOp kernel, const Step &step) const {
    Work work;
    for (Attribute argument : launch.getArgs())
      work.bytes += bytesOf(argument, launch, kernel, step);
    work.peak = part.peak(isMatmul(kernel) ? inputOf(kernel) : ProductType::Halves);
    work.rate =
        part.rate(isMatmul(kernel) ? productOf(kernel) : ProductType::Halves, familyOf(kernel));
    if (isMatmul(kernel)) {
      work.operations = 2.0 * double(constant(kernel, "weight_rows")) *
                        double(constant(kernel, "k")) * double(rowsOf(launch, kernel, step));
    }
    if (isAttention(kernel))
      work.operations = 2.0 * double(constant(kernel, "query_heads")) *
                        double(constant(kernel, "head_dim") + constant(kernel, "value_dim")) *
                        double(step.pairs());
    return work;
  }

  double floorOf(const Work &work) const {
    return std::max(work.bytes / (part.gigabytesPerSecond * 1e9), work.operations / work.peak);
  }

  double predict(engine::LaunchOp launch, engine::VariantAttr variant, engine::KernelOp kernel,
                 const Step &step) const {
    Work work = workOf(launch, kernel, step);
    if (isTiled(kernel))
      return matmulSeconds(part, productWork(launch, variant, kernel, step));
    if (isAttention(kernel))
      work.rate *= kAttentionShare;
    if (kernel.getSource() == "MatmulSimple")
      work.rate /= kSimpleSlowdown;
    return streamSeconds(part, work.bytes, work.operations / work.rate);
  }

  /// What decides how long a product on tensor cores takes; empty for other kernels.
  llvm::StringRef boundOf(engine::LaunchOp launch, engine::VariantAttr variant,
                          engine::KernelOp kernel, const Step &step) const {
    return isTiled(kernel) ? matmulBound(part, productWork(launch, variant, kernel, step))
                           : llvm::StringRef();
  }

  /// Whether the step is within the variant's ranges.
  static bool takes(engine::VariantAttr variant, const Step &step) {
    return llvm::all_of(variant.getRanges(), [&](engine::RangeAttr range) {
      int64_t value = step.rowsOf(range.getDim());
      return range.getMin() <= value && value <= range.getMax();
    });
  }

private:
  /// Null for no name.
  engine::BufferOp bufferOf(FlatSymbolRefAttr symbol) const {
    engine::UnitOp holder = unit; // MLIR looks up in operations that are not const
    return symbol ? holder.lookupSymbol<engine::BufferOp>(symbol.getAttr()) : engine::BufferOp();
  }

  static bool isAttention(engine::KernelOp kernel) {
    return kernel.getSource().starts_with("Attention");
  }
  /// Whether it is a product with the tiles of tensor cores.
  static bool isTiled(engine::KernelOp kernel) { return constant(kernel, "warps_along") > 0; }
  static bool isMatmul(engine::KernelOp kernel) { return kernel.getSource().starts_with("Matmul"); }

  /// What a product on tensor cores does, by the names of the constants that all methods share.
  MatmulWork productWork(engine::LaunchOp launch, engine::VariantAttr variant,
                         engine::KernelOp kernel, const Step &step) const {
    int64_t experts = reached(launch, kernel, step), k = constant(kernel, "k");
    int64_t warps = constant(kernel, "warps_along") * constant(kernel, "warps_across");
    llvm::ArrayRef<engine::ExprAttr> grid = variant.getGrid();
    MatmulWork work = {};
    work.rows = constant(kernel, "weight_rows") * experts;
    work.k = k;
    work.tokens = llvm::divideCeil(rowsOf(launch, kernel, step), experts);
    work.weightBits = 8 * weightBytes(launch, kernel, step) /
                      (double(work.rows) * double(std::max<int64_t>(k, 1)));
    work.inputBits =
        constant(kernel, "input_type") == kI8 || inputOf(kernel) == ProductType::Float8 ? 8 : 16;
    work.type = productOf(kernel);
    work.family = familyOf(kernel);
    WarpTile warp = {constant(kernel, "row_tiles"),
                     constant(kernel, "token_blocks"),
                     work.weightBits,
                     work.inputBits,
                     std::max<int64_t>(constant(kernel, "tile_depth"), kLeastDepth),
                     work.type,
                     work.family};
    work.tileRows = constant(kernel, "warps_along") * warp.rowTiles * kTileRows;
    work.tileTokens = constant(kernel, "warps_across") * warp.tokenBlocks * kBlockTokens;
    work.depth = warp.depth;
    work.stages = std::max<int64_t>(constant(kernel, "stages"), 2);
    work.warps = warps;
    work.residents = std::max<int64_t>(fact(kernel, "blocks_per_multiprocessor"), 1);
    work.shares = grid.size() > 2 ? evaluate(grid[2], step) : 1;
    work.clustered = constant(kernel, "cluster_blocks") > 1;
    work.segments = llvm::divideCeil(k, constant(kernel, "segment"));
    work.tokenGroup = constant(kernel, "token_group");
    int64_t counted = fact(kernel, kLoopInstructions);
    work.instructions = double(warps) * (counted > 0 ? double(counted) : instructionsOf(warp));
    work.sharedBytes = double(warps) * sharedBytesOf(warp);
    return work;
  }

  /// Bytes of a product's weight and of what goes with it by group.
  double weightBytes(engine::LaunchOp launch, engine::KernelOp kernel, const Step &step) const {
    double bytes = 0;
    for (Attribute argument : launch.getArgs())
      if (engine::BufferOp buffer = bufferOf(dyn_cast<FlatSymbolRefAttr>(argument));
          buffer && buffer.getRole() == "weight")
        bytes += bytesOf(argument, launch, kernel, step);
    return bytes;
  }

  static MmaFamily familyOf(engine::KernelOp kernel) {
    if (constant(kernel, "from_shared") > 0)
      return MmaFamily::WgmmaShared;
    return kernel.getSource() == kGroupMethod.source ? kGroupMethod.family : kTensorMethod.family;
  }

  static ProductType inputOf(engine::KernelOp kernel) {
    int64_t input = constant(kernel, "input_type");
    return input == kI8     ? ProductType::Integers
           : input == kE4m3 ? ProductType::Float8
                            : ProductType::Halves;
  }
  /// What the instructions multiply: e4m3 may go by way of f16.
  static ProductType productOf(engine::KernelOp kernel) {
    ProductType input = inputOf(kernel);
    bool widened = input == ProductType::Float8 && constant(kernel, "float8_products") == 0;
    return widened ? ProductType::Halves : input;
  }

  /// Rows of a product's result.
  int64_t rowsOf(engine::LaunchOp launch, engine::KernelOp kernel, const Step &step) const {
    auto scalars = llvm::make_filter_range(
        launch.getArgs(), [](Attribute argument) { return isa<engine::ExprAttr>(argument); });
    auto rows = std::next(scalars.begin(), constant(kernel, "rows_dim"));
    return evaluate(cast<engine::ExprAttr>(*rows), step) * constant(kernel, "rows_each");
  }
  /// Experts that a product reaches, if all rows reach different ones as long as there are some.
  int64_t reached(engine::LaunchOp launch, engine::KernelOp kernel, const Step &step) const {
    int64_t experts = constant(kernel, "experts");
    return experts == 0 ? 1 : std::min(experts, rowsOf(launch, kernel, step));
  }

  int64_t evaluate(engine::ExprAttr expression, const Step &step) const {
    auto value =
        engine::Expr::parse(expression.getText())
            ->evaluate([&](llvm::StringRef dim) -> std::optional<int64_t> {
              if (dim.starts_with(schema::dim::tableWidth)) // entries of a block table: a few bytes
                return llvm::divideCeil(step.context, kTileRows);
              return dim == schema::dim::multiprocessors ? part.multiprocessors : step.rowsOf(dim);
            });
    return value.value_or(0);
  }

  engine::UnitOp unit;
  const CudaPart &part;
};

/// The texts of one kernel's facts.
struct Texts {
  std::string predicted, floor, bound;
};

/// "+-30 %".
std::string predictedError() {
  return llvm::formatv("+-{0} %", std::lround(kPredictedError * 100));
}

void append(std::string &text, int64_t tokens, const std::string &value) {
  text += (text.empty() ? "" : " ") + std::to_string(tokens) + ":" + value;
}

std::string microseconds(double seconds) { return llvm::formatv("{0:f2}", seconds * 1e6); }

} // namespace

/// What each kernel that launches of `unit` run takes.
static llvm::MapVector<Operation *, Texts> textsOf(engine::UnitOp unit, const CostModel &model) {
  llvm::MapVector<Operation *, Texts> texts;
  unit.walk([&](engine::LaunchOp launch) {
    llvm::MapVector<Operation *, Texts> own;
    for (int64_t tokens : kTokens) {
      Step step(tokens);
      for (auto variant : launch.getVariants().getAsRange<engine::VariantAttr>()) {
        if (!CostModel::takes(variant, step))
          continue;
        auto kernel = unit.lookupSymbol<engine::KernelOp>(variant.getKernel().getAttr());
        Texts &text = own[kernel];
        append(text.predicted, tokens, microseconds(model.predict(launch, variant, kernel, step)));
        append(text.floor, tokens, microseconds(model.floorOf(model.workOf(launch, kernel, step))));
        if (llvm::StringRef bound = model.boundOf(launch, variant, kernel, step); !bound.empty())
          append(text.bound, tokens, bound.str());
        break; // the first match runs
      }
    }
    for (auto &[kernel, text] : own)
      texts.try_emplace(kernel, text); // equal kernels do equal work
  });
  return texts;
}

void codegen::stateCosts(engine::UnitOp unit, const CudaArchitecture &architecture) {
  Builder builder(unit.getContext());
  for (const CudaPart &part : architecture.parts) {
    bool typical = &part == &architecture.typicalPart();
    std::string suffix = typical ? "" : "_" + part.name.str();
    for (auto &[op, text] : textsOf(unit, CostModel(unit, part))) {
      auto kernel = cast<engine::KernelOp>(op);
      NamedAttrList facts(kernel.getFacts().value_or(builder.getDictionaryAttr({})));
      facts.set("predicted_us" + suffix, builder.getStringAttr(text.predicted));
      facts.set("predicted_error", builder.getStringAttr(predictedError()));
      facts.set("floor_us" + suffix, builder.getStringAttr(text.floor));
      if (!text.bound.empty())
        facts.set("bound_by" + suffix, builder.getStringAttr(text.bound));
      if (typical)
        facts.set("predicted_part", builder.getStringAttr(part.name));
      kernel.setFactsAttr(facts.getDictionary(unit.getContext()));
    }
  }
}
