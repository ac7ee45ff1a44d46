#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The 16-bit originals that tests/tools/make_originals.py makes of real models compute what the
GGUF files do: their tokens are the same, and so is their perplexity, up to the rounding to bf16.

Made with the package gguf (build/gguf, from scripts/setup --full)."""
import json
import subprocess
import unittest

import harness
import registry

PYTHON = harness.ROOT / "build" / "gguf" / "bin" / "python"
MAKE = harness.ROOT / "tests" / "tools" / "make_originals.py"
TEXT = harness.ROOT.parent / "shared" / "data" / "wikitext-2-raw" / "wiki.test.raw"
BYTES = 60_000
APART = {"f32": 0.0002, "bf16": 0.003}  # Of the file's perplexity, at most.
F32 = ('version: 1\nweights: [{match: "*", format: f32}]\nactivations: f32\nkv_cache: f32\n')
PROMPTS = ["naïve café — 3.14159, 2026!\n\n\n\tdef f(x):\n        return x**2  # 你好 😀👩‍👩‍👧\r\n",
           "   leading  spaces\n \n", "<start_of_turn>user\nHi<end_of_turn> <|im_start|>",
           "I'll you've DON'T ١٢٣ ½ ４５ مرحبا อักษรไทย"]


@unittest.skipUnless(PYTHON.exists(), "scripts/setup --full installs gguf")
@unittest.skipUnless(TEXT.is_file(), "../shared/data is absent")
class Originals(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_bytes(TEXT.read_bytes()[:BYTES])
        self.prompts = self.folder / "prompts"
        parts = self.text.read_text(encoding="utf-8")
        self.prompts.write_text("".join(
            json.dumps({"prompt": prompt, "max_tokens": 1, "prompt_logprobs": 0}) + "\n"
            for prompt in [*PROMPTS, *(parts[i:i + 900] for i in range(0, 50_000, 5000))]))
        self.recipe = self.folder / "f32.yaml"
        self.recipe.write_text(F32)

    def build(self, model, recipe):
        engine = self.folder / "m.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--max-context", "512",
                                     "--max-sequences", "1", "--recipe", recipe), engine)
        return engine

    def tokens(self, engine, *options):
        result = self.ingot_run(engine, "--prompts", self.prompts, "--greedy", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        answers = sorted(map(json.loads, result.stdout.splitlines()), key=lambda one: one["id"])
        return [[token and token["token"] for token in answer["prompt_logprobs"]]
                for answer in answers]

    def measure(self, engine, options):
        result = self.ingot_run("eval", engine, "--text", self.text, "--scoring", "second-half",
                                "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        return {"perplexity": found["perplexity"], "tokens": found["tokens"],
                "plain": self.tokens(engine), "special": self.tokens(engine, "--parse-special")}

    def compare(self, model, *options):
        file = self.measure(self.build(model, "exact"), options)
        self.assertGreater(min(map(len, file["plain"])), 3)
        for kind, apart in APART.items():
            folder = self.folder / kind
            subprocess.run([PYTHON, MAKE, model, folder, "--type", kind], check=True,
                           timeout=harness.LIMIT)
            made = self.measure(self.build(folder, self.recipe), options)
            print(f"{model.stem}: {file['perplexity']:.5f}, in {kind} {made['perplexity']:.5f}",
                  flush=True)
            with self.subTest(kind=kind):
                for key in ("tokens", "plain", "special"):
                    self.assertEqual(made[key], file[key])
                self.assertAlmostEqual(made["perplexity"], file["perplexity"],
                                       delta=apart * file["perplexity"])

    def test_smollm2(self):
        self.compare(registry.smollm2(self.folder))

    def test_gemma3(self):
        self.compare(registry.gemma3(self.folder), "--bos-each-window")


if __name__ == "__main__":
    harness.main()
