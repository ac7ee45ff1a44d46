# SPDX-License-Identifier: Apache-2.0
"""Models that are one file: GGUF files made here from the example model, as a converter would, and
a checkpoint of llama2.c. The engines must hold the same weights and the same tokenizer as those
built from the model's directory."""
import array
import hashlib
import json
import math
import random
import shutil
import struct
import sys
import unittest

import harness
from qwen2_family import bf16, read_tensors, write_tensors

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

DATA = harness.ROOT.parent / "shared" / "data"
F32, Q8_0, Q4_K, Q8_K, IQ3_S, IQ2_S, BF16, MXFP4 = 0, 8, 12, 15, 21, 22, 30, 39
LAYER_NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj",
               "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
               "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
               "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
               "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
RESULT_NORMS = {"post_attention_norm": "post_attention_layernorm",
                "post_ffw_norm": "post_feedforward_layernorm"}
GEMMA_NORMS = {**RESULT_NORMS, "ffn_norm": "pre_feedforward_layernorm"}
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
    "qwen2_moe": ("qwen2moe", ROUTED, {
        **EXPERT_KEYS, "expert_shared_feed_forward_length": "shared_expert_intermediate_size"}),
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
    "stablelm_plain": ("stablelm", {}, {"rope.dimension_count": lambda config: round(
        config["partial_rotary_factor"] * config["head_dim"])}),
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
    "qwen2_moe": {"mlp_only_layers": []},
    "qwen3_moe": {"decoder_sparse_step": 1},
}


def tensors_of(name, config):
    """Name to shape of what a checkpoint of that family has, each layer as the last one there."""
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
PAIRED = ("arcee", "granite", "llama", "smollm3")

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
        result[name] = tensor
    return result


def file_tensors(config, tensors, paired, norms=()):
    """The tensors of a checkpoint as a GGUF file has them."""
    names = {"token_embd.weight": "model.embed_tokens.weight", "output.weight": "lm_head.weight",
             "output_norm.weight": "model.norm.weight", "output_norm.bias": "model.norm.bias",
             "position_embd.weight": "model.wpe.weight"}
    for layer in range(config["num_hidden_layers"]):
        for ours, theirs in {**LAYER_NAMES, **dict(norms)}.items():
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
        result[ours] = ({"F32": F32, "BF16": BF16}[dtype], shape, data)
    return result


def stacks(config, tensors):
    """Matrices of experts as a GGUF file has them: one tensor for all."""
    result = {}
    module, parts, count = (
        ("block_sparse_moe", ("w1", "w3", "w2"), config["num_local_experts"])
        if config["model_type"] in ("mixtral", "minimax_m2") else
        ("mlp", ("gate_proj", "up_proj", "down_proj"), next(
            (config[key] for key in ("num_experts", "n_routed_experts", "moe_num_experts")
             if key in config), 0)))
    for layer in range(config["num_hidden_layers"] if count else 0):
        for ours, theirs in zip(("gate", "up", "down"), parts):
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


def q4_k(count, numbers):
    """Random super-blocks of Q4_K and the values they stand for."""
    blocks, values = b"", array.array("f")
    for _ in range(count):
        packed, quants = numbers.randbytes(12), numbers.randbytes(128)
        blocks += struct.pack("<ee", 2**-12, 2**-9) + packed + quants
        for group in range(8):
            if group < 4:
                scale, offset = packed[group] & 63, packed[group + 4] & 63
            else:
                scale = packed[group + 4] & 15 | packed[group - 4] >> 6 << 4
                offset = packed[group + 4] >> 4 | packed[group] >> 6 << 4
            half = quants[32 * (group // 2):32 * (group // 2 + 1)]
            values.extend(2**-12 * scale * (byte >> 4 * (group % 2) & 15) - 2**-9 * offset
                          for byte in half)
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


STACKS = {"gpt_oss": gpt_oss_stacks, "llama4": llama4_stacks}


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
    if "rms_norm_eps" in config:
        keys["attention.layer_norm_rms_epsilon"] = "rms_norm_eps"
    else:
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
                   for ours, theirs in keys.items()})
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


