// SPDX-License-Identifier: Apache-2.0
// The paged KV cache: appending, rotary embedding with appending, attention.
#include "tests/conformance/Cases.h"

#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;
using llvm::formatv;

namespace {

/// Heads and types of an attention layer.
struct Layer {
  int64_t heads, kvHeads, headDim;
  std::string cache, activation;
  int64_t blockTokens = 16;
  bool fp8 = false;  ///< products have e4m3 on both sides
  int64_t pairs = 0; ///< of a head that rotate; 0: all
  int64_t window = 0;
  bool chunked = false; ///< windows follow each other
  double softcap = 0;
  std::string sinks = {};         ///< element type; empty: none
  bool staticScales = false;      ///< of an 8-bit cache that is appended to
  bool stale = false;             ///< the cache has NaN where nothing was written yet
  int64_t valueDim = 0;           ///< columns of a head of v; 0: as of k
  bool latent = false;            ///< values are the first columns of keys
  int64_t selected = 0;           ///< positions of a token's list; 0: it has none
  bool parts = false;             ///< a query is in two parts, as keys of a latent cache are
  std::vector<int64_t> axes = {}; ///< of the frequencies of a rotation
  bool reaches = false;           ///< tokens of pictures see the rest of them

  /// Columns of a query head that stand with the others, and of the part behind.
  int64_t queryColumns() const { return parts ? valueDim : headDim; }
  int64_t rotaryColumns() const { return headDim - queryColumns(); }
  int64_t kvColumns() const { return kvHeads * headDim; }
  int64_t valueColumns() const { return valueDim ? valueDim : headDim; }
  std::string cacheType() const {
    return formatv("!llm.kv<{0} x {1} x {2}, block = {3}{4}{5}>", kvHeads, headDim, cache,
                   blockTokens, valueDim ? ", values = " + std::to_string(valueDim) : "",
                   latent ? ", latent" : "");
  }
  std::string name() const {
    return formatv("{0}_{1}_{2}_{3}x{4}", activation, cache, heads, kvHeads, headDim).str() +
           (valueDim ? "_v" + std::to_string(valueDim) : "") + (latent ? "_latent" : "") +
           (parts ? "_parts" : "") + (staticScales ? "_static" : "");
  }
  /// The parameter of static scales, argument 5, and how operations take it.
  std::string scalesParameter() const {
    return staticScales ? ", %w: tensor<2xf32> {test.role = \"scales\"}" : "";
  }
  std::string scalesOperand() const { return staticScales ? " static(%w : tensor<2xf32>)" : ""; }
  /// The static scale of keys or values; 0 for none.
  float staticScale(const Inputs &inputs, bool value) const {
    return staticScales ? float(inputs.arguments[5].tensor.at(value ? 1 : 0)) : 0;
  }
};

const std::string kIndex = "tensor<?xi32, \"T\">";
const std::string kTable = "tensor<?x?xi32, \"S\">";
const std::string kIndexParameters =
    "%p: " + kIndex + " {test.role = \"positions\"}, %s: " + kIndex +
    " {test.role = \"sequences\"}, %b: " + kTable + " {test.role = \"table\"}";

/// Where head `head` of a token's entry starts in decodeCache's order.
int64_t cacheIndex(const Layer &layer, const Inputs &inputs, int64_t sequence, int64_t position,
                   int64_t head, bool value) {
  const HostTensor *table = nullptr;
  for (const HostValue &argument : inputs.arguments)
    if (argument.tensor.columns == inputs.dims.B && argument.tensor.rows == inputs.dims.S &&
        argument.tensor.element.isInteger(32))
      table = &argument.tensor;
  auto block = int64_t(table->at(sequence, position / layer.blockTokens));
  int64_t slots = layer.kvHeads * layer.blockTokens, keys = slots * layer.headDim;
  bool ofKeys = !value || layer.latent;
  int64_t columns = ofKeys ? layer.headDim : layer.valueColumns();
  return block * (keys + (layer.latent ? 0 : slots * layer.valueColumns())) + (ofKeys ? 0 : keys) +
         (head * layer.blockTokens + position % layer.blockTokens) * columns;
}

/// Puts one head, as the cache stores it, into `cache` from `first` on. `fixed`: its scale, or 0.
void storeHead(const Layer &layer, const std::vector<double> &head, float fixed, double tolerance,
               std::vector<Expected> &cache, int64_t first) {
  Type element = elementType(layer.cache);
  bool scaled = element.getIntOrFloatBitWidth() == 8;
  float amax = 0;
  for (double value : head)
    amax = std::max(amax, float(std::abs(value)));
  float limit = layer.cache == "i8" ? 127 : layer.cache == "f8E4M3FN" ? 448 : 57344;
  float scale = fixed > 0 ? fixed : scaled && amax > 0 ? amax / limit : 1.0f;
  for (size_t i = 0; i < head.size(); ++i) {
    float quotient = float(head[i]) / scale;
    quotient = fixed > 0 ? std::clamp(quotient, -limit, limit) : quotient;
    double code = layer.cache == "i8" ? std::nearbyint(quotient) : rounded(element, quotient);
    // With inexact inputs the code may be its neighbour.
    double step = tolerance > 0 ? 1.01 * spacing(element, code) * scale + tolerance : 0;
    cache[first + int64_t(i)] = {code * double(scale), step};
  }
}

/// The cache before the run, as what must still be there.
std::vector<Expected> cacheBefore(const Inputs &inputs, const Layer &layer) {
  std::vector<Expected> expected;
  auto type = cast<llm::KvType>(elementType(layer.cacheType()));
  for (const HostValue &argument : inputs.arguments)
    if (!argument.memory.empty())
      for (double value : decodeCache(type, argument.memory))
        expected.push_back({value, 0});
  return expected;
}

} // namespace

