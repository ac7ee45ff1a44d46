# SPDX-License-Identifier: Apache-2.0
"""Names of a Hub where a model is taken: `ingot build`, `plan`, `quantize`, `run` and `serve` do
what they do with the model's folder, and ask the Hub once."""
import json
import os
import signal
import subprocess
import urllib.request

import harness
import hub_server

SERVED = {path.name: path.read_bytes() for path in harness.FABLES.iterdir() if path.is_file()}


class ModelNames(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.hub = hub_server.HubServer(SERVED)
        self.addCleanup(self.hub.close)
        self.environment = {**os.environ, "HF_HOME": str(self.folder / "home"),
                            "HF_ENDPOINT": self.hub.url}

    def named(self, *arguments, **options):
        return self.ingot(*arguments, env=self.environment, **options)

    def test_an_engine_is_the_same_by_name(self):
        outputs = [self.folder / name for name in ("a.ingot", "b.ingot", "c.ingot")]
        self.assert_built(self.build(harness.FABLES, outputs[0]), outputs[0])
        self.assert_built(self.build("org/model", outputs[1], env=self.environment), outputs[1])
        self.assertEqual(outputs[0].read_bytes(), outputs[1].read_bytes())
        count = len(self.hub.seen)
        result = self.build("org/model", outputs[2], "--json-events", env=self.environment)
        self.assert_built(result, outputs[2])
        for line in result.stdout.splitlines():
            json.loads(line)
        self.assertEqual(len(self.hub.seen), count)

    def test_names_are_planned_and_quantized(self):
        plans, files = [], [self.folder / name for name in ("a.gguf", "b.gguf")]
        for model, file in zip((harness.FABLES, "org/model"), files):
            plan = self.named("plan", model, "--memory", "64MiB", "--json", "--target", "reference")
            self.assertEqual(plan.returncode, 0, plan.stdout)
            plans.append(json.loads(plan.stdout))
            made = self.named("quantize", model, "-o", file, "--recipe", "q8_0")
            self.assertEqual(made.returncode, 0, made.stdout)
        self.assertEqual(plans[0], plans[1])
        self.assertEqual(files[0].read_bytes(), files[1].read_bytes())

    def test_names_are_run_and_served(self):
        cache = ("--target", "reference", "--cache", self.folder / "cache")
        said, asked = set(), set()
        for name in "org/model", harness.FABLES, "org/model":
            text = self.named("run", name, "-p", "Once", "-n", "4", "--seed", "1", *cache).stdout
            said.add(text.partition("prompt:")[0].splitlines()[-1])
            asked.add(len(self.hub.seen))
        self.assertEqual((len(said), len(asked)), (1, 1), (said, asked))
        server = subprocess.Popen(
            [harness.programs / "ingot", "serve", "org/model", "--port", "0", *map(str, cache)],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.send_signal, signal.SIGTERM)
        address = server.stdout.readline().rpartition(" for ")[2].strip()
        self.assertTrue(server.stdout.readline().startswith("serving "))
        with urllib.request.urlopen(address + "/v1/models", timeout=60) as answer:
            self.assertEqual(json.load(answer)["data"][0]["id"], "org/model")

        listed = self.named("list", "--cache", self.folder / "cache").stdout
        self.assertRegex(listed, r"(?m)^org/model +8\.\d MiB  main$")
        self.assertRegex(listed, r"(?m)^model +8\.\d MiB  \d{4}-\d\d-\d\d$")
        for name in "model", "org/model":
            removed = self.named("rm", name, "--cache", self.folder / "cache")
            self.assertIn(f"removed {name}, 8.", removed.stdout)
            removed = self.named("rm", name, "--cache", self.folder / "cache")
            self.assertEqual(removed.returncode, 1)
            self.assertIn("INGOT-E7321", removed.stdout)
        self.assertEqual(list((self.folder / "cache" / "engines").glob("*.ingot")), [])
        self.assertEqual(list((self.folder / "home" / "hub").glob("models*")), [])

    def test_what_cannot_be_pulled_is_refused_once(self):
        for name, code in (("org/other", "INGOT-E7307"), ("org/model:Q4_0", "INGOT-E7315")):
            for command in ("build", "-o", self.folder / "x.ingot"), ("run", "-p", "x"), \
                    ("serve",), ("plan", "--memory", "1GiB"), \
                    ("quantize", "-o", self.folder / "x", "--recipe", "int4"):
                with self.subTest(name=name, command=command[0]):
                    result = self.named(command[0], name, *command[1:])
                    self.assertEqual(result.returncode, 1, result.stdout)
                    self.assertEqual(result.stdout.count("error:"), 1, result.stdout)
                    self.assertIn(code, result.stdout)
        # What has the form of a path is one.
        for path in "./org/model", "no-model", "org/model.gguf", str(self.folder / "no" / "model"):
            with self.subTest(path):
                result = self.named("run", path, "-p", "x")
                self.assertIn("INGOT-E7001", result.stdout)


if __name__ == "__main__":
    harness.main()
