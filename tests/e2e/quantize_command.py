# SPDX-License-Identifier: Apache-2.0
"""`ingot quantize`, recipes that calibrate, `ingot build --gate` and `ingot bisect`, on the example
model: methods keep their order, layouts mean the same, runs go on, bytes are equal, budgets trip.
"""
import json
import os
import pathlib
import shutil
import struct
import unittest

import harness
import quantizing

DATA = harness.ROOT.parent / "shared" / "data"
GGUF = DATA / "gguf" / "TinyStories-656K.F16.gguf"
RECIPE = """version: 1
weights:
  - {match: "*embed*", format: stored}
  - {match: "*", format: int4, group: 128%s}
method: %s
"""


class QuantizeCommand(quantizing.QuantizingTest):
    def recipe(self, method, zeros=""):
        return self.write(f"{method}.yaml", RECIPE % (zeros, method))

    def test_methods(self):
        found = {}
        for method, zeros in [("round", ""), ("round-mse", ""), ("gptq", ""), ("awq", ""),
                              ("awq-gptq", ""), ("best", "")]:
            found[method] = self.divergence(self.quantize(self.recipe(method, zeros), method))
        print(found, flush=True)
        self.assertLess(found["round-mse"], 2 * found["round"])
        self.assertLess(found["awq"], 0.9 * found["round"])
        for method in ("gptq", "awq-gptq", "best"):
            self.assertLess(found[method], 0.6 * found["round"])

    def test_layouts(self):
        """The same matrices in three layouts: scales are bf16 in one and f16 in the others."""
        recipe, found = self.recipe("round", ", zero_points: true"), {}
        for layout in ("compressed-tensors", "awq", "gptq"):
            folder = self.quantize(recipe, layout, "--format", layout)
            config = json.loads((folder / "config.json").read_text())["quantization_config"]
            self.assertEqual(config["quant_method"], layout)
            self.assertTrue((folder / "tokenizer.json").is_file())
            found[layout] = self.evaluated(self.engine(folder))["perplexity"]
        print(found, flush=True)
        self.assertEqual(found["awq"], found["gptq"])
        self.assertAlmostEqual(found["awq"], found["compressed-tensors"],
                               delta=0.005 * found["awq"])

    def test_equal_bytes(self):
        """With any number of threads, and on any level of the processor."""
        whole = {}
        for threads, target in [(1, "x86-64-v3"), (2, "native"), (3, "native")]:
            folder = self.quantize(self.recipe("best"), f"t{threads}", "--threads", threads,
                                   "--target", target, *self.few)
            whole[threads] = (folder / "model.safetensors").read_bytes()
        self.assertEqual(whole[1], whole[2])
        self.assertEqual(whole[1], whole[3])

    def test_going_on(self):
        """A run that was killed goes on at its layer, to the same bytes."""
        recipe, output = self.recipe("gptq"), self.folder / "killed"
        command = [harness.programs / "ingot", "quantize", harness.FABLES, "-o", output, "--recipe",
                   recipe, *map(str, self.few)]
        second = pathlib.Path(f"{output}.partial") / "layer-1.0.safetensors"
        self.assertTrue(quantizing.kill_behind(second, command),
                        "the run ended before it was killed")
        self.assertFalse(output.exists())
        result = self.ingot(*map(str, command[1:]))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, "going on behind layer [1-4] of 5")
        whole = self.quantize(recipe, "whole")
        self.assertEqual((output / "model.safetensors").read_bytes(),
                         (whole / "model.safetensors").read_bytes())

    def test_recipe_of_a_build(self):
        """A build with a recipe that calibrates keeps the quantized checkpoint in its cache."""
        recipe, cache = self.recipe("gptq"), self.folder / "cache"
        command = ("--recipe", recipe, "--calibration-text", self.calibration, "--cache", cache,
                   "--max-context", 512, "--max-sequences", 1)
        engine = self.folder / "built.ingot"
        first = self.ingot("build", harness.FABLES, "-o", engine, *command)
        self.assert_built(first, engine)
        self.assertIn("layer 5 of 5", first.stdout)
        self.assertRegex(first.stdout, "calibrated on .* in calibration.txt, seed 0")
        whole = engine.read_bytes()
        again = self.ingot("build", harness.FABLES, "-o", engine, *command)
        self.assert_built(again, engine)
        self.assertNotIn("layer 5 of 5", again.stdout)
        self.assertEqual(engine.read_bytes(), whole)
        found = self.evaluated(engine)
        self.assertLess(found["divergence"]["mean"], 0.01)

    def test_refused(self):
        recipe = self.recipe("gptq")
        there = self.folder / "there"
        there.mkdir()
        short = self.write("short.txt", "Too short.")
        none = self.write("none.yaml", "version: 1\nmethod: gptq\n")
        for code, arguments in [
                ("E2112", (harness.FABLES, "-o", there, "--recipe", recipe)),
                ("E2117", (harness.FABLES, "-o", "x", "--recipe", recipe, "--imatrix", short)),
                ("E2120", (harness.FABLES, "-o", "x", "--recipe", recipe, "--calibration-text",
                           short)),
                ("E2113", (harness.FABLES, "-o", "x", "--recipe", recipe, "--length", 4096)),
                ("E2122", (harness.FABLES, "-o", "x", "--recipe", recipe, "--max-build-memory",
                           "128MiB")),
                ("E2106", (harness.FABLES, "-o", "x", "--recipe", none, *self.few)),
                ("E2103", (harness.FABLES, "-o", "x", "--recipe", recipe, "--format", "exl2"))]:
            with self.subTest(code=code):
                result = self.ingot("quantize", *arguments, cwd=self.folder)
                self.assertNotEqual(result.returncode, 0, result.stdout)
                self.assertIn(f"INGOT-{code}", result.stdout)
                self.assertFalse((self.folder / "x").exists())
        folder = self.quantize(self.recipe("round"), "once", "--threads", 2)
        again = self.ingot("quantize", folder, "-o", self.folder / "twice", "--recipe", recipe)
        self.assertIn("INGOT-E2105", again.stdout)

    def damaged(self, folder, module):
        """A copy in which all scales of a module are four times as large."""
        copy = self.folder / "damaged"
        shutil.copytree(folder, copy)
        path = copy / "model.safetensors"
        data = bytearray(path.read_bytes())
        size = struct.unpack("<Q", data[:8])[0]
        begin, end = json.loads(data[8:8 + size])[f"{module}.weight_scale"]["data_offsets"]
        for at in range(8 + size + begin, 8 + size + end, 2):
            # bf16 times four: the exponent plus two.
            number = struct.unpack_from("<H", data, at)[0]
            struct.pack_into("<H", data, at, number + (2 << 7))
        path.write_bytes(data)
        return copy

    def gated(self, folder, gate, *options):
        engine = self.fresh(f"gated-{len(os.listdir(self.folder))}") / "m.ingot"
        result = self.ingot("build", folder, "-o", engine, "--recipe",
                            self.write("plain.yaml", quantizing.PLAIN), "--max-context", 512,
                            "--gate", gate, "--gate-model", harness.FABLES, "--gate-text",
                            self.text, *options)
        return result, engine

    def test_gate(self):
        good = self.quantize(self.recipe("gptq"), "good")
        budget = "kl<=0.02,ppl<=+3%,top1>=90%,p99<=0.5,layer<=0.2"
        result, engine = self.gated(good, budget)
        self.assert_built(result, engine)
        self.assertEqual(os.listdir(engine.parent), ["m.ingot"])
        kept = self.ingot_run("inspect", engine, "--json")
        self.assertIn("kl<=0.02", kept.stdout)

        module = "model.layers.3.mlp.down_proj"
        bad = self.damaged(good, module)
        result, engine = self.gated(bad, budget)
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("INGOT-E2119", result.stdout)
        self.assertRegex(result.stdout, r"parts that differ most: layers\.3 ")
        self.assertEqual(os.listdir(engine.parent), ["m.ingot.refused"])

        found = self.ingot("bisect", f"{engine}.refused", harness.FABLES, "--text", self.text)
        self.assertEqual(found.returncode, 3, found.stdout)
        self.assertIn("layers.3 is the first part", found.stdout)
        fine = self.ingot("bisect", self.engine(good), harness.FABLES, "--text", self.text)
        self.assertEqual(fine.returncode, 0, fine.stdout)
        for wrong in ("kl<0.1", "ppl<=1.5", "speed<=1", "kl<=-1", "top1<=90%"):
            result, engine = self.gated(good, wrong)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("INGOT-E2118", result.stdout)

    @unittest.skipUnless(GGUF.is_file(), "../shared/data is absent")
    def test_mix_of_a_build(self):
        """A mix's name as a build's recipe: the engine of the file that `ingot quantize` writes,
        which the cache keeps."""
        text = ("--calibration-text", self.text)
        file, alone = self.fresh("alone") / GGUF.name, self.folder / "alone.ingot"
        result = self.ingot("quantize", GGUF, "-o", file, "--recipe", "q4_k_m", *text)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assert_built(self.build(file, alone), alone)
        command = ("--recipe", "q4_k_m", *text, "--cache", self.folder / "cache")
        engine = self.folder / "built.ingot"
        for measures in (True, False):
            result = self.build(GGUF, engine, *command)
            self.assert_built(result, engine)
            self.assertEqual("importance, layer 2 of 2" in result.stdout, measures, result.stdout)
            self.assertEqual(engine.read_bytes(), alone.read_bytes())
        other = self.write("other.txt", self.text.read_text()[:10_000])
        result = self.build(GGUF, engine, *command[:3], other, *command[4:])
        self.assertIn("importance, layer 2 of 2", result.stdout)
        self.assertNotEqual(engine.read_bytes(), alone.read_bytes())
        cache = ("--cache", self.folder / "cache")
        self.assertIn("quantized first: 2, ", self.ingot("cache", "list", *cache).stdout)
        self.assertIn(", 2 quantized models, ", self.ingot("cache", "clear", *cache).stdout)
        self.assertEqual(os.listdir(self.folder / "cache" / "quantized"), [])
        result = self.ingot("verify", alone, "--rebuild", file)
        self.assertEqual(result.returncode, 0, result.stdout)
        result = self.ingot("verify", alone, "--rebuild", DATA / "TinyStories-656K")
        self.assertIn(f"INGOT-E3203: the engine was made from another model: its {GGUF.name} is "
                      "not there", result.stdout)
        result = self.ingot("quantize", GGUF, "-o", self.folder / "x", "--recipe", "q4_k_m",
                            "--length", 513)
        self.assertIn("INGOT-E2113", result.stdout)

        none = self.fresh("none") / "m.ingot"
        # What is quantized already is quantized again where that is asked for.
        again = ("quantize", file, "-o", self.folder / "again.gguf", "--recipe", "q6_k", *text)
        for result in self.ingot(*again), self.build(file, none, "--recipe", "q6_k", *text):
            self.assert_refused(result, none, "INGOT-E2105: .* tensors are quantized already")
        result = self.ingot(*again, "--allow-requantize")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("tensors are quantized already", result.stdout)
        result = self.build(file, self.folder / "int8.ingot", "--recipe", "int8")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("more: quantized again", result.stdout)
        for code, model, *options in [("E2130", GGUF, "--bits", 5), ("E2130", GGUF, "--max-kl", 1),
                                      ("E2130", GGUF, "--lockfile", "l.yaml"),
                                      ("E2115", GGUF, "--lora", self.folder)]:
            with self.subTest(code=code, options=options):
                self.assert_refused(self.build(model, none, "--recipe", "q4_k_m", *options), none,
                                    f"INGOT-{code}")
        result = self.ingot("plan", GGUF, "--recipe", "q4_k_m")
        self.assertIn("INGOT-E2156", result.stdout)
        self.assertRegex(self.ingot("build", "--help-all").stdout,
                         "(?s)recipes by name:.* q4_k_m,.* q5_k_m,")

    @unittest.skipUnless(GGUF.is_file(), "../shared/data is absent")
    def test_mix_of_a_folder(self):
        """The weights are those of the file that llama.cpp converted; a build makes the same."""
        text, engines = ("--calibration-text", self.text), []
        for model in (DATA / "TinyStories-656K", DATA / "gguf" / "TinyStories-656K.f32.gguf"):
            file = self.fresh(model.suffix[1:] or "folder") / "TinyStories-656K.gguf"
            result = self.ingot("quantize", model, "-o", file, "--recipe", "q4_k_m", *text)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertEqual(os.listdir(file.parent), [file.name])
            # Pieces of this tokenizer merge in fewer ways than a GGUF file can say.
            self.assertEqual("other merges" in result.stdout, not model.suffix, result.stdout)
            engines.append(file.with_suffix(".ingot"))
            self.assert_built(self.build(file, engines[-1]), engines[-1])
        self.assertEqual(self.differing(*engines) & {"weights", "programs", "memory"}, set())
        built = self.folder / "built.ingot"
        result = self.build(DATA / "TinyStories-656K", built, "--recipe", "q4_k_m", *text,
                            "--no-cache")
        self.assert_built(result, built)
        self.assertEqual(built.read_bytes(), engines[0].read_bytes())
        self.assertFalse(pathlib.Path(f"{built}.quantized").exists())
        result = self.ingot("quantize", harness.FABLES, "-o", self.folder / "x", "--recipe",
                            "q4_k_m", "--format", "awq")
        self.assertIn("INGOT-E2159", result.stdout)

    @unittest.skipUnless(GGUF.is_file(), "../shared/data is absent")
    def test_gguf(self):
        """A mix with importance measured here, or read from what was kept, is the same file."""
        measured, read = self.folder / "measured.gguf", self.folder / "read.gguf"
        matrix = self.folder / "my.imatrix"
        result = self.ingot("quantize", GGUF, "-o", measured, "--recipe", "q4_0",
                            "--imatrix-output", matrix, *self.few)
        self.assertEqual(result.returncode, 0, result.stdout)
        result = self.ingot("quantize", GGUF, "-o", read, "--recipe", "q4_0", "--imatrix", matrix)
        self.assertEqual(result.returncode, 0, result.stdout)
        size = measured.stat().st_size
        self.assertLess(size, 0.45 * GGUF.stat().st_size)
        # Only the name of what importance came from differs.
        self.assertLess(abs(size - read.stat().st_size), 256)
        self.assertEqual(measured.read_bytes()[-size // 2:], read.read_bytes()[-size // 2:])
        self.assert_built(self.build(measured, self.folder / "m.ingot"), self.folder / "m.ingot")
        result = self.ingot("quantize", GGUF, "-o", self.folder / "x", "--recipe", "q9")
        self.assertIn("INGOT-E2116", result.stdout)


if __name__ == "__main__":
    harness.main()
