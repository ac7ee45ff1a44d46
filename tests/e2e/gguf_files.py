# SPDX-License-Identifier: Apache-2.0
"""GGUF files made of a model's directory as converters do, family by family."""
import array
import json
import math
import random
import struct
import sys

import harness
from gguf_gemma import (GEMMA3N, GEMMA3N_KEYS, GEMMA4, GEMMA4_KEYS, GEMMA_NORMS, RESULT_NORMS,
                        STREAM_STACKS)
from gguf_hybrids import (HYBRIDS, HYBRID_BEGINNINGS, HYBRID_STACKS, HYBRIDS_CONVERTIBLE,
                          STATE_SPACES, of_state_space)
from gguf_latent import LATENT, LATENT_CONVERTIBLE, latent_shape, latent_stacks, of_latent

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

DATA = harness.ROOT.parent / "shared" / "data"
F32, Q8_0, Q4_K, Q8_K, IQ3_S, IQ2_S, BF16, MXFP4 = 0, 8, 12, 15, 21, 22, 30, 39
LAYER_NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj",
               "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
               "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
               "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
               "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
ROUTED = {"ffn_gate_inp": "mlp.gate", "ffn_gate_inp_shexp": "mlp.shared_expert_gate",
          **{f"ffn_{part}_shexp": f"mlp.shared_expert.{part}_proj"
             for part in ("gate", "up", "down")}}
SHARED = {"ffn_gate_inp": "mlp.gate", "exp_probs_b": "mlp.gate.e_score_correction_bias",
          **{f"ffn_{part}_shexp": f"mlp.shared_experts.{part}_proj"
             for part in ("gate", "up", "down")}}
SHARED_KEYS = {"expert_used_count": "num_experts_per_tok",
               "expert_feed_forward_length": "moe_intermediate_size"}
EXPERT_KEYS = {"expert_count": "num_experts", "expert_used_count": "num_experts_per_tok",
               "expert_feed_forward_length": "moe_intermediate_size"}


def attention_factor(config):
    trained = config["original_max_position_embeddings"]
    growth = config["max_position_embeddings"] / trained
    return math.sqrt(1 + math.log(growth) / math.log(trained))


# Tensors of LFM2, which its converter names after where they stand, and its keys.
LFM2 = {"attn_norm": "operator_norm", "ffn_norm": "ffn_norm", "attn_output": "self_attn.out_proj",
        "attn_q_norm": "self_attn.q_layernorm", "attn_k_norm": "self_attn.k_layernorm",
        **{f"ffn_{part}": f"feed_forward.{name}"
           for part, name in (("gate", "w1"), ("up", "w3"), ("down", "w2"))},
        **{f"shortconv.{part}": f"conv.{part}" for part in ("conv", "in_proj", "out_proj")}}
LFM2_KEYS = {"vocab_size": "vocab_size", "shortconv.l_cache": "conv_L_cache",
             "attention.head_count_kv": lambda config: [
                 config["num_key_value_heads"] if layer in attending(config) else 0
                 for layer in range(config["num_hidden_layers"])],
             **dict.fromkeys(("attention.key_length", "attention.value_length",
                              "rope.dimension_count"))}


def attending(config):
    """The layers of LFM2 that have attention."""
    kinds = config.get("layer_types", ())
    return config.get("full_attn_idxs") or [
        layer for layer, kind in enumerate(kinds) if kind == "full_attention"]