static Case appendCase(const Layer &layer) {
  std::string type = activation(layer.kvColumns(), layer.activation),
              values = activation(layer.kvHeads * layer.valueColumns(), layer.activation);
  Case built;
  built.name = "kv_append_" + layer.name();
  built.referenceOnly = layer.valueDim != 0;
  built.plain = "func.func @f(%k: " + type + ", %v: " + values + ", " + kIndexParameters +
                layer.scalesParameter() + ", %c: " + layer.cacheType() +
                ") {\n  llm.kv_append %k, %v at %p, %s, %b into %c" + layer.scalesOperand() +
                " : " + type + ", " + values + ", " + kIndex + ", " + kIndex + ", " + kTable +
                ", " + layer.cacheType() + "\n  return\n}";
  built.oracle = [layer](const Inputs &inputs) {
    std::vector<Expected> expected = cacheBefore(inputs, layer);
    for (int64_t t = 0; t < inputs.dims.T; ++t)
      for (int64_t head = 0; head < layer.kvHeads; ++head)
        for (bool value : {false, true}) {
          std::vector<double> values;
          int64_t columns = value ? layer.valueColumns() : layer.headDim;
          for (int64_t i = 0; i < columns; ++i)
            values.push_back(inputs.arguments[value ? 1 : 0].tensor.at(t, head * columns + i));
          auto position = int64_t(inputs.arguments[2].tensor.at(t));
          auto sequence = int64_t(inputs.arguments[3].tensor.at(t));
          storeHead(layer, values, layer.staticScale(inputs, value), 0, expected,
                    cacheIndex(layer, inputs, sequence, position, head, value));
        }
    return expected;
  };
  return built;
}

static Case latentAppendCase(const Layer &layer) {
  int64_t rotaryColumns = layer.headDim - layer.valueDim;
  std::string latent = activation(layer.valueDim, layer.activation),
              rotary = activation(rotaryColumns, layer.activation);
  Case built;
  built.name = "latent_append_" + layer.name();
  built.plain = "func.func @f(%l: " + latent + ", %r: " + rotary + ", " + kIndexParameters +
                ", %c: " + layer.cacheType() +
                ") {\n  llm.latent_append %l, %r at %p, %s, %b into %c : " + latent + ", " +
                rotary + ", " + kIndex + ", " + kIndex + ", " + kTable + ", " + layer.cacheType() +
                "\n  return\n}";
  built.oracle = [layer, rotaryColumns](const Inputs &inputs) {
    std::vector<Expected> expected = cacheBefore(inputs, layer);
    for (int64_t t = 0; t < inputs.dims.T; ++t) {
      std::vector<double> key;
      for (int64_t i = 0; i < layer.valueDim; ++i)
        key.push_back(inputs.arguments[0].tensor.at(t, i));
      for (int64_t i = 0; i < rotaryColumns; ++i)
        key.push_back(inputs.arguments[1].tensor.at(t, i));
      auto position = int64_t(inputs.arguments[2].tensor.at(t));
      auto sequence = int64_t(inputs.arguments[3].tensor.at(t));
      storeHead(layer, key, 0, 0, expected,
                cacheIndex(layer, inputs, sequence, position, 0, false));
    }
    return expected;
  };
  return built;
}

