#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes goldens.json: greedy tokens and logits of every model of models.py, by transformers."""
import json
import pathlib

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
    if config.tie_word_embeddings:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True)
    return model


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
