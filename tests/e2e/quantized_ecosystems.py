#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantized directories mean the same to Ingot and to the programs that their layouts come from:
transformers with compressed-tensors, GPTQModel, bitsandbytes and gguf, and ModelOpt's tensors
(build/torch_cpu, from scripts/setup --full), find the perplexity that `ingot-run eval` does, of
stored checkpoints and of what `ingot quantize` writes.

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
GGUF = DATA / "gguf" / "TinyStories-656K.f32.gguf"
TEXT = DATA / "text" / "tinystories_train_head_ascii.txt"
BYTES, WINDOW = 30_000, 256
APART = 0.005  # Of a perplexity, at most.
STORED = ["ct-w4a16-g64-sym", "awq-gemm-w4-g64", "gptq-w4-g32-sym",
          "gptq-w4-g32-sym-desc_act", "gptq-w8-g64-sym", "gptq_v2-w4-g32-asym"]
FP8 = 'version: 1\nweights: [{match: "*_proj*", format: fp8}]\n'
FP8_WHOLE = ('version: 1\nweights: [{match: "*_proj*", format: fp8, scale: tensor}]\n'
             'activations: {compute: fp8-static, store: f32}\n')
# Of `ingot quantize`: a recipe, what products are to read, options. Of ModelOpt's layout theirs are
# decoded, with inputs as they are.
WRITTEN = [("int4", "f32"), ("w4a16-awq", "f32"), ("w4a16-gptq", "f32", "--bits", 5),
           ("int8", "f32"), ("int8-sq", "int8-dynamic"), (FP8, "f32"), ("fp8", "fp8-dynamic"),
           ("fp8-static", "fp8-static"), (FP8_WHOLE, "fp8-static"), ("nvfp4", "f32"),
           ("mxfp4", "f32"), ("nf4", "f32"), ("fp4", "f32"),
           ("int4", "f32", "--format", "awq"), ("w4a16-awq", "f32", "--format", "awq"),
           ("int4", "f32", "--format", "gptq"), ("w4a16-awq", "f32", "--format", "gptq"),
           ("int8", "f32", "--format", "gptq"), ("int8", "f32", "--format", "modelopt"),
           ("fp8-static", "f32", "--format", "modelopt"),
           ("nvfp4", "f32", "--format", "modelopt")]
MIXES = ["q4_0", "q4_k_m", "q5_1", "q6_k", "iq4_xs"]
GIVEN = [pathlib.Path(argument).resolve() for argument in sys.argv[3:]]


@unittest.skipUnless(PYTHON.exists(), "scripts/setup --full installs torch")
@unittest.skipUnless(TEXT.is_file(), "../shared/data is absent")
class QuantizedEcosystems(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_bytes(TEXT.read_bytes()[:BYTES])
        self.few = ("--samples", 8, "--length", 128, "--calibration-text", self.text)

    def recipe(self, text):
        path = self.folder / "recipe.yaml"
        path.write_text(text)
        return path

    def theirs(self, model):
        offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(self.folder / "cache")}
        result = subprocess.run(
            [PYTHON, pathlib.Path(__file__).with_name("ecosystem_perplexity.py"), model, "--text",
             self.text, "--window", str(WINDOW)], capture_output=True, text=True,
            env=os.environ | offline, timeout=3 * harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stderr[-4000:])
        return json.loads(result.stdout.splitlines()[-1])

    def ours(self, model, reads):
        activations = reads if reads == "f32" else f"{{compute: {reads}, store: f32}}"
        recipe = self.recipe(f"version: 1\nactivations: {activations}\nkv_cache: f32\n")
        engine = self.folder / "m.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--recipe", recipe,
                                     "--max-context", WINDOW, "--max-sequences", "1"), engine)
        result = self.ingot_run("eval", engine, "--text", self.text, "--window", WINDOW,
                                "--scoring", "second-half", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def compare(self, model, reads="f32"):
        ours, theirs = self.ours(model, reads), self.theirs(model)
        print(f"{model.name}: {ours['perplexity']:.4f} by Ingot, {theirs['perplexity']:.4f} by "
              f"{', '.join(theirs['layers'])}", flush=True)
        for key in ("tokens", "scored_tokens"):
            self.assertEqual(ours[key], theirs[key], key)
        self.assertAlmostEqual(ours["perplexity"], theirs["perplexity"],
                               delta=APART * theirs["perplexity"])

    def quantized(self, model, name, recipe, *options):
        written = self.folder / name
        result = self.ingot("quantize", model, "-o", written, "--recipe", recipe, *options,
                            *self.few)
        self.assertEqual(result.returncode, 0, result.stdout)
        return written

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
        for i, (recipe, reads, *options) in enumerate(WRITTEN):
            with self.subTest(recipe=recipe, options=options):
                given = self.recipe(recipe) if recipe.startswith("version") else recipe
                self.compare(self.quantized(ORIGINAL, f"written-{i}", given, *options), reads)

    @unittest.skipIf(GIVEN, "directories are given")
    def test_gguf(self):
        for mix in MIXES:
            with self.subTest(mix=mix):
                self.compare(self.quantized(GGUF, f"{mix}.gguf", mix))


if __name__ == "__main__":
    harness.main()