static Case ropeAppendCase(const Layer &layer) {
  int64_t queryColumns = layer.heads * layer.headDim, kv = layer.kvColumns();
  std::string qkv = activation(queryColumns + 2 * kv, layer.activation);
  std::string query = activation(queryColumns, layer.activation);
  std::string keys = activation(kv, layer.activation);
  int64_t pairs = layer.pairs ? layer.pairs : layer.headDim / 2;
  std::string frequencies = formatv("tensor<{0}xf32>", pairs);
  std::string parameters = "%x: " + qkv + ", " + kIndexParameters + ", %f: " + frequencies +
                           " {test.role = \"frequencies\"}" + layer.scalesParameter();
  std::string rotary, rotaryType = kIndex;
  int64_t count = 1;
  if (!layer.axes.empty()) {
    count = *std::max_element(layer.axes.begin(), layer.axes.end()) + 1;
    rotaryType = formatv("tensor<?xi32, \"T * {0}\">", count);
    parameters += ", %m: " + rotaryType + " {test.limit = 1000 : i64}";
    rotary = " rotary(%m : " + rotaryType + ")";
  }
  parameters += ", %c: " + layer.cacheType();
  auto slice = [&](const char *name, int64_t first, const std::string &type) {
    return formatv("  %{0} = llm.slice_columns %x from {1} : {2} -> {3}\n", name, first, qkv, type)
        .str();
  };
  auto rope = [&](const char *result, const char *from, const std::string &type) {
    return formatv("  %{0} = llm.rope %{1}, %{2}, %f head_dim {3} factor 1.0 {4}: {5}, {6}, {7} -> "
                   "{5}\n",
                   result, from, layer.axes.empty() ? "p" : "m", layer.headDim,
                   axesText(layer.axes), type, rotaryType, frequencies)
        .str();
  };
  Case built;
  built.name = "rope_append_" + layer.name() +
               (layer.pairs ? "_" + std::to_string(layer.pairs) : "") +
               (layer.axes.empty() ? "" : "_axes" + std::to_string(count));
  built.plain = "func.func @f(" + parameters + ") -> " + query + " {\n" + slice("q", 0, query) +
                slice("k", queryColumns, keys) + slice("v", queryColumns + kv, keys) +
                rope("y", "q", query) + rope("r", "k", keys) +
                "  llm.kv_append %r, %v at %p, %s, %b into %c" + layer.scalesOperand() + " : " +
                keys + ", " + keys + ", " + kIndex + ", " + kIndex + ", " + kTable + ", " +
                layer.cacheType() + "\n  return %y : " + query + "\n}";
  std::string fused = "func.func @f(" + parameters + ") -> " + query +
                      " {\n  %y = llm.rope_append %x at %p, %f, %s, %b into %c" +
                      layer.scalesOperand() + rotary + " factor 1.0 " + axesText(layer.axes) +
                      ": " + qkv + ", " + kIndex + ", " + frequencies + ", " + kIndex + ", " +
                      kTable + ", " + layer.cacheType() + " -> " + query +
                      "\n  return %y : " + query + "\n}";
  built.fused = [fused](int64_t) { return fused; };
  built.oracle = [=](const Inputs &inputs) {
    Type element = elementType(layer.activation);
    std::vector<Expected> query, cache = cacheBefore(inputs, layer);
    for (int64_t t = 0; t < inputs.dims.T; ++t) {
      auto position = int64_t(inputs.arguments[1].tensor.at(t));
      auto sequence = int64_t(inputs.arguments[2].tensor.at(t));
      for (int64_t head = 0; head < layer.heads + 2 * layer.kvHeads; ++head) {
        std::vector<double> values;
        double largest = 0;
        for (int64_t i = 0; i < layer.headDim; ++i) {
          int64_t pair = i % pairs, first = head * layer.headDim + pair;
          const HostTensor &x = inputs.arguments[0].tensor;
          bool rotated = head < layer.heads + layer.kvHeads && i < 2 * pairs;
          if (!rotated) {
            double value = x.at(t, head * layer.headDim + i);
            values.push_back(value);
            largest = std::max(largest, std::abs(value));
            if (head < layer.heads)
              query.push_back({value, 0});
            continue;
          }
          double turned = double(position);
          if (!layer.axes.empty())
            turned = inputs.arguments[layer.staticScales ? 6 : 5].tensor.at(
                t * count + layer.axes[size_t(pair)]);
          float angle = float(turned) * float(inputs.arguments[4].tensor.at(pair));
          double c = std::cos(double(angle)), s = std::sin(double(angle));
          double a = x.at(t, first), b = x.at(t, first + pairs);
          double value = i < pairs ? a * c - b * s : b * c + a * s;
          values.push_back(rounded(element, value));
          largest = std::max({largest, std::abs(a), std::abs(b)});
          if (head < layer.heads)
            query.push_back(stored(element, value, 4e-7 * (std::abs(a) + std::abs(b))));
        }
        int64_t kvHead = head - layer.heads;
        bool isValue = kvHead >= layer.kvHeads;
        if (kvHead >= 0)
          storeHead(layer, values, layer.staticScale(inputs, isValue),
                    isValue ? 0 : 1e-6 * largest + spacing(element, largest), cache,
                    cacheIndex(layer, inputs, sequence, position, kvHead % layer.kvHeads, isValue));
      }
    }
    query.insert(query.end(), cache.begin(), cache.end());
    return query;
  };
  return built;
}

/// The scale of a cached value's head; 1 where the cache has none.
static double valueScale(const Layer &layer, const Inputs &inputs, int64_t sequence,
                         int64_t position, int64_t head) {
  auto type = cast<llm::KvType>(elementType(layer.cacheType()));
  if (!type.hasScales())
    return 1;
  int64_t section = layer.kvHeads * layer.blockTokens;
  int64_t slot = cacheIndex(layer, inputs, sequence, position, head, true) / layer.headDim;
  int64_t block = slot / (2 * section);
  float scale = 1;
  std::memcpy(&scale,
              inputs.arguments.back().memory.data() + block * type.blockBytes() +
                  type.valueScalesOffset() + 4 * (slot % section),
              4);
  return scale;
}

/// The query of a head, in e4m3 where the layer says so.
static std::vector<double> queryOf(const Layer &layer, const Inputs &inputs, int64_t token,
                                   int64_t head) {
  std::vector<double> values;
  float amax = 0;
  const int64_t own = layer.queryColumns(), rotary = layer.rotaryColumns();
  for (int64_t i = 0; i < layer.headDim; ++i) {
    values.push_back(i < own ? inputs.arguments[0].tensor.at(token, head * own + i)
                             : inputs.arguments[4].tensor.at(token, head * rotary + i - own));
    amax = std::max(amax, float(std::abs(values.back())));
  }
  float scale = amax > 0 ? amax / 448.0f : 1.0f;
  for (double &value : values)
    if (layer.fp8)
      value = rounded(elementType("f8E4M3FN"), float(value) / scale) * double(scale);
  return values;
}

/// Rounds the weights of runs of 64 positions, times the values' scales, to e4m3. The first one is
/// of position `first`. `steps` gets how far a kernel's may be from it: a step where a weight lies
/// beside the border of two codes.
static void roundWeights(size_t first, const std::vector<double> &scales,
                         std::vector<double> &weights, std::vector<double> &steps) {
  constexpr size_t kRun = 64;
  // Relative error of a kernel's weight.
  constexpr double kNear = 1e-4;
  Type e4m3 = elementType("f8E4M3FN");
  for (size_t run = 0, end = 0; run < weights.size(); run = end) {
    end = std::min(run + kRun - (first + run) % kRun, weights.size());
    double amax = 0;
    for (size_t at = run; at < end; ++at)
      amax = std::max(amax, weights[at] * scales[at]);
    double scale = amax > 0 ? amax / 448 : 1;
    for (size_t at = run; at < end; ++at) {
      double exact = weights[at] * scales[at] / scale;
      double low = rounded(e4m3, exact * (1 - kNear)), high = rounded(e4m3, exact * (1 + kNear));
      weights[at] = rounded(e4m3, exact) * scale / scales[at];
      steps[at] = (high - low) * scale / scales[at];
    }
  }
}

