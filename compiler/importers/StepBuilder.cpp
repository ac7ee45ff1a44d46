// SPDX-License-Identifier: Apache-2.0
// Shorthands for building @step, and the sampling program.
#include "compiler/importers/StepBuilder.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/config/VisionPlan.h"
#include "compiler/importers/StoredScales.h"
#include "compiler/importers/UnreadTensors.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmStateOps.h"
#include "dialects/llm/LlmWeightOps.h"

#include "passes/FusionReport.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/schema/Names.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

/// Widths of the sampling inputs and outputs (runtime/schema/KernelAbi.h).
constexpr int64_t kSampleParamWords = sizeof(IngotSampleParams) / sizeof(int32_t);

/// A function whose arguments carry llm.input names; the builder is left at its start.
func::FuncOp makeFunction(OpBuilder &builder, Location location, StringRef name,
                          ArrayRef<ProgramInput> arguments) {
  SmallVector<Type> types;
  for (const ProgramInput &argument : arguments)
    types.push_back(argument.type);
  auto function = func::FuncOp::create(builder, location, name, builder.getFunctionType(types, {}));
  for (auto [i, argument] : llvm::enumerate(arguments))
    function.setArgAttr(i, llm::LlmDialect::InputAttrHelper::getNameStr(),
                        builder.getStringAttr(argument.name));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

/// Ends `function` with `values` as results of these names.
void finishFunction(OpBuilder &builder, func::FuncOp function, ValueRange values,
                    ArrayRef<StringRef> names) {
  func::ReturnOp::create(builder, function.getLoc(), values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), values.getTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, llm::LlmDialect::OutputAttrHelper::getNameStr(),
                           builder.getStringAttr(name));
}

/// A tensor of [rows, columns], or of [rows] for `columns` = 0.
RankedTensorType rowsType(OpBuilder &builder, StringRef rows, int64_t columns, Type element) {
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  if (columns != 0)
    shape.push_back(columns);
  return RankedTensorType::get(shape, element, builder.getStringAttr(rows));
}

} // namespace

StepBuilder::StepBuilder(ModuleOp module, const checkpoint::Checkpoint &checkpoint,
                         const ImportOptions &options)
    : checkpoint(checkpoint), options(options), module(module), builder(module.getContext()),
      weights(module.getContext()), storedWeights(weights, checkpoint), location(module.getLoc()) {}

ValueRange StepBuilder::beginProgram(StringRef name, ArrayRef<ProgramInput> inputs) {
  known.clear();
  inputScales.clear();
  staticScales.clear();
  columnOrders.clear();
  orders.clear();
  gathered.clear();
  builder.setInsertionPointToEnd(module.getBody());
  function = makeFunction(builder, location, name, inputs);
  // Weight operations stay together before everything else.
  auto last = func::ReturnOp::create(builder, location);
  weights.setInsertionPoint(last);
  builder.setInsertionPointToEnd(last->getBlock());
  firstOperation = last;
  return function.getArguments();
}

func::FuncOp StepBuilder::finishProgram(ValueRange results, ArrayRef<StringRef> names) {
  firstOperation->erase();
  finishFunction(builder, function, results, names);
  return function;
}

