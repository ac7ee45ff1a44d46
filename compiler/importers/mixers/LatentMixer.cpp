// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (arXiv 2405.04434) in its absorbed form, for all rows alike: the part
// of kv_b_proj that makes keys stands at the query, and the one that makes values at the result, so
// that what is attended to are latents, one head for all of queries.
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/importers/RotaryTable.h"
#include "compiler/importers/mixers/Mixers.h"
#include "runtime/schema/Names.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::LatentAttention;

namespace {

/// One layer's.
class LatentBuilder {
public:
  LatentBuilder(Modules &model, const LatentAttention &attention, const std::string &prefix)
      : model(model), step(model.step), attention(attention), prefix(prefix),
        module(std::string(model.names.attention) + "."),
        heads(static_cast<int64_t>(attention.heads)),
        rank(static_cast<int64_t>(attention.latentRank)),
        plainDim(static_cast<int64_t>(attention.plainDim)),
        rotaryDim(static_cast<int64_t>(attention.rotaryDim)),
        valueDim(static_cast<int64_t>(attention.valueDim)) {}

  Value build(Value x, ArrayRef<Value> caches) {
    Value source = querySource(x), cache = caches.front();
    Value q = model.tempered(query(source), attention.temperature);
    Value both = project(x, "kv_a_proj_with_mqa", rank + rotaryDim, model.hidden, attention.bias);
    Value latent = normed(step.sliceColumns(both, 0, rank), "kv_a_layernorm", rank);
    step.setSite(site());
    Value rotaryKey = rotated(step.sliceColumns(both, rank, rotaryDim));
    step.latentAppend(latent, rotaryKey, cache);
    Value ofHeads = step.splitRows(q, heads);
    Value plain = joined(step.sliceColumns(ofHeads, 0, plainDim)),
          rotary = rotated(joined(step.sliceColumns(ofHeads, plainDim, rotaryDim)));
    const Projections projections = stacks();
    if (attention.index.most == 0)
      model.selection = {};
    else if (!attention.index.isShared)
      model.selection = select(x, source, caches[1]);
    step.setSite(site() + ".kv_b_proj.keys");
    Value absorbed = step.headLinear(plain, projections.keys, heads, rank);
    step.setSite(site());
    Value attended =
        step.latentAttention(absorbed, rotary, cache, model.selection, attention.scaling);
    step.setSite(site() + ".kv_b_proj.values");
    Value mixed = step.headLinear(attended, projections.values, heads, valueDim);
    return project(mixed, model.names.output, model.hidden, heads * valueDim, attention.bias);
  }

private:
  /// What stands at queries, [heads * rank, plainDim], and at results, [heads * valueDim, rank].
  struct Projections {
    Value keys, values;
  };

  std::string site() const {
    return Modules::siteOf(prefix).str() + module.substr(0, module.size() - 1);
  }

  Value project(Value x, std::string_view name, int64_t outputs, int64_t inputs,
                bool hasBias = false) {
    return model.project(x, prefix, module + std::string(name), outputs, inputs, hasBias);
  }

  /// What q is projected from.
  Value querySource(Value x) {
    if (attention.queryRank == 0)
      return x;
    const auto own = static_cast<int64_t>(attention.queryRank);
    return normed(project(x, "q_a_proj", own, model.hidden, attention.bias), "q_a_layernorm", own);
  }

  Value query(Value source) {
    return project(source, attention.queryRank == 0 ? model.names.query : "q_b_proj",
                   heads * static_cast<int64_t>(attention.queryDim()), llm::columnsOf(source));
  }

  /// The positions that tokens attend to, of which the index keeps keys in `cache`.
  Value select(Value x, Value source, Value cache) {
    const checkpoint::PositionIndex &index = attention.index;
    const auto count = static_cast<int64_t>(index.heads), dim = static_cast<int64_t>(index.dim);
    const std::string norm = prefix + module + "indexer.k_norm";
    Value q = project(source, "indexer.wq_b", count * dim, llm::columnsOf(source)),
          k = project(x, "indexer.wk", dim, model.hidden);
    step.setSite(Modules::siteOf(norm));
    k = step.norm(k, /*centered=*/true, step.weight(norm + ".weight", {dim}),
                  step.weight(norm + ".bias", {dim}), 1e-6);
    Value weights = project(x, "indexer.weights_proj", count, model.hidden);
    step.setSite(site() + ".indexer");
    q = rotated(q, dim, index.ropeInterleaved);
    k = rotated(k, dim, index.ropeInterleaved);
    // A latent cache takes keys in two parts, and gives them as one.
    step.latentAppend(step.sliceColumns(k, 0, dim / 2),
                      step.sliceColumns(k, dim / 2, dim - dim / 2), cache);
    return step.selectPositions(q, weights, cache, index.most,
                                1 / std::sqrt(static_cast<double>(dim * count)));
  }