/// Softmax attention of one head of one token in double precision.
static void attend(const Layer &layer, const Inputs &inputs, const std::vector<double> &cache,
                   int64_t token, int64_t head, std::vector<Expected> &expected) {
  std::vector<double> query = queryOf(layer, inputs, token, head);
  auto position = int64_t(inputs.arguments[1].tensor.at(token));
  auto sequence = int64_t(inputs.arguments[2].tensor.at(token));
  int64_t kvHead = head / (layer.heads / layer.kvHeads);
  std::vector<double> weights, scales;
  double sink = layer.sinks.empty()
                    ? -INFINITY
                    : inputs.arguments[4 + layer.parts + (layer.selected != 0)].tensor.at(head);
  double largest = sink;
  int64_t first = layer.window ? std::max<int64_t>(position + 1 - layer.window, 0) : 0;
  if (layer.chunked)
    first = position / layer.window * layer.window;
  int64_t last = position;
  if (layer.reaches)
    last = int64_t(inputs.arguments[layer.sinks.empty() ? 4 : 5].tensor.at(token));
  std::vector<int64_t> seen;
  for (int64_t at = first; at <= last && !layer.selected; ++at)
    seen.push_back(at);
  for (int64_t i = 0; i < layer.selected; ++i)
    if (auto at = int64_t(inputs.arguments[layer.parts ? 5 : 4].tensor.at(token, i)); at >= 0)
      seen.push_back(at);
  for (int64_t at : seen) {
    const double *key = &cache[cacheIndex(layer, inputs, sequence, at, kvHead, false)];
    double score = 0;
    for (int64_t i = 0; i < layer.headDim; ++i)
      score += query[i] * key[i];
    score *= double(0.11f);
    if (layer.softcap != 0)
      score = layer.softcap * std::tanh(score / layer.softcap);
    weights.push_back(score);
    scales.push_back(layer.fp8 ? valueScale(layer, inputs, sequence, at, kvHead) : 1);
    largest = std::max(largest, weights.back());
  }
  double sum = std::exp(sink - largest);
  for (double &weight : weights)
    sum += weight = std::exp(weight - largest);
  std::vector<double> steps(weights.size());
  if (layer.fp8)
    roundWeights(size_t(first), scales, weights, steps);
  const int64_t columns = layer.valueColumns();
  std::vector<double> values(columns), tolerances(columns);
  for (auto [at, weight, step] : llvm::zip_equal(seen, weights, steps)) {
    const double *value = &cache[cacheIndex(layer, inputs, sequence, at, kvHead, true)];
    for (int64_t i = 0; i < columns; ++i) {
      values[i] += weight / sum * value[i];
      tolerances[i] += (2e-5 * weight + step) / sum * std::abs(value[i]);
    }
  }
  for (int64_t i = 0; i < columns; ++i)
    expected.push_back(stored(elementType(layer.activation), values[i], tolerances[i]));
}

static Case attentionCase(const Layer &layer) {
  std::string type = activation(layer.heads * layer.queryColumns(), layer.activation),
              rotary = activation(layer.heads * layer.rotaryColumns(), layer.activation),
              result = activation(layer.heads * layer.valueColumns(), layer.activation);
  Case built;
  built.referenceOnly = layer.valueDim != 0 && !layer.latent;
  built.nativeOnly = layer.selected != 0;
  built.name =
      "attention_" + layer.name() + (layer.fp8 ? "_fp8" : "") +
      (layer.window ? (layer.chunked ? "_chunk" : "_window") + std::to_string(layer.window) : "") +
      (layer.softcap != 0 ? "_softcap" : "") +
      (layer.selected ? "_selected" + std::to_string(layer.selected) : "") +
      (layer.sinks.empty() ? "" : "_sinks_" + layer.sinks) + (layer.reaches ? "_reaches" : "") +
      (layer.stale ? "_stale" : "");
  std::string sinks = formatv("tensor<{0}x{1}>", layer.heads, layer.sinks);
  std::string sinksParameter =
      layer.sinks.empty() ? "" : ", %k: " + sinks + " {test.role = \"sinks\"}";
  std::string sinksOperand = layer.sinks.empty() ? "" : "sinks(%k : " + sinks + ") ";
  if (layer.reaches) {
    sinksParameter += ", %r: " + kIndex + " {test.role = \"reaches\"}";
    sinksOperand += "reaches(%r : " + kIndex + ") ";
  }
  std::string lists;
  if (layer.selected)
    lists = formatv(", %l: tensor<?x{0}xi32, \"T\"> {{test.role = \"selected\"}", layer.selected);
  if (layer.parts) {
    sinksParameter = ", %r: " + rotary + lists + sinksParameter;
    sinksOperand += "rotary(%r : " + rotary + ") ";
  }
  if (layer.selected)
    sinksOperand += formatv("selected(%l : tensor<?x{0}xi32, \"T\">) ", layer.selected);
  std::string kind = (layer.window ? formatv("window {0} ", layer.window).str() : "") +
                     (layer.chunked ? "chunked " : "") +
                     (layer.softcap != 0 ? formatv("softcap {0} ", layer.softcap).str() : "") +
                     (layer.fp8 ? "fp8 " : "");
  built.plain = "func.func @f(%q: " + type + ", " + kIndexParameters + sinksParameter +
                ", %c: " + layer.cacheType() + (layer.stale ? " {test.stale}" : "") + ") -> " +
                result + " {\n  %y = llm.attention %q at %p, %s, %b over %c " + sinksOperand +
                "scale 0.11 " + kind + ": " + type + ", " + kIndex + ", " + kIndex + ", " + kTable +
                ", " + layer.cacheType() + " -> " + result + "\n  return %y : " + result + "\n}";
  built.fp8Products = layer.fp8;
  built.oracle = [layer](const Inputs &inputs) {
    std::vector<Expected> expected, before = cacheBefore(inputs, layer);
    std::vector<double> cache;
    for (const Expected &value : before)
      cache.push_back(value.value);
    for (int64_t token = 0; token < inputs.dims.T; ++token)
      for (int64_t head = 0; head < layer.heads; ++head)
        attend(layer, inputs, cache, token, head, expected);
    expected.insert(expected.end(), before.begin(), before.end());
    return expected;
  };
  return built;
}

