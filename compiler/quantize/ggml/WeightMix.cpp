// SPDX-License-Identifier: Apache-2.0
// The facts of the mixes, and how they are applied.
#include "compiler/quantize/ggml/WeightMix.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::Json;
using checkpoint::Tensor;

namespace {

/// What a tensor is to a mix, by its name.
enum class Role : uint8_t { Output, Embedding, Values, Keys, AttentionOutput, Down, Other };

/// When an exception holds. Layers are counted in the order of the model; `n` is their number.
enum class When : uint8_t {
  Always,
  MoreBits, ///< the first and the last eighth, and of the others each third
  FirstTwo,
  FirstFour,
  FirstEighth,
  FirstSixteenth,
  FirstEighthImportant,   ///< and importance is given
  FirstEighthUnimportant, ///< and none is
  FewValueHeads,          ///< four heads or more share the values of one
};

/// Another type than the mix's own. The first that holds decides.
struct Exception {
  Role role = Role::Other;
  When when = When::Always;
  DType dtype = DType::F32;
};

} // namespace

struct WeightMix {
  std::string_view name;
  uint32_t fileType;
  DType dtype;
  /// Q5_K for the projections of attention's outputs in models of eight experts.
  bool eightExpertsOutput = false;
  Exception exceptions[5] = {};
};

namespace {

using enum DType;

constexpr WeightMix mixes[] = {
    {"q4_0", 2, Q4_0, false, {{Role::Down, When::FirstEighthImportant, Q4_1}}},
    {"q4_1", 3, Q4_1},
    {"q5_0", 8, Q5_0, false, {{Role::Down, When::FirstEighthImportant, Q5_1}}},
    {"q5_1", 9, Q5_1},
    {"q8_0", 7, Q8_0},
    {"q2_k",
     10,
     Q2_K,
     true,
     {{Role::Values, When::FewValueHeads, Q4_K},
      {Role::Values, When::Always, Q3_K},
      {Role::Down, When::Always, Q3_K},
      {Role::AttentionOutput, When::Always, Q3_K}}},
    {"q3_k_s", 11, Q3_K, true},
    {"q3_k_m",
     12,
     Q3_K,
     true,
     {{Role::Values, When::FirstTwo, Q5_K},
      {Role::Values, When::Always, Q4_K},
      {Role::Down, When::FirstSixteenth, Q5_K},
      {Role::Down, When::Always, Q4_K},
      {Role::AttentionOutput, When::Always, Q4_K}}},
    {"q3_k_l",
     13,
     Q3_K,
     false,
     {{Role::Values, When::Always, Q5_K},
      {Role::Down, When::Always, Q5_K},
      {Role::AttentionOutput, When::Always, Q5_K}}},
    {"q4_k_s",
     14,
     Q4_K,
     true,
     {{Role::Values, When::FirstFour, Q5_K}, {Role::Down, When::FirstEighth, Q5_K}}},
    {"q4_k_m",
     15,
     Q4_K,
     true,
     {{Role::Values, When::MoreBits, Q6_K}, {Role::Down, When::MoreBits, Q6_K}}},
    {"q5_k_s", 16, Q5_K},
    {"q5_k_m",
     17,
     Q5_K,
     false,
     {{Role::Values, When::MoreBits, Q6_K}, {Role::Down, When::MoreBits, Q6_K}}},
    {"q6_k", 18, Q6_K},
    {"iq4_nl",
     25,
     IQ4_NL,
     true,
     {{Role::Values, When::FewValueHeads, Q5_K}, {Role::Down, When::FirstEighthUnimportant, Q5_K}}},
    {"iq4_xs",
     30,
     IQ4_XS,
     true,
     {{Role::Values, When::FewValueHeads, Q5_K}, {Role::Down, When::FirstEighthUnimportant, Q5_K}}},
};

/// Names of which any part says what a tensor is; the first that is there decides.
constexpr std::pair<std::string_view, Role> roles[] = {
    {"attn_qkv.weight", Role::Values},
    {"attn_kv_b.weight", Role::Values},
    {"attn_v.weight", Role::Values},
    {"attn_k.weight", Role::Keys},
    {"attn_output.weight", Role::AttentionOutput},
    {"ffn_down", Role::Down},
};

/// Parts of names of matrices that stay as they are: small ones, and tables.
constexpr std::string_view untouched[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};

/// What a tensor becomes when its rows are no whole number of the type's blocks of 256.
constexpr std::pair<DType, DType> smaller[] = {
    {IQ4_XS, IQ4_NL}, {Q2_K, Q4_0}, {Q3_K, Q4_0}, {Q4_K, Q5_0}, {Q5_K, Q5_1}, {Q6_K, Q8_0},
};

bool has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

Role roleOf(std::string_view name) {
  if (name == "output.weight")
    return Role::Output;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight")
    return Role::Embedding;
  for (const auto &[part, role] : roles)
    if (has(name, part))
      return role;
  return Role::Other;
}

bool isQuantized(const Tensor &tensor) {
  size_t rank = tensor.shape.size();
  for (const uint64_t dim : tensor.shape) {
    if (dim != 1)
      break;
    --rank;
  }
  const std::string_view name = tensor.name;
  if (rank < 2 || !name.ends_with("weight") || name == "position_embd.weight" ||
      name == "token_types.weight")
    return false;
  return std::none_of(std::begin(untouched), std::end(untouched),
                      [&](std::string_view part) { return has(name, part); });
}

/// Of "blk.3.attn_q.weight"; -1 for other names.
int64_t layerOf(std::string_view name) {
  constexpr std::string_view before = "blk.";
  int64_t layer = -1;
  if (name.starts_with(before))
    std::from_chars(name.data() + before.size(), name.data() + name.size(), layer);
  return layer;
}

bool fits(DType dtype, const Tensor &tensor) {
  return tensor.shape.back() % checkpoint::dtypeUnit(dtype).elements == 0;
}

/// The walk through a model's tensors, which counts layers.
class Chooser {
public:
  Chooser(const WeightMix &mix, const MixedModel &model, std::span<const Tensor> tensors,
          bool hasImportance)
      : mix(mix), model(model), hasImportance(hasImportance) {
    for (const Tensor &tensor : tensors) {
      const Role role = roleOf(tensor.name);
      valueLayers += role == Role::Values;
      isTied &= role != Role::Output;
    }
  }

