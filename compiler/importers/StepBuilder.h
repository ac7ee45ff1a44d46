// SPDX-License-Identifier: Apache-2.0
// What importers of all families share: the step's inputs, weights by name, small op shorthands,
// and the sampling program.
#pragma once

#include "compiler/checkpoint/config/ExpertMatrix.h"
#include "compiler/importers/ElementFunctions.h"
#include "compiler/importers/ImportOptions.h"
#include "compiler/importers/StoredWeights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace ingot::compiler {

/// An input of a program.
struct ProgramInput {
  std::string name;
  mlir::Type type;
};

/// Builds programs, one after the other, of which @step is the last. A missing weight is remembered
/// as the first error; later operations then build on a harmless placeholder value, and finish()
/// fails.
class StepBuilder {
public:
  /// Where tokens go: the rows of the operations that it is given to.
  struct Routing {
    mlir::Value weights, experts; ///< [T * perToken], token by token
    mlir::Value order, starts;    ///< those rows by expert, as llm.group_rows
  };

  StepBuilder(mlir::ModuleOp module, const checkpoint::Checkpoint &checkpoint,
              const ImportOptions &options);

  /// Creates the function `name`; its arguments. What was made for an earlier one is no part of it.
  mlir::ValueRange beginProgram(llvm::StringRef name, llvm::ArrayRef<ProgramInput> inputs);
  /// Returns `results` under these names.
  mlir::func::FuncOp finishProgram(mlir::ValueRange results, llvm::ArrayRef<llvm::StringRef> names);

  /// Creates @step with an input for each KV cache or recurrent state in `caches`, and one of
  /// embeddings unless they have no columns.
  void begin(llvm::ArrayRef<mlir::Type> caches, int64_t embeddingColumns = 0);

  /// Returns `logits` and reports the first error, if any; unreadTensors() says when a tensor that
  /// was not asked for is one.
  mlir::LogicalResult finish(mlir::Value logits);

  /// Operations created from here on come from `site` of the model ("layers.0.self_attn").
  void setSite(const llvm::Twine &site);

  /// The checkpoint's tensor `name`, which must have `shape`, or the values of a matrix that is
  /// stored quantized; one value per name. Of three dimensions the first two are rows, of more the
  /// first.
  mlir::Value weight(llvm::StringRef name, llvm::ArrayRef<int64_t> shape);
  /// `weight` with its rows in another order, as llm.permute_rows.
  mlir::Value permuteRows(mlir::Value weight, llvm::ArrayRef<int64_t> digits,
                          llvm::ArrayRef<int64_t> order);
  mlir::Value sliceRows(mlir::Value weight, int64_t first, int64_t rows);
  /// Of the first dimensions together, and the last.
  mlir::Value transpose(mlir::Value weight);
  mlir::Value reshape(mlir::Value weight, llvm::ArrayRef<int64_t> shape);
  /// `weight` with `rows` rows of zeros behind its own.
  mlir::Value padRows(mlir::Value weight, int64_t rows);
  /// `weight` in the model's own type where it is made of numbers that are stored quantized, and
  /// can no more be read as such.
  mlir::Value plain(mlir::Value weight);
  /// The matrix `name` [rows, columns]; with `inputsFirst` one that is not stored quantized is
  /// stored as [columns, rows].
  mlir::Value matrix(llvm::StringRef name, int64_t rows, int64_t columns, bool inputsFirst);
  /// 1 + `weight`, in f32.
  mlir::Value plusOne(mlir::Value weight);
  /// A small f32 weight computed from the configuration.
  mlir::Value literal(llvm::StringRef name, llvm::ArrayRef<float> values);

  /// A small f32 weight of `count` numbers, each computed of those of the tensor `name`. They must
  /// be finite.
  mlir::Value
  computed(llvm::StringRef name, int64_t count,
           llvm::function_ref<float(llvm::ArrayRef<float> stored, int64_t number)> function);

  /// The one number of a tensor, for the program itself, or what the configuration has for it;
  /// `absent` where there is no such tensor and it is not needed, or only config.json.
  /// One that `isBound` may be infinite.
  double number(llvm::StringRef name, double absent, bool isNeeded = false, bool isBound = false);