class GgufModels(harness.BuildTest):
    def checkpoint_with_biases(self, architecture):
        """The example with random biases on q, k and v, and zeros where a family needs more."""
        folder = self.copy_of(harness.FABLES)
        config = json.loads((folder / "config.json").read_text())
        tensors = read_tensors(folder / "model.safetensors")
        numbers = random.Random(5)
        parts = {"q": config["num_attention_heads"], "k": config["num_key_value_heads"],
                 "v": config["num_key_value_heads"]}
        if architecture == "llama":
            config["attention_bias"] = True
            parts["o"] = config["hidden_size"] // config["head_dim"]
        else:
            config["architectures"] = ["Qwen2ForCausalLM"]
        for layer in range(config["num_hidden_layers"]):
            for part, heads in parts.items():
                rows = heads * config["head_dim"]
                tensors[f"model.layers.{layer}.self_attn.{part}_proj.bias"] = (
                    "BF16", [rows], bf16([numbers.uniform(-1, 1) for _ in range(rows)]))
        (folder / "config.json").write_text(json.dumps(config))
        write_tensors(folder / "model.safetensors", tensors)
        return folder

    def converted(self, folder, architecture="llama", parts=1, paired=None, divisors=()):
        """The GGUF file, or the last of several, made of a model directory. `paired`: whether rows
        stand by rotary pairs; by default as the architecture wants them. `divisors`: of the rotary
        frequencies."""
        config = json.loads((folder / "config.json").read_text())
        paired = architecture == "llama" if paired is None else paired
        tensors = file_tensors(config, read_tensors(folder / "model.safetensors"), paired)
        if divisors:
            tensors["rope_freqs.weight"] = (F32, [len(divisors)],
                                            struct.pack(f"<{len(divisors)}f", *divisors))
        keys = metadata(architecture, config, folder)
        place = self.fresh("converted")
        if parts == 1:
            (place / "tale.gguf").write_bytes(gguf(keys, tensors))
            return place / "tale.gguf"
        names = list(tensors)
        for number in range(parts):
            split = {"split.no": number, "split.count": parts, "split.tensors.count": len(names)}
            path = place / f"tale-{number + 1:05}-of-{parts:05}.gguf"
            path.write_bytes(gguf({**(keys if number == 0 else {}), **split},
                                  {name: tensors[name] for name in names[number::parts]}))
        return path

    def built(self, name, model, *options):
        output = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(model, output, "--max-context", "256", *options), output)
        return output

    def ids(self, engine):
        result = self.ingot_run(engine, "--greedy", "-n", "24", "--ids", "--ignore-eos",
                                "--max-sequences", "1", "-p", "Once upon 12 times, a")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def assert_same_model(self, architecture):
        folder = self.checkpoint_with_biases(architecture)
        theirs, ours = self.built("theirs", folder), self.built(
            "ours", self.converted(folder, architecture))
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())
        self.assertEqual(self.ids(theirs), self.ids(ours))

    def test_a_llama_with_its_rows_by_rotary_pairs(self):
        self.assert_same_model("llama")

    def test_a_qwen2_with_its_rows_as_they_are(self):
        self.assert_same_model("qwen2")

    def family(self, name, convert_experts=stacks):
        """A model directory of that family with the example's tokenizer, and its GGUF file."""
        architecture, other_names, keys = FAMILIES[name]
        folder = self.copy_of(harness.FABLES)
        example = json.loads((folder / "config.json").read_text())
        shared = {key: example[key] for key in
                  ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")}
        config = {"head_dim": 16, **models.CASES[name].config, "max_position_embeddings": 256,
                  **CONVERTIBLE.get(name, {}), **shared}
        (folder / "config.json").write_text(json.dumps(config))
        models.write_safetensors(folder / "model.safetensors", models.Case(
            config, embeddings=0.2).checkpoint(tensors_of(name, config)))
        stored = read_tensors(folder / "model.safetensors")
        tensors = file_tensors(config, as_llamas(config, stored), architecture in PAIRED,
                               other_names)
        tensors.update(convert_experts(config, stored))
        if name == "phi3_long":
            for kind in ("short", "long"):
                numbers = array.array("f", config["rope_scaling"][f"{kind}_factor"])
                tensors[f"rope_factors_{kind}.weight"] = F32, [len(numbers)], numbers.tobytes()
        if architecture.startswith("gemma"):  # Converters add 1.
            for tensor, (kind, shape, data) in tensors.items():
                if tensor.endswith("norm.weight"):
                    tensors[tensor] = kind, shape, array.array(
                        "f", (1 + number for number in array.array("f", data))).tobytes()
        path = self.fresh("converted") / "tale.gguf"
        path.write_bytes(gguf(metadata(architecture, config, folder, keys), tensors))
        return folder, path

    def check_family(self, name):
        folder, path = self.family(name, STACKS.get(name, stacks))
        theirs, ours = self.built("theirs", folder), self.built("ours", path)
        # Norms of Gemma are sums that the build forms, or those that the file has.
        same = SAME_IN_BOTH - ({"weights"} if name.startswith("gemma") else set())
        self.assertEqual(self.differing(theirs, ours) & same, set())
        self.assertEqual(self.ids(theirs), self.ids(ours))

    def test_experts_of_older_files(self):
        folder, path = self.family("mixtral", single_experts)
        theirs, ours = self.built("theirs", folder), self.built("ours", path)
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())

    def test_experts_of_gpt_oss_in_mxfp4(self):
        folder, path = self.family("gpt_oss", mxfp4_stacks)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({
            **config, "quantization_config": {"quant_method": "mxfp4"}}))
        tensors = read_tensors(folder / "model.safetensors")
        stacked = mxfp4_stacks(config, tensors)
        for layer in range(config["num_hidden_layers"]):
            for name, parts in (("gate_up_proj", ("gate", "up")), ("down_proj", ("down",))):
                name = f"model.layers.{layer}.mlp.experts.{name}"
                del tensors[name]
                tensors[name + "_blocks"], tensors[name + "_scales"] = mxfp4_of_directory(
                    [stacked[f"blk.{layer}.ffn_{part}_exps.weight"] for part in parts])
        write_tensors(folder / "model.safetensors", tensors)
        theirs, ours = self.built("theirs", folder), self.built("ours", path)
        changes = json.loads(self.ingot_run("diff", theirs, ours, "--json").stdout)["changes"]
        self.assertEqual({change["what"] for change in changes if change["category"] == "weights"},
                         {"weights 'MXFP4.codebook'", "weights 'e2m1.codebook'",
                          "weights 'MXFP4.scales.codebook'", "weights 'e8m0.codebook'"})
        self.assertEqual(self.ids(theirs), self.ids(ours))

    def test_experts_in_blocks(self):
        self.check_blocks((Q4_K, q4_k, 256), (Q8_0, q8_0, 32))

    def test_experts_in_rows_of_grids(self):
        report = self.check_blocks((IQ2_S, iq2_s, 256), (IQ3_S, iq3_s, 256))
        # Engines hold more bits of these than the file, and say so.
        said = {option["name"]: (option["asked"], option["effective"])
                for option in report["provenance"]["options"]}
        self.assertEqual(said["checkpoint: IQ2_S"], ("2.56 bits a weight", "6.00 bits a weight"))
        self.assertEqual(said["checkpoint: IQ3_S"], ("3.44 bits a weight", "5.00 bits a weight"))

    @staticmethod
    def widened(tensor, shape):
        """The shape where the model is 256 wide and has 4 experts."""
        if tensor.endswith("mlp.gate.weight"):
            return [4, 256]
        if len(shape) == 1 and "layernorm" in tensor or tensor == "model.norm.weight":
            return [256]
        if len(shape) == 1:
            return shape
        return [256, shape[1]] if "o_proj" in tensor else [shape[0], 256]

    def check_blocks(self, both, down):
        """A mixture of experts with gate and up matrices in blocks of one type and the down
        matrices in another's; a type is its number, a function and the elements of a block. The
        report of the last build."""
        folder = self.copy_of(harness.FABLES)
        example = json.loads((folder / "config.json").read_text())
        config = {**models.CASES["qwen3_moe"].config, **CONVERTIBLE["qwen3_moe"],
                  **{key: example[key] for key in ("vocab_size", "bos_token_id", "eos_token_id",
                                                   "pad_token_id")},
                  "hidden_size": 256, "moe_intermediate_size": 256, "num_experts": 4,
                  "max_position_embeddings": 256}
        checkpoint = models.Case(config).checkpoint(
            {tensor: self.widened(tensor, shape)
             for tensor, shape in tensors_of("qwen3_moe", config).items()
             if ".experts." not in tensor})
        tensors, numbers = {}, random.Random(3)
        for layer in range(config["num_hidden_layers"]):
            for part, (kind, encode, width) in ("gate", both), ("up", both), ("down", down):
                whole = b""
                for expert in range(config["num_experts"]):
                    blocks, values = encode(256 * 256 // width, numbers)
                    whole += blocks
                    checkpoint[f"model.layers.{layer}.mlp.experts.{expert}.{part}_proj.weight"] = (
                        [256, 256], values)
                tensors[f"blk.{layer}.ffn_{part}_exps.weight"] = (
                    kind, [config["num_experts"], 256, 256], whole)
        (folder / "config.json").write_text(json.dumps(config))
        models.write_safetensors(folder / "model.safetensors", checkpoint)
        _, other_names, keys = FAMILIES["qwen3_moe"]
        tensors.update(file_tensors(config, read_tensors(folder / "model.safetensors"), False,
                                    other_names))
        path = self.fresh("converted") / "tale.gguf"
        path.write_bytes(gguf(metadata("qwen3moe", config, folder, keys), tensors))
        theirs = self.ids(self.built("theirs", folder))
        recipe = self.folder / "f32.yaml"
        recipe.write_text("version: 1\nactivations: f32\n")
        report = self.folder / "report.json"
        for target in "reference", "x86-64-v3":
            ours = self.built(target, path, "--target", target, "--recipe", recipe, "--report",
                              report)
            self.assertEqual(theirs, self.ids(ours))
        return json.loads(report.read_text())

    def test_formats_of_a_recipe_come_out_the_same(self):
        recipe = self.folder / "int4.yaml"
        recipe.write_text("version: 1\nweights:\n"
                          "  - {match: '*self_attn*', format: int4, group: 32}\n"
                          "  - {match: '*', format: int8}\n")
        options = "--recipe", recipe, "--target", "x86-64-v3"
        theirs = self.built("theirs", harness.FABLES, *options)
        ours = self.built("ours", self.converted(harness.FABLES), *options)
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())

    def test_the_engine_names_every_part_and_can_be_made_again(self):
        last = self.converted(harness.FABLES, parts=3)
        engine = self.built("parts", last)
        result = self.ingot("verify", engine, "--weights", "--rebuild",
                            last.with_name("tale-00001-of-00003.gguf"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("rebuild: identical", result.stdout)
        listed = json.loads(self.ingot_run("inspect", engine, "--section", "provenance",
                                           "--json").stdout)["provenance"]["inputs"]
        self.assertEqual({entry["name"]: entry["digest"] for entry in listed},
                         {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                          for path in last.parent.iterdir()})

    def test_rows_in_the_wrong_order_would_be_noticed(self):
        theirs = self.built("theirs", harness.FABLES)
        ours = self.built("ours", self.converted(harness.FABLES, paired=False))
        self.assertIn("weights", self.differing(theirs, ours))

    def test_frequencies_are_divided_as_llama3_scales_them(self):
        folder, context, factor = self.copy_of(harness.FABLES), 64, 8.0
        config = json.loads((folder / "config.json").read_text())
        # The blend between the two factors is so narrow that no pair lies in it.
        config["rope_scaling"] = {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0,
                                  "high_freq_factor": 1.001,
                                  "original_max_position_embeddings": context}
        (folder / "config.json").write_text(json.dumps(config))
        size = config["head_dim"]
        waves = [2 * math.pi * config["rope_theta"] ** (2 * i / size) for i in range(size // 2)]
        divisors = [factor if wave > context else 1.0 for wave in waves]
        self.assertEqual(set(divisors), {1.0, factor})
        theirs = self.built("theirs", folder)
        ours = self.built("ours", self.converted(folder, divisors=divisors))
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())
        self.assertIn("weights", self.differing(theirs, self.built("plain", harness.FABLES)))

    def test_a_plan_reads_the_file_alone(self):
        result = self.ingot("plan", self.converted(harness.FABLES), "--target", "reference")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("KV", result.stdout)

    def refuse(self, path, code, *mentions):
        output = self.fresh("refused") / "m.ingot"
        result = self.build(path, output)
        self.assert_refused(result, output, code)
        for mention in mentions:
            self.assertIn(mention, result.stdout)
        shutil.rmtree(output.parent)

    def test_what_is_not_understood_is_refused_by_name(self):
        config = json.loads((harness.FABLES / "config.json").read_text())
        keys = metadata("llama", config, harness.FABLES)
        tensors = file_tensors(config, read_tensors(harness.FABLES / "model.safetensors"), True)
        path = self.folder / "m.gguf"

        def refuse(code, *mentions, more_keys=(), more_tensors=()):
            path.write_bytes(gguf({**keys, **dict(more_keys)}, {**tensors, **dict(more_tensors)}))
            self.refuse(path, code, *mentions)

        blocks = (Q8_K, [256, 256], bytes(256 * 292))
        refuse("INGOT-E1081", "blk.0.attn_q.weight", "Q8_K", "m.gguf",
               more_tensors={"blk.0.attn_q.weight": blocks})
        refuse("INGOT-E1083", "blk.0.attn_q_norm.weight",
               more_tensors={"blk.0.attn_q_norm.weight": (F32, [64], bytes(256))})
        refuse("INGOT-E1083", "blk.5.ffn_up.weight",
               more_tensors={"blk.5.ffn_up.weight": (F32, [64], bytes(256))})
        refuse("INGOT-E1080", "blk.1.ffn_norm.weight",
               more_tensors={"blk.1.ffn_norm.weight": (F32, [64], bytes(256))})
        refuse("INGOT-E1052", "yarn", more_keys={"llama.rope.scaling.type": "yarn"})
        refuse("INGOT-E1116", "falcon", more_keys={"tokenizer.ggml.pre": "falcon"})
        pickle = self.folder / "pytorch_model.bin"
        pickle.write_bytes(b"PK")
        self.refuse(pickle, "INGOT-E1031", "pickle")

    @unittest.skipUnless(DATA.exists(), "../shared/data is absent")
    def test_a_checkpoint_of_llama2c(self):
        place = self.copy_of(DATA / "stories260K", "stories")
        model = place / "stories260K.bin"
        theirs, ours = (self.built(name, source) for name, source in (
            ("theirs", DATA / "stories260K-hf"), ("ours", model)))
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())
        self.assertEqual(self.ids(theirs), self.ids(ours))
        self.assertIn("rebuild: identical", self.ingot("verify", ours, "--rebuild", model).stdout)
        self.assertIn("KV", self.ingot("plan", model, "--target", "reference").stdout)

        content = model.read_bytes()
        model.write_bytes(content[:-4])
        self.refuse(model, "INGOT-E1122", "1056540 bytes")
        model.write_bytes(struct.pack("<I", 0x616b3432) + content[4:])
        self.refuse(model, "INGOT-E1122", "version 0")
        model.write_bytes(content)
        tokens = place / "tok512.bin"
        vocabulary = tokens.read_bytes()
        tokens.write_bytes(vocabulary[:-2])
        self.refuse(model, "INGOT-E1123", "token 511 is cut short")
        tokens.write_bytes(vocabulary[:-11])
        self.refuse(model, "INGOT-E1123", "511 tokens")
        tokens.unlink()
        self.refuse(model, "INGOT-E1123", "tokenizer.bin")


for family in FAMILIES:
    setattr(GgufModels, f"test_{family}", lambda self, name=family: self.check_family(name))

if __name__ == "__main__":
    harness.main()