void StepBuilder::begin(ArrayRef<Type> cacheTypes, int64_t embeddingColumns) {
  Type i32 = builder.getI32Type();
  auto tokensType = rowsType(builder, schema::dim::tokens, 0, i32);
  auto tableType = RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic}, i32,
                                         builder.getStringAttr(schema::dim::sequences));
  SmallVector<std::string> cacheNames;
  bool hasStates = false;
  for (auto [i, cache] : llvm::enumerate(cacheTypes)) {
    bool isState = isa<llm::StateType>(cache);
    hasStates |= isState;
    cacheNames.push_back((isState ? "state." : "kv.") + std::to_string(i));
    blockTables.try_emplace(*llm::kvGroupOf(cache));
  }
  SmallVector<std::string> tableNames;
  for (const auto &[group, table] : blockTables)
    tableNames.push_back(tableNames.empty()
                             ? schema::input::blockTable
                             : schema::input::blockTable + std::string(".") + group.name());
  SmallVector<ProgramInput> arguments{{schema::input::tokens, tokensType},
                                      {schema::input::positions, tokensType},
                                      {schema::input::tokenSequences, tokensType}};
  if (hasStates)
    arguments.push_back({schema::input::sequenceOffsets,
                         rowsType(builder, schema::dim::sequences + std::string(" + 1"), 0, i32)});
  for (const std::string &name : tableNames)
    arguments.push_back({name, tableType});
  arguments.push_back(
      {schema::input::logitRows, rowsType(builder, schema::dim::logitRows, 0, i32)});
  for (auto [name, type] : llvm::zip(cacheNames, cacheTypes))
    arguments.push_back({name, type});
  if (embeddingColumns != 0)
    arguments.push_back(
        {schema::input::embeddings, activation(schema::dim::tokens, embeddingColumns)});
  const checkpoint::VisionPlan *vision = options.part ? nullptr : checkpoint.config().vision.get();
  const size_t rows = vision ? 1 + vision->deepstackLayers.size() : 0;
  for (size_t i = 0; i < rows; ++i)
    arguments.push_back(
        {schema::input::imageRows + (i == 0 ? "" : "." + std::to_string(i)),
         activation(schema::dim::givenRows, static_cast<int64_t>(checkpoint.config().hiddenSize))});
  if (vision)
    arguments.push_back({schema::input::imagePlaces, tokensType});
  const bool turns = vision && !vision->sections.empty();
  if (turns)
    arguments.push_back(
        {schema::input::rotaryPositions, indices(schema::dim::tokens + std::string(" * 3"))});
  const bool seesAhead = vision && vision->images.seesAhead;
  if (seesAhead)
    arguments.push_back({schema::input::reaches, tokensType});
  ValueRange values = beginProgram(schema::program::step, arguments);
  auto next = [&] {
    Value value = values.front();
    values = values.drop_front();
    return value;
  };
  tokens = next();
  positions = next();
  tokenSequences = next();
  if (hasStates)
    sequenceOffsets = next();
  for (auto &[group, table] : blockTables)
    table = next();
  logitRows = next();
  for (size_t i = 0; i < cacheTypes.size(); ++i)
    cacheInputs.push_back(next());
  if (embeddingColumns != 0)
    embeddings = next();
  for (size_t i = 0; i < rows; ++i)
    imageRows.push_back(next());
  if (vision)
    imagePlaces = next();
  if (turns)
    rotaryPositions = next();
  if (seesAhead)
    reaches = next();
}

/// A tensor that takes part in the model and is not understood must not be dropped.
void StepBuilder::checkAllRead() {
  if (firstError || options.part)
    return;
  auto unread = unreadTensors(checkpoint, {read, asked, storedWeights});
  if (!unread)
    firstError = unread.error();
  else if (options.unread)
    *options.unread = *std::move(unread);
}

LogicalResult StepBuilder::finish(Value logits) {
  checkAllRead();
  finishProgram(logits, {schema::output::logits});
  if (firstError)
    return module.emitError() << firstError->str();
  return success();
}

void StepBuilder::setSite(const Twine &site) { location = atSite(builder.getContext(), site); }