def adjusted_width(config):
    multiple = config["block_multiple_of"]
    return -(-int(2 * config["block_ff_dim"] / 3) // multiple) * multiple


QWEN35 = {"ffn_norm": "none", "post_attention_norm": "post_attention_layernorm", **ROUTED,
          "ssm_a": "linear_attn.A_log", "ssm_dt.bias": "linear_attn.dt_bias",
          **{ours: f"linear_attn.{theirs}" for ours, theirs in (
              ("attn_qkv", "in_proj_qkv"), ("attn_gate", "in_proj_z"), ("ssm_ba", "in_proj_ba"),
              ("ssm_beta", "in_proj_b"), ("ssm_alpha", "in_proj_a"), ("ssm_conv1d", "conv1d"),
              ("ssm_norm", "norm"), ("ssm_out", "out_proj"))}}
QWEN3_NEXT_KEYS = {
    "ssm.conv_kernel": 4, "ssm.state_size": "linear_key_head_dim",
    "ssm.group_count": "linear_num_key_heads", "ssm.time_step_rank": "linear_num_value_heads",
    "ssm.inner_size": lambda config: (
        config["linear_num_value_heads"] * config["linear_value_head_dim"]),
    "full_attention_interval": lambda config: config.get("full_attention_interval", 4),
    "rope.dimension_count": lambda config: config["head_dim"] // 4,
    "rope.freq_base": lambda config: config.get("rope_theta", 10000.0)}
QWEN35_KEYS = {**QWEN3_NEXT_KEYS, "rope.dimension_sections": [2, 1, 1, 0]}
SHARED_EXPERT_KEYS = {
    **EXPERT_KEYS, "expert_shared_feed_forward_length": "shared_expert_intermediate_size"}

# Of families that are converted here: the architecture's name, tensors with other names than those
# above, and keys of the architecture with those of config.json that they come from.
FAMILIES = {
    "phi3_long": ("phi3", {"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"}, {
        "attention.sliding_window": "sliding_window", "rope.dimension_count": lambda config: round(
            config["partial_rotary_factor"] * config["head_dim"]),
        "rope.scaling.original_context_length": "original_max_position_embeddings",
        "rope.scaling.attn_factor": attention_factor}),
    "mixtral": ("llama", {"ffn_gate_inp": "block_sparse_moe.gate"}, {
        "expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok"}),
    "qwen2_moe": ("qwen2moe", ROUTED, SHARED_EXPERT_KEYS),
    "qwen3_next": ("qwen3next", QWEN35, {**QWEN3_NEXT_KEYS, **SHARED_EXPERT_KEYS}),
    "qwen3_5": ("qwen35", QWEN35, QWEN35_KEYS),
    "qwen3_5_moe": ("qwen35moe", QWEN35, {
        **QWEN35_KEYS, **SHARED_EXPERT_KEYS, "feed_forward_length": None}),
    "qwen3_moe": ("qwen3moe", ROUTED, EXPERT_KEYS),
    "gpt_oss": ("gpt-oss", {
        "ffn_norm": "none", "post_attention_norm": "post_attention_layernorm",
        "ffn_gate_inp": "mlp.router"}, {
            "expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok",
            "expert_feed_forward_length": "intermediate_size",
            "attention.sliding_window": "sliding_window",
            **{ours: lambda config, theirs=theirs: config["rope_parameters"][theirs]
               for ours, theirs in (
                   ("rope.freq_base", "rope_theta"), ("rope.scaling.type", "rope_type"),
                   ("rope.scaling.factor", "factor"), (
                       "rope.scaling.original_context_length",
                       "original_max_position_embeddings"))}}),
    "qwen3": ("qwen3", {}, {}),
    "olmo2": ("olmo2", {"ffn_norm": "none", **RESULT_NORMS}, {}),
    "granite": ("granite", {}, {
        "embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier",
        "attention.scale": "attention_multiplier", "logit_scale": "logits_scaling"}),
    "gemma2": ("gemma2", GEMMA_NORMS, {
        "attention.sliding_window": "sliding_window",
        "attn_logit_softcapping": "attn_logit_softcapping",
        "final_logit_softcapping": "final_logit_softcapping"}),
    "gemma3": ("gemma3", GEMMA_NORMS, {
        "attention.sliding_window": "sliding_window",
        "rope.freq_base_swa": "rope_local_base_freq"}),
    "arcee": ("arcee", {}, {}),
    "smollm3": ("smollm3", {}, {}),
    "ernie4_5": ("ernie4_5", {}, {}),
    "exaone4": ("exaone4", {"ffn_norm": "none", **RESULT_NORMS}, {
        "attention.sliding_window": "sliding_window"}),
    "glm4": ("glm4", {"post_attention_norm": "post_self_attn_layernorm",
                      "post_ffw_norm": "post_mlp_layernorm", "ffn_up": "mlp.gate_up_proj"},
             {"rope.dimension_count": lambda config: config["head_dim"] // 2}),
    "hunyuan_dense": ("hunyuan-dense", {"attn_q_norm": "self_attn.query_layernorm",
                                        "attn_k_norm": "self_attn.key_layernorm"}, {}),
    "olmo3": ("olmo2", {"ffn_norm": "none", **RESULT_NORMS}, {
        "attention.sliding_window": "sliding_window"}),
    "seed_oss": ("seed_oss", {"ffn_norm": "none",
                              "post_attention_norm": "post_attention_layernorm"}, {}),
    "glm4_moe": ("glm4moe", {
        "ffn_norm": "none", "post_attention_norm": "post_attention_layernorm", **SHARED}, {
            **SHARED_KEYS, "expert_weights_scale": "routed_scaling_factor",
            "expert_shared_count": "n_shared_experts", "expert_count": "n_routed_experts",
            "leading_dense_block_count": "first_k_dense_replace", "expert_gating_func": 2,
            "expert_weights_norm": True,
            "rope.dimension_count": lambda config: config["head_dim"] // 2}),
    "minimax_m2": ("minimax-m2", {"ffn_gate_inp": "block_sparse_moe.gate", "exp_probs_b":
                                  "block_sparse_moe.e_score_correction_bias"}, {
        "expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok",
        "expert_gating_func": 2, "rope.dimension_count": "rotary_dim"}),
    "hunyuan_moe": ("hunyuan-moe", {
        "ffn_gate_inp": "mlp.gate.wg", "attn_q_norm": "self_attn.query_layernorm",
        "attn_k_norm": "self_attn.key_layernorm",
        **{f"ffn_{part}_shexp": f"mlp.shared_mlp.{part}_proj" for part in ("gate", "up", "down")}},
        {"expert_count": "num_experts", "expert_used_count": "moe_topk",
         "expert_shared_count": 1, "expert_feed_forward_length": "intermediate_size"}),
    "ernie4_5_moe": ("ernie4_5-moe", {
        **SHARED, "exp_probs_b": "mlp.moe_statics.e_score_correction_bias"}, {
            "expert_count": "moe_num_experts", "expert_used_count": "moe_k",
            "expert_feed_forward_length": "moe_intermediate_size", "expert_shared_count": 2,
            "leading_dense_block_count": "moe_layer_start_index",
            "interleave_moe_layer_step": 1}),
    "exaone_moe": ("exaone-moe", {**SHARED, "exp_probs_b": "mlp.e_score_correction_bias"}, {
        **SHARED_KEYS, "attention.sliding_window": "sliding_window", "expert_weights_scale": 2.5,
        "attention.sliding_window_pattern": lambda config: [
            (layer + 1) % 4 != 0 for layer in range(config["num_hidden_layers"])],
        "expert_count": "num_experts", "expert_shared_count": 1, "expert_gating_func": 2,
        "expert_weights_norm": True, "leading_dense_block_count": "first_k_dense_replace"}),
    "cohere": ("command-r", {}, {"logit_scale": "logit_scale"}),
    "cohere2": ("cohere2", {}, {
        "logit_scale": "logit_scale", "attention.sliding_window": "sliding_window"}),
    "apertus": ("apertus", {"attn_norm": "attention_layernorm",
                            "ffn_norm": "feedforward_layernorm"}, {}),
    "llama4": ("llama4", {
        **{f"ffn_{part}": f"feed_forward.{part}_proj" for part in ("gate", "up", "down")},
        **{f"ffn_{part}_shexp": f"feed_forward.shared_expert.{part}_proj"
           for part in ("gate", "up", "down")}, "ffn_gate_inp": "feed_forward.router"}, {
        "feed_forward_length": "intermediate_size_mlp", "expert_count": "num_local_experts",
        "expert_used_count": "num_experts_per_tok", "expert_feed_forward_length":
        "intermediate_size", "interleave_moe_layer_step": "interleave_moe_layer_step"}),
    "gpt2": ("gpt2", {
        "attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj",
        "ffn_norm": "ln_2", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}, {}),
    "gpt_neox": ("gptneox", {
        "attn_qkv": "attention.query_key_value", "attn_output": "attention.dense",
        "ffn_up": "mlp.dense_h_to_4h", "ffn_down": "mlp.dense_4h_to_h"}, {
            "rope.freq_base": "rotary_emb_base", "use_parallel_residual": True,
            "rope.dimension_count": lambda config: round(
                config["rotary_pct"] * config["head_dim"])}),
    "starcoder2": ("starcoder2", {"ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}, {}),
    "lfm2": ("lfm2", LFM2, {**LFM2_KEYS, "feed_forward_length": adjusted_width}),
    "lfm2_moe": ("lfm2moe", {**LFM2, "ffn_gate_inp": "feed_forward.gate",
                             "exp_probs_b": "feed_forward.expert_bias"}, {
        **LFM2_KEYS, **EXPERT_KEYS, "leading_dense_block_count": "num_dense_layers",
        "expert_gating_func": 2}),
    "gemma3n": ("gemma3n", GEMMA3N, GEMMA3N_KEYS),
    "gemma4": ("gemma4", GEMMA4, GEMMA4_KEYS),
    "gemma4_shared": ("gemma4", GEMMA4, GEMMA4_KEYS),
    "gemma4_moe": ("gemma4", GEMMA4, {
        **GEMMA4_KEYS, **EXPERT_KEYS, "expert_used_count": "top_k_experts"}),
    "stablelm_plain": ("stablelm", {}, {"rope.dimension_count": lambda config: round(
        config["partial_rotary_factor"] * config["head_dim"])}),
    **HYBRIDS,
    **LATENT,
}
# What converters can say of a model of these families.
CONVERTIBLE = {
    "gemma2": {"query_pre_attn_scalar": 32},
    "gemma3": {"query_pre_attn_scalar": 32, "sliding_window_pattern": 6, "num_hidden_layers": 7,
               "rope_scaling": None},
    "hunyuan_dense": {"rope_scaling": None},
    "olmo3": {"rope_scaling": None, "rope_theta": 500000.0},
    "ernie4_5_moe": {"moe_layer_start_index": 0},
    "exaone_moe": {"first_k_dense_replace": 0},
    "glm4_moe": {"first_k_dense_replace": 0},
    "apertus": {"rope_scaling": {"rope_type": "default"}},
    "llama4": {"attention_chunk_size": 8192, "floor_scale": 8192,
               "interleave_moe_layer_step": 1},
    "gpt2": {"n_positions": 256, "hidden_size": 64, "intermediate_size": 256,
             "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
             "rope_theta": 10000.0},
    "starcoder2": {"sliding_window": None},
    "phi3_long": {"sliding_window": 24, "rope_scaling": {
        "type": "longrope", "short_factor": [1.0, 1.125, 1.25, 1.5, 1.75, 2.0],
        "long_factor": [1.0, 1.5, 2.25, 3.5, 6.0, 11.0]}},
    "lfm2_moe": {"routed_scaling_factor": 1.0},
    "qwen2_moe": {"mlp_only_layers": []},
    "qwen3_moe": {"decoder_sparse_step": 1},
    "qwen3_next": {"mlp_only_layers": []},
    **HYBRIDS_CONVERTIBLE,
    **LATENT_CONVERTIBLE,
}


# Families whose layers differ, and that are converted as they are.
VARIED = ("gemma3n", "gemma4", "gemma4_moe", "gemma4_shared", "lfm2", "lfm2_moe", "qwen3_5",
          "qwen3_5_moe", "qwen3_next", *HYBRIDS, *LATENT)


def tensors_of(name, config):
    """Name to shape of what a checkpoint of that family has, each layer as the last one there."""
    if name in VARIED:
        stored = models.stored_tensors()[name]
        if name == "qwen3_next":  # Its first layer has no experts, which files cannot say.
            stored = {to: shape for tensor, shape in stored.items() if ".0.mlp." not in tensor
                      for to in {tensor, tensor.replace(".layers.1.mlp.", ".layers.0.mlp.")}}
        sized = ("model.embed_tokens", "backbone.embeddings", "lm_head.")
        if name in LATENT:
            stored = {tensor: latent_shape(config, tensor, shape)
                      for tensor, shape in stored.items()}
        return {tensor: [config["vocab_size"] if tensor.startswith(sized) and not at else rows
                         for at, rows in enumerate(shape)]
                for tensor, shape in stored.items()}
    count = {**CONVERTIBLE.get(name, {}), **models.CASES[name].config}["num_hidden_layers"]
    recorded, last = {}, f"model.layers.{count - 1}."
    for tensor, shape in models.stored_tensors()[name].items():
        shape = [config["vocab_size"] if rows == models.VOCABULARY else rows for rows in shape]
        if tensor.startswith(last):
            recorded.update((f"model.layers.{layer}.{tensor.removeprefix(last)}", shape)
                            for layer in range(config["num_hidden_layers"]))
        elif tensor.endswith(".wpe.weight"):
            recorded[tensor] = [config["max_position_embeddings"], shape[1]]
        elif not tensor.startswith("model.layers."):
            recorded[tensor] = shape
    return recorded


# Architectures whose converters order rows of q and k by rotary pairs.
PAIRED = ("arcee", "granite", "granitehybrid", "granitemoe", "llama", "nemotron_h",
          "nemotron_h_moe", "smollm3")

# What a diff of engines from either kind of checkpoint must not show.
SAME_IN_BOTH = {"weights", "programs", "memory", "fusions", "coverage"}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(item):
    """Type and bytes of a metadata value."""
    if isinstance(item, bool):
        return 7, struct.pack("<B", item)
    if isinstance(item, int):
        return 4, struct.pack("<I", item)
    if isinstance(item, float):
        return 6, struct.pack("<f", item)
    if isinstance(item, str):
        return 8, text(item)
    kinds = [value(element) for element in item]
    return 9, struct.pack("<IQ", kinds[0][0], len(kinds)) + b"".join(data for _, data in kinds)


def gguf(metadata, tensors):
    """The bytes of a file; `tensors`: name to (type, shape with the outermost first, bytes)."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata))
    for key, item in metadata.items():
        kind, data = value(item)
        head += text(key) + struct.pack("<I", kind) + data
    body = b""
    for name, (kind, shape, data) in tensors.items():
        body += bytes(-len(body) % 32)
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind,
                                         len(body))
        body += data
    return head + bytes(-len(head) % 32) + body


def by_pairs(data, rows, heads):
    """The rows of each head as converters order them: row i, then row i + half, of its halves."""
    width, half = len(data) // rows, rows // heads // 2
    return b"".join(data[row * width:(row + 1) * width]
                    for head in range(heads) for i in range(half)
                    for row in (head * 2 * half + i, head * 2 * half + half + i))


def reordered(tensor, order):
    """A tensor of one or two dimensions with row order[i] in place i."""
    dtype, shape, data = tensor
    width = len(data) // shape[0]
    return dtype, shape, b"".join(data[row * width:(row + 1) * width] for row in order)


def transposed(tensor):
    dtype, (rows, columns), data = tensor
    numbers = array.array("f", data)
    return dtype, [columns, rows], array.array("f", (
        numbers[row * columns + column] for column in range(columns) for row in range(rows))
    ).tobytes()


# What names of families that are called otherwise begin with, and those of Llama's.
BEGINNINGS = {
    "gpt2": (("transformer.h.", "model.layers."), ("transformer.wte.", "model.embed_tokens."),
             ("transformer.ln_f.", "model.norm."), ("transformer.", "model.")),
    "gpt_neox": (("gpt_neox.embed_in.", "model.embed_tokens."), ("embed_out.", "lm_head."),
                 ("gpt_neox.final_layer_norm.", "model.norm."), ("gpt_neox.", "model.")),
    **HYBRID_BEGINNINGS,
}


def as_llamas(config, tensors):
    """The tensors with names that begin as Llama's, and q, k and v behind each other, as their
    converters have them."""
    kind, heads = config["model_type"], config["num_attention_heads"]
    result = {}
    for name, tensor in tensors.items():
        for own, known in BEGINNINGS.get(kind, ()):
            if name.startswith(own):
                name = known + name.removeprefix(own)
                break
        if ".query_key_value." in name:
            dim = tensor[1][0] // heads // 3
            tensor = reordered(tensor, [(head * 3 + part) * dim + i for part in range(3)
                                        for head in range(heads) for i in range(dim)])
        if kind == "gpt2" and len(tensor[1]) == 2 and ".layers." in name:
            tensor = transposed(tensor)
        if "linear_num_value_heads" in config:
            result.update(of_delta_nets(config, name, tensor))
        elif "kv_lora_rank" in config:
            result.update(of_latent(config, name, tensor))
        elif config["model_type"] in STATE_SPACES:
            result.update(of_state_space(config, name, tensor))
        else:
            result[name] = tensor
    return result


def of_delta_nets(config, name, tensor):
    """A tensor of Qwen3-Next or Qwen3.5 as converters have it, or the two that it becomes."""
    part = name.rpartition("linear_attn.")[2]
    kind, shape, data = tensor
    if part == "A_log" or part.endswith("norm.weight") and part != "norm.weight":
        numbers = array.array("f", data)
        tensor = kind, shape, array.array("f", (
            -math.exp(number) if part == "A_log" else 1 + number for number in numbers)).tobytes()
    key_heads, key, value = (config[f"linear_{which}"] for which in (
        "num_key_heads", "key_head_dim", "value_head_dim"))
    group = config["linear_num_value_heads"] // key_heads
    if part == "in_proj_qkvz.weight":
        each, result = 2 * (key + group * value), {}
        for to, runs in (("qkv", ((0, key), (key, key), (2 * key, group * value))),
                         ("z", ((2 * key + group * value, group * value),))):
            order = [head * each + first + i for first, count in runs for head in range(key_heads)
                     for i in range(count)]
            _, _, rows = reordered(tensor, order)
            result[name.replace("qkvz", to)] = kind, [len(order), shape[1]], rows
        return result
    first, dim = {"in_proj_qkv.weight": (2 * key_heads * key, value), "A_log": (0, 1),
                  "conv1d.weight": (2 * key_heads * key, value), "dt_bias": (0, 1),
                  "in_proj_z.weight": (0, value), "out_proj.weight": (0, value),
                  "in_proj_a.weight": (0, 1), "in_proj_b.weight": (0, 1)}.get(part, (0, 0))
    if config["model_type"] == "qwen3_next" or not dim:
        return {name: tensor}
    tiled = [*range(first), *(first + (head * group + value_head) * dim + i
                              for value_head in range(group) for head in range(key_heads)
                              for i in range(dim))]
    if part == "out_proj.weight":
        return {name: transposed(reordered(transposed(tensor), tiled))}
    return {name: reordered(tensor, tiled)}


def file_tensors(config, tensors, paired, norms=()):
    """The tensors of a checkpoint as a GGUF file has them."""
    names = {"token_embd.weight": "model.embed_tokens.weight", "output.weight": "lm_head.weight",
             "output_norm.weight": "model.norm.weight", "output_norm.bias": "model.norm.bias",
             "token_embd_norm.weight": "model.embedding_norm.weight",
             "per_layer_token_embd.weight": "model.embed_tokens_per_layer.weight",
             "per_layer_model_proj.weight": "model.per_layer_model_projection.weight",
             "per_layer_proj_norm.weight": "model.per_layer_projection_norm.weight",
             "position_embd.weight": "model.wpe.weight"}
    for layer in range(config["num_hidden_layers"]):
        for ours, theirs in {**LAYER_NAMES, **dict(norms)}.items():
            if ours.endswith((".weight", ".scale", ".bias", ".whole", "ssm_a", "ssm_d")):
                names[f"blk.{layer}.{ours.removesuffix('.whole')}"] = (
                    f"model.layers.{layer}.{theirs}")
                continue
            for kind in ("weight", "bias"):
                names[f"blk.{layer}.{ours}.{kind}"] = f"model.layers.{layer}.{theirs}.{kind}"
            if theirs.endswith("_bias"):
                names[f"blk.{layer}.{ours}.bias"] = f"model.layers.{layer}.{theirs}"
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    result = {}
    for ours, theirs in names.items():
        if theirs not in tensors:
            continue
        dtype, shape, data = tensors[theirs]
        part = ours.split(".")[-2]
        if paired and part in heads:
            data = by_pairs(data, shape[0], heads[part])
        if ours.endswith("exp_probs_b.bias"):
            shape = shape[-1:]
        if part in ("conv", "ssm_conv1d") and len(shape) == 3:
            shape = [shape[0], shape[2]]
        result[ours] = ({"F32": F32, "BF16": BF16}[dtype], shape, data)
    return result


def stacks(config, tensors):
    """Matrices of experts as a GGUF file has them: one tensor for all."""
    result = {}
    module, parts, count = (
        ("block_sparse_moe", ("w1", "w3", "w2"), config["num_local_experts"])
        if config["model_type"] in ("mixtral", "minimax_m2") else
        ("feed_forward", ("w1", "w3", "w2"), config["num_experts"])
        if config["model_type"] == "lfm2_moe" else
        ("mlp", ("gate_proj", "up_proj", "down_proj"), next(
            (config[key] for key in ("num_experts", "n_routed_experts", "moe_num_experts")
             if key in config), 0)))
    for layer in range(config["num_hidden_layers"] if count else 0):
        for ours, theirs in zip(("gate", "up", "down"), parts):
            if layer < config.get("num_dense_layers", 0):
                break
            matrices = [tensors[f"model.layers.{layer}.{module}.experts.{expert}.{theirs}.weight"]
                        for expert in range(count)]
            result[f"blk.{layer}.ffn_{ours}_exps.weight"] = (
                F32, [count, *matrices[0][1]], b"".join(data for _, _, data in matrices))
    return result


def single_experts(config, tensors):
    """The same as older converters wrote them: a tensor for each expert."""
    return {name.replace("_exps", f".{expert}"): (
        kind, shape, data[expert * len(data) // count:(expert + 1) * len(data) // count])
            for name, (kind, (count, *shape), data) in stacks(config, tensors).items()
            for expert in range(count)}


def q4_k(count, numbers, fifth=False):
    """Random super-blocks of Q4_K and the values they stand for; of Q5_K where there is a fifth
    bit."""
    blocks, values = b"", array.array("f")
    for _ in range(count):
        packed, quants = numbers.randbytes(12), numbers.randbytes(128)
        high = numbers.randbytes(32) if fifth else bytes(32)
        blocks += struct.pack("<ee", 2**-12, 2**-9) + packed + (high if fifth else b"") + quants
        for group in range(8):
            if group < 4:
                scale, offset = packed[group] & 63, packed[group + 4] & 63
            else:
                scale = packed[group + 4] & 15 | packed[group - 4] >> 6 << 4
                offset = packed[group + 4] >> 4 | packed[group] >> 6 << 4
            half = quants[32 * (group // 2):32 * (group // 2 + 1)]
            values.extend(2**-12 * scale * ((byte >> 4 * (group % 2) & 15) + 16 * (
                more >> group & 1)) - 2**-9 * offset for byte, more in zip(half, high))
    return blocks, values


def q8_0(count, numbers):
    blocks, values = b"", array.array("f")
    for _ in range(count):
        quants = array.array("b", numbers.randbytes(32))
        blocks += struct.pack("<e", 2**-10) + quants.tobytes()
        values.extend(2**-10 * quant for quant in quants)
    return blocks, values


def first_row(signs, scales, group):
    """Values of which each is the least one of its type, here 2**-10, times a sign and an odd
    scale: those of the first row of a grid."""
    return (2**-10 * (2 * (scales[i // group // 2] >> 4 * (i // group % 2) & 15) + 1)
            * (-1 if signs[i // 8] >> i % 8 & 1 else 1) for i in range(256))


def iq2_s(count, numbers):
    blocks, values = b"", array.array("f")
    for _ in range(count):
        signs, scales = numbers.randbytes(32), numbers.randbytes(8)
        blocks += struct.pack("<e", 2**-10) + bytes(32) + signs + bytes(8) + scales
        values.extend(first_row(signs, scales, 16))
    return blocks, values


def iq3_s(count, numbers):
    blocks, values = b"", array.array("f")
    for _ in range(count):
        signs, scales = numbers.randbytes(32), numbers.randbytes(4)
        blocks += struct.pack("<e", 2**-10) + bytes(72) + signs + scales
        values.extend(first_row(signs, scales, 32))
    return blocks, values


def gpt_oss_stacks(config, tensors):
    """The same of gpt-oss, where gate and up stand in turn and matrices are transposed."""
    result = {}
    count, hidden, inner = (config[key] for key in (
        "num_local_experts", "hidden_size", "intermediate_size"))

    def add(name, shape, numbers):
        result[name] = F32, shape, array.array("f", numbers).tobytes()

    for layer in range(config["num_hidden_layers"]):
        prefix, name = f"model.layers.{layer}.mlp.experts.", f"blk.{layer}.ffn_"
        both, both_biases, down = (
            array.array("f", tensors[prefix + part][2])
            for part in ("gate_up_proj", "gate_up_proj_bias", "down_proj"))
        for first, part in enumerate(("gate", "up")):
            add(f"{name}{part}_exps.weight", [count, inner, hidden], (
                both[(expert * hidden + column) * 2 * inner + 2 * row + first]
                for expert in range(count) for row in range(inner) for column in range(hidden)))
            add(f"{name}{part}_exps.bias", [count, inner], both_biases[first::2])
        add(name + "down_exps.weight", [count, hidden, inner], (
            down[(expert * inner + column) * hidden + row]
            for expert in range(count) for row in range(hidden) for column in range(inner)))
        _, shape, data = tensors[prefix + "down_proj_bias"]
        result[name + "down_exps.bias"] = F32, shape, data
        _, shape, data = tensors[f"model.layers.{layer}.self_attn.sinks"]
        result[f"blk.{layer}.attn_sinks.weight"] = F32, shape, data
    return result


def llama4_stacks(config, tensors):
    """The same of Llama 4, where gate stands before up and matrices are transposed."""
    result = {}
    count, hidden, inner = (config[key] for key in (
        "num_local_experts", "hidden_size", "intermediate_size"))
    for layer in range(config["num_hidden_layers"]):
        prefix, name = f"model.layers.{layer}.feed_forward.experts.", f"blk.{layer}.ffn_"
        if prefix + "down_proj" not in tensors:
            continue
        both, down = (array.array("f", tensors[prefix + part][2])
                      for part in ("gate_up_proj", "down_proj"))
        for first, part in enumerate(("gate", "up")):
            result[f"{name}{part}_exps.weight"] = F32, [count, inner, hidden], array.array("f", (
                both[(expert * hidden + column) * 2 * inner + first * inner + row]
                for expert in range(count) for row in range(inner) for column in range(hidden))
            ).tobytes()
        result[name + "down_exps.weight"] = F32, [count, hidden, inner], array.array("f", (
            down[(expert * inner + column) * hidden + row]
            for expert in range(count) for row in range(hidden) for column in range(inner))
        ).tobytes()
    return result


def stream_stacks(config, tensors):
    """The matrices of Gemma 3n's streams but the first."""
    result = {}
    for ours, theirs in STREAM_STACKS.items():
        matrices = [tensors[f"{theirs}.{number}.weight"]
                    for number in range(config["altup_num_inputs"] - 1)]
        result[ours] = (F32, [len(matrices), *matrices[0][1]],
                        b"".join(data for _, _, data in matrices))
    return result


# Those of Gemma 4 are stacks already.
STACKS = {"gpt_oss": gpt_oss_stacks, "llama4": llama4_stacks, "gemma4_moe": lambda *_: {},
          "gemma3n": stream_stacks, **HYBRID_STACKS,
          **dict.fromkeys(LATENT, latent_stacks)}


def proportional(config):
    """The tensor by which heads of Gemma 4's full layers rotate: the first pairs do."""
    share = config["rope_parameters"]["full_attention"]["partial_rotary_factor"]
    pairs, turning = config["global_head_dim"] // 2, int(config["global_head_dim"] * share / 2)
    numbers = array.array("f", [1.0] * turning + [1e30] * (pairs - turning))
    return F32, [pairs], numbers.tobytes()


def mxfp4_stacks(config, tensors):
    """The same with random matrices in blocks of MXFP4."""
    result, numbers = gpt_oss_stacks(config, tensors), random.Random(11)
    for name, (_, shape, _) in result.items():
        if name.endswith("exps.weight"):
            result[name] = MXFP4, shape, b"".join(
                bytes([numbers.randint(120, 124)]) + numbers.randbytes(16)
                for _ in range(math.prod(shape) // 32))
    return result


def paired_nibbles(halves):
    """The values of a block two by two, of which its bytes hold one of either half."""
    values = [byte & 15 for byte in halves] + [byte >> 4 for byte in halves]
    return bytes(low | high << 4 for low, high in zip(values[::2], values[1::2]))


def mxfp4_of_directory(stacked):
    """Blocks and scales as a directory has them: a row of each of the stacks in turn."""
    count, rows, columns = stacked[0][1]
    groups = columns // 32
    blocks = [data[at:at + 17] for row in range(count * rows) for _, _, data in stacked
              for at in range(row * groups * 17, (row + 1) * groups * 17, 17)]
    shape = [count, rows * len(stacked), groups]
    return (("U8", [*shape, 16], b"".join(paired_nibbles(block[1:]) for block in blocks)),
            ("U8", shape, bytes(block[0] for block in blocks)))


def metadata(architecture, config, folder, more=()):
    keys = {"context_length": "max_position_embeddings", "embedding_length": "hidden_size",
            "block_count": "num_hidden_layers", "feed_forward_length": "intermediate_size",
            "attention.head_count": "num_attention_heads",
            "attention.head_count_kv": "num_key_value_heads", "attention.key_length": "head_dim",
            "attention.value_length": "head_dim", "rope.dimension_count": "head_dim",
            "rope.freq_base": "rope_theta", **dict(more)}
    rms = next((key for key in ("rms_norm_eps", "norm_eps") if key in config), None)
    if rms:
        keys["attention.layer_norm_rms_epsilon"] = rms
    elif "attention.layer_norm_rms_epsilon" not in keys:
        keys["attention.layer_norm_epsilon"] = lambda _: 1e-5  # what all take by default
    result = {"general.architecture": architecture}
    if architecture == "apertus":  # The numbers that models.py makes.
        for name, number in (("beta", 0.625), ("eps", -1e-6)):
            result[f"xielu.{name}"] = [number] * config["num_hidden_layers"]
        for name in ("alpha_p", "alpha_n"):
            result[f"xielu.{name}"] = [
                models.values(f"model.layers.{layer}.mlp.act_fn.{name}", [1], 1, "")[0]
                for layer in range(config["num_hidden_layers"])]
    result.update({f"{architecture}.{ours}": theirs(config) if callable(theirs) else
                   config[theirs] if isinstance(theirs, str) else theirs
                   for ours, theirs in keys.items() if theirs is not None})
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokens, types = [""] * config["vocab_size"], [1] * config["vocab_size"]
    for token, number in tokenizer["model"]["vocab"].items():
        tokens[number] = token
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]], types[added["id"]] = added["content"], 3
    template = json.loads((folder / "tokenizer_config.json").read_text())["chat_template"]
    result.update({
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "llama-bpe",
        "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": [" ".join(merge) for merge in tokenizer["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": config["bos_token_id"],
        "tokenizer.ggml.eos_token_id": config["eos_token_id"],
        "tokenizer.ggml.padding_token_id": config["pad_token_id"],
        "tokenizer.chat_template": template})
    return result


