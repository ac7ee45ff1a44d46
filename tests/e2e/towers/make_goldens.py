#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tensors.json and goldens.json: what a checkpoint of every tower has, and what transformers
answers to its prompts.

usage: make_goldens.py [NAME ...]   only these towers; the others stay as they are
"""
import json
import pathlib
import sys
import tempfile

import numpy
import PIL.Image
import safetensors
import torch
import torchvision.transforms.v2.functional
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import made_towers  # noqa: E402
from towers import checkpoint  # noqa: E402

KEPT = 5  # Logarithms of probabilities of a step, the best ones.


def resized(picture, size, interpolation, **_):
    """As Pillow does it, where torchvision may differ by one of 255; not to wider and flatter, for
    Pillow has another order then."""
    _, height, width = picture.shape[-3:]
    assert size[1] <= width or size[0] >= height
    if not isinstance(interpolation, int):  # Some give Pillow's numbers.
        interpolation = PIL.Image.Resampling[interpolation.value.upper()]
    pixels = picture.reshape(3, height, width).permute(1, 2, 0).numpy()
    image = PIL.Image.fromarray(pixels).resize((size[1], size[0]), interpolation)
    made = torch.from_numpy(numpy.array(image)).permute(2, 0, 1)
    return made.reshape(*picture.shape[:-2], *size)


torchvision.transforms.v2.functional.resize = resized


def tensors(tower):
    """Name to shape of what transformers writes of such a model."""
    config = dict(tower.config)
    config.pop("architectures")
    config = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    model = transformers.AutoModelForImageTextToText.from_config(config, dtype=torch.float32)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        with safetensors.safe_open(pathlib.Path(folder) / "model.safetensors", "pt") as file:
            return {name: list(file.get_slice(name).get_shape()) for name in sorted(file.keys())}


def load(folder):
    model, report = transformers.AutoModelForImageTextToText.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[kind], (kind, report[kind])
    return model.eval(), transformers.AutoProcessor.from_pretrained(folder)


def answer(model, processor, cache, text, pictures):
    inputs = processor(text=[text], images=[pictures], return_tensors="pt",
                       add_special_tokens=False)
    given = inputs["input_ids"].shape[1]
    with torch.no_grad():
        out = model.generate(**inputs, max_new_tokens=checkpoint.TOKENS, do_sample=False,
                             eos_token_id=None, output_scores=True, return_dict_in_generate=True,
                             cache_implementation=cache)
    steps = []
    for scores in out.scores:
        best = torch.topk(torch.log_softmax(scores[0].double(), -1), KEPT)
        steps.append({"ids": best.indices.tolist(),
                      "logprobs": [round(one, 5) for one in best.values.tolist()]})
    return {"prompt_tokens": given, "ids": out.sequences[0, given:].tolist(),
            "margins": [round(step["logprobs"][0] - step["logprobs"][1], 5) for step in steps],
            "first": steps[0], "last": steps[-1]}


def run(name, names, seed):
    tower = made_towers.TOWERS[name]
    # With this cache unified models have the masks of others: without it, transformers lets tokens
    # of pictures see each other in full layers too, which Google's Gemma does not.
    cache = "static" if name == "gemma4_unified" else None
    with tempfile.TemporaryDirectory() as folder:
        checkpoint.write(pathlib.Path(folder), tower, names, seed)
        model, processor = load(folder)
    return [answer(model, processor, cache, *prompt) for prompt in tower.prompts()]


def write(name, content):
    """JSON with a line for each model."""
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    (checkpoint.FOLDER / name).write_text("{" + ",\n".join(lines) + "}\n")


def main():
    wanted = sys.argv[1:] or list(made_towers.TOWERS)
    stored, goldens = checkpoint.stored("tensors.json"), checkpoint.stored("goldens.json")
    goldens["made_with"] = f"transformers {transformers.__version__}"
    for name in wanted:
        tower = made_towers.TOWERS[name]
        stored[name] = tensors(tower)
        goldens[name] = {str(seed): run(name, stored[name], seed) for seed in checkpoint.SEEDS}
        for seed, cases in goldens[name].items():
            print(name, seed, [(case["prompt_tokens"], case["ids"], min(case["margins"]))
                               for case in cases], flush=True)
    order = ["made_with", *made_towers.TOWERS]
    write("tensors.json", {name: stored[name] for name in order if name in stored})
    write("goldens.json", {name: goldens[name] for name in order if name in goldens})


if __name__ == "__main__":
    main()
