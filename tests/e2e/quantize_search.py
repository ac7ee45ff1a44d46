# SPDX-License-Identifier: Apache-2.0
"""`ingot quantize` and `ingot build` with a budget: it is kept to the byte, the mix is nearer to
the model than one format of that size, and the lockfile says the same again.
"""
import json
import re
import struct
import unittest

import harness
import quantizing

ROTATED = harness.ROOT.parent / "shared" / "data" / "TinyStories-656K-rot256"
GGUF = harness.ROOT.parent / "shared" / "data" / "gguf" / "TinyStories-656K.F16.gguf"
RECIPE = """version: 1
weights:
  - {match: "*embed*", format: stored}
  - {match: "*lm_head*", format: stored}
  - {match: "*", format: int4, group: %d}
activations: f32
kv_cache: f32
method: %s
"""
INT8 = """version: 1
weights:
  - {match: "*embed*", format: int8}
  - {match: "*down_proj*", format: int8}
activations: f32
kv_cache: f32
method: round-mse
"""
REASON = re.compile(r'  # ([\d.]+) bits a weight, (\d+) bytes, (\d+) fewer than stored; divergence '
                    r'(\S+?)(?:;.*)?\n  - match: "(\S+)"\n    format: (\S+)\n')


def tensors(folder):
    """Bytes of each tensor of a checkpoint in one file."""
    data = (folder / "model.safetensors").read_bytes()
    header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    header.pop("__metadata__", None)
    return {name: entry["data_offsets"][1] - entry["data_offsets"][0]
            for name, entry in header.items()}


def size(folder):
    return sum(tensors(folder).values())


def stated(lockfile):
    """Bytes of weights, bits of a weight, and divergence of a lockfile's head."""
    head = re.search(r"# (\d+) bytes of weights, ([\d.]+) bits a weight .*divergence ([\d.]+);",
                     lockfile.read_text())
    return int(head[1]), float(head[2]), float(head[3])


