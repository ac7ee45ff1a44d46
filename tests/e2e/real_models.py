# SPDX-License-Identifier: Apache-2.0
"""Models as people download them, by default: their perplexity beside llama.cpp's by its own rule.

The files come from packages of the Python registry; llama.cpp's figures are of the same files and
text: the first 60,000 bytes of WikiText-2, windows of 512 tokens, the second half scored."""
import json
import pathlib
import unittest

import harness
import registry
from faulty_engines import with_wrong_product

TEXT = harness.ROOT.parent / "shared" / "data" / "wikitext-2-raw" / "wiki.test.raw"
BYTES = 60_000
CPU = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
SHARE = 1.005  # Of llama.cpp's perplexity, at most.
KEPT = harness.ROOT / "docs" / "results" / "accuracy-real.json"
NOISE = 0.002  # Of a kept figure: the kernels of another CPU may add up in another order.


def activations(compute, kv_cache="bf16"):
    return f"version: 1\nactivations: {compute}\nkv_cache: {kv_cache}\n"


# What is measured of each model, by the names in the table: a preset's, or the text of a recipe.
RECIPES = {
    "exact": "exact", "default": None,
    "int8-dynamic, groups of 64": activations("{compute: int8-dynamic, group: 64, store: bf16}"),
    "int8-dynamic, groups of 128": activations("{compute: int8-dynamic, group: 128, store: bf16}"),
    "int8-dynamic, one scale a token": activations("{compute: int8-dynamic, store: bf16}"),
    "activations in bf16": activations("bf16"),
    "KV cache in int8": "version: 1\nkv_cache: int8\n",
    "KV cache in e4m3": "version: 1\nkv_cache: e4m3\n",
    "KV cache in e5m2": "version: 1\nkv_cache: e5m2\n",
    "bf16": "bf16", "int8": "int8", "w8a8": "w8a8", "int4": "int4", "w4a8": "w4a8", "fp8": "fp8",
}


@unittest.skipUnless(TEXT.is_file(), "../shared/data is absent")
class RealModels(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_bytes(TEXT.read_bytes()[:BYTES])

    def perplexity(self, model, *options, recipe=()):
        engine = self.folder / "m.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--max-context", "512",
                                     "--max-sequences", "1", *recipe), engine)
        result = self.ingot_run("eval", engine, "--text", self.text, "--scoring", "second-half",
                                "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        value = json.loads(result.stdout)["perplexity"]
        print(f"{model.name} {' '.join(recipe) or 'by default'}: {value:.4f}", flush=True)
        return value

    def compare(self, model, llama_cpp, *options):
        """By default as good as llama.cpp; exact, it can only be better. Every recipe is as good as
        the table says."""
        kept = json.loads(KEPT.read_text())
        column = [entry["title"] for entry in kept["columns"]].index(model.stem)
        rows = {row[0]: row[column] for row in kept["rows"]}
        self.assertEqual(list(rows), list(RECIPES))
        found = {}
        for name, text in RECIPES.items():
            recipe = ()
            if text is not None:
                file = self.folder / "recipe.yaml"
                file.write_text(text)
                recipe = ("--recipe", file if text.startswith("version") else text)
            found[name] = self.perplexity(model, *options, recipe=recipe)
            with self.subTest(recipe=name):
                self.assertAlmostEqual(found[name], rows[name], delta=rows[name] * NOISE)
        self.assertLess(found["default"], llama_cpp * SHARE)
        self.assertLess(found["exact"], llama_cpp)

    def test_smollm2(self):
        model = registry.smollm2(self.folder)
        self.compare(model, 23.1886)

    @unittest.skipIf(" avx2" not in CPU, "this machine has no AVX2")
    def test_a_wrong_kernel_of_smollm2_is_found(self):
        model = registry.smollm2(self.folder)
        engine, wrong = self.folder / "m.ingot", self.folder / "wrong.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--target", "x86-64-v3",
                                     "--max-context", "512"), engine)
        result = self.ingot_run("selftest", engine)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        facts = json.loads(self.ingot_run("inspect", engine, "--json").stdout)
        with_wrong_product(engine, facts, "down_proj", wrong)
        result = self.ingot_run("selftest", wrong)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stdout, r"golden +FAILED")

    def test_gemma3(self):
        model = registry.gemma3(self.folder)
        self.compare(model, 16.3666, "--bos-each-window")


if __name__ == "__main__":
    harness.main()
