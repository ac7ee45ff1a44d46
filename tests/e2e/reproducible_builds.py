# SPDX-License-Identifier: Apache-2.0
"""Equal inputs give equal bytes; the memory cap is kept or refused; one file, many targets."""
import json
import pathlib
import re

import harness

INT4 = "version: 1\nweights:\n  - {match: '*', format: int4, group: 32}\nkv_cache: int8\n"
X86_LEVELS = ("reference", "x86-64-v3", "x86-64-v4")


class ReproducibleBuilds(harness.BuildTest):
    """Without a cache, which would give the kernels of the first build again."""

    def bytes_of(self, name, *options, model=harness.FABLES):
        output = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(model, output, "--no-cache", *options), output)
        return output.read_bytes()

    def test_threads_and_memory_do_not_show(self):
        recipe = self.folder / "int4.yaml"
        recipe.write_text(INT4)
        for target in ("reference", "x86-64-v3"):
            options = ("--target", target, "--recipe", recipe)
            first = self.bytes_of(f"{target}-1", *options, "--threads", 1)
            again = self.bytes_of(f"{target}-2", *options, "--threads", 2,
                                  "--max-build-memory", "300MB")
            # Comparing with == alone: a difference of megabytes is not worth printing.
            self.assertTrue(first == again, target)

    def test_a_copy_in_another_place_gives_the_same_engine(self):
        # An engine takes its name from the last part of the path, so that stays.
        copy = self.copy_of(harness.FABLES, f"elsewhere/{harness.FABLES.name}")
        self.assertTrue(self.bytes_of("copy", model=copy) == self.bytes_of("original"))

    def test_another_model_is_called_that(self):
        output = self.fresh("out") / "m.ingot"
        self.assert_built(self.build(harness.FABLES, output), output)
        other = self.copy_of(harness.FABLES, "other")
        config = json.loads((other / "config.json").read_text())
        config["max_position_embeddings"] //= 2  # The engine's --max-context is impossible there.
        (other / "config.json").write_text(json.dumps(config))
        for option in "--rebuild", "--numerics":
            result = self.ingot("verify", output, option, other)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn("INGOT-E3203: the engine was made from another model: its config.json is "
                          "another file", result.stdout)


class SmallLimits(harness.BuildTest):
    def test_golden_tokens_fit_any_limits(self):
        for number, limits in enumerate((("--max-context", 8, "--max-batch-tokens", 4),
                                         ("--max-context", 1))):
            output = self.fresh(str(number)) / "m.ingot"
            self.assert_built(self.build(harness.FABLES, output, *limits), output)
            result = self.ingot_run("selftest", output)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertRegex(result.stdout, r"golden +passed +\d+ tokens of 3 cases.*; recorded by "
                                            r"this target's own kernels\n")


class MemoryCap(harness.BuildTest):
    def test_a_cap_that_is_too_small_is_refused_with_the_least_that_works(self):
        output = self.fresh("small") / "m.ingot"
        result = self.build(harness.FABLES, output, "--max-build-memory", "1MB")
        self.assert_refused(result, output)
        least = re.search(r"(\d[\d.]*) ?(bytes|[KMG]i?B)", result.stdout)
        self.assertIsNotNone(least, result.stdout)

    def test_random_weights_of_awkward_shapes(self):
        model = self.checkpoint("--shape", "tiny")
        output = self.fresh("tiny") / "m.ingot"
        self.assert_built(self.build(model, output, "--max-build-memory", "300MB"), output)


class ManyTargets(harness.BuildTest):
    def test_each_target_of_one_file_writes_the_same_text(self):
        output = self.fresh("out") / "m.ingot"
        targets = [word for level in X86_LEVELS for word in ("--target", level)]
        self.assert_built(self.build(harness.FABLES, output, *targets), output)
        cpu = pathlib.Path("/proc/cpuinfo").read_text()
        texts = {}
        for level in X86_LEVELS:
            if level == "x86-64-v4" and " avx512vl" not in cpu:
                continue
            result = self.ingot_run(output, "--target", level, "--threads", "1", "--greedy", "-n",
                                    "24", "--max-sequences", "1", "-p", "Once upon a time")
            self.assertEqual(result.returncode, 0, result.stderr)
            texts[level] = result.stdout
        self.assertEqual(len(set(texts.values())), 1, texts)
        self.assertIn("named", texts["reference"])

    def test_a_target_that_the_file_lacks_is_named(self):
        output = self.fresh("out") / "m.ingot"
        self.assert_built(self.build(harness.FABLES, output), output)
        result = self.ingot_run(output, "--target", "x86-64-v3", "-p", "Once")
        self.assertGreater(result.returncode, 0)
        self.assertRegex(result.stderr, "INGOT-E[56].*x86-64-v3")


if __name__ == "__main__":
    harness.main()
