#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Saves models as users of a release of transformers do, with what that release computes of them.

usage: save_models.py FOLDER [NAME ...] [--again SAVED] [--configs]

FOLDER/NAME gets what save_pretrained writes, and golden.json: of each model of models.py, of the
models of text and vision that have one as their text part (as text_NAME), and of more (MORE).
With --again each folder in SAVED, which another release wrote, is loaded and saved again, in
several files. With --configs their config.json goes into saved_configs.json, beside that of
models.py. Releases 4.40, 4.57 and 5 can run this.
"""
import argparse
import json
import pathlib
import tempfile

import models
import torch
import transformers

LOGITS = 16  # Of a step, the best ones.
SHARD = "60KB"
RELEASE = transformers.__version__
KEYS_WITHOUT_MEANING = ("transformers_version", "vision_config")
HEAD = {"head_dim": 32}
ORIGINAL = {"factor": 4.0, "original_max_position_embeddings": 32}
LLAMA3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **ORIGINAL}


def llama(**keys):
    return models.of_type("llama", "LlamaForCausalLM", keys, prompt=60, context=128)


# Settings that models.py has no model with. Their weights are random.
MORE = {
    "llama": llama(),
    "llama_biases": llama(attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "llama_linear": llama(rope_scaling={"type": "linear", "factor": 2.0}),
    "llama_dynamic": llama(rope_scaling={"type": "dynamic", "factor": 2.0}),
    "llama3": llama(rope_scaling=LLAMA3),
    "qwen2": models.of_type("qwen2", "Qwen2ForCausalLM", models.TIED),
    "qwen3_sliding": models.of_type("qwen3", "Qwen3ForCausalLM", HEAD, {
        "num_hidden_layers": 3, "use_sliding_window": True, "sliding_window": 20,
        "max_window_layers": 1}, prompt=50, context=96),
    "mixtral_sliding": models.of_type("mixtral", "MixtralForCausalLM", {
        "num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 24}, prompt=50,
        context=96),
    # Rotary settings that no key states.
    "gpt_oss_absent": models.of_type("gpt_oss", "GptOssForCausalLM", HEAD, {
        "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 24}, prompt=60,
        context=96),
    "gemma3_absent": models.of_type("gemma3_text", "Gemma3ForCausalLM", models.GEMMA3, {
        "num_hidden_layers": 7}, without=("rope_theta",), prompt=60, context=96),
    "phi3_plain": models.of_type("phi3", "Phi3ForCausalLM", models.TIED, {"sliding_window": 24},
                                 prompt=50, context=96),
    "gpt_neox_linear": models.of_type("gpt_neox", "GPTNeoXForCausalLM", {
        "num_key_value_heads": 4, "rotary_pct": 0.25, "rotary_emb_base": 1000.0,
        "rope_scaling": {"type": "linear", "factor": 2.0}},
        without=("rms_norm_eps", "rope_theta", "hidden_act")),
    "seed_oss_biases": models.of_type("seed_oss", "SeedOssForCausalLM", HEAD, {
        "attention_bias": False, "attention_out_bias": True, "mlp_bias": True}),
    "cohere2_pattern": models.of_type("cohere2", "Cohere2ForCausalLM", models.TIED, {
        "num_hidden_layers": 5, "sliding_window": 24, "sliding_window_pattern": 3,
        "logit_scale": 0.25, "attention_bias": True}, without=("rms_norm_eps",), prompt=60,
        context=96),
}

SMALL = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2,
         "num_hidden_layers": 1, "image_size": 16, "patch_size": 4}
QWEN = {"depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2,
        "out_hidden_size": 64, "patch_size": 4, "spatial_merge_size": 2, "temporal_patch_size": 2}
QWEN3 = {**QWEN, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
# Architecture of a model of text and vision to its type, and its vision part.
VISION = {
    "Qwen2_5_VLForConditionalGeneration": (
        "qwen2_5_vl", {**QWEN, "window_size": 16, "fullatt_block_indexes": [1]}),
    "Qwen3VLForConditionalGeneration": ("qwen3_vl", QWEN3),
    "Qwen3VLMoeForConditionalGeneration": ("qwen3_vl_moe", QWEN3),
    "Gemma3ForConditionalGeneration": ("gemma3", SMALL),
    "Gemma4ForConditionalGeneration": ("gemma4", {
        **SMALL, "num_key_value_heads": 2, "head_dim": 16, "position_embedding_size": 16}),
    "Gemma4UnifiedForConditionalGeneration": ("gemma4_unified", {
        "mm_embed_dim": 32, "mm_posemb_size": 16, "output_proj_dims": 64}),
    "Mistral3ForConditionalGeneration": (
        "mistral3", {**SMALL, "model_type": "pixtral", "head_dim": 16}),
    "Llama4ForConditionalGeneration": ("llama4", {
        **SMALL, "vision_output_dim": 32, "projector_input_dim": 32, "projector_output_dim": 32}),
}


def fill(model):
    """Norms around 1, everything else around 0."""
    numbers = torch.Generator().manual_seed(7)
    for name, tensor in sorted(model.named_parameters()):
        values = 2 * torch.rand(tensor.shape, generator=numbers) - 1
        if name.endswith("bias"):
            values *= 0.5
        elif tensor.dim() == 1 or "norm" in name:
            values = 1 + 0.5 * values
        elif "embed_tokens" in name:
            values *= 0.4
        else:
            values *= 1.5 * (3 / tensor.shape[1 if tensor.dim() == 3 else -1]) ** 0.5
        tensor.data.copy_(values)
    model.tie_weights()
    return model.float().eval()


def type_option():
    return {"dtype" if RELEASE >= "4.56" else "torch_dtype": torch.float32}


def configured(model_type, keys):
    config = transformers.AutoConfig.for_model(model_type, **keys)
    config._attn_implementation = "eager"
    return config


def load(folder):
    config = json.loads((folder / "config.json").read_text())
    inner = config.get("text_config", {}).get("architectures")
    model, report = getattr(transformers, config.get("architectures", inner)[0]).from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True, **type_option())
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if report[kind]:
            raise ValueError(f"{kind}: {report[kind]}")
    return model.eval()


def from_case(case):
    """The model with the weights that the goldens are of."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "config.json").write_text(json.dumps(case.config))
        models.write_safetensors(folder / "model.safetensors", case.checkpoint(), "pt")
        return load(folder)