class QuantizeSearch(quantizing.QuantizingTest):
    def recipe(self, method, group=128):
        return self.write(f"{method}-{group}.yaml", RECIPE % (group, method))

    def search(self, recipe, name, *options, model=harness.FABLES):
        """A quantized model, and its lockfile."""
        folder = self.quantize(recipe, name, *self.few, *options, model=model)
        lockfile = self.folder / f"{name}.lock.yaml"
        self.assertFalse((self.folder / f"{name}.lock.yaml.partial").exists())
        return folder, lockfile

    def test_nearer_than_one_format(self):
        """Within the size of int4 in groups of 32 for all."""
        for method, share in [("round", 0.6), ("gptq", 0.85)]:
            uniform = self.quantize(self.recipe(method, 32), f"{method}-uniform")
            mix, lockfile = self.search(self.recipe(method), f"{method}-mix", "--target-size",
                                        size(uniform))
            self.assertLessEqual(size(mix), size(uniform))
            self.assertGreater(size(mix), 0.99 * size(uniform))
            self.assertEqual(size(mix), stated(lockfile)[0])
            found, other = self.divergence(mix), self.divergence(uniform)
            print(method, found, "one format:", other, "estimate:", stated(lockfile)[2], flush=True)
            self.assertLess(found, share * other)
            self.assertLess(abs(found - stated(lockfile)[2]), found)

    def test_lockfile(self):
        """It holds the reason of each choice, and is the recipe that makes the same model."""
        recipe = self.recipe("gptq")
        folder, lockfile = self.search(recipe, "one", "--bits", 5, "--threads", 1)
        # A text of another file, of which nothing is kept.
        self.few = (*self.few[:-1], self.write("copy.txt", self.calibration.read_text()))
        again, other = self.search(recipe, "two", "--bits", 5, "--threads", 2)
        self.assertEqual(lockfile.read_bytes(), other.read_bytes())
        whole = (folder / "model.safetensors").read_bytes()
        self.assertEqual(whole, (again / "model.safetensors").read_bytes())
        again = self.quantize(lockfile, "three")
        self.assertEqual(whole, (again / "model.safetensors").read_bytes())

        before, after = tensors(harness.FABLES), tensors(folder)
        reasons = REASON.findall(lockfile.read_text())
        self.assertEqual(len(reasons), 35)
        self.assertEqual({reason[5] for reason in reasons} - {"stored"}, {"int4", "int8"})
        divergence = 0
        for bits, count, saved, added, weight, chosen in reasons:
            module = weight.removesuffix(".weight")
            own = sum(length for name, length in after.items() if name.startswith(module + "."))
            self.assertEqual(own, int(count))
            self.assertEqual(before[weight] - own, int(saved))
            self.assertAlmostEqual(8 * own / (before[weight] / 2), float(bits), places=3)
            self.assertEqual(f"{module}.weight_packed" in after, chosen != "stored")
            divergence += float(added)
        weights, bits, total = stated(lockfile)
        self.assertEqual(weights, size(folder))
        self.assertLessEqual(bits, 5)
        self.assertGreater(bits, 4.98)
        self.assertAlmostEqual(divergence, total, delta=0.002 * total + 1e-5)

    def test_another_budget(self):
        """What was measured is kept: another budget chooses from it."""
        recipe, other = self.recipe("round"), self.write("b.txt", self.calibration.read_text())
        lockfiles = []
        for name, bits, text in [("one", 5, self.calibration), ("two", 6, self.calibration),
                                 ("three", 6, other)]:  # a file of its own, which counts as new
            lockfiles.append(self.folder / f"{name}.yaml")
            result = self.ingot("quantize", harness.FABLES, "-o", self.folder / name, "--recipe",
                                recipe, "--bits", bits, "--lockfile", lockfiles[-1], "--samples",
                                2, "--length", 64, "--calibration-text", text)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertEqual("sensitivity, layer 1 " in result.stdout, name != "two")
        first, second, third = (file.read_bytes() for file in lockfiles)
        self.assertEqual(second, third)
        self.assertNotEqual(first, second)

    @unittest.skipUnless(ROTATED.is_dir(), "../shared/data is absent")
    def test_divergences(self):
        """What is allowed less takes more bytes; f32 weights, scales and what is stored."""
        before = 0
        for allowed in (0.02, 0.0005):
            folder, lockfile = self.search(self.recipe("round-mse"), f"kl{allowed}", "--max-kl",
                                           allowed, model=ROTATED)
            weights, _, divergence = stated(lockfile)
            self.assertLessEqual(divergence, allowed)
            self.assertEqual(weights, size(folder))
            self.assertGreater(weights, before)
            before = weights
            found = self.ingot("build", folder, "-o", self.folder / "m.ingot", "--recipe", "exact",
                               "--max-context", 512, "--gate", "kl<=1", "--gate-model", ROTATED,
                               "--gate-text", self.text)
            self.assert_built(found, self.folder / "m.ingot")
            measured = float(re.search(r"KL divergence ([\d.]+)", found.stdout)[1])
            print(allowed, "estimate:", divergence, "measured:", measured, flush=True)
            self.assertLess(measured, 3 * allowed)
        self.assertLess(before, size(ROTATED))

    def test_build(self):
        """A build searches, and the lockfile builds the same engine."""
        recipe, cache = self.recipe("round"), self.folder / "cache"
        engine, lockfile = self.folder / "m.ingot", self.folder / "mix.yaml"
        common = ("--cache", cache, "--max-context", 512, "--max-sequences", 1)
        short = self.write("short.txt", self.calibration.read_text()[:20_000])
        built = self.ingot("build", harness.FABLES, "-o", engine, "--recipe", recipe, "--bits",
                           "4.5", "--lockfile", lockfile, "--calibration-text", short, *common)
        self.assert_built(built, engine)
        self.assertIn("estimated divergence", built.stdout)
        self.assertEqual(len(REASON.findall(lockfile.read_text())), 35)
        whole = engine.read_bytes()
        self.assert_built(self.ingot("build", harness.FABLES, "-o", engine, "--recipe", lockfile,
                                     *common), engine)
        self.assertEqual(engine.read_bytes(), whole)

    def test_int8(self):
        """A method decides int8 of layers, which the engine keeps; the builder rounds the rest."""
        engine = self.folder / "m.ingot"
        recipe = self.write("int8.yaml", INT8)
        built = self.ingot("build", harness.FABLES, "-o", engine, "--recipe", recipe,
                           "--max-context", 512, "--gate", "kl<=0.001", "--gate-text", self.text)
        self.assert_built(built, engine)
        inspected = json.loads(self.ingot_run("inspect", engine, "--json").stdout)
        rules = re.findall(r'match: "(\S+)"\n +format: (\S+)', inspected["provenance"]["recipe"])
        self.assertEqual(rules, [("*embed*", "int8"), ("*down_proj*", "int8")])

    def test_refused(self):
        recipe = self.recipe("round")
        for code, arguments in [
                ("E2131", ("--target-size", "1KiB")), ("E2131", ("--target-size", "1.5GiB")),
                ("E2131", ("--bits", 2)), ("E2131", ("--bits", 16)), ("E2131", ("--max-kl", 1e-12)),
                ("E2130", ("--bits", 5, "--format", "gptq")), ("E2132", ("--lockfile", "l.yaml")),
                ("E2103", ("--bits", 5, "--max-kl", 1)), ("E2103", ("--bits", 0)),
                ("E2103", ("--target-size", "1.5gallons")), ("E2103", ("--target-size", 0)),
                ("E2122", ("--bits", 5, "--max-build-memory", "128MiB"))]:
            with self.subTest(arguments=arguments):
                result = self.ingot("quantize", harness.FABLES, "-o", "x", "--recipe", recipe,
                                    *self.few, *arguments, cwd=self.folder)
                self.assertNotEqual(result.returncode, 0, result.stdout)
                self.assertIn(f"INGOT-{code}", result.stdout)
                self.assertEqual(list(self.folder.glob("x*")), [])
        result = self.ingot("build", harness.FABLES, "-o", self.folder / "m.ingot", "--bits", 5)
        self.assertIn("INGOT-E2103", result.stdout)
        result = self.ingot("quantize", GGUF, "-o", self.folder / "m.gguf", "--recipe", "q4_0",
                            "--bits", 5)
        self.assertIn("INGOT-E2130", result.stdout)


if __name__ == "__main__":
    harness.main()