Value StepBuilder::weight(StringRef name, ArrayRef<int64_t> shape) {
  asked.insert(name);
  auto entry = known.find(name);
  if (entry != known.end())
    return entry->second;
  Type element = builder.getF32Type();
  std::string stored = name.str(), file = "absent";
  int64_t offset = 0;
  auto fail = [&](checkpoint::Error error) {
    if (!firstError)
      firstError = std::move(error);
  };
  if (storedWeights.isQuantized(name)) {
    auto value = storedWeights.matrix(name, shape);
    if (const checkpoint::Tensor *tensor = checkpoint.find(name.str()))
      read.insert(tensor->name);
    if (value) {
      keepColumnOrder(name, *value);
      // ModelOpt's AWQ: the inverse is in the weight.
      std::string scale = (name.drop_back(strlen("weight")) + "pre_quant_scale").str();
      if (checkpoint.find(scale) && !isOfOnes(checkpoint, scale))
        inputScales[*value] = weight(scale, {shape[1]});
      if (std::string scale = inputScaleOf(name.str());
          options.inputScales && checkpoint.find(scale))
        staticScales[*value] = staticScale(scale);
      return known[name] = *value;
    }
    fail(value.error());
  }
  auto tensor = checkpoint.get(name.str());
  if (auto assumed = checkpoint.assumedType()) {
    stored = checkpoint.storedName(name.str());
    read.insert(stored);
    if (Type type = plainType(builder, *assumed))
      element = type;
    else
      fail({"INGOT-E1081", "config.json says that weights are " + std::string(dtypeName(*assumed)),
            "", "write float32, float16 or bfloat16"});
  } else if (!tensor) {
    fail(tensor.error());
  } else {
    const checkpoint::Tensor &found = **tensor;
    stored = found.name;
    read.insert(stored);
    file = checkpoint.fileName(found);
    offset = static_cast<int64_t>(found.offset);
    if (auto fits = expectShape(checkpoint, found, shape); !fits)
      fail(fits.error());
    if (Type type = plainType(builder, found.dtype))
      element = type;
    else
      fail({"INGOT-E1081",
            "tensor " + checkpoint.shownName(stored) + " holds " +
                std::string(dtypeName(found.dtype)) +
                (isBlockType(found.dtype) ? " blocks" : " elements"),
            file, "convert it to F32, F16 or BF16"});
  }
  SmallVector<int64_t> rows(shape);
  if (rows.size() == 3)
    rows = {shape[0] * shape[1], shape[2]};
  if (rows.size() > 3)
    rows = {shape[0], ShapedType::getNumElements(shape.drop_front())};
  Value value = llm::WeightOp::create(weights, atSite(builder.getContext(), name),
                                      RankedTensorType::get(rows, element), stored, file, offset);
  return known[name] = adapted(name, value);
}

Value StepBuilder::matrix(StringRef name, int64_t rows, int64_t columns, bool inputsFirst) {
  if (!inputsFirst || storedWeights.isQuantized(name))
    return weight(name, {rows, columns});
  return transpose(weight(name, {columns, rows}));
}

Value StepBuilder::computed(StringRef name, int64_t count,
                            function_ref<float(ArrayRef<float>, int64_t)> function) {
  std::vector<float> numbers(count);
  auto compute = [&]() -> checkpoint::Outcome {
    auto tensor = checkpoint.get(name.str());
    if (!tensor)
      return tensor.error();
    read.insert((*tensor)->name);
    if (auto fits = expectShape(checkpoint, **tensor, {count}); !fits)
      return fits;
    auto stored = storedNumbers(checkpoint, name.str());
    if (!stored)
      return stored.error();
    for (int64_t i = 0; i < count; ++i)
      numbers[i] = function(*stored, i);
    if (llvm::all_of(numbers, [](float number) { return std::isfinite(number); }))
      return {};
    return checkpoint::Error{"INGOT-E1115",
                             "tensor " + checkpoint.shownName((*tensor)->name) +
                                 " holds a number that the model cannot have there",
                             checkpoint.fileName(**tensor), "convert the model again"};
  };
  if (auto done = compute(); !done && !firstError)
    firstError = done.error();
  return literal(name, numbers);
}

double StepBuilder::number(StringRef name, double absent, bool isNeeded, bool isBound) {
  const auto &stated = checkpoint.config().storedNumbers;
  if (const auto found = stated.find(std::string_view(name)); found != stated.end())
    return found->second;
  const checkpoint::Tensor *tensor = checkpoint.find(name.str());
  if (!tensor && (!isNeeded || checkpoint.assumedType()))
    return absent;
  if (tensor)
    read.insert(tensor->name);
  auto number = storedNumber(checkpoint, name.str(), isBound);
  if (!number && !firstError)
    firstError = number.error();
  return number ? static_cast<double>(*number) : absent;
}

float StepBuilder::staticScale(const std::string &name) {
  auto scale = storedScale(checkpoint, name);
  if (!scale && !firstError)
    firstError = scale.error();
  return scale ? *scale : 1;
}