  mlir::Value embed(mlir::Value table);
  /// The row of `table` for each index.
  mlir::Value rowsAt(mlir::Value table, mlir::Value indices);
  /// Each token's row of `table` [positions, columns], by its position.
  mlir::Value embedPositions(mlir::Value table);
  /// RMSNorm, or LayerNorm where it is `centered`. `bias`: or null; `headDim`: columns that are
  /// normed together; 0: whole rows.
  mlir::Value norm(mlir::Value input, bool centered, mlir::Value weight, mlir::Value bias,
                   double epsilon, int64_t headDim = 0);
  /// input * weight^T, plus `bias` unless null.
  mlir::Value linear(mlir::Value input, mlir::Value weight, mlir::Value bias = {});
  /// The experts of the rows of `logits` [T, experts]. `bias`: for the choice alone, or null.
  Routing route(mlir::Value logits, mlir::Value bias, int64_t perToken,
                const checkpoint::Router &router);
  /// Fails unless products with `weight` take their input as it is.
  void expectPlainInputs(mlir::Value weight);
  /// Matrices of experts on top of each other.
  mlir::Value stack(llvm::ArrayRef<mlir::Value> weights);
  /// The rows of `heads` that `input` [T, heads * inputs] has side by side, each times the matrix
  /// of its head in `stack`, [heads * rows, inputs], of whose rows `outputs` count.
  mlir::Value headLinear(mlir::Value input, mlir::Value stack, int64_t heads, int64_t outputs);
  /// Row by row of the routing, the input times the transposed matrix of the row's expert. `input`:
  /// a row for each token, or for each row of the routing.
  mlir::Value expertLinear(mlir::Value input, mlir::Value stack, const Routing &routing);
  /// Whether the checkpoint has a matrix `name`, stored quantized or not.
  bool hasMatrix(llvm::StringRef name) const;
  /// Whether the checkpoint has a tensor `name` of this shape.
  bool isStored(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) const;
  /// The tensor `name` of all experts' matrices, [experts, columns, rows] or without `inputsFirst`
  /// [experts, rows, columns], as what is stored quantized is, as a stack [experts * rows,
  /// columns].
  mlir::Value expertWeights(llvm::StringRef name, int64_t experts, int64_t rows, int64_t columns,
                            bool inputsFirst);
  /// The sums of runs of rows, `rows` in all, each row times its weight unless these are null.
  mlir::Value sumOfRows(mlir::Value input, mlir::Value weights, llvm::StringRef rows);
  /// A weight of [rows, slices, columns] elements, its slices added.
  mlir::Value sumOfSlices(mlir::Value weight, int64_t rows, int64_t slices, int64_t columns);
  /// Runs of rows as one row, `rows` in all, and each row as `parts` of them.
  mlir::Value joinRows(mlir::Value input, llvm::StringRef rows);
  mlir::Value splitRows(mlir::Value input, int64_t parts);
  /// Attention of rows to all of their sequence (llm.encoder_attention).
  mlir::Value encoderAttention(mlir::Value query, mlir::Value keys, mlir::Value values,
                               mlir::Value sequences, mlir::Value offsets, int64_t heads,
                               double scale);
  /// Adds to each row of the routing its expert's row of `biases` [experts, columns].
  mlir::Value addExpertBias(mlir::Value rows, mlir::Value biases, const Routing &routing);
  /// Each row of the routing times its expert's number of `scales` [experts].
  mlir::Value timesOfExpert(mlir::Value rows, mlir::Value scales, const Routing &routing);
  /// Each row of the routing times its weight.
  mlir::Value weighted(mlir::Value rows, const Routing &routing);
  /// The sum of each token's rows, weighted unless `scalesInputs` of the router.
  mlir::Value combine(mlir::Value rows, const Routing &routing, bool isWeighted);
  /// Each row of the input times the number of `scales` [positions] for its token's position.
  mlir::Value scaledRows(mlir::Value input, mlir::Value scales);
  /// Linear attention with matrices as state (llm.gated_delta_rule). `input`: [q|k|v]; `decay`,
  /// `gate`: a number for each value head, as `logDecay` and `decayBias`.
  mlir::Value gatedDeltaRule(mlir::Value input, mlir::Value decay, mlir::Value gate,
                             mlir::Value state, mlir::Value logDecay, mlir::Value decayBias,
                             const checkpoint::GatedDeltaNet &net);
  /// A selective state space (llm.state_space). `input`: [x|B|C]; `delta`: a number for each head,
  /// as `logDecay`, `deltaBias` and `skip`.
  mlir::Value stateSpace(mlir::Value input, mlir::Value delta, mlir::Value state,
                         mlir::Value logDecay, mlir::Value deltaBias, mlir::Value skip,
                         const checkpoint::StateSpace &space);
  /// input / (1 + e^-gate), for `gate` like the input, or [T, 1].
  mlir::Value gated(mlir::Value input, mlir::Value gate);
  mlir::Value add(mlir::Value a, mlir::Value b);
  /// Element by element; `b` may have a number for each row or column.
  mlir::Value times(mlir::Value a, mlir::Value b);
  /// body(inputs), element by element, as wide as the first; others may have a number for each row
  /// or column. Targets take six at most.
  mlir::Value elements(mlir::ValueRange inputs,
                       llvm::function_ref<mlir::Value(ElementFunctions &, mlir::ValueRange)> body);
  /// The mean of each row of `input` [T, columns], as [T, 1].
  mlir::Value rowMeans(mlir::Value input);
  /// input * factor and input / divisor; the input itself for 1.
  mlir::Value multiply(mlir::Value input, double factor);
  mlir::Value divide(mlir::Value input, double divisor);
  /// cap * tanh(input / cap); the input itself for 0.
  mlir::Value softcap(mlir::Value input, double cap);
  /// function(gate) * up.
  mlir::Value activatedTimes(const ActivationFunction &function, mlir::Value gate, mlir::Value up);
  /// function(input), of one input.
  mlir::Value activated(const ActivationFunction &function, mlir::Value input);
  /// By the token's position, of columns that stand side by side.
  mlir::Value ropePairs(mlir::Value input, mlir::Value frequencies, int64_t headDim, double factor);
  /// By the token's position; by its three where the model sees and has `axes`, of each frequency
  /// one.
  mlir::Value rope(mlir::Value input, mlir::Value frequencies, int64_t headDim, double factor,
                   llvm::ArrayRef<int64_t> axes = {});
  /// By other positions, as many for each row as there are axes.
  mlir::Value ropeBy(mlir::Value positions, mlir::Value input, mlir::Value frequencies,
                     int64_t headDim, double factor, llvm::ArrayRef<int64_t> axes);
  mlir::Value sliceColumns(mlir::Value input, int64_t first, int64_t columns);
  /// Column k of the result is column columns[k] of the input. `name`: of the list.
  mlir::Value gatherColumns(mlir::Value input, llvm::StringRef name,
                            llvm::ArrayRef<int32_t> columns);
  /// `prefix`: of the attention's tensors, among which the cache's scales are.
  void kvAppend(mlir::Value keys, mlir::Value values, mlir::Value cache, const std::string &prefix);
  /// `window`: positions that a token attends to, 0 for all, `isChunk`: as llm.attention has it;
  /// `softcap`: 0 for none; `sinks`: one for each query head, or null; tokens of a picture see
  /// those behind them where the model has them do so, unless `onlyBack`.
  mlir::Value attention(mlir::Value query, mlir::Value cache, double scale, uint64_t window,
                        bool isChunk, double softcap, mlir::Value sinks = {},
                        bool onlyBack = false);
  /// The same with latents as keys and values, whose keys and queries are in two parts.
  void latentAppend(mlir::Value latent, mlir::Value rotary, mlir::Value cache);
  /// `selected`: of selectPositions(), or null.
  mlir::Value latentAttention(mlir::Value query, mlir::Value rotary, mlir::Value cache,
                              mlir::Value selected, double scale);
  /// The positions that tokens attend to (llm.select_positions). `query`: heads side by side, of
  /// which each has a number in `weights`; `cache`: of their keys.
  mlir::Value selectPositions(mlir::Value query, mlir::Value weights, mlir::Value cache,
                              uint64_t most, double scale);
  /// `weight` [columns, taps]; `bias`: or null.
  mlir::Value causalConv(mlir::Value input, mlir::Value state, mlir::Value weight,
                         mlir::Value bias);
  mlir::Value boundary(mlir::Value input, llvm::StringRef segment);
  /// `x` with the rows of pictures in their places, of a model that sees; x alone of others.
  mlir::Value placeImages(mlir::Value x);
  /// `x` plus the further rows of pictures that are for `layer`, where there are any.
  mlir::Value addImages(mlir::Value x, size_t layer);
  /// The rows whose logits are wanted.
  mlir::Value wantedRows(mlir::Value input);

