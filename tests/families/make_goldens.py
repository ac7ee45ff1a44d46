#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tensors.json and goldens.json: what a checkpoint of every model of models.py has, and its
greedy tokens and logits, both by transformers.

usage: make_goldens.py [NAME ...]   only these models; the others stay as they are
"""
import json
import pathlib
import sys
import tempfile

import models
import safetensors
import torch
import transformers

KEPT = 16  # Logits of a step, the best ones.
LEAST_MARGIN = 2e-3  # Between the two best: f32 sums in another order choose the same token.


def config_of(case):
    config = dict(case.config)
    return transformers.AutoConfig.for_model(config.pop("model_type"), **config)


def model_class(case):
    """By name: the automatic class does not know all."""
    return getattr(transformers, case.config["architectures"][0])


def tensors(case):
    """Name to shape of what transformers writes of such a model."""
    model = model_class(case)._from_config(config_of(case), dtype=torch.float32)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        with safetensors.safe_open(pathlib.Path(folder) / "model.safetensors", "pt") as file:
            return {name: list(file.get_slice(name).get_shape()) for name in sorted(file.keys())}


def load(case, names):
    """The model with its weights: each tensor must be one of the model's, and all must be there."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(case.config))
        models.write_safetensors(pathlib.Path(folder) / "model.safetensors",
                                 case.checkpoint(names))
        model, report = model_class(case).from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[kind], (kind, report[kind])
    return model.eval()


def run(case, names):
    model, ids, steps = load(case, names), list(case.prompt), []
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


def read(name):
    path = models.FOLDER / name
    return json.loads(path.read_text()) if path.exists() else {}


def write(name, content):
    """JSON with a line for each model."""
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    (models.FOLDER / name).write_text("{" + ",\n".join(lines) + "}\n")


def main():
    wanted = sys.argv[1:] or list(models.CASES)
    goldens = {**read("goldens.json"), "made_with": f"transformers {transformers.__version__}"}
    stored = read("tensors.json")
    for name in wanted:
        case = models.CASES[name]
        stored[name] = tensors(case)
        goldens[name] = run(case, stored[name])
        print(name, goldens[name]["greedy_ids"], flush=True)
    write("tensors.json", {name: stored[name] for name in models.CASES if name in stored})
    write("goldens.json", {name: goldens[name] for name in ("made_with", *models.CASES)
                           if name in goldens})


if __name__ == "__main__":
    main()
