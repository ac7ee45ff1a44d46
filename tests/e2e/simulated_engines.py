# SPDX-License-Identifier: Apache-2.0
"""Engines for GPUs, built without one and run in the simulator: the reference's greedy tokens."""
import sys

import harness

LAYERS = "version: 1\nweights:\n  - {{match: 'model.layers.*', format: {0}}}\n" \
         "  - {{match: '*', format: bf16}}\n"
RECIPES = {
    "bf16": LAYERS.format("bf16") + "activations: bf16\nkv_cache: bf16\n",
    "w4a16": LAYERS.format("int4, group: 64") + "activations: bf16\nkv_cache: bf16\n",
    "int8": LAYERS.format("int8") + "activations: {compute: int8-dynamic, store: bf16}\n"
            "kv_cache: int8\n",
    "fp8": LAYERS.format("fp8") + "activations: {compute: fp8-dynamic, store: bf16}\n"
           "kv_cache: e4m3\n",
}
FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")


class SimulatedEngines(harness.BuildTest):
    """Chunks of 8 tokens are shorter than selftest's prompts, which also run together."""

    def prove(self, recipe, *architectures, beside=()):
        """`beside`: further targets of the engine, which are not run."""
        file = self.folder / "recipe.yaml"
        file.write_text(RECIPES[recipe])
        output = self.fresh(recipe) / "m.ingot"
        targets = [word for name in (*architectures, *beside) for word in ("--target", name)]
        self.assert_built(self.build(harness.FABLES, output, *targets, "--recipe", file,
                                     "--max-context", "256"), output)
        for name in architectures:
            result = self.ingot_run("selftest", output, "--simulate", name, "--max-tokens", 8,
                                    *(["--strict"] if name == "sm_90a" else []))
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertRegex(result.stdout, r"golden +passed")
            self.assertRegex(result.stdout, r"simulator +passed +no finding")
            self.assertIn(f"with target {name} ", result.stdout)
        return output

    def test_bf16(self):
        output = self.prove("bf16", "sm_80", *(["sm_89", "sm_90a"] if FULL else []))
        # An architecture that the engine was not built for.
        result = self.ingot_run("selftest", output, "--simulate", "sm_120a")
        self.assertEqual(result.returncode, 1)
        self.assertIn("INGOT-E5016", result.stderr)

    def test_w4a16(self):
        output = self.prove("w4a16", "sm_90a", *(["sm_80", "sm_89"] if FULL else []),
                            beside=["x86-64-v3"])
        for options in (["--no-graphs", "--no-dependent-launch"], ["--sync-each"]):
            result = self.ingot_run("selftest", output, "--simulate", "sm_90a", "--max-tokens", 8,
                                    *options)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertRegex(result.stdout, r"golden +passed")

    def test_int8(self):
        self.prove("int8", "sm_80", *(["sm_89", "sm_90a"] if FULL else []))

    def test_fp8(self):
        self.prove("fp8", "sm_120a", *(["sm_80", "sm_89", "sm_90a"] if FULL else []))

    def test_an_engine_without_ptx_is_smaller_and_is_refused(self):
        sizes = {}
        for name, options in (("with", ()), ("without", ("--no-ptx",))):
            output = self.fresh(name) / "m.ingot"
            self.assert_built(self.build(harness.FABLES, output, "--target", "sm_80",
                                         "--max-context", "256", "--random-weights", "1",
                                         *options), output)
            sizes[name] = output.stat().st_size
        self.assertLess(sizes["without"], 0.7 * sizes["with"])
        result = self.ingot_run("selftest", output, "--simulate", "sm_80")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "INGOT-E5012.*--no-ptx")
        result = self.ingot("verify", output, "--rebuild", harness.FABLES)
        self.assertEqual(result.returncode, 0, result.stdout)
        text = self.ingot_run("inspect", output, "--section", "provenance").stdout
        self.assertRegex(text, r"--no-ptx +yes +left out")


if __name__ == "__main__":
    harness.main()
