# SPDX-License-Identifier: Apache-2.0
"""Engines for GPUs, built without one and run in the simulator: the reference's greedy tokens."""
import json
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
            result = self.ingot_run("selftest", output, "--simulate", name,
                                    "--max-batch-tokens", 8,
                                    *(["--strict"] if name == "sm_90a" else []))
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertRegex(result.stdout, r"golden +passed")
            self.assertRegex(result.stdout, r"simulator +passed +no finding")
            self.assertIn(f"with target {name} ", result.stdout)
        return output

    def draw_alike(self, output):
        """What a request excludes, and what its prompt scores, is the same on every target."""
        common = {"prompt": "Once upon a time", "temperature": 0, "max_tokens": 8}
        first = self.answers(output, [common], "--target", "reference")[0]
        word, token = first["text"].split()[2], first["tokens"][2]
        requests = [
            common, {**common, "prompt_logprobs": 2},
            {**common, "bad_words": [word, [token], first["tokens"][3:5]]},
            {**common, "prompt": "the fox and the fox and", "no_repeat_ngram_size": 2},
            {**common, "allowed_tokens": first["tokens"][1:3], "no_repeat_ngram_size": 2,
             "max_tokens": 4},
            {**common, "stop_tokens": [token], "min_tokens": 5},
            {**common, "stop": [word], "min_tokens": 2, "include_stop": True}]
        wanted = self.answers(output, requests, "--target", "reference")
        self.assertEqual(wanted[0], first)
        self.assertEqual(wanted[1]["tokens"], first["tokens"])
        self.assertNotIn(word, wanted[2]["text"].split())
        self.assertNotIn(token, wanted[2]["tokens"])
        pairs = list(zip(wanted[4]["tokens"], wanted[4]["tokens"][1:]))
        self.assertEqual(len(set(pairs)), 3, pairs)
        self.assertNotIn(token, wanted[5]["tokens"][:5])
        self.assertIn(word, wanted[6]["text"])
        for options in (["--target", "x86-64-v3"], ["--simulate", "sm_90a"]):
            answers = self.answers(output, requests, *options, "--max-batch-tokens", 8)
            scores = [answer.pop("prompt_logprobs", None) for answer in answers]
            self.assertEqual(answers, [{key: answer[key] for key in answer
                                        if key != "prompt_logprobs"} for answer in wanted])
            self.assertEqual(scores[1][0], None)
            for one, other in zip(scores[1][1:], wanted[1]["prompt_logprobs"][1:], strict=True):
                self.assertEqual(one["token"], other["token"])
                self.assertAlmostEqual(one["logprob"], other["logprob"], delta=0.05)
                self.assertEqual(len(one["top"]), 2)

    def answers(self, output, requests, *options):
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text("\n".join(json.dumps(request) for request in requests))
        result = self.ingot_run(output, "--prompts", prompts, *options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return sorted(map(json.loads, result.stdout.splitlines()), key=lambda answer: answer["id"])

    def test_bf16(self):
        output = self.prove("bf16", "sm_80", *(["sm_89", "sm_90a"] if FULL else []))
        # An architecture that the engine was not built for.
        result = self.ingot_run("selftest", output, "--simulate", "sm_120a")
        self.assertEqual(result.returncode, 1)
        self.assertIn("INGOT-E5016", result.stderr)

    def test_w4a16(self):
        output = self.prove("w4a16", "sm_90a", *(["sm_80", "sm_89"] if FULL else []),
                            beside=["x86-64-v3", "reference"])
        self.draw_alike(output)
        for options in (["--no-graphs", "--no-dependent-launch"], ["--sync-each"]):
            result = self.ingot_run("selftest", output, "--simulate", "sm_90a",
                                    "--max-batch-tokens", 8, *options)
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