/// Positions by the scores of `heads` of an index whose keys are `layer`'s. Which they are hangs on
/// every bit of a score, so that all must agree.
static Case selectCase(const Layer &layer, int64_t heads) {
  std::string query = activation(heads * layer.headDim, layer.activation),
              weights = activation(heads, layer.activation),
              lists = formatv("tensor<?x{0}xi32, \"T\">", layer.selected);
  Case built;
  built.name = formatv("select_positions_{0}_{1}x{2}_{3}", layer.cache, heads, layer.headDim,
                       layer.selected);
  built.nativeOnly = true;
  built.apart = 0;
  built.plain =
      "func.func @f(%q: " + query + ", %w: " + weights + ", " + kIndexParameters +
      ", %c: " + layer.cacheType() + ") -> " + lists +
      " {\n  %y = llm.select_positions %q, %w at %p, %s, %b over %c scale 0.11 : " + query + ", " +
      weights + ", " + kIndex + ", " + kIndex + ", " + kTable + ", " + layer.cacheType() + " -> " +
      lists + "\n  return %y : " + lists + "\n}";
  return built;
}

/// Heads and types of an encoder's attention.
struct Encoder {
  int64_t heads, kvHeads, keyDim, valueDim;
  std::string query, keys, values, result;
};

/// Softmax attention of one head of one row over all rows of its sequence, in double precision.
static void attend(const Encoder &encoder, const Inputs &inputs, int64_t row, int64_t head,
                   std::vector<Expected> &expected) {
  const HostTensor &query = inputs.arguments[0].tensor, &keys = inputs.arguments[1].tensor,
                   &values = inputs.arguments[2].tensor;
  auto sequence = int64_t(inputs.arguments[3].tensor.at(row));
  auto begin = int64_t(inputs.arguments[4].tensor.at(sequence)),
       end = int64_t(inputs.arguments[4].tensor.at(sequence + 1));
  int64_t kvHead = head / (encoder.heads / encoder.kvHeads);
  std::vector<double> weights;
  for (int64_t at = begin; at < end; ++at) {
    double score = 0;
    for (int64_t i = 0; i < encoder.keyDim; ++i)
      score += query.at(row, head * encoder.keyDim + i) * keys.at(at, kvHead * encoder.keyDim + i);
    weights.push_back(score * double(0.11f));
  }
  double largest = *std::max_element(weights.begin(), weights.end()), sum = 0;
  for (double &weight : weights)
    sum += weight = std::exp(weight - largest);
  for (int64_t i = 0; i < encoder.valueDim; ++i) {
    double total = 0, size = 0;
    for (int64_t at = begin; at < end; ++at) {
      double term = weights[at - begin] / sum * values.at(at, kvHead * encoder.valueDim + i);
      total += term;
      size += std::abs(term);
    }
    expected.push_back(stored(elementType(encoder.result), total, 2e-5 * size));
  }
}

static Case encoderCase(const Encoder &encoder) {
  std::string query = activation(encoder.heads * encoder.keyDim, encoder.query),
              keys = activation(encoder.kvHeads * encoder.keyDim, encoder.keys),
              values = activation(encoder.kvHeads * encoder.valueDim, encoder.values),
              result = activation(encoder.heads * encoder.valueDim, encoder.result),
              offsets = "tensor<?xi32, \"S + 1\">";
  Case built;
  built.name = formatv("encoder_attention_{0}_{1}_{2}_{3}_{4}x{5}_{6}x{7}", encoder.query,
                       encoder.keys, encoder.values, encoder.result, encoder.heads, encoder.kvHeads,
                       encoder.keyDim, encoder.valueDim);
  built.plain =
      "func.func @f(%q: " + query + ", %k: " + keys + ", %v: " + values + ", %s: " + kIndex +
      " {test.role = \"sequences\"}, %o: " + offsets + " {test.role = \"offsets\"}) -> " + result +
      " {\n  %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads " +
      std::to_string(encoder.kvHeads) + " scale 0.11 : " + query + ", " + keys + ", " + values +
      ", " + kIndex + ", " + offsets + " -> " + result + "\n  return %y : " + result + "\n}";
  built.oracle = [encoder](const Inputs &inputs) {
    std::vector<Expected> expected;
    for (int64_t row = 0; row < inputs.dims.T; ++row)
      for (int64_t head = 0; head < encoder.heads; ++head)
        attend(encoder, inputs, row, head, expected);
    return expected;
  };
  built.ragged = true;
  return built;
}