Value StepBuilder::adapted(StringRef name, Value weight) {
  // Factors have names of their own, which are no matrices of the model.
  if (!checkpoint.adapter() || checkpoint::isAdapterTensor(name.str()))
    return weight;
  if (checkpoint.config().firstExperts() && checkpoint::isStackedExperts(name.str()))
    return adaptedStack(name, weight);
  if (auto expert = expertMatrixOf(checkpoint.config(), name))
    weight = adaptedExpert(*expert, weight);
  std::string names[] = {checkpoint::adapterTensor(name.str(), 'A'),
                         checkpoint::adapterTensor(name.str(), 'B')};
  if (!checkpoint.find(names[0]) && !checkpoint.find(names[1]))
    return weight;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(weight.getType()).getShape();
  const checkpoint::Tensor *first = checkpoint.find(names[0]);
  int64_t rank = first && !first->shape.empty() ? static_cast<int64_t>(first->shape[0]) : 1;
  if (shape.size() != 2 || rank < 1) {
    firstError = firstError.value_or(
        checkpoint::Error{"INGOT-E1120", "tensor " + names[0] + " is no factor of a matrix", "",
                          "check the adapter"});
    return weight;
  }
  Value right = this->weight(names[0], {rank, shape[1]}),
        left = this->weight(names[1], {shape[0], rank});
  return addLowRank(weight, left, right,
                    checkpoint.adapter()->scale(name.str(), static_cast<uint64_t>(rank)));
}

Value StepBuilder::addLowRank(Value weight, Value left, Value right, double scale) {
  return llm::AddLowRankOp::create(weights, weight.getLoc(), weight.getType(), weight, left, right,
                                   builder.getF32FloatAttr(static_cast<float>(scale)));
}

void StepBuilder::keepColumnOrder(StringRef name, Value weight) {
  SmallVector<int32_t> order(storedWeights.columnOrder());
  if (order.empty())
    return;
  auto type = RankedTensorType::get({static_cast<int64_t>(order.size())}, builder.getI32Type());
  auto content = DenseElementsAttr::get(type, ArrayRef(order));
  Value &literal = orders[content];
  if (!literal)
    literal = llm::LiteralOp::create(weights, atSite(builder.getContext(), name), type,
                                     (name + ".order").str(), content);
  columnOrders[weight] = literal;
}

Value StepBuilder::mapRows(Value weight, function_ref<Value(Value)> map) {
  auto encoded = weight.getDefiningOp<llm::DequantizeOp>();
  if (!encoded)
    return map(weight);
  // Products read the tensors of an encoded weight, so these are put in order.
  static constexpr llm::EncodedWeight::Tensor fileOrder[] = {
      &llm::EncodedWeight::scales, &llm::EncodedWeight::zeros, &llm::EncodedWeight::superScales,
      &llm::EncodedWeight::values};
  const llm::EncodedWeight mapped = encoded.getEncodedWeight().mapRows(map, fileOrder);
  auto type = cast<RankedTensorType>(encoded.getType());
  Value result = llm::DequantizeOp::create(
      weights, weight.getLoc(),
      type.clone(
          {cast<RankedTensorType>(mapped.values.getType()).getDimSize(0), type.getDimSize(1)}),
      mapped);
  if (Value order = columnOrders.lookup(weight))
    columnOrders[result] = order;
  if (auto scale = staticScales.find(weight); scale != staticScales.end())
    staticScales[result] = float(scale->second);
  return result;
}

Value StepBuilder::permuteRows(Value weight, ArrayRef<int64_t> digits, ArrayRef<int64_t> order) {
  return mapRows(weight, [&](Value rows) -> Value {
    return llm::PermuteRowsOp::create(weights, weight.getLoc(), rows, digits, order);
  });
}

