# SPDX-License-Identifier: Apache-2.0
"""A small model of each family: its config.json, its weights, and what it is asked."""
import array
import json
import math
import random
import struct
import sys

VOCABULARY = 272  # Of make-checkpoint's tokenizer, with some rows to spare.
TOKENS = 12  # That each model generates.

COMMON = {
    "vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "bos_token_id": 1,
    "eos_token_id": 2, "pad_token_id": 0, "tie_word_embeddings": False, "torch_dtype": "float32",
}

PHI3 = {
    **COMMON, "architectures": ["Phi3ForCausalLM"], "model_type": "phi3",
    "partial_rotary_factor": 0.75, "original_max_position_embeddings": 32, "sliding_window": 128,
}
LONGROPE = {
    "short_factor": [1.0, 1.1, 1.25, 1.5, 1.75, 2.0],
    "long_factor": [1.0, 1.5, 2.25, 3.5, 6.0, 11.0],
}
GEMMA3 = {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "head_dim": 32,
    "num_hidden_layers": 3, "tie_word_embeddings": True, "sliding_window": 24,
    "query_pre_attn_scalar": 40, "hidden_activation": "gelu_pytorch_tanh",
}


class Case:
    """A model, how many tokens its prompt has, and what its engine is built for."""

    def __init__(self, config, prompt=20, context=64, targets=("reference", "x86-64-v3"),
                 embeddings=1.0):
        self.config, self.targets, self.embeddings = config, targets, embeddings
        self.prompt = [(7 * i * i + 31 * i + 5) % (VOCABULARY - 16) for i in range(prompt)]
        self.context = context

    def checkpoint(self):
        """Name to (shape, values) of every tensor, in f32."""
        return {name: (shape, values(name, shape, self.embeddings))
                for name, shape in tensors(self.config)}


CASES = {
    "qwen3": Case({
        **COMMON, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 32,
        "use_sliding_window": False, "sliding_window": None, "max_window_layers": 2,
    }),
    "mistral": Case({
        **COMMON, "architectures": ["MistralForCausalLM"], "model_type": "mistral",
        "sliding_window": 64, "head_dim": 16,
    }),
    "mistral_sliding": Case({
        **COMMON, "architectures": ["MistralForCausalLM"], "model_type": "mistral",
        "sliding_window": 24, "head_dim": 16,
    }, prompt=60, context=96),
    # Its last two layers slide, one does not.
    "qwen2_sliding": Case({
        **COMMON, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
        "num_hidden_layers": 3, "use_sliding_window": True, "sliding_window": 20,
        "max_window_layers": 1,
    }, prompt=50, context=96),
    "gemma2": Case({
        **COMMON, "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "head_dim": 32,
        "num_hidden_layers": 3, "tie_word_embeddings": True, "sliding_window": 24,
        "query_pre_attn_scalar": 48, "attn_logit_softcapping": 5.0,
        "final_logit_softcapping": 8.0, "hidden_activation": "gelu_pytorch_tanh",
    }, prompt=60, context=96, embeddings=0.2),
    "gemma3": Case({
        **COMMON, **GEMMA3, "rope_theta": 100000.0, "rope_local_base_freq": 1000.0,
        "sliding_window_pattern": 2, "rope_scaling": {"rope_type": "linear", "factor": 4.0},
    }, prompt=60, context=96, embeddings=0.2),
    # As newer files spell it, with other layers that slide.
    "gemma3_v5": Case({
        **{key: value for key, value in COMMON.items() if key != "rope_theta"}, **GEMMA3,
        "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 100000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0},
        },
    }, prompt=40, context=64, targets=("reference",), embeddings=0.2),
    "mixtral": Case({
        **COMMON, "architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
        "num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": None,
    }, prompt=40),
    # Its first layer has no experts.
    "qwen2_moe": Case({
        **COMMON, "architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe",
        "num_hidden_layers": 3, "num_experts": 9, "num_experts_per_tok": 4,
        "moe_intermediate_size": 48, "shared_expert_intermediate_size": 80,
        "norm_topk_prob": False, "decoder_sparse_step": 1, "mlp_only_layers": [0],
        "use_sliding_window": False,
    }, prompt=40),
    # Every other layer has experts.
    "qwen3_moe": Case({
        **COMMON, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
        "head_dim": 32, "num_experts": 16, "num_experts_per_tok": 3, "moe_intermediate_size": 32,
        "norm_topk_prob": True, "decoder_sparse_step": 2, "mlp_only_layers": [],
        "use_sliding_window": False,
    }, prompt=40),
    "gpt_oss": Case({
        **{key: value for key, value in COMMON.items() if key != "rope_theta"},
        "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "head_dim": 32,
        "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 24,
        "layer_types": ["sliding_attention", "full_attention"], "attention_bias": True,
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0,
                            "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                            "original_max_position_embeddings": 32},
    }, prompt=60, context=96),
    "granite": Case({
        **COMMON, "architectures": ["GraniteForCausalLM"], "model_type": "granite",
        "embedding_multiplier": 0.4, "residual_multiplier": 1.7, "attention_multiplier": 0.125,
        "logits_scaling": 1.7, "tie_word_embeddings": True, "attention_bias": False,
        "mlp_bias": False,
    }),
    "olmo2": Case({
        **COMMON, "architectures": ["Olmo2ForCausalLM"], "model_type": "olmo2",
        "attention_bias": False,
    }),
    # In a short context, as newer files spell it: other numbers in the kernels of the next one.
    "phi3_short": Case({
        **{key: value for key, value in PHI3.items()
           if key not in ("rope_theta", "partial_rotary_factor")},
        "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0,
                            "partial_rotary_factor": 0.75, **LONGROPE},
    }, prompt=12, context=32, targets=("reference",)),
    "phi3_long": Case({**PHI3, "rope_scaling": {"type": "longrope", **LONGROPE}}, prompt=40),
    "yarn": Case({
        **COMMON, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
        "max_position_embeddings": 256, "use_sliding_window": False,
        "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
    }, prompt=100, context=128),
}


