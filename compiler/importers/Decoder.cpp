// SPDX-License-Identifier: Apache-2.0
// Walks the plans of a model's layers. What a mixer computes is in `mixers/`, and where norms stand
// around mixers here.
#include "compiler/importers/Decoder.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/Encoder.h"
#include "compiler/importers/PartRows.h"
#include "compiler/importers/mixers/Mixers.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::LayerPlan;
using checkpoint::ModelConfig;
using checkpoint::NormPlacement;

namespace {

/// One model under import.
class Decoder {
public:
  Decoder(StepBuilder &step, const ModelConfig &config, int64_t maxContext)
      : step(step), config(config), names(config.names), model(step, config, maxContext) {}

  LogicalResult run(MLIRContext *context) {
    SmallVector<Type> caches;
    SmallVector<size_t> firsts, counts; // of the caches that each layer reads
    for (const LayerPlan &plan : config.layers) {
      const checkpoint::Attention *attention = plan.attention();
      if (attention && attention->cacheLayer) {
        firsts.push_back(firsts[*attention->cacheLayer]);
        counts.push_back(counts[*attention->cacheLayer]);
        continue;
      }
      SmallVector<Type> own = cachesOfLayer(context, plan);
      firsts.push_back(caches.size());
      counts.push_back(own.size());
      llvm::append_range(caches, own);
    }
    step.begin(caches);
    Value x = embedded();
    if (config.layerInputs.columns != 0)
      inputs = layerInputs(model, x);
    Streams streams = streamsOf(x);
    for (size_t i = 0; i < config.layers.size(); ++i) {
      streams = layer(std::move(streams), i, step.caches().slice(firsts[i], counts[i]));
      streams.front() = step.addImages(streams.front(), i);
    }
    return step.finish(logitsOf(std::move(streams)));
  }

  /// One layer alone, or the embedding, or the head, on rows as PartRows has them.
  LogicalResult runPart(MLIRContext *context, int64_t index) {
    const PartRows rows(config);
    if (index == ModelPart::kEmbedding) {
      step.begin({});
      Value x = embedded();
      if (config.layerInputs.columns != 0)
        step.boundary(layerInputs(model, x), PartRows::kInputsTap);
      return finishPart(rows, index, streamsOf(x));
    }
    const auto number = static_cast<size_t>(index);
    const bool isHead = number == config.layers.size();
    step.begin(isHead ? SmallVector<Type>() : cachesOfLayer(context, config.layers[number]),
               rows.width());
    Streams streams;
    for (size_t i = 0; i < config.altUp.streams; ++i)
      streams.push_back(given(rows, rows.stream(i)));
    if (isHead)
      return step.finish(logitsOf(std::move(streams)));
    if (config.layerInputs.columns != 0) {
      inputs = step.givenEmbeddings();
      firstInput = rows.inputs().first;
    }
    if (const size_t owner = rows.ownerOf(number); owner != number) {
      const std::string module = nameOf(owner) + "." + std::string(names.attention);
      step.setSite(module);
      step.kvAppend(given(rows, rows.keys(owner)), given(rows, rows.values(owner)),
                    step.caches().front(), "model." + module + ".");
    }
    return finishPart(rows, index, layer(std::move(streams), number, step.caches()));
  }

private:
  SmallVector<Type> cachesOfLayer(MLIRContext *context, const LayerPlan &plan) const {
    return std::visit([&](const auto &mixer) { return cachesOf(context, model, mixer); },
                      plan.tokenMixer);
  }
  int64_t vocabulary() const { return static_cast<int64_t>(config.vocabSize); }
  static std::string tensor(std::string_view module) { return std::string(module) + ".weight"; }

  /// Columns of what the part is given.
  Value given(const PartRows &rows, RowColumns columns) {
    Value all = step.givenEmbeddings();
    return columns.count == rows.width() ? all
                                         : step.sliceColumns(all, columns.first, columns.count);
  }

  /// Taps the streams behind a part; its result is the main one.
  LogicalResult finishPart(const PartRows &rows, int64_t index, const Streams &streams) {
    const size_t main = rows.mainStream(index);
    for (size_t i = 0; i < streams.size(); ++i)
      if (i != main)
        step.boundary(streams[i], rows.streamTap(index, i));
    return step.finish(step.wantedRows(streams[main]));
  }

  bool hasStreams() const { return config.altUp.streams > 1; }
  /// Those of embedded tokens; x alone where a model has no more.
  Streams streamsOf(Value x) { return hasStreams() ? spread(model, x) : Streams{x}; }

  /// Of the rows that have logits.
  Value logitsOf(Streams streams) {
    step.setSite(Modules::siteOf(names.norm));
    for (Value &stream : streams)
      stream = step.wantedRows(stream);
    Value x = hasStreams() ? joined(model, streams) : streams.front();
    x = model.norm(x, std::string(names.norm));
    step.setSite(names.head);
    // Of a tied pair, both names lead to the one stored tensor; recipes may treat them apart.
    Value logits = step.linear(x, step.weight(tensor(names.head), {vocabulary(), model.hidden}));
    logits = step.divide(step.multiply(logits, config.logitsMultiplier), config.logitsDivisor);
    return step.softcap(logits, config.logitsSoftcap);
  }

