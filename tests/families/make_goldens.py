#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes goldens.json: greedy tokens and logits of every model of models.py, by transformers."""
import json
import pathlib
import re

import models
import torch
import transformers

KEPT = 16  # Logits of a step, the best ones.
LEAST_MARGIN = 2e-3  # Between the two best: f32 sums in another order choose the same token.


def build(case):
    """The model with its weights; each tensor must be one of the model's, and all must be there."""
    config = dict(case.config)
    config = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    model = transformers.AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation="eager").eval()
    state = {name: torch.tensor(data).reshape(shape)
             for name, (shape, data) in case.checkpoint().items()}
    stack_experts(state)
    if config.tie_word_embeddings:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True)
    return model


def stack_experts(state):
    """Experts one by one, as checkpoints have them, to what the model in memory has."""
    pattern = re.compile(r"(.*)\.(?:mlp|block_sparse_moe)\.experts\.(\d+)\.(\w+)\.weight")
    stacks = {}
    for name in list(state):
        if match := pattern.fullmatch(name):
            part = {"w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}.get(match[3], match[3])
            stacks.setdefault((match[1], part), {})[int(match[2])] = state.pop(name)
        elif "block_sparse_moe" in name:
            state[name.replace("block_sparse_moe", "mlp")] = state.pop(name)
    stacks = {key: torch.stack([parts[i] for i in range(len(parts))])
              for key, parts in stacks.items()}
    for layer, part in stacks:
        if part == "down_proj":
            state[f"{layer}.mlp.experts.down_proj"] = stacks[layer, part]
            state[f"{layer}.mlp.experts.gate_up_proj"] = torch.cat(
                [stacks[layer, "gate_proj"], stacks[layer, "up_proj"]], dim=1)


def run(case):
    model, ids, steps = build(case), list(case.prompt), []
    with torch.no_grad():
        for _ in range(models.TOKENS):
            logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1].double()
            best = torch.topk(logits, KEPT)
            margin = float(best.values[0] - best.values[1])
            assert margin >= LEAST_MARGIN, f"step {len(steps)}: margin {margin}"
            steps.append({"logsumexp": round(float(torch.logsumexp(logits, 0)), 6),
                          "ids": best.indices.tolist(),
                          "logits": [round(value, 6) for value in best.values.tolist()]})
            ids.append(steps[-1]["ids"][0])
    return {"greedy_ids": ids[len(case.prompt):], "first": steps[0], "last": steps[-1]}


def main():
    goldens = {"made_with": f"transformers {transformers.__version__}"}
    for name, case in models.CASES.items():
        goldens[name] = run(case)
        print(name, goldens[name]["greedy_ids"])
    path = pathlib.Path(__file__).parent / "goldens.json"
    text = json.dumps(goldens)
    for name in goldens:
        text = text.replace(f'"{name}": ', f'\n"{name}": ')
    path.write_text(text + "\n")


if __name__ == "__main__":
    main()