  llvm::ArrayRef<mlir::Value> caches() const { return cacheInputs; }
  mlir::Value givenEmbeddings() const { return embeddings; }

  /// [rows, columns] of f32, [rows] of f32, and [rows] of indices.
  mlir::RankedTensorType activation(llvm::StringRef rows, int64_t columns);
  mlir::RankedTensorType numbers(llvm::StringRef rows);
  mlir::RankedTensorType indices(llvm::StringRef rows);

private:
  /// The row expression of an activation.
  static llvm::StringRef rowsOf(mlir::Value value);
  /// Of each row of the routing its expert's row of `table` [experts, columns].
  mlir::Value ofExperts(mlir::Value table, const Routing &routing);

  const checkpoint::Checkpoint &checkpoint;
  const ImportOptions &options;
  mlir::ModuleOp module;
  mlir::OpBuilder builder; ///< the program's operations
  mlir::OpBuilder weights; ///< weight operations, at the start of the function
  StoredWeights storedWeights;
  mlir::Location location;
  mlir::func::FuncOp function;
  mlir::Operation *firstOperation = nullptr; ///< separates weights from the program while building
  mlir::Value tokens, positions, tokenSequences, logitRows, embeddings;
  mlir::Value sequenceOffsets;              ///< where there is recurrent state
  llvm::SmallVector<mlir::Value> imageRows; ///< of a model that sees; behind the first further ones
  mlir::Value imagePlaces, rotaryPositions, reaches; ///< likewise
  std::map<llm::KvGroup, mlir::Value> blockTables;
  llvm::SmallVector<mlir::Value> cacheInputs;
  /// Remembers the order of the columns of `weight`, which storedWeights made last.
  void keepColumnOrder(llvm::StringRef name, mlir::Value weight);
  /// `input` with its columns as `weight` has them.
  mlir::Value inOrderOf(mlir::Value weight, mlir::Value input);

