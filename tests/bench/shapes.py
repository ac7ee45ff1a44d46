# SPDX-License-Identifier: Apache-2.0
"""Published shapes of big models, and the recipes they are measured with."""
import json
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMON = {"rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False,
          "torch_dtype": "bfloat16"}
LLAMA3 = {**COMMON, "architectures": ["LlamaForCausalLM"], "vocab_size": 128256,
          "max_position_embeddings": 8192, "rope_theta": 500000.0, "num_key_value_heads": 8,
          "bos_token_id": 128000, "eos_token_id": 128001}
MODELS = {
    "llama-3-8b": {**LLAMA3, "hidden_size": 4096, "intermediate_size": 14336,
                   "num_hidden_layers": 32, "num_attention_heads": 32},
    "qwen2.5-32b": {**COMMON, "architectures": ["Qwen2ForCausalLM"], "vocab_size": 152064,
                    "max_position_embeddings": 32768, "rope_theta": 1000000.0,
                    "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64,
                    "num_attention_heads": 40, "num_key_value_heads": 8,
                    "bos_token_id": 151643, "eos_token_id": 151645},
    "llama-3-70b": {**LLAMA3, "hidden_size": 8192, "intermediate_size": 28672,
                    "num_hidden_layers": 80, "num_attention_heads": 64},
}
LAYERS = "version: 1\nweights:\n  - {{match: 'model.layers.*', format: {}}}\n" \
         "  - {{match: '*', format: bf16}}\n"
RECIPES = {
    "bf16": LAYERS.format("bf16") + "activations: bf16\nkv_cache: bf16\n",
    "fp8": LAYERS.format("fp8") + "activations: {compute: fp8-dynamic, store: bf16}\n"
           "kv_cache: e4m3\n",
    "w4a16": LAYERS.format("int4, group: 128") + "activations: bf16\nkv_cache: bf16\n",
}


def write_model(folder, name, layers=None):
    """A folder for `ingot build --random-weights`: the model's config.json, with `layers` layers
    where that is given, and any tokenizer."""
    model = folder / (name if layers is None else f"{name}-{layers}")
    model.mkdir(parents=True, exist_ok=True)
    config = {**MODELS[name], **({} if layers is None else {"num_hidden_layers": layers})}
    (model / "config.json").write_text(json.dumps(config))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(ROOT / "examples/fables/model" / file, model)
    return model


def product_shapes(name):
    """The matrix products of one layer and the head, merged as engines have them: n outputs of k
    inputs each."""
    model = MODELS[name]
    hidden, inner = model["hidden_size"], model["intermediate_size"]
    shape = attention_shape(name)
    queries, cached = (shape[key] * shape["head_dim"] for key in ("heads", "kv_heads"))
    sizes = {"qkv_proj": (queries + 2 * cached, hidden), "o_proj": (hidden, queries),
             "gate_up_proj": (2 * inner, hidden), "down_proj": (hidden, inner),
             "lm_head": (model["vocab_size"], hidden)}
    return [{"model": name, "name": product, "n": n, "k": k} for product, (n, k) in sizes.items()]


def attention_shape(name):
    """Heads that share a cache of kv_heads heads, each of head_dim values."""
    model = MODELS[name]
    heads = model["num_attention_heads"]
    return {"model": name, "heads": heads, "kv_heads": model["num_key_value_heads"],
            "head_dim": model["hidden_size"] // heads}


def write_shapes(file, names):
    """The shapes that tests/gpu/peers.py measures."""
    file.write_text(json.dumps({
        "products": [shape for name in names for shape in product_shapes(name)],
        "attention": [attention_shape(name) for name in names]}, indent=1) + "\n")
