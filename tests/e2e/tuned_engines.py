# SPDX-License-Identifier: Apache-2.0
"""Kernels measured alone, and chosen by what was measured: candidates, tune, lockfile, rebuild."""
import json
import re

import harness
from faulty_engines import with_fault

RECIPE = "version: 1\nweights:\n  - {match: 'model.layers.*', format: int4, group: 64}\n" \
         "  - {match: '*', format: bf16}\nactivations: bf16\nkv_cache: bf16\n"
LIMITS = ("--max-context", 128, "--max-batch-tokens", 16, "--max-sequences", 4,
          "--max-logit-rows", 4)


class TunedEngines(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.folder / "recipe.yaml"
        self.recipe.write_text(RECIPE)

    def engine(self, name, *options):
        """Builds an engine; it and what the build said."""
        output = self.fresh(name) / "m.ingot"
        result = self.build(harness.FABLES, output, "--recipe", self.recipe, *LIMITS, *options)
        self.assert_built(result, output)
        return output, result.stdout

    def run_tool(self, *arguments):
        result = self.ingot_run(*arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def kernels_of(self, engine):
        """For each launch its kernels, as the names that tuning knows them by, and their rows."""
        target = json.loads(self.run_tool("inspect", engine, "--json"))["targets"][0]
        facts = {kernel["name"]: kernel["facts"] for kernel in target["kernels"]}
        for program in target["programs"]:
            for instruction in program["instructions"]:
                variants = instruction.get("variants", [])
                if variants and "tuning_candidate" in facts[variants[0]["kernel"]]:
                    yield (facts[variants[0]["kernel"]]["product"],
                           [facts[variant["kernel"]]["tuning_candidate"] for variant in variants
                            if "plain_kernel" not in facts[variant["kernel"]]])

    def damaged(self, engine, kernel):
        """A copy of the engine in which sums of the kernel's PTX are products; whole otherwise."""
        section = next(section for section in json.loads(self.run_tool("inspect", engine, "--json"))
                       ["sections"] if section["name"].endswith(f"/{kernel}.ptx"))
        return with_fault(engine, section, lambda ptx: ptx.replace(b"add.rn.f32", b"mul.rn.f32"),
                          self.folder / "damaged.ingot")

    def assert_faults_are_named(self, engine, device):
        """A wrong kernel that serves nobody, and a wrong plain kernel, are found by comparison."""
        target = json.loads(self.run_tool("inspect", engine, "--json"))["targets"][0]
        launch = next(one for program in target["programs"] for one in program["instructions"]
                      if any("MatmulSimple" in variant["kernel"] for variant in
                             one.get("variants", [])))
        kernels = [variant["kernel"] for variant in launch["variants"]]
        plain = next(name for name in kernels if "MatmulSimple" in name)
        # The first variant without ranges takes all that is left.
        last = next(i for i, one in enumerate(launch["variants"]) if not one["ranges"])
        unused = next(name for name in kernels if name not in [*kernels[:last + 1], plain])
        element = r".*, \d+ rows?, row \d+, column \d+ is "
        for kernel, says in ((unused, f", kernel '{unused}'{element}.* elements differ"),
                             (plain, f"{element}.*, the plain kernel '{plain}' gives .* \\+- ")):
            result = self.ingot_run("selftest", self.damaged(engine, kernel), *device)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertRegex(result.stdout, r"steps +passed")
            self.assertRegex(result.stderr, "INGOT-E6020.*" + re.escape(launch["name"]) + says)

    def prove(self, target, *device):
        candidates, _ = self.engine("candidates", "--target", target, "--tuning-candidates")
        tested = self.run_tool("selftest", candidates, *device)
        self.assertRegex(tested, r"products +passed +\d+ kernels of \d products equal bit for bit "
                                 r"at 1, 10, 16 rows")
        if device:
            self.assertIn("of the tolerance of the plain kernel", tested)
            self.assert_faults_are_named(candidates, device)
        lock = self.folder / "tuning.lock"
        self.run_tool("tune", candidates, "-o", lock, "--tokens", "1,16", "-r", 1, *device)
        lines = [line.split("#")[0].split() for line in lock.read_text().splitlines()]
        lines = [words for words in lines if len(words) == 8]
        self.assertGreater(len(lines), 3, lock.read_text())
        self.assertEqual(lines, sorted(lines, key=lambda words: (int(words[1]), int(words[2]))))

        # A choice that is not the cost model's, so that following it can be seen.
        usual = dict(self.kernels_of(self.engine("usual", "--target", target)[0]))
        every = dict(self.kernels_of(candidates))
        product = " ".join(lines[0][:4])
        other = next(name for name in reversed(every[product]) if name not in usual[product])
        text = lock.read_text()
        digest = json.loads(self.run_tool("inspect", candidates, "--json"))
        digest = next(kernel["facts"]["tuning_digest"]
                      for kernel in digest["targets"][0]["kernels"]
                      if kernel["facts"].get("tuning_candidate") == other)
        kept = [line for line in text.splitlines() if not line.startswith(product + " ")]
        lock.write_text("\n".join([*kept, f"{product} {target} 1-4 {other} {digest}"]) + "\n")

        tuned, said = self.engine("tuned", "--target", target, "--tuning", lock)
        self.assertNotIn("is not used", said)
        chosen = dict(self.kernels_of(tuned))
        self.assertEqual(chosen[product][0], other)
        for words in lines:
            if words[:4] != product.split():
                self.assertIn(words[6], chosen[" ".join(words[:4])])
        self.run_tool("selftest", tuned, *device)
        result = self.ingot("verify", tuned, "--rebuild", harness.FABLES)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("rebuild: identical", result.stdout)
        return lock, product

    def test_cuda(self):
        lock, product = self.prove("sm_80", "--simulate", "sm_80")
        # Another kernel under the same name is not what was measured: said, and in the report.
        text = lock.read_text()
        lock.write_text(re.sub(rf"({re.escape(product)} .*) [0-9a-f]{{16}}", r"\1 " + "0" * 16,
                               text))
        report = self.folder / "report.json"
        _, said = self.engine("stale", "--target", "sm_80", "--tuning", lock, "--report", report)
        self.assertRegex(said, re.escape(product) + r" rows .* is not used: stale")
        notes = json.loads(report.read_text())["targets"][0]["fusions"]
        notes = [note for note in notes if note["pass"] == "tuning"]
        self.assertTrue(any(note["applied"] for note in notes))
        self.assertIn("stale", next(note["because"] for note in notes if not note["applied"]))

    def test_x86(self):
        self.prove("x86-64-v3")

    def test_a_bad_lockfile_is_refused_with_its_line(self):
        lock = self.folder / "bad.lock"
        lock.write_text("ingot-tuning 1\nmatmul 1 2 3\n")
        output = self.fresh("bad") / "m.ingot"
        result = self.build(harness.FABLES, output, "--tuning", lock)
        self.assert_refused(result, output, "INGOT-E2202.*line 2")


class KernelTimes(harness.BuildTest):
    def measure(self, target, *device):
        output = self.fresh("engine") / "m.ingot"
        self.assert_built(self.build(harness.FABLES, output, "--target", target, *LIMITS), output)
        result = self.ingot_run("bench", output, "--kernels", "--tokens", "2,16", "--context", 40,
                                "-r", 1, "--probe", "1MiB", "--json", *device)
        self.assertEqual(result.returncode, 0, result.stderr)
        shapes = json.loads(result.stdout)["results"]
        self.assertEqual([(2, 2), (16, 1)], [(one["tokens"], one["sequences"]) for one in shapes])
        config = json.loads((harness.FABLES / "config.json").read_text())
        layers = config["num_hidden_layers"]
        for shape in shapes:
            self.assertGreater(shape["memory_bytes_per_second"], 0)
            rows = {row["site"]: row for row in shape["kernels"]}
            attention = next(row for site, row in rows.items() if site.startswith("attention"))
            self.assertEqual(attention["launches"], layers)
            # 4 operations per column of the query and visible position.
            heads, head = config["num_attention_heads"], config.get("head_dim") or \
                config["hidden_size"] // config["num_attention_heads"]
            seen = 2 * 40 if shape["tokens"] == 2 else sum(range(25, 41))
            self.assertEqual(attention["operations"], 4 * heads * head * seen)
            down = next(row for site, row in rows.items() if "down_proj" in site)
            self.assertEqual(down["launches"], layers)
            weights = config["hidden_size"] * config["intermediate_size"]
            self.assertGreaterEqual(down["operations"], 2 * weights * shape["tokens"])
            self.assertGreater(down["bytes"], weights)
            self.assertTrue(down["may_be_cached"] in (True, False))
            embed = next(row for site, row in rows.items() if site.startswith("embed"))
            self.assertLess(embed["bytes"], config["vocab_size"] * config["hidden_size"])
            self.assertTrue(any(site.startswith("sample") for site in rows))

    def test_x86(self):
        self.measure("x86-64-v3")

    def test_simulated(self):
        self.measure("sm_80", "--simulate", "sm_80")


if __name__ == "__main__":
    harness.main()
