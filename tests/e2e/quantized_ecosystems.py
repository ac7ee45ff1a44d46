#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantized directories mean the same to Ingot and to the programs that their layouts come from:
transformers with compressed-tensors and GPTQModel (build/torch_cpu, from scripts/setup --full)
find the perplexity that `ingot-run eval` does, of stored checkpoints and of what `ingot quantize`
writes.

usage: quantized_ecosystems.py PROGRAMS TOOLS [DIR ...]     with DIRs: of these alone
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

import harness

PYTHON = harness.ROOT / "build" / "torch_cpu" / "bin" / "python"
DATA = harness.ROOT.parent / "shared" / "data"
ORIGINAL = DATA / "TinyStories-656K"
TEXT = DATA / "text" / "tinystories_train_head_ascii.txt"
BYTES, WINDOW = 30_000, 256
APART = 0.005  # Of a perplexity, at most.
RECIPE = "version: 1\nactivations: f32\nkv_cache: f32\n"
STORED = ["ct-w4a16-g64-sym", "awq-gemm-w4-g64", "gptq-w4-g32-sym",
          "gptq-w4-g32-sym-desc_act", "gptq-w8-g64-sym", "gptq_v2-w4-g32-asym"]
FORMATS = ["compressed-tensors", "awq", "gptq"]  # Of `ingot quantize`.
GIVEN = [pathlib.Path(argument).resolve() for argument in sys.argv[3:]]


@unittest.skipUnless(PYTHON.exists(), "scripts/setup --full installs torch")
@unittest.skipUnless(TEXT.is_file(), "../shared/data is absent")
class QuantizedEcosystems(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_bytes(TEXT.read_bytes()[:BYTES])
        self.recipe = self.folder / "recipe.yaml"
        self.recipe.write_text(RECIPE)

    def theirs(self, model):
        offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(self.folder / "cache")}
        result = subprocess.run(
            [PYTHON, pathlib.Path(__file__).with_name("ecosystem_perplexity.py"), model, "--text",
             self.text, "--window", str(WINDOW)], capture_output=True, text=True,
            env=os.environ | offline, timeout=3 * harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stderr[-4000:])
        return json.loads(result.stdout.splitlines()[-1])

    def ours(self, model):
        engine = self.folder / "m.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--recipe", self.recipe,
                                     "--max-context", WINDOW, "--max-sequences", "1"), engine)
        result = self.ingot_run("eval", engine, "--text", self.text, "--window", WINDOW,
                                "--scoring", "second-half", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def compare(self, model):
        ours, theirs = self.ours(model), self.theirs(model)
        print(f"{model.name}: {ours['perplexity']:.4f} by Ingot, {theirs['perplexity']:.4f} by "
              f"{', '.join(theirs['layers'])}", flush=True)
        for key in ("tokens", "scored_tokens"):
            self.assertEqual(ours[key], theirs[key], key)
        self.assertAlmostEqual(ours["perplexity"], theirs["perplexity"],
                               delta=APART * theirs["perplexity"])

    @unittest.skipUnless(GIVEN, "no directories are given")
    def test_given(self):
        for model in GIVEN:
            with self.subTest(model=model):
                self.compare(model)

    @unittest.skipIf(GIVEN, "directories are given")
    def test_stored(self):
        for name in STORED:
            with self.subTest(model=name):
                self.compare(DATA / "quantized" / name)

    @unittest.skipIf(GIVEN, "directories are given")
    def test_written(self):
        if "quantize" not in self.ingot("--help").stdout.split():
            self.skipTest("ingot has no command quantize")
        for name in FORMATS:
            with self.subTest(format=name):
                written = self.folder / name
                result = self.ingot("quantize", ORIGINAL, "-o", written, "--recipe", "int4",
                                    "--format", name)
                self.assertEqual(result.returncode, 0, result.stdout)
                self.compare(written)


if __name__ == "__main__":
    harness.main()