def is_sparse(config, layer):
    """Whether a layer has experts."""
    if layer in config.get("mlp_only_layers", []):
        return False
    return (layer + 1) % config.get("decoder_sparse_step", 1) == 0 and (
        "num_local_experts" in config or "num_experts" in config)


def dense(prefix, inner, hidden, names=("gate_proj", "up_proj", "down_proj")):
    gate, up, down = names
    yield f"{prefix}{gate}.weight", [inner, hidden]
    yield f"{prefix}{up}.weight", [inner, hidden]
    yield f"{prefix}{down}.weight", [hidden, inner]


def experts(config, prefix):
    """Tensors of a layer's router and experts, under the names of checkpoints."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    mixtral = config["model_type"] == "mixtral"
    module = prefix + ("block_sparse_moe." if mixtral else "mlp.")
    if config["model_type"] == "gpt_oss":
        yield from gpt_oss_experts(config, module)
        return
    count = config["num_local_experts" if mixtral else "num_experts"]
    yield module + "gate.weight", [count, hidden]
    for expert in range(count):
        yield from dense(f"{module}experts.{expert}.",
                         inner if mixtral else config["moe_intermediate_size"], hidden,
                         *([("w1", "w3", "w2")] if mixtral else []))
    if "shared_expert_intermediate_size" in config:
        yield from dense(module + "shared_expert.", config["shared_expert_intermediate_size"],
                         hidden)
        yield module + "shared_expert_gate.weight", [1, hidden]


def gpt_oss_experts(config, module):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    count = config["num_local_experts"]
    yield module + "router.weight", [count, hidden]
    yield module + "router.bias", [count]
    yield module + "experts.gate_up_proj", [count, hidden, 2 * inner]
    yield module + "experts.gate_up_proj_bias", [count, 2 * inner]
    yield module + "experts.down_proj", [count, inner, hidden]
    yield module + "experts.down_proj_bias", [count, hidden]


def tensors(config):
    """Names and shapes of the tensors of a model."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head = config.get("head_dim", hidden // heads)
    family = config["model_type"]
    yield "model.embed_tokens.weight", [config["vocab_size"], hidden]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        parts = {"q": heads * head, "k": kv_heads * head, "v": kv_heads * head}
        if family == "phi3":
            yield prefix + "self_attn.qkv_proj.weight", [sum(parts.values()), hidden]
            yield prefix + "mlp.gate_up_proj.weight", [2 * inner, hidden]
            yield prefix + "mlp.down_proj.weight", [hidden, inner]
        else:
            for part, rows in parts.items():
                yield f"{prefix}self_attn.{part}_proj.weight", [rows, hidden]
                if family in ("qwen2", "qwen2_moe", "gpt_oss"):
                    yield f"{prefix}self_attn.{part}_proj.bias", [rows]
            yield from experts(config, prefix) if is_sparse(config, layer) else dense(
                prefix + "mlp.", inner, hidden)
        if family in ("qwen3", "qwen3_moe", "olmo2", "gemma3_text"):
            for part in "qk":
                columns = parts[part] if family == "olmo2" else head
                yield f"{prefix}self_attn.{part}_norm.weight", [columns]
        yield prefix + "self_attn.o_proj.weight", [hidden, heads * head]
        if family == "gpt_oss":
            yield prefix + "self_attn.o_proj.bias", [hidden]
            yield prefix + "self_attn.sinks", [heads]
        norms = {
            "olmo2": ["post_attention", "post_feedforward"],
            **dict.fromkeys(["gemma2", "gemma3_text"], [
                "input", "post_attention", "pre_feedforward", "post_feedforward"]),
        }.get(family, ["input", "post_attention"])
        for norm in norms:
            yield f"{prefix}{norm}_layernorm.weight", [hidden]
    yield "model.norm.weight", [hidden]
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", [config["vocab_size"], hidden]