  MixChoice choose(const Tensor &tensor) {
    if (!isQuantized(tensor))
      return {tensor.dtype, {}};
    const DType wanted = typeOf(tensor);
    if (fits(wanted, tensor))
      return {wanted, {}};
    for (const auto &[large, small] : smaller)
      if (large == wanted && fits(small, tensor))
        return {small, wanted};
    return {F16, wanted};
  }

private:
  DType typeOf(const Tensor &tensor) {
    const Role role = roleOf(tensor.name);
    if (role == Role::Output || (isTied && role == Role::Embedding))
      return mix.dtype == Q8_0 || !fits(mix.dtype, tensor) ? Q8_0 : Q6_K;
    const bool hasEightExperts = model.experts == 8;
    DType dtype = mix.dtype;
    if (role == Role::AttentionOutput && hasEightExperts)
      return mix.eightExpertsOutput ? Q5_K : dtype;
    if (role == Role::Keys && hasEightExperts)
      return Q8_0;
    if (role == Role::Values) {
      dtype = exceptionFor(role, valueLayer++, valueLayers);
      if (model.isOf70B && (dtype == Q3_K || dtype == Q4_K))
        dtype = Q5_K;
      return hasEightExperts ? Q8_0 : dtype;
    }
    if (role == Role::Down) {
      // Matrices of experts need not come in the order of layers.
      const int64_t layer = model.experts > 1 ? layerOf(tensor.name) : downLayer;
      ++downLayer;
      return exceptionFor(role, layer, static_cast<int64_t>(model.layers));
    }
    return exceptionFor(role, 0, 0);
  }