Value StepBuilder::sliceRows(Value weight, int64_t first, int64_t rows) {
  return mapRows(weight, [&](Value whole) -> Value {
    auto type = cast<RankedTensorType>(whole.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = rows;
    return llm::SliceRowsOp::create(weights, weight.getLoc(), type.clone(shape), whole, first);
  });
}

Value StepBuilder::transpose(Value weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  return llm::TransposeOp::create(weights, weight.getLoc(),
                                  type.clone({type.getDimSize(1), type.getDimSize(0)}), weight);
}

Value StepBuilder::padRows(Value weight, int64_t rows) {
  auto type = cast<RankedTensorType>(weight.getType());
  const int64_t count = rows * type.getDimSize(1);
  Value zeros = reshape(literal("zeros." + std::to_string(count), std::vector<float>(count)),
                        {rows, type.getDimSize(1)});
  if (zeros.getType() != type.clone({rows, type.getDimSize(1)}))
    zeros =
        llm::ConvertOp::create(weights, location, type.clone({rows, type.getDimSize(1)}), zeros);
  return stack({weight, zeros});
}

/// Whether the weight is made of numbers that are stored quantized.
static bool isDecoded(Value weight) {
  Operation *op = weight.getDefiningOp();
  return isa<llm::DequantizeOp>(op) || llvm::any_of(op->getOperands(), isDecoded);
}

Value StepBuilder::plain(Value weight) {
  if (!isDecoded(weight))
    return weight;
  const auto declared = checkpoint.config().declaredType;
  Type type = declared ? plainType(builder, *declared) : Type();
  if (!type || type.getIntOrFloatBitWidth() > 32)
    type = builder.getBF16Type();
  return llm::ConvertOp::create(weights, weight.getLoc(),
                                cast<RankedTensorType>(weight.getType()).clone(type), weight);
}

Value StepBuilder::reshape(Value weight, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(weight.getType()).clone(shape);
  return llm::ReshapeOp::create(weights, weight.getLoc(), type, weight);
}

Value StepBuilder::plusOne(Value weight) {
  auto type = cast<RankedTensorType>(weight.getType()).clone(builder.getF32Type());
  return llm::ConvertOp::create(weights, weight.getLoc(), type, weight, builder.getF32FloatAttr(1));
}

Value StepBuilder::literal(StringRef name, ArrayRef<float> values) {
  asked.insert(name);
  Value &value = known[name];
  if (!value) {
    auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getF32Type());
    value = llm::LiteralOp::create(weights, atSite(builder.getContext(), name), type, name,
                                   DenseElementsAttr::get(type, values));
  }
  return value;
}

RankedTensorType StepBuilder::activation(StringRef rows, int64_t columns) {
  return rowsType(builder, rows, columns, builder.getF32Type());
}

RankedTensorType StepBuilder::numbers(StringRef rows) {
  return rowsType(builder, rows, 0, builder.getF32Type());
}

RankedTensorType StepBuilder::indices(StringRef rows) {
  return rowsType(builder, rows, 0, builder.getI32Type());
}

StringRef StepBuilder::rowsOf(Value value) {
  return cast<StringAttr>(cast<RankedTensorType>(value.getType()).getEncoding()).getValue();
}

Value StepBuilder::rowsAt(Value table, Value indices) {
  return llm::EmbedOp::create(builder, location, activation(rowsOf(indices), llm::columnsOf(table)),
                              indices, llm::EncodedWeight{table});
}

Value StepBuilder::embed(Value table) { return rowsAt(table, tokens); }

Value StepBuilder::norm(Value input, bool centered, Value weight, Value bias, double epsilon,
                        int64_t headDim) {
  return llm::NormOp::create(
             builder, location, input.getType(), Type(), Type(), input, Value(), weight, bias,
             Value(), builder.getF32FloatAttr(static_cast<float>(epsilon)),
             centered ? builder.getUnitAttr() : UnitAttr(), TypeAttr(),
             headDim ? builder.getI64IntegerAttr(headDim) : IntegerAttr(), engine::SumsAttr())
      .getResult();
}

Value StepBuilder::inOrderOf(Value weight, Value input) {
  Value order = columnOrders.lookup(weight);
  if (!order)
    return input;
  Value &result = gathered[{input, order}];
  if (!result)
    result = llm::GatherColumnsOp::create(builder, location, input.getType(), input, order);
  return result;
}

Value StepBuilder::scaledFor(Value weight, Value input) {
  Value scale = inputScales.lookup(weight);
  if (!scale)
    return input;
  return times(input, scale);
}

Value StepBuilder::linear(Value input, Value weight, Value bias) {
  input = inOrderOf(weight, scaledFor(weight, input));
  int64_t columns = cast<RankedTensorType>(weight.getType()).getShape().front();
  auto type = activation(rowsOf(input), columns);
  auto product = llm::MatmulOp::create(builder, location, type, input, llm::EncodedWeight{weight});
  if (auto scale = staticScales.find(weight); scale != staticScales.end())
    engine::setAttribute<llm::LlmDialect::StaticScaleAttrHelper>(
        product, builder.getF32FloatAttr(scale->second));
  return bias ? add(product, bias) : product;
}

bool StepBuilder::hasMatrix(StringRef name) const {
  return checkpoint.find(name.str()) || storedWeights.isQuantized(name);
}