  /// The norm `name` of a latent.
  Value normed(Value x, const char *name, int64_t columns) {
    const std::string tensor = prefix + module + name;
    step.setSite(Modules::siteOf(tensor));
    return step.norm(x, /*centered=*/false, step.weight(tensor + ".weight", {columns}), Value(),
                     attention.latentEpsilon);
  }

  Value joined(Value ofHeads) { return step.joinRows(ofHeads, schema::dim::tokens); }

  Value rotated(Value x) { return rotated(x, rotaryDim, attention.ropeInterleaved); }

  /// The first rotary columns of heads of `headDim`.
  Value rotated(Value x, int64_t headDim, bool interleaved) {
    const checkpoint::Rope &rope = model.config.ropes.front();
    const RotaryTable rotary = rotaryTable(
        rope, rope.rotated == 1 ? attention.rotaryDim : attention.queryDim(), model.maxContext);
    Value table = step.literal("rope.inv_freq", rotary.frequencies);
    return interleaved ? step.ropePairs(x, table, headDim, rotary.factor)
                       : step.rope(x, table, headDim, rotary.factor);
  }

  Projections stacks() {
    const std::string name = prefix + module;
    // Files of llama.cpp have them so.
    if (!step.hasMatrix(name + "kv_b_proj.weight") && step.hasMatrix(name + "k_b_proj.weight"))
      return {step.weight(name + "k_b_proj.weight", {heads * rank, plainDim}),
              step.weight(name + "v_b_proj.weight", {heads * valueDim, rank})};
    Value both = step.weight(name + "kv_b_proj.weight", {heads * (plainDim + valueDim), rank});
    step.expectPlainInputs(both);
    // [k|v] of each head in turn, by runs of rows that divide both: first the runs of k of all
    // heads, then those of v, and the runs of each head together again.
    const int64_t run = std::gcd(std::gcd(plainDim, valueDim), kRowTile),
                  runs = (plainDim + valueDim) / run;
    Value byRuns = step.permuteRows(both, {heads, runs, run}, {1, 0, 2});
    auto together = [&](Value rows, int64_t columns) {
      return step.permuteRows(rows, {columns / run, heads, run}, {1, 0, 2});
    };
    Value keys = step.sliceRows(byRuns, 0, heads * plainDim),
          values = step.sliceRows(byRuns, heads * plainDim, heads * valueDim);
    keys = step.transpose(together(keys, plainDim)); // [rank, heads * plainDim]
    const int64_t tiledRank = tiled(rank), tiledValues = tiled(valueDim);
    if (tiledRank != rank)
      keys = step.padRows(keys, tiledRank - rank);
    keys = step.permuteRows(step.reshape(keys, {tiledRank * heads, plainDim}), {tiledRank, heads},
                            {1, 0});
    if (tiledValues != valueDim)
      values = step.plain(step.padRows(values, heads * (tiledValues - valueDim)));
    return {step.plain(keys), together(values, tiledValues)};
  }

  /// Rows that targets take together, of which matrices of heads are whole ones.
  static constexpr int64_t kRowTile = 16;
  static int64_t tiled(int64_t rows) { return (rows + kRowTile - 1) / kRowTile * kRowTile; }

  Modules &model;
  StepBuilder &step;
  const LatentAttention &attention;
  const std::string &prefix; ///< of the layer ("model.layers.0.")
  const std::string module;  ///< behind it ("self_attn.")
  const int64_t heads, rank, plainDim, rotaryDim, valueDim;
};

} // namespace

CacheTypes compiler::cachesOf(MLIRContext *context, const Modules &,
                              const LatentAttention &attention) {
  auto keys = [&](uint64_t columns, uint64_t first) -> Type {
    return llm::KvType::get(context, 1, static_cast<int64_t>(columns), Float32Type::get(context),
                            kKvBlockTokens, /*window=*/0, static_cast<int64_t>(first),
                            /*latent=*/true);
  };
  CacheTypes types = {keys(attention.latentRank + attention.rotaryDim, attention.latentRank)};
  if (attention.index.most != 0 && !attention.index.isShared)
    types.push_back(keys(attention.index.dim, attention.index.dim / 2));
  return types;
}

Value compiler::mixTokens(Modules &model, const LatentAttention &attention, Value x,
                          const std::string &prefix, ArrayRef<Value> caches) {
  return LatentBuilder(model, attention, prefix).build(x, caches);
}