std::vector<Case> conformance::attentionCases() {
  std::vector<Case> cases;
  auto add = [&](Case added, std::vector<int64_t> tokens, bool full = false) {
    added.tokens = std::move(tokens);
    added.full = full;
    cases.push_back(std::move(added));
  };
  for (std::string cache : {"f32", "f16", "bf16", "i8", "f8E4M3FN", "f8E5M2"}) {
    std::string element = cache == "f16" ? "f16" : cache == "bf16" ? "bf16" : "f32";
    add(appendCase({4, 2, 80, cache, element}), {1, 7, 64});
    add(ropeAppendCase({4, 2, 64, cache, element}), {1, 17});
    Layer layer = {8, 4, 64, cache, element};
    add(attentionCase(layer), {1, 7});
    layer.stale = true;
    add(attentionCase(layer), {1, 7});
  }
  for (auto [heads, kvHeads] : {std::pair<int64_t, int64_t>{8, 4}, {4, 4}, {8, 1}})
    for (int64_t headDim : {8, 16, 64, 80, 128}) {
      Layer layer = {heads, kvHeads, headDim, headDim % 16 ? "f32" : "bf16", "f32", 16};
      bool full = kvHeads == 4 && heads == 4 && headDim != 80;
      add(attentionCase(layer), {1, 17}, full);
      add(ropeAppendCase(layer), {3}, full || headDim == 16);
    }
  // Scales of the checkpoint, some of them too small for the largest values.
  for (std::string cache : {"i8", "f8E4M3FN"}) {
    Layer fixed = {4, 2, 80, cache, "bf16"};
    fixed.staticScales = true;
    add(appendCase(fixed), {1, 7});
    add(ropeAppendCase(fixed), {1, 17});
  }
  // Heads of which a part rotates.
  add(ropeAppendCase({4, 2, 128, "bf16", "bf16", 16, false, 48}), {1, 17});
  add(ropeAppendCase({3, 1, 96, "i8", "f32", 16, false, 36}), {3});
  // Positions of several axes, beside those that the cache goes by.
  Layer sections = {4, 2, 128, "bf16", "bf16"};
  sections.axes = sectionAxes({16, 24, 24});
  add(ropeAppendCase(sections), {1, 17});
  Layer interleaved = {6, 2, 80, "i8", "f32"};
  interleaved.staticScales = true;
  interleaved.axes = interleavedAxes({16, 12, 12}, 40);
  add(ropeAppendCase(interleaved), {3});
  Layer partial = {3, 1, 256, "f16", "f16", 16, false, 32};
  partial.axes = interleavedAxes({11, 11, 10}, 32);
  add(ropeAppendCase(partial), {2, 9});
  // More tokens than are decoded one by one: tiles of tokens, whose last ones are not full, of
  // sequences that cross a segment's border within the chunk.
  auto addContext = [&](const Layer &layer, std::vector<int64_t> tokens, bool full = false) {
    Case context = attentionCase(layer);
    context.name += "_context";
    context.maxPosition = 264;
    add(context, std::move(tokens), full);
  };
  addContext({4, 2, 64, "bf16", "bf16"}, {130});
  addContext({8, 1, 128, "i8", "bf16"}, {67}, true);
  addContext({8, 4, 64, "bf16", "bf16"}, {65, 257}, true);
  addContext({4, 4, 80, "f16", "f16"}, {97}, true);
  // Tiles of AMX, of one row and of several, the last ones not full.
  for (int64_t headDim : {64, 96}) {
    Case tiled = attentionCase({8, 2, headDim, "bf16", "bf16"});
    tiled.name += "_tiles";
    tiled.maxPosition = 264;
    tiled.nativeOnly = true;
    add(tiled, {1, 5, 97});
  }
  // FP8 products, where an architecture has them.
  addContext({4, 2, 64, "f8E4M3FN", "bf16", 16, true}, {7, 130});
  addContext({4, 1, 128, "f8E4M3FN", "bf16", 16, true}, {67});
  addContext({8, 4, 64, "f8E4M3FN", "bf16", 16, true}, {1, 64, 65, 257}, true);
  addContext({4, 4, 128, "f8E4M3FN", "f16", 32, true}, {3, 71}, true);
  // What others left behind a sequence's end does not reach its sums.
  for (Layer left :
       {Layer{4, 2, 64, "bf16", "bf16"}, Layer{4, 2, 64, "f8E4M3FN", "bf16", 16, true}}) {
    left.stale = true;
    addContext(left, {67});
  }
  // Large heads, whose rows have fewer warps of their own; and those of one product.
  Case large = attentionCase({2, 1, 256, "bf16", "bf16"});
  large.maxPosition = 262;
  add(large, {66});
  // Prompts of several sequences, whose last tiles have few rows.
  Case prompts = attentionCase({4, 2, 32, "bf16", "bf16"});
  prompts.maxPosition = 262;
  add(prompts, {131});
  add(attentionCase({8, 1, 256, "f8E4M3FN", "bf16", 32}), {90}, true);
  add(attentionCase({16, 1, 256, "i8", "f16"}), {70}, true);
  // More tokens than decoding usually takes, nearly all of sequences of their own.
  Case many = attentionCase({4, 1, 64, "bf16", "bf16"});
  many.name += "_many_sequences";
  many.sequences = 70;
  many.maxPosition = 262;
  add(many, {90});
  // More segments than a block merges at once.
  for (Layer layer : {Layer{10, 2, 64, "bf16", "bf16"}, Layer{16, 1, 128, "i8", "bf16"}}) {
    layer.sinks = layer.headDim == 128 ? "f32" : "";
    Case longest = attentionCase(layer);
    longest.name += "_long";
    longest.maxPosition = 8700;
    longest.sequences = 2;
    add(longest, {2}, layer.headDim == 128);
  }
  // Windows: within a tile, across tiles and segments, longer than what there is; soft-capping.
  auto addWindow = [&](Layer layer, int64_t window, double softcap, int64_t maxPosition,
                       std::vector<int64_t> tokens, bool full = false) {
    layer.window = window;
    layer.softcap = softcap;
    Case added = attentionCase(layer);
    added.maxPosition = maxPosition;
    add(added, std::move(tokens), full);
  };
  addWindow({4, 2, 80, "f32", "f32"}, 300, 2.5, 700, {2, 19});
  addWindow({4, 2, 64, "bf16", "bf16"}, 20, 0, 300, {3, 70});
  addWindow({4, 2, 64, "bf16", "bf16"}, 300, 2.5, 700, {2, 131});
  addWindow({4, 1, 128, "i8", "bf16"}, 65, 0, 400, {67}, true);
  addWindow({2, 1, 256, "bf16", "bf16"}, 257, 2.5, 600, {1, 66}, true);
  addWindow({4, 2, 64, "f8E4M3FN", "bf16", 16, true}, 100, 0, 400, {2, 67});
  addWindow({4, 4, 80, "f16", "f16"}, 1, 0, 300, {2, 97}, true);
  // Chunks: within a tile, across tiles and segments, and of one position.
  auto addChunk = [&](Layer layer, int64_t window, std::vector<int64_t> tokens, bool full = false) {
    layer.chunked = true;
    addWindow(layer, window, 0, 700, std::move(tokens), full);
  };
  addChunk({4, 2, 80, "f32", "f32"}, 300, {2, 19});
  addChunk({4, 2, 64, "bf16", "bf16"}, 20, {3, 70});
  addChunk({4, 1, 128, "i8", "bf16"}, 256, {2, 67});
  addChunk({2, 1, 256, "bf16", "bf16"}, 129, {1, 66}, true);
  addChunk({4, 2, 64, "f8E4M3FN", "bf16", 16, true}, 100, {2, 67}, true);
  addChunk({4, 4, 80, "f16", "f16"}, 1, {2, 97}, true);
  // Sinks: by every kernel, after one segment and after several, with what else there is.
  auto addSinks = [&](Layer layer, const std::string &sinks, int64_t window, double softcap,
                      std::vector<int64_t> tokens, bool full = false) {
    layer.sinks = sinks;
    addWindow(layer, window, softcap, 600, std::move(tokens), full);
  };
  addSinks({4, 2, 80, "f32", "f32"}, "f32", 0, 2.5, {2, 19});
  addSinks({24, 1, 64, "bf16", "bf16"}, "bf16", 0, 0, {2, 70});
  addSinks({4, 2, 64, "bf16", "bf16"}, "f32", 128, 2.5, {2, 131});
  addSinks({4, 2, 64, "i8", "bf16"}, "bf16", 0, 0, {2, 67});
  addSinks({4, 1, 128, "i8", "f16"}, "f16", 65, 0, {67}, true);
  addSinks({2, 1, 256, "bf16", "bf16"}, "bf16", 0, 0, {1, 66}, true);
  addSinks({4, 2, 64, "f8E4M3FN", "bf16", 16, true}, "bf16", 0, 0, {2, 67});
  addSinks({8, 4, 64, "f8E4M3FN", "bf16", 16, true}, "f32", 100, 0, {3, 71}, true);
  // Pictures of odd lengths, smaller and larger than windows, over borders of blocks and segments:
  // by every kernel.
  auto addReaches = [&](Layer layer, int64_t window, double softcap, std::vector<int64_t> tokens,
                        bool full = false) {
    layer.reaches = true;
    addWindow(layer, window, softcap, 262, std::move(tokens), full);
  };
  addReaches({4, 2, 80, "f32", "f32"}, 0, 2.5, {1, 2, 19});
  addReaches({4, 2, 80, "f32", "f32"}, 9, 0, {41});
  addReaches({4, 2, 64, "bf16", "bf16"}, 0, 0, {3, 38, 131});
  addReaches({4, 2, 64, "bf16", "bf16"}, 20, 0, {3, 38, 131});
  addReaches({4, 2, 64, "bf16", "bf16"}, 300, 2.5, {131}, true);
  addReaches({24, 1, 64, "bf16", "bf16"}, 7, 0, {2, 70});
  addReaches({4, 1, 128, "i8", "bf16"}, 33, 0, {67});
  addReaches({2, 1, 256, "bf16", "bf16"}, 1, 0, {1, 66});
  addReaches({4, 2, 64, "f8E4M3FN", "bf16", 16, true}, 30, 0, {2, 67});
  Layer pictures = {4, 2, 64, "bf16", "bf16"};
  pictures.sinks = "f32";
  pictures.stale = true;
  addReaches(pictures, 0, 0, {5, 97});
  pictures.headDim = 96;
  pictures.blockTokens = 24;
  addReaches(pictures, 12, 0, {66}, true);
  // Values of another width than keys, and values that are part of them.
  for (const char *cache : {"f32", "bf16", "i8", "f8E4M3FN"}) {
    Layer narrow = {4, 2, 24, cache, "bf16"};
    narrow.valueDim = 16;
    add(appendCase(narrow), {1, 7});
    add(attentionCase(narrow), {1, 17});
    Layer latent = {4, 1, 40, cache, "bf16"};
    latent.valueDim = 32;
    latent.latent = true;
    add(latentAppendCase(latent), {1, 7});
    latent.sinks = std::string(cache) == "i8" ? "f32" : "";
    add(attentionCase(latent), {1, 17});
    latent.parts = true;
    add(attentionCase(latent), {1, 17});
  }
  // Positions that are chosen, fewer than there are and about as many.
  for (int64_t most : {40, 300}) {
    Layer chosen = {6, 1, 96, "bf16", "bf16"};
    chosen.valueDim = 64;
    chosen.latent = chosen.parts = true;
    chosen.selected = most;
    add(attentionCase(chosen), {2, 19});
    chosen.cache = "f8E4M3FN";
    chosen.sinks = "f32";
    add(attentionCase(chosen), {3});
    add(selectCase(chosen, 5), {1, 21});
  }
  // Latents as models have them.
  for (int64_t heads : {5, 16, 20, 128}) {
    Layer latent = {heads, 1, 576, heads == 20 ? "f8E4M3FN" : "bf16", "bf16"};
    latent.valueDim = 512;
    latent.latent = latent.parts = true;
    add(attentionCase(latent), {1, 3}, heads == 128);
    if (heads != 16)
      continue;
    Case prompts = attentionCase(latent);
    prompts.name += "_prompts";
    prompts.nativeOnly = true; // simulated GPUs are slow
    add(prompts, {40, 140});
  }
  // Latents of published models, and latents without whole runs of elements.
  auto latentLayer = [](int64_t heads, int64_t headDim, int64_t valueDim, std::string cache,
                        std::string activation) {
    Layer layer = {heads, 1, headDim, std::move(cache), std::move(activation)};
    layer.valueDim = valueDim;
    layer.latent = true;
    return layer;
  };
  add(latentAppendCase(latentLayer(1, 576, 512, "bf16", "bf16")), {1, 70});
  add(latentAppendCase(latentLayer(1, 576, 512, "f8E4M3FN", "f32")), {2});
  add(latentAppendCase(latentLayer(1, 44, 33, "f16", "f32")), {3});
  add(latentAppendCase(latentLayer(1, 39, 32, "f8E5M2", "bf16")), {3});
  // By every kernel: few tokens and many, over several segments, of one row and of several tiles.
  auto addLatent = [&](Layer layer, int64_t maxPosition, std::vector<int64_t> tokens,
                       bool full = false) {
    Case added = attentionCase(layer);
    added.name += "_to_" + std::to_string(maxPosition);
    added.maxPosition = maxPosition;
    added.sequences = 3;
    add(added, std::move(tokens), full);
  };
  addLatent(latentLayer(1, 96, 64, "bf16", "bf16"), 1100, {2, 70});
  addLatent(latentLayer(20, 80, 64, "f16", "f16"), 1100, {2, 70});
  addLatent(latentLayer(16, 144, 128, "i8", "bf16"), 600, {3, 67});
  addLatent(latentLayer(70, 48, 32, "f8E4M3FN", "bf16"), 1100, {2, 66});
  addLatent(latentLayer(40, 192, 128, "f16", "f16"), 1100, {2, 66});
  addLatent(latentLayer(16, 576, 512, "bf16", "bf16"), 530, {1, 65}, true);
  addLatent(latentLayer(128, 576, 512, "bf16", "bf16"), 1050, {1}, true);
  addLatent(latentLayer(128, 576, 512, "bf16", "bf16"), 200, {66}, true);
  addLatent(latentLayer(40, 576, 512, "i8", "f16"), 1050, {2, 66}, true);
  Case decoded = attentionCase(latentLayer(4, 80, 64, "bf16", "bf16"));
  decoded.name += "_many_sequences";
  decoded.sequences = 70;
  decoded.maxPosition = 530;
  add(decoded, {90});
  Layer seen = latentLayer(3, 48, 32, "bf16", "bf16");
  seen.sinks = "f32";
  seen.stale = seen.parts = true;
  addWindow(seen, 600, 2.5, 1100, {2, 70});
  // Encoders: sequences of one and of many rows, with segments and tiles that are not full.
  add(encoderCase({4, 4, 64, 64, "bf16", "bf16", "bf16", "bf16"}), {1, 2, 70});
  add(encoderCase({4, 2, 80, 48, "f16", "f16", "f16", "f16"}), {3, 67});
  add(encoderCase({6, 2, 7, 19, "f32", "f32", "f32", "f32"}), {1, 5, 66});
  add(encoderCase({3, 1, 16, 7, "f32", "bf16", "f16", "bf16"}), {17});
  add(encoderCase({2, 2, 72, 72, "bf16", "bf16", "bf16", "f32"}), {64, 129}, true);
  add(encoderCase({2, 1, 128, 256, "bf16", "bf16", "bf16", "bf16"}), {33}, true);
  Case image = encoderCase({4, 2, 64, 64, "bf16", "bf16", "bf16", "bf16"});
  image.name += "_image";
  image.nativeOnly = true; // simulated GPUs are slow
  add(image, {300});
  // Heads of towers, that fill no whole tiles of AMX, and rows of several tiles and segments.
  for (int64_t columns : {64, 72, 80}) {
    const int64_t heads = columns == 72 ? 1 : 2;
    Case tower = encoderCase({heads, heads, columns, columns, "bf16", "bf16", "bf16", "bf16"});
    tower.nativeOnly = true;
    add(tower, columns == 72 ? std::vector<int64_t>{1, 17, 1000} : std::vector<int64_t>{1, 17});
  }
  // Blocks that are no power of two, and a batch that is mostly prompt.
  add(attentionCase({4, 2, 16, "f32", "f32", 24}), {2, 129});
  add(attentionCase({4, 2, 64, "i8", "bf16", 32}), {3, 97});
  return cases;
}