bool StepBuilder::isStored(StringRef name, ArrayRef<int64_t> shape) const {
  const checkpoint::Tensor *tensor = checkpoint.find(name.str());
  return tensor && llvm::equal(tensor->shape, shape, [](uint64_t own, int64_t wanted) {
           return own == static_cast<uint64_t>(wanted);
         });
}

Value StepBuilder::expertWeights(StringRef name, int64_t experts, int64_t rows, int64_t columns,
                                 bool inputsFirst) {
  if (storedWeights.isQuantized(name))
    return weight(name, {experts * rows, columns});
  if (!inputsFirst)
    return weight(name, {experts, rows, columns});
  // Row r of expert e is column r of its rows: a run of row r of the transposed whole.
  Value whole = weight(name, {experts, columns, rows});
  Type element = cast<RankedTensorType>(whole.getType()).getElementType();
  Value turned = llm::TransposeOp::create(
      weights, whole.getLoc(), RankedTensorType::get({rows, experts * columns}, element), whole);
  return permuteRows(reshape(turned, {rows * experts, columns}), {rows, experts}, {1, 0});
}

StepBuilder::Routing StepBuilder::route(Value logits, Value bias, int64_t perToken,
                                        const checkpoint::Router &router) {
  std::string rows = rowsOf(logits).str() + " * " + std::to_string(perToken);
  auto experts = rowsType(builder, rows, 0, builder.getI32Type());
  SmallVector<int64_t> groups;
  if (router.topkGroup < router.groups)
    for (uint64_t number : {router.groups, router.topkGroup, router.groupTopk})
      groups.push_back(static_cast<int64_t>(number));
  auto flag = [&](bool set) { return set ? builder.getUnitAttr() : UnitAttr(); };
  auto route = llm::RouteOp::create(
      builder, location, rowsType(builder, rows, 0, builder.getF32Type()), experts, logits, bias,
      flag(router.sigmoid),
      groups.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(groups),
      flag(router.normTopkProb), builder.getF32FloatAttr(static_cast<float>(router.epsilon)),
      builder.getF32FloatAttr(static_cast<float>(router.scale)));
  auto starts = RankedTensorType::get({llm::columnsOf(logits) + 1}, builder.getI32Type());
  auto group = llm::GroupRowsOp::create(builder, location, experts, starts, route.getExperts());
  return {route.getWeights(), route.getExperts(), group.getOrder(), group.getStarts()};
}

void StepBuilder::expectPlainInputs(Value weight) {
  if ((columnOrders.contains(weight) || inputScales.contains(weight)) && !firstError)
    firstError = {"INGOT-E1054",
                  "inputs of " + siteOf(weight.getDefiningOp()) +
                      " that are scaled or ordered for it alone are not supported",
                  "", "use a checkpoint without desc_act and pre_quant_scale"};
}

Value StepBuilder::stack(ArrayRef<Value> parts) {
  int64_t rows = 0;
  for (Value part : parts) {
    rows += cast<RankedTensorType>(part.getType()).getDimSize(0);
    expectPlainInputs(part); // each would need another form of the one input
  }
  auto type = cast<RankedTensorType>(parts.front().getType());
  return llm::ConcatRowsOp::create(weights, location, type.clone({rows, type.getDimSize(1)}),
                                   parts);
}

Value StepBuilder::expertLinear(Value input, Value stack, const Routing &routing) {
  int64_t experts = cast<RankedTensorType>(routing.starts.getType()).getDimSize(0) - 1;
  int64_t columns = cast<RankedTensorType>(stack.getType()).getDimSize(0) / experts;
  return llm::MatmulOp::create(builder, location, activation(rowsOf(routing.order), columns), input,
                               llm::EncodedWeight{stack}, Value(), ValueRange(), routing.order,
                               routing.starts);
}

Value StepBuilder::ofExperts(Value table, const Routing &routing) {
  return rowsAt(table, routing.experts);
}

Value StepBuilder::addExpertBias(Value rows, Value biases, const Routing &routing) {
  return add(rows, ofExperts(biases, routing));
}

Value StepBuilder::timesOfExpert(Value rows, Value scales, const Routing &routing) {
  int64_t count = cast<RankedTensorType>(scales.getType()).getNumElements();
  return times(rows, ofExperts(reshape(scales, {count, 1}), routing));
}

