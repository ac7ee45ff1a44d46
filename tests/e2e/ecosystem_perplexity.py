#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a checkpoint or a GGUF file by transformers, with the readers of quantized layouts
that it takes (compressed-tensors, bitsandbytes, gguf; GPTQModel for GPTQ and AWQ), or with the
weights that ModelOpt decodes, on the CPU in f32.

The rule is that of `ingot-run eval --scoring second-half`. Runs in build/torch_cpu, from
scripts/setup --full; prints JSON as its last line.
"""
import argparse
import contextlib
import json
import math
import pathlib
import sys

import safetensors.torch
import torch
import transformers

# GPTQModel's plain kernels: the others compile themselves, or compute in 16 bits.
PLAIN = {"gptq": "gptq_torch", "awq": "torch_awq"}
# ModelOpt's names of formats, by those of its algorithms.
MODELOPT = {"FP8": "fp8", "W8A16": "int8_wo", "W8A8_SQ_PER_CHANNEL": "int8_sq"}


def decoded_by_modelopt(folder, algorithm):
    """The tensors of a checkpoint that transformers has no reader for."""
    from modelopt.torch.export.quant_utils import from_quantized_weight
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    stored = safetensors.torch.load_file(folder / "model.safetensors")
    decoded = {name: value for name, value in stored.items() if "_scale" not in name}
    for name, value in decoded.items():
        scale, double = stored.get(f"{name}_scale"), stored.get(f"{name}_scale_2")
        if double is not None:
            shape = torch.Size((value.shape[0], 2 * value.shape[1]))
            decoded[name] = NVFP4QTensor(shape, torch.float32, value).dequantize(
                scale=scale, double_scale=double, block_sizes={-1: 16})
        elif scale is not None:
            decoded[name] = from_quantized_weight(value, scale, MODELOPT[algorithm],
                                                  torch.float32)
    return decoded


def decompresses_only(quantization):
    """Whether compressed-tensors computes with such matrices in 16 bits, or (zero points of words)
    makes no module that they fit, but decompresses them."""
    return "fp4" in quantization["format"] or not all(
        group["weights"]["symmetric"] for group in quantization["config_groups"].values())


def load(folder, **file):
    config = transformers.AutoConfig.from_pretrained(folder, **file)
    quantization = getattr(config, "quantization_config", None) or {"quant_method": ""}
    method = quantization["quant_method"]
    if method in PLAIN:
        quantization["backend"] = PLAIN[method]
    if method == "bitsandbytes":
        quantization["bnb_4bit_compute_dtype"] = "float32"
    if method == "compressed-tensors":
        quantization["dequantize"] = decompresses_only(quantization)
    if method == "modelopt":
        del config.quantization_config
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        decoded = decoded_by_modelopt(folder, quantization["quant_algo"])
        found = model.load_state_dict(decoded, strict=False)  # A tied matrix is there once.
        assert not found.unexpected_keys, found
        return model.eval()
    return transformers.AutoModelForCausalLM.from_pretrained(folder, config=config,
                                                             dtype=torch.float32, **file).eval()


@torch.no_grad()
def measure(model, ids, options):
    """The sum of negative log-likelihoods, and of how many tokens."""
    total = count = 0
    half = options.window // 2
    for begin in range(0, len(ids) - options.window + 1, options.window):
        window = torch.tensor([ids[begin:begin + options.window]])
        if options.bos_each_window:
            window[0, 0] = model.config.bos_token_id
        logits = model(window).logits[0, half:-1].double()
        found = torch.log_softmax(logits, -1).gather(1, window[0, half + 1:, None])
        total -= found.sum().item()
        count += len(found)
    return total, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--bos-each-window", action="store_true")
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):  # Readers print what they do.
        folder, file = options.model, {}
        if folder.is_file():
            folder, file = folder.parent, {"gguf_file": folder.name}
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **file)
        ids = tokenizer(options.text.read_bytes().decode())["input_ids"]
        model = load(folder, **file)
        total, count = measure(model, ids, options)
        layers = sorted({type(module).__name__ for name, module in model.named_modules()
                         if name.endswith("_proj")})
    print(json.dumps({"tokens": len(ids), "scored_tokens": count, "layers": layers,
                      "perplexity": math.exp(total / count)}))


if __name__ == "__main__":
    main()
