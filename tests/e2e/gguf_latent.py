# SPDX-License-Identifier: Apache-2.0
"""What GGUF files of models with latent attention call tensors, where their keys come from, and
what converters make of the tensors."""
import array

SPLIT = ("attn_k_b", "attn_v_b")
NAMES = {"attn_q_a": "q_a_proj", "attn_q_a_norm": "q_a_layernorm", "attn_q_b": "q_b_proj",
         "attn_kv_a_mqa": "kv_a_proj_with_mqa", "attn_kv_a_norm": "kv_a_layernorm",
         "attn_kv_b": "kv_b_proj", "attn_k_b": "k_b_proj", "attn_v_b": "v_b_proj"}
LATENT_NAMES = {
    **{ours: f"self_attn.{theirs}" for ours, theirs in NAMES.items()}, "ffn_gate_inp": "mlp.gate",
    "exp_probs_b": "mlp.gate.e_score_correction_bias",
    **{f"ffn_{part}_shexp": f"mlp.shared_experts.{part}_proj" for part in ("gate", "up", "down")}}


def scaling(key, factor=1):
    """A number of the rotary scaling, or None where there is none."""
    return lambda config: config["rope_scaling"][key] * factor


YARN_KEYS = {
    "rope.scaling.type": scaling("type"), "rope.scaling.factor": scaling("factor"),
    "rope.scaling.original_context_length": scaling("original_max_position_embeddings"),
    "rope.scaling.yarn_beta_fast": scaling("beta_fast", 1.0),
    "rope.scaling.yarn_beta_slow": scaling("beta_slow", 1.0),
    "rope.scaling.yarn_log_multiplier": scaling("mscale_all_dim", 0.1)}
ROUTING_KEYS = {
    "vocab_size": "vocab_size", "attention.kv_lora_rank": "kv_lora_rank",
    "rope.dimension_count": "qk_rope_head_dim", "expert_count": "n_routed_experts",
    "expert_used_count": "num_experts_per_tok", "expert_shared_count": "n_shared_experts",
    "expert_feed_forward_length": "moe_intermediate_size", "expert_group_count": "n_group",
    "expert_group_used_count": "topk_group", "expert_weights_scale": "routed_scaling_factor",
    "leading_dense_block_count": "first_k_dense_replace"}
HEAD = {"key": lambda config: config["qk_nope_head_dim"] + config["qk_rope_head_dim"],
        "value": "v_head_dim"}
# Files with kv_b whole, from before there was a function to name.
WHOLE_KEYS = {**ROUTING_KEYS, **{f"attention.{part}_length": HEAD[part] for part in HEAD}}
SPLIT_KEYS = {
    **ROUTING_KEYS, "attention.q_lora_rank": "q_lora_rank", "attention.head_count_kv": 1,
    "attention.key_length": lambda config: config["kv_lora_rank"] + config["qk_rope_head_dim"],
    "attention.value_length": "kv_lora_rank", "expert_gating_func": 2, "expert_weights_norm": True,
    **{f"attention.{part}_length_mla": HEAD[part] for part in HEAD}}

# As gguf_files.py has them.
LATENT = {
    "deepseek_v2": ("deepseek2", {ours: theirs for ours, theirs in LATENT_NAMES.items()
                                  if ours not in SPLIT}, {**WHOLE_KEYS, **YARN_KEYS}),
    "deepseek_v3": ("deepseek2", {ours: theirs for ours, theirs in LATENT_NAMES.items()
                                  if ours != "attn_kv_b"}, {**SPLIT_KEYS, **YARN_KEYS}),
    # With all of them, as other programs than llama.cpp's write them.
    "glm4_moe_lite": ("deepseek2", LATENT_NAMES, SPLIT_KEYS),
}
EQUAL_SCALES = {"rope_scaling": {
    "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 32,
    "beta_slow": 1, "mscale": 0.707, "mscale_all_dim": 0.707}}
LATENT_CONVERTIBLE = {"deepseek_v2": EQUAL_SCALES,
                      "deepseek_v3": {**EQUAL_SCALES, "v_head_dim": 16},
                      "glm4_moe_lite": {"v_head_dim": 16}}


def latent_shape(config, tensor, shape):
    """The shape that a recorded tensor has with the sizes of heads that `config` has."""
    heads, plain = config["num_attention_heads"], config["qk_nope_head_dim"]
    values = heads * config["v_head_dim"]
    if tensor.endswith("kv_b_proj.weight"):
        return [heads * plain + values, shape[1]]
    if tensor.endswith(("q_b_proj.weight", "q_proj.weight")):
        return [heads * (plain + config["qk_rope_head_dim"]), shape[1]]
    return [shape[0], values] if tensor.endswith("o_proj.weight") else shape


def of_latent(config, name, tensor):
    """A tensor as converters have it, or beside it the two that it becomes, by heads, of which that
    of keys is transposed."""
    kind, shape, data = tensor
    if not name.endswith("kv_b_proj.weight"):
        return {name: tensor}
    heads, rank = config["num_attention_heads"], config["kv_lora_rank"]
    keys, values = config["qk_nope_head_dim"], config["v_head_dim"]
    numbers, both = array.array("f", data), keys + values

    def rows(head, first, count):
        at = (head * both + first) * rank
        return numbers[at:at + count * rank]

    key_parts, value_parts = array.array("f"), array.array("f")
    for head in range(heads):
        own = rows(head, 0, keys)
        for column in range(rank):
            key_parts.extend(own[column::rank])
        value_parts.extend(rows(head, keys, values))
    return {name: tensor,
            name.replace("kv_b", "k_b"): (kind, [heads, rank, keys], key_parts.tobytes()),
            name.replace("kv_b", "v_b"): (kind, [heads, values, rank], value_parts.tobytes())}


def latent_stacks(config, tensors):
    """The matrices of experts, of all layers but the dense ones."""
    result = {}
    for layer in range(config["first_k_dense_replace"], config["num_hidden_layers"]):
        for part in ("gate", "up", "down"):
            matrices = [tensors[f"model.layers.{layer}.mlp.experts.{expert}.{part}_proj.weight"]
                        for expert in range(config["n_routed_experts"])]
            result[f"blk.{layer}.ffn_{part}_exps.weight"] = (
                0, [len(matrices), *matrices[0][1]], b"".join(data for _, _, data in matrices))
    return result
