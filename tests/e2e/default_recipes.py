# SPDX-License-Identifier: Apache-2.0
"""What a build without a recipe computes in, by checkpoint and target, and recipes by name."""
import json
import re
import unittest

import harness

DATA = harness.ROOT.parent / "shared" / "data"
FABLES = harness.FABLES
INT8 = "activations of int8 in groups of 32, KV cache of bf16"
BF16 = "activations and KV cache of bf16"


class DefaultRecipesTest(harness.BuildTest):
    def report(self, model, *options):
        """The report's entry on the recipe, and the text of the recipe that the engine has."""
        folder = self.fresh(f"built{len(list(self.folder.iterdir()))}")
        engine, path = folder / "engine.ingot", folder / "report.json"
        result = self.ingot("build", model, "-o", engine, "--report", path, *options)
        self.assert_built(result, engine)
        report = json.loads(path.read_text())
        entry = next(option for option in report["provenance"]["options"]
                     if option["name"] == "--recipe")
        self.assertIn(f"recipe {entry['effective']}", " ".join(
            word for word in result.stdout.split()
            if word != "s" and not re.fullmatch(r"\d+\.\d\d", word)))
        inspected = self.ingot_run("inspect", engine, "--json")
        self.assertEqual(inspected.returncode, 0, inspected.stderr)
        return entry, json.loads(inspected.stdout)["provenance"]["recipe"]

    def differ(self, model):
        """What the error says of a GPU and a CPU in one engine."""
        engine = self.fresh(f"refused{len(list(self.folder.iterdir()))}") / "engine.ingot"
        result = self.ingot("build", model, "-o", engine, "--target", "sm_90a",
                            "--target", "x86-64-v3")
        self.assert_refused(result, engine, "INGOT-E2104")
        return result.stdout

    def test_unquantized_checkpoints_keep_their_type(self):
        entry, recipe = self.report(FABLES, "--target", "x86-64-v3")
        self.assertEqual(entry["asked"], "")
        self.assertEqual(recipe, "version: 1\nweights: []\nactivations: bf16\nkv_cache: bf16\n")

    @unittest.skipUnless(DATA.is_dir(), "../shared/data is absent")
    def test_quantized_checkpoints_use_integers_on_cpus_and_16_bits_on_gpus(self):
        for model in ("gguf/TinyStories-656K.Q4_0.gguf", "gguf/rot256.Q4_K_M.gguf"):
            entry, recipe = self.report(DATA / model, "--target", "x86-64-v3")
            self.assertEqual(entry["effective"], INT8)
            self.assertEqual(
                recipe, "version: 1\nweights: []\n"
                "activations: {compute: int8-dynamic, store: bf16, group: 32}\nkv_cache: bf16\n")
            text = self.differ(DATA / model)
            self.assertIn(f"sm_90a ({BF16})", text)
            self.assertIn(f"x86-64-v3 ({INT8})", text)

    @unittest.skipUnless(DATA.is_dir(), "../shared/data is absent")
    def test_f32_is_kept_on_cpus_and_bf16_on_gpus(self):
        text = self.differ(DATA / "gguf" / "TinyStories-656K.f32.gguf")
        self.assertIn("sm_90a (everything in bf16)", text)
        self.assertIn("x86-64-v3 (exact)", text)

    @unittest.skipUnless(DATA.is_dir(), "../shared/data is absent")
    def test_f16_of_a_gguf_file_is_computed_in_bf16(self):
        _, recipe = self.report(DATA / "gguf" / "TinyStories-656K.F16.gguf", "--target",
                                "x86-64-v3")
        self.assertIn("activations: bf16\nkv_cache: bf16\n", recipe)

    @unittest.skipUnless(DATA.is_dir(), "../shared/data is absent")
    def test_what_a_checkpoint_was_quantized_for_is_kept(self):
        entry, recipe = self.report(DATA / "quantized" / "ct-w8a8-int8-dynamic", "--target",
                                    "x86-64-v3")
        self.assertEqual(entry["effective"], "exact")
        self.assertIn("compute: int8-dynamic", recipe)
        self.assertIn("group: token", recipe)

    def test_recipes_by_name(self):
        entry, recipe = self.report(FABLES, "--target", "reference", "--recipe", "w4a8")
        self.assertEqual((entry["asked"], entry["effective"]), ("w4a8", "w4a8"))
        self.assertIn("group: 32", recipe)
        engine = self.fresh("none") / "engine.ingot"
        result = self.ingot("build", FABLES, "-o", engine, "--recipe", "w4a")
        self.assert_refused(result, engine, "INGOT-E2012")
        self.assertIn("w4a8", result.stdout)


if __name__ == "__main__":
    harness.main()
