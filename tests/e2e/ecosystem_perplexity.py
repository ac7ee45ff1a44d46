#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a checkpoint by transformers, with the readers of quantized layouts that it takes
(compressed-tensors; GPTQModel for GPTQ and AWQ), on the CPU in f32.

The rule is that of `ingot-run eval --scoring second-half`. Runs in build/torch_cpu, from
scripts/setup --full; prints JSON as its last line.
"""
import argparse
import contextlib
import json
import math
import pathlib
import sys

import torch
import transformers

# GPTQModel's plain kernels: the others compile themselves, or compute in 16 bits.
PLAIN = {"gptq": "gptq_torch", "awq": "torch_awq"}


def load(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    quantization = getattr(config, "quantization_config", None)
    if quantization and quantization["quant_method"] in PLAIN:
        quantization["backend"] = PLAIN[quantization["quant_method"]]
    return transformers.AutoModelForCausalLM.from_pretrained(folder, config=config,
                                                             dtype=torch.float32).eval()


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
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--bos-each-window", action="store_true")
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):  # Readers print what they do.
        tokenizer = transformers.AutoTokenizer.from_pretrained(options.folder)
        ids = tokenizer(options.text.read_bytes().decode())["input_ids"]
        model = load(options.folder)
        total, count = measure(model, ids, options)
        layers = sorted({type(module).__name__ for name, module in model.named_modules()
                         if name.endswith("_proj")})
    print(json.dumps({"tokens": len(ids), "scored_tokens": count, "layers": layers,
                      "perplexity": math.exp(total / count)}))


if __name__ == "__main__":
    main()