  /// `map` of the rows of `weight`, or of what it is decoded from, whose products read that.
  mlir::Value mapRows(mlir::Value weight, llvm::function_ref<mlir::Value(mlir::Value)> map);

  /// The block table of the group that `cache` is of.
  mlir::Value tableOf(mlir::Value cache) const;

  /// `input` times what the checkpoint scales the inputs of `weight` by.
  mlir::Value scaledFor(mlir::Value weight, mlir::Value input);

  llvm::StringMap<mlir::Value> known;                   ///< weights made so far
  llvm::StringSet<> asked;                              ///< names of weights of all programs
  llvm::DenseMap<mlir::Value, mlir::Value> inputScales; ///< of weights
  llvm::DenseMap<mlir::Value, float> staticScales;      ///< of the 8-bit inputs of weights
  /// Of weights with reordered columns: where column k stands in an input. Equal orders are one.
  llvm::DenseMap<mlir::Value, mlir::Value> columnOrders;
  llvm::DenseMap<mlir::Attribute, mlir::Value> orders; ///< by their content
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> gathered;
  void checkAllRead();
  /// storedScale(); an error is remembered.
  float staticScale(const std::string &name);
  /// `weight`, which the model calls `name`, with what the adapter has for it.
  mlir::Value adapted(llvm::StringRef name, mlir::Value weight);
  mlir::Value addLowRank(mlir::Value weight, mlir::Value left, mlir::Value right, double scale);
  /// The same for experts, whose adapter knows them by the parameter that stacks them.
  mlir::Value adaptedExpert(const checkpoint::ExpertMatrix &expert, mlir::Value weight);
  mlir::Value adaptedStack(llvm::StringRef name, mlir::Value weight);
  /// What the adapter has for a stack: [experts * rank, columns] and [experts * rows, rank].
  struct StackFactors {
    mlir::Value right, left;
    int64_t rank = 1;
    double scale = 1;
  };
  /// `columns` and `rows`: of each expert's matrix. Nothing where the adapter has none.
  std::optional<StackFactors> stackFactors(llvm::StringRef stack, int64_t columns, int64_t rows);

  llvm::StringSet<> read; ///< names of stored tensors that weight() found
  std::optional<checkpoint::Error> firstError;
};

/// Adds @sample for a vocabulary of that size.
void addSampleProgram(mlir::ModuleOp module, int64_t vocabulary);

} // namespace ingot::compiler