  DType exceptionFor(Role role, int64_t layer, int64_t layers) const {
    for (const Exception &exception : mix.exceptions)
      if (role != Role::Other && exception.role == role && holds(exception.when, layer, layers))
        return exception.dtype;
    return mix.dtype;
  }

  bool holds(When when, int64_t layer, int64_t layers) const {
    const int64_t eighth = layers / 8;
    switch (when) {
    case When::Always:
      return true;
    case When::MoreBits:
      return layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
    case When::FirstTwo:
      return layer < 2;
    case When::FirstFour:
      return layer < 4;
    case When::FirstEighth:
      return layer < eighth;
    case When::FirstSixteenth:
      return layer < layers / 16;
    case When::FirstEighthImportant:
      return hasImportance && layer < eighth;
    case When::FirstEighthUnimportant:
      return !hasImportance && layer < eighth;
    case When::FewValueHeads:
      return model.kvHeads > 0 && model.heads / model.kvHeads >= 4;
    }
    return false;
  }

  const WeightMix &mix;
  const MixedModel &model;
  bool hasImportance, isTied = true;
  int64_t valueLayers = 0, valueLayer = 0, downLayer = 0;
};

/// The number under `key`, or the first of a list; 0 where there is none.
uint64_t numberOr0(const Json &metadata, const std::string &key) {
  auto value = metadata.find(key);
  if (value && value->isArray() && value->size() > 0)
    value = value->element(0);
  if (!value)
    return 0;
  const auto number = value->unsignedInteger(0, UINT32_MAX);
  return number ? *number : 0;
}

} // namespace

std::vector<std::string_view> weightMixNames() {
  std::vector<std::string_view> names;
  for (const WeightMix &mix : mixes)
    names.push_back(mix.name);
  return names;
}

const WeightMix *weightMixFromName(std::string_view name) {
  for (const WeightMix &mix : mixes)
    if (mix.name == name)
      return &mix;
  return nullptr;
}

std::string_view nameOf(const WeightMix &mix) { return mix.name; }
uint32_t fileTypeOf(const WeightMix &mix) { return mix.fileType; }

MixedModel MixedModel::of(const Json &metadata) {
  MixedModel model;
  const auto member = metadata.find("general.architecture");
  const auto name = member ? member->string() : checkpoint::Expected<std::string>(std::string());
  const std::string architecture = name ? *name : "";
  model.layers = numberOr0(metadata, architecture + ".block_count");
  model.heads = numberOr0(metadata, architecture + ".attention.head_count");
  model.kvHeads = numberOr0(metadata, architecture + ".attention.head_count_kv");
  if (!metadata.find(architecture + ".attention.head_count_kv"))
    model.kvHeads = model.heads;
  model.experts = numberOr0(metadata, architecture + ".expert_count");
  const bool isLlama = architecture == "llama" && model.heads != model.kvHeads;
  model.isOf70B = model.layers == 80 && (isLlama || architecture == "qwen2" ||
                                         architecture == "deci" || architecture == "olmo");
  return model;
}

std::vector<MixChoice> chooseTypes(const WeightMix &mix, const MixedModel &model,
                                   std::span<const Tensor> tensors, bool hasImportance) {
  std::vector<size_t> order(tensors.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(layerOf(tensors[a].name), std::string_view(tensors[a].name)) <
           std::pair(layerOf(tensors[b].name), std::string_view(tensors[b].name));
  });
  Chooser chooser(mix, model, tensors, hasImportance);
  std::vector<MixChoice> choices(tensors.size());
  for (const size_t i : order)
    choices[i] = chooser.choose(tensors[i]);
  return choices;
}

} // namespace ingot::quantize