  Value embedded() {
    step.setSite(Modules::siteOf(names.embedding));
    Value table = step.weight(tensor(names.embedding), {vocabulary(), model.hidden});
    Value x = step.multiply(step.embed(table), config.embeddingMultiplier);
    if (config.learnedPositions)
      x = step.add(x, step.embedPositions(
                          step.weight(tensor(names.positions),
                                      {static_cast<int64_t>(config.maxPositions), model.hidden})));
    x = step.placeImages(x);
    return step.boundary(x, "embed");
  }

  static std::string nameOf(size_t layer) { return "layers." + std::to_string(layer); }

  /// What the layer makes of all streams, of which its mixers read one.
  Streams layer(Streams streams, size_t index, ArrayRef<Value> caches) {
    const std::string name = nameOf(index), prefix = "model." + name + ".";
    if (!hasStreams())
      return {layer(streams.front(), index, caches)};
    const size_t active = config.altUp.active;
    Streams before = predicted(model, streams, prefix);
    Value y = mixed(before[active], index, caches);
    streams = corrected(model, before, y, prefix);
    addLayerInput(model, streams, inputOf(index), prefix);
    streams[active] = step.boundary(streams[active], name);
    return streams;
  }

  Value layer(Value x, size_t index, ArrayRef<Value> caches) {
    const std::string name = nameOf(index), prefix = "model." + name + ".";
    Value y = mixed(x, index, caches);
    if (inputs)
      y = step.add(y, layerInputTerm(model, y, inputOf(index), prefix));
    if (config.scaledLayers)
      y = scaled(y, name);
    return step.boundary(y, name);
  }

  /// What the layer's mixers and norms make of x.
  Value mixed(Value x, size_t index, ArrayRef<Value> caches) {
    const LayerPlan &plan = config.layers[index];
    const std::string name = nameOf(index), prefix = "model." + name + ".";
    auto normed = [&](Value input, std::string_view norm) {
      return model.norm(input, prefix + std::string(norm));
    };
    auto added = [&](Value input, Value term) {
      return step.add(input, step.multiply(term, config.residualMultiplier));
    };
    const NormPlacement norms = plan.norms;
    const bool results = norms == NormPlacement::Post || norms == NormPlacement::Sandwich;
    Value input = x, middle = x;
    if (!std::holds_alternative<std::monostate>(plan.tokenMixer)) {
      if (norms != NormPlacement::Post)
        input = normed(x, names.inputNorm);
      Value attended =
          std::visit(llvm::makeVisitor([](std::monostate) { return Value(); },
                                       [&](const auto &mixer) {
                                         return mixTokens(model, mixer, input, prefix, caches);
                                       }),
                     plan.tokenMixer);
      if (results)
        attended = normed(attended, names.attentionNorm);
      step.setSite(name + ".post_attention_layernorm");
      middle = added(x, attended);
    }
    if (std::holds_alternative<std::monostate>(plan.channelMixer))
      return middle;
    if (config.laurelRank != 0)
      middle = withLaurel(model, middle, input, prefix);
    if (norms == NormPlacement::Post)
      input = middle;
    else if (norms != NormPlacement::ParallelShared)
      input = normed(norms == NormPlacement::Parallel ? x : middle, names.feedForwardNorm);
    Value result =
        std::visit(llvm::makeVisitor(
                       [](std::monostate) { return Value(); },
                       [&](const checkpoint::MlpAndExperts &both) {
                         return mixChannels(model, both, input, middle, prefix);
                       },
                       [&](const auto &mixer) { return mixChannels(model, mixer, input, prefix); }),
                   plan.channelMixer);
    step.setSite(name + ".output");
    if (results)
      result = normed(result, names.resultNorm);
    return added(middle, result);
  }

  /// The layer's part of `inputs`.
  Value inputOf(size_t layer) {
    const auto columns = static_cast<int64_t>(config.layerInputs.columns);
    return step.sliceColumns(inputs, firstInput + static_cast<int64_t>(layer) * columns, columns);
  }

  /// As columns, so that all layers have the same operation.
  Value scaled(Value y, const std::string &layer) {
    const std::string name = layer + ".layer_scalar";
    step.setSite(name);
    const double number = step.number("model." + name, 1, /*isNeeded=*/true);
    return step.times(
        y, step.literal(name, std::vector<float>(model.hidden, static_cast<float>(number))));
  }

  StepBuilder &step;
  const ModelConfig &config;
  const checkpoint::ModuleNames &names;
  Modules model;
  Value inputs;           ///< of all layers, where they have any beside x
  int64_t firstInput = 0; ///< the first layer's first column of `inputs`
};

} // namespace

LogicalResult compiler::importDecoder(ModuleOp module, const checkpoint::Checkpoint &checkpoint,
                                      const ImportOptions &options) {
  StepBuilder step(module, checkpoint, options);
  // Built first, so that finish() knows what it read; it stands behind.
  func::FuncOp encode;
  if (checkpoint.config().vision && !options.part)
    encode = addEncodeProgram(step, checkpoint.config());
  Decoder decoder(step, checkpoint.config(), options.maxContext);
  LogicalResult imported = options.part ? decoder.runPart(module.getContext(), options.part->layer)
                                        : decoder.run(module.getContext());
  if (encode)
    encode->moveBefore(module.getBody(), module.getBody()->end());
  return imported;
}
