# SPDX-License-Identifier: Apache-2.0
"""Writes one layer of a model of tests/bench/shapes.py, and recipes with formats of the head.

usage: one_layer.py MODEL FOLDER
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests/bench"))
import shapes  # noqa: E402

RECIPE = """version: 1
weights:
  - {{match: 'model.layers.*', format: int4, group: 128}}
  - {{match: 'lm_head.weight', format: {}}}
  - {{match: '*', format: bf16}}
activations: bf16
kv_cache: bf16
"""

name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
shapes.MODELS[name]["num_hidden_layers"] = 1
shapes.write_model(folder, name)
for head in ("fp8", "int4, group: 128"):
    (folder / f"{head.split(',')[0]}.yaml").write_text(RECIPE.format(head))
