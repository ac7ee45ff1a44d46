// SPDX-License-Identifier: Apache-2.0
// What layers are made of: for each mixer of LayerPlan.h its graph, by overloads. One file each.
#pragma once

#include "compiler/importers/mixers/Modules.h"

namespace ingot::compiler {

/// The KV caches and recurrent states that a layer with this mixer keeps.
using CacheTypes = llvm::SmallVector<mlir::Type>;
/// Heads of q and k, which divide those of v, and their columns.
struct LinearHeads {
  uint64_t keys, values, keyDim, valueDim;
};
/// Those of linear attention behind a convolution of `columns` columns: blocks of both are chunks
/// of the first, which so are one group.
CacheTypes linearAttentionCaches(mlir::MLIRContext *context, uint64_t taps, uint64_t columns,
                                 const LinearHeads &heads);
inline CacheTypes cachesOf(mlir::MLIRContext *, const Modules &, std::monostate) { return {}; }
CacheTypes cachesOf(mlir::MLIRContext *context, const Modules &model,
                    const checkpoint::Attention &attention);
CacheTypes cachesOf(mlir::MLIRContext *context, const Modules &model,
                    const checkpoint::LatentAttention &attention);
CacheTypes cachesOf(mlir::MLIRContext *context, const Modules &model,
                    const checkpoint::ShortConv &conv);
CacheTypes cachesOf(mlir::MLIRContext *context, const Modules &model,
                    const checkpoint::GatedDeltaNet &net);
CacheTypes cachesOf(mlir::MLIRContext *context, const Modules &model,
                    const checkpoint::StateSpace &space);
CacheTypes cachesOf(mlir::MLIRContext *context, const Modules &model,
                    const checkpoint::AttentionAndStateSpace &both);

/// What the mixer makes of the tokens `x` [T, hidden]. `prefix`: of the layer ("model.layers.0.");
/// `caches`: of the types of cachesOf().
mlir::Value mixTokens(Modules &model, const checkpoint::Attention &attention, mlir::Value x,
                      const std::string &prefix, llvm::ArrayRef<mlir::Value> caches);
mlir::Value mixTokens(Modules &model, const checkpoint::LatentAttention &attention, mlir::Value x,
                      const std::string &prefix, llvm::ArrayRef<mlir::Value> caches);
mlir::Value mixTokens(Modules &model, const checkpoint::ShortConv &conv, mlir::Value x,
                      const std::string &prefix, llvm::ArrayRef<mlir::Value> caches);
mlir::Value mixTokens(Modules &model, const checkpoint::GatedDeltaNet &net, mlir::Value x,
                      const std::string &prefix, llvm::ArrayRef<mlir::Value> caches);
mlir::Value mixTokens(Modules &model, const checkpoint::StateSpace &space, mlir::Value x,
                      const std::string &prefix, llvm::ArrayRef<mlir::Value> caches);
mlir::Value mixTokens(Modules &model, const checkpoint::AttentionAndStateSpace &both, mlir::Value x,
                      const std::string &prefix, llvm::ArrayRef<mlir::Value> caches);

/// What the mixer makes of each of the rows `x` [T, hidden]; `y`: what they are norms of.
mlir::Value mixChannels(Modules &model, const checkpoint::Mlp &mlp, mlir::Value x,
                        const std::string &prefix);
mlir::Value mixChannels(Modules &model, const checkpoint::Experts &experts, mlir::Value x,
                        const std::string &prefix);
mlir::Value mixChannels(Modules &model, const checkpoint::MlpAndExperts &both, mlir::Value x,
                        mlir::Value y, const std::string &prefix);

/// The MLP whose tensors are called `module` ("mlp").
mlir::Value feedForward(Modules &model, const checkpoint::Mlp &mlp, mlir::Value x,
                        const std::string &prefix, const std::string &module);

/// What tokens, embedded as `x`, have for every layer, side by side (ModelConfig::layerInputs).
mlir::Value layerInputs(Modules &model, mlir::Value x);
/// What a layer makes of its part of layerInputs(), gated by `y`: n(up(act(gate y) * input)).
mlir::Value layerInputTerm(Modules &model, mlir::Value y, mlir::Value input,
                           const std::string &prefix);

/// A model's streams of x (ModelConfig::altUp), each [T, hidden].
using Streams = llvm::SmallVector<mlir::Value>;
/// The streams before the first layer, of embedded tokens, and what they give behind the last one.
Streams spread(Modules &model, mlir::Value x);
mlir::Value joined(Modules &model, const Streams &streams);
/// What a layer's streams would be by those before it.
Streams predicted(Modules &model, const Streams &streams, const std::string &prefix);
/// What they are, once the mixers made `y` of the active one.
Streams corrected(Modules &model, const Streams &predicted, mlir::Value y,
                  const std::string &prefix);
/// Adds what a layer makes of its input to all streams but the first.
void addLayerInput(Modules &model, Streams &streams, mlir::Value input, const std::string &prefix);
/// (y + x + n(W_r W_l x)) / sqrt(2), for the y that attention was added to and the x that it read.
mlir::Value withLaurel(Modules &model, mlir::Value y, mlir::Value x, const std::string &prefix);

/// The activation of `mlp`; `name`: of its numbers ("model.layers.0.mlp.act_fn.").
ActivationFunction activationOf(StepBuilder &step, const checkpoint::Mlp &mlp,
                                const std::string &name);

} // namespace ingot::compiler