def from_config(case):
    keys = dict(case.config)
    return fill(getattr(transformers, keys.pop("architectures")[0])(
        configured(keys.pop("model_type"), keys)))


def with_vision(case, row):
    architecture, text_type, *_, changes = row
    model_type, vision = VISION[architecture]
    text = {key: value for key, value in {**case.config, **changes}.items()
            if key not in ("architectures", "torch_dtype") and value is not None}
    text["model_type"] = text_type + ("_text" if text_type == model_type else "")
    return fill(getattr(transformers, architecture)(configured(model_type, {
        "text_config": text, "vision_config": vision,
        "image_token_id" if model_type.startswith(("qwen", "gemma4")) else "image_token_index":
            models.PLACEHOLDER})))


def golden(model, case):
    if type(model).__name__ == "Llama4ForConditionalGeneration":
        model = model.language_model  # 5.24 cannot run all of it without images.
    ids, steps = list(case.prompt), []
    with torch.no_grad():
        for _ in range(models.TOKENS):
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].double()
            best = torch.topk(logits, LOGITS)
            steps.append({"logsumexp": float(torch.logsumexp(logits, 0)),
                          "ids": best.indices.tolist(), "logits": best.values.tolist()})
            ids.append(steps[-1]["ids"][0])
    return {"prompt": case.prompt, "context": case.context,
            "greedy_ids": ids[len(case.prompt):], "first": steps[0], "last": steps[-1]}


def all_models():
    """Name to (case, what makes the model)."""
    made = {name: (case, lambda case=case: from_case(case)) for name, case in models.CASES.items()}
    made |= {name: (case, lambda case=case: from_config(case)) for name, case in MORE.items()}
    return made | {f"text_{name}": (case, lambda case=case, row=row: with_vision(case, row))
                   for name, row in models.WRAPPERS.items() for case in (models.CASES[name],)}


def keep_config(name, case, folder):
    path = models.FOLDER / "saved_configs.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    config = json.loads((folder / "config.json").read_text())
    config = {key: value for key, value in config.items() if key not in KEYS_WITHOUT_MEANING}
    stored.setdefault(name, {})[RELEASE] = config
    if name in models.CASES:
        stored[name]["as published"] = case.config
    lines = (f"{json.dumps(key)}: {{\n" + ",\n".join(
        f" {json.dumps(release)}: {json.dumps(stored[key][release], separators=(',', ':'))}"
        for release in sorted(stored[key])) + "}" for key in sorted(stored))
    path.write_text("{" + ",\n".join(lines) + "}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--again", type=pathlib.Path)
    parser.add_argument("--configs", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    # Without CUDA's libraries the question itself fails.
    torch.cuda.is_current_stream_capturing = lambda: False
    transformers.logging.set_verbosity_error()
    for name, (case, make) in all_models().items():
        source = arguments.again / name if arguments.again else None
        if arguments.names and name not in arguments.names or source and not source.is_dir():
            continue
        try:
            model = load(source) if source else make()
            computed = golden(model, case)
        except (AttributeError, KeyError, ValueError) as error:
            print(f"{name}: transformers {RELEASE} does not know it: {error}", flush=True)
            continue
        target = arguments.folder / name
        target.mkdir(parents=True)
        (target / "golden.json").write_text(json.dumps(computed))
        model.save_pretrained(target, **({"max_shard_size": SHARD} if source else {}))
        if arguments.configs:
            keep_config(name, case, target)
        print(name, flush=True)


if __name__ == "__main__":
    main()