def values(name, shape, embeddings):
    """Numbers that follow from the name: norms around 1, everything else around 0."""
    numbers = random.Random(name)
    if name.endswith("bias"):
        middle, bound = 0.0, 0.5
    elif len(shape) == 1:
        middle, bound = 1.0, 0.5
    elif len(shape) == 3:  # Rows of inputs.
        middle, bound = 0.0, 1.5 * math.sqrt(3 / shape[1])
    else:
        middle, bound = 0.0, 1.5 * math.sqrt(3 / shape[-1])
    if name.startswith("model.embed_tokens"):
        bound = embeddings
    return array.array("f", (middle + bound * (2 * numbers.random() - 1)
                             for _ in range(math.prod(shape))))


E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def mxfp4(checkpoint):
    """gpt-oss experts [E, K, N] as its checkpoints store them, [E, N, K / 32, 16] and scales; and
    the checkpoint with the values that these stand for."""
    stored, meant = dict(checkpoint), dict(checkpoint)
    for name, (shape, data) in checkpoint.items():
        if len(shape) != 3:
            continue
        count, depth, rows = shape
        blocks, scales = array.array("B"), array.array("B")
        values = array.array("f", data)
        for row in range(count * rows):
            places = [(row // rows * depth + k) * rows + row % rows for k in range(depth)]
            for first in range(0, depth, 32):
                block = places[first:first + 32]
                exponent = math.frexp(max(abs(data[place]) for place in block))[1] - 3
                codes = []
                for place in block:
                    share = abs(data[place]) / 2.0 ** exponent
                    code = min(range(8), key=lambda i: abs(E2M1[i] - share))
                    sign = data[place] < 0
                    values[place] = math.copysign(E2M1[code] * 2.0 ** exponent, data[place])
                    codes.append(code + 8 * sign)
                blocks.extend(codes[i] + 16 * codes[i + 1] for i in range(0, 32, 2))
                scales.append(exponent + 127)
        del stored[name]
        stored[name + "_blocks"] = [count, rows, depth // 32, 16], blocks
        stored[name + "_scales"] = [count, rows, depth // 32], scales
        meant[name] = shape, values
    return stored, meant


def write_safetensors(path, checkpoint):
    header, offset = {}, 0
    for name, (shape, data) in checkpoint.items():
        end = offset + data.itemsize * len(data)
        dtype = "F32" if data.typecode == "f" else "U8"
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data in checkpoint.values():
            if sys.byteorder == "big":
                data.byteswap()
            file.write(data.tobytes())
