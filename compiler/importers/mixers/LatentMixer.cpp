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

  Value build(Value x, Value cache) {
    Value q = model.tempered(query(x), attention.temperature);
    Value both = project(x, "kv_a_proj_with_mqa", rank + rotaryDim, model.hidden, attention.bias);
    Value latent = normed(step.sliceColumns(both, 0, rank), "kv_a_layernorm", rank);
    step.setSite(site());
    Value rotaryKey = rotated(step.sliceColumns(both, rank, rotaryDim));
    step.latentAppend(latent, rotaryKey, cache);
    Value ofHeads = step.splitRows(q, heads);
    Value plain = joined(step.sliceColumns(ofHeads, 0, plainDim)),
          rotary = rotated(joined(step.sliceColumns(ofHeads, plainDim, rotaryDim)));
    const Projections projections = stacks();
    step.setSite(site() + ".kv_b_proj.keys");
    Value absorbed = step.headLinear(plain, projections.keys, heads, rank);
    step.setSite(site());
    Value attended = step.latentAttention(absorbed, rotary, cache, attention.scaling);
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

  Value query(Value x) {
    const int64_t columns = heads * static_cast<int64_t>(attention.queryDim());
    if (attention.queryRank == 0)
      return project(x, model.names.query, columns, model.hidden);
    const auto own = static_cast<int64_t>(attention.queryRank);
    Value latent = project(x, "q_a_proj", own, model.hidden, attention.bias);
    return project(normed(latent, "q_a_layernorm", own), "q_b_proj", columns, own);
  }

  /// The norm `name` of a latent.
  Value normed(Value x, const char *name, int64_t columns) {
    const std::string tensor = prefix + module + name;
    step.setSite(Modules::siteOf(tensor));
    return step.norm(x, /*centered=*/false, step.weight(tensor + ".weight", {columns}), Value(),
                     attention.latentEpsilon);
  }

  Value joined(Value ofHeads) { return step.joinRows(ofHeads, schema::dim::tokens); }

  Value rotated(Value x) {
    const RotaryTable rotary =
        rotaryTable(model.config.ropes.front(), attention.rotaryDim, model.maxContext);
    Value table = step.literal("rope.inv_freq", rotary.frequencies);
    return attention.ropeInterleaved ? step.ropePairs(x, table, rotaryDim, rotary.factor)
                                     : step.rope(x, table, rotaryDim, rotary.factor);
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
  const auto rank = static_cast<int64_t>(attention.latentRank),
             rotary = static_cast<int64_t>(attention.rotaryDim);
  return {llm::KvType::get(context, 1, rank + rotary, Float32Type::get(context), kKvBlockTokens,
                           /*window=*/0, rank, /*latent=*/true)};
}

Value compiler::mixTokens(Modules &model, const LatentAttention &attention, Value x,
                          const std::string &prefix, ArrayRef<Value> caches) {
  return LatentBuilder(model, attention, prefix).build(x, caches.front());
}