Value StepBuilder::weighted(Value rows, const Routing &routing) {
  return times(rows, routing.weights);
}

Value StepBuilder::combine(Value rows, const Routing &routing, bool isWeighted) {
  return sumOfRows(rows, isWeighted ? routing.weights : Value(), schema::dim::tokens);
}

Value StepBuilder::sumOfRows(Value input, Value weights, StringRef rows) {
  return llm::CombineOp::create(builder, location, activation(rows, llm::columnsOf(input)), input,
                                weights, engine::SumsAttr());
}

Value StepBuilder::sumOfSlices(Value weight, int64_t rows, int64_t slices, int64_t columns) {
  if (slices == 1)
    return reshape(weight, {rows, columns});
  Value apart = permuteRows(reshape(weight, {rows * slices, columns}), {rows, slices}, {1, 0});
  // A weight that is added is its product with the identity.
  std::vector<float> ones(static_cast<size_t>(columns * columns));
  for (int64_t i = 0; i < columns; ++i)
    ones[static_cast<size_t>(i * columns + i)] = 1;
  Value identity =
      reshape(literal("identity." + std::to_string(columns), ones), {columns, columns});
  Value sum = sliceRows(apart, 0, rows);
  for (int64_t i = 1; i < slices; ++i)
    sum = addLowRank(sum, sliceRows(apart, i * rows, rows), identity, 1);
  return sum;
}

Value StepBuilder::joinRows(Value input, StringRef rows) {
  const int64_t joined = llm::rowsFor(cast<RankedTensorType>(input.getType()), activation(rows, 1));
  if (joined == 1)
    return input;
  return llm::JoinRowsOp::create(builder, location,
                                 activation(rows, joined * llm::columnsOf(input)), input);
}

Value StepBuilder::splitRows(Value input, int64_t parts) {
  const std::string rows = rowsOf(input).str() + " * " + std::to_string(parts);
  return llm::SplitRowsOp::create(builder, location,
                                  activation(rows, llm::columnsOf(input) / parts), input);
}

Value StepBuilder::headLinear(Value input, Value stack, int64_t heads, int64_t outputs) {
  const StringRef rows = rowsOf(input);
  Value apart = splitRows(input, heads);
  Value product = llm::MatmulOp::create(
      builder, location, activation(rowsOf(apart), outputs), apart, llm::EncodedWeight{stack},
      Value(), ValueRange(), Value(), Value(), IntegerAttr(), builder.getI64IntegerAttr(heads));
  return joinRows(product, rows);
}

Value StepBuilder::embedPositions(Value table) { return rowsAt(table, positions); }

Value StepBuilder::scaledRows(Value input, Value scales) {
  int64_t count = cast<RankedTensorType>(scales.getType()).getNumElements();
  return times(input, embedPositions(reshape(scales, {count, 1})));
}

Value StepBuilder::times(Value a, Value b) {
  return elements(
      {a, b}, [](ElementFunctions &element, ValueRange x) { return element.product(x[0], x[1]); });
}

Value StepBuilder::gated(Value input, Value gate) {
  return elements({input, gate}, [](ElementFunctions &element, ValueRange x) {
    return element.sigmoidTimes(x[0], x[1]);
  });
}

Value StepBuilder::elements(ValueRange inputs,
                            function_ref<Value(ElementFunctions &, ValueRange)> body) {
  auto op = llm::PointwiseOp::create(builder, location, inputs.front().getType(), inputs);
  OpBuilder::InsertionGuard guard(builder);
  size_t count = inputs.size();
  Block *block =
      builder.createBlock(&op.getBody(), {}, SmallVector<Type>(count, builder.getF32Type()),
                          SmallVector<Location>(count, location));
  ElementFunctions element(builder, location);
  Value result = body(element, block->getArguments());
  llm::YieldOp::create(builder, location, result);
  return op.getResult();
}

Value StepBuilder::add(Value a, Value b) {
  return elements({a, b},
                  [](ElementFunctions &element, ValueRange x) { return element.sum(x[0], x[1]); });
}

Value StepBuilder::multiply(Value input, double factor) {
  if (factor == 1)
    return input;
  return elements(input, [&](ElementFunctions &element, ValueRange x) {
    return element.product(x[0], element.constant(factor));
  });
}

Value StepBuilder::rowMeans(Value input) {
  const int64_t columns = llm::columnsOf(input);
  const std::vector<float> shares(static_cast<size_t>(columns), 1.0f / static_cast<float>(columns));
  return linear(input,
                reshape(literal("row_mean." + std::to_string(columns), shares), {1, columns}));
}

Value StepBuilder::divide(Value input, double divisor) {
  if (divisor == 1)
    return input;
  return elements(input, [&](ElementFunctions &element, ValueRange x) {
    return element.quotient(x[0], element.constant(divisor));
  });
}

Value StepBuilder::softcap(Value input, double cap) {
  if (cap == 0)
    return input;
  return elements(
      input, [&](ElementFunctions &element, ValueRange x) { return element.softcap(x[0], cap); });
}

Value StepBuilder::activatedTimes(const ActivationFunction &function, Value gate, Value up) {
  return elements({gate, up}, [&](ElementFunctions &element, ValueRange x) {
    return element.activatedTimes(function, x[0], x[1]);
  });
}

Value StepBuilder::activated(const ActivationFunction &function, Value input) {
  return elements(input, [&](ElementFunctions &element, ValueRange x) {
    return element.activated(function, x[0]);
  });
}

Value StepBuilder::sliceColumns(Value input, int64_t first, int64_t columns) {
  return llm::SliceColumnsOp::create(builder, location, activation(rowsOf(input), columns), input,
                                     first);
}

Value StepBuilder::gatherColumns(Value input, StringRef name, ArrayRef<int32_t> columns) {
  Value &list = known[name];
  if (!list) {
    auto type = RankedTensorType::get({static_cast<int64_t>(columns.size())}, builder.getI32Type());
    list = llm::LiteralOp::create(weights, atSite(builder.getContext(), name), type, name,
                                  DenseElementsAttr::get(type, columns));
  }
  return llm::GatherColumnsOp::create(
      builder, location, activation(rowsOf(input), static_cast<int64_t>(columns.size())), input,
      list);
}

Value StepBuilder::boundary(Value input, StringRef segment) {
  return llm::BoundaryOp::create(builder, location, input.getType(), input,
                                 builder.getStringAttr(segment));
}

Value StepBuilder::placeImages(Value x) {
  if (imageRows.empty())
    return x;
  return llm::PlaceRowsOp::create(builder, location, x, imageRows.front(), imagePlaces, UnitAttr());
}

Value StepBuilder::addImages(Value x, size_t layer) {
  if (layer + 1 >= imageRows.size())
    return x;
  return llm::PlaceRowsOp::create(builder, location, x, imageRows[layer + 1], imagePlaces,
                                  builder.getUnitAttr());
}

Value StepBuilder::wantedRows(Value input) {
  return llm::GatherRowsOp::create(builder, location,
                                   activation(schema::dim::logitRows, llm::columnsOf(input)), input,
                                   logitRows);
}

void compiler::addSampleProgram(ModuleOp module, int64_t vocabulary) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  auto rows = [&](int64_t columns, Type element) {
    return rowsType(builder, schema::dim::logitRows, columns, element);
  };
  auto counts = llm::StateType::get(builder.getContext(), RankedTensorType::get({vocabulary}, i32));
  Location location = atSite(builder.getContext(), schema::program::sample);
  func::FuncOp function =
      makeFunction(builder, location, schema::program::sample,
                   {{schema::input::logits, rows(vocabulary, f32)},
                    {schema::input::sampleParams, rows(kSampleParamWords, i32)},
                    {schema::input::biasIds, rows(INGOT_MAX_BIAS, i32)},
                    {schema::input::biasValues, rows(INGOT_MAX_BIAS, f32)},
                    {schema::input::allowMask, rows((vocabulary + 31) / 32, i32)},
                    {schema::input::tokenCounts, counts}});
  ValueRange inputs = function.getArguments();
  auto sample =
      llm::SampleOp::create(builder, location,
                            TypeRange{rows(0, i32), rows(0, f32), rows(INGOT_MAX_LOGPROBS, i32),
                                      rows(INGOT_MAX_LOGPROBS, f32)},
                            inputs);
  finishFunction(builder, function, sample.getResults(),
                 {schema::output::sampledTokens, schema::output::sampledLogprobs,
                  schema::output::topTokens, schema::output::topLogprobs});
}
