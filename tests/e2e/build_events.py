#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ingot build --json-events`: standard output is lines of docs/build-events.schema.json and
nothing else, however the build ends; without the option it is empty. What `--json` prints is one
JSON value."""
import importlib.util
import json
import re
import shutil
import subprocess
import tempfile

import harness

SCHEMA = json.loads((harness.ROOT / "docs/build-events.schema.json").read_text(encoding="utf-8"))
KINDS = {kind["properties"]["event"]["enum"][0]: kind for kind in SCHEMA["oneOf"]}


def checker():
    """The checks of the manifests' example, which know the same part of JSON Schema."""
    path = harness.ROOT / "examples/kubernetes/check.py"
    spec = importlib.util.spec_from_file_location("check", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.TYPES["number"] = (int, float)
    return module


class BuildEvents(harness.BuildTest):
    check = checker()

    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp(prefix="ingot-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.cache, ignore_errors=True)

    def build_with(self, *options, model=harness.FABLES, status=0):
        output = self.folder / "m.ingot"
        kept = () if "--no-cache" in options else ("--cache", self.cache)
        result = subprocess.run(
            [harness.programs / "ingot", "build", model, "-o", output, "--target", "reference",
             *map(str, (*kept, *options))], capture_output=True, text=True,
            timeout=harness.LIMIT, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        return result, output

    def events(self, *options, **more):
        result, output = self.build_with("--json-events", *options, **more)
        events = [json.loads(line) for line in result.stdout.splitlines()]
        for event in events:
            problems = list(self.check.problems(event, KINDS[event["event"]], event["event"]))
            self.assertEqual(problems, [], event)
        return events, result, output

    def test_a_build(self):
        events, result, output = self.events("--no-cache")
        self.assertEqual(result.stderr, "")
        self.assertEqual(events[-1], {"event": "finished", "file": str(output),
                                      "bytes": output.stat().st_size})
        begun = [event["stage"] for event in events if event["event"] == "stage-begin"]
        ended = [event["stage"] for event in events if event["event"] == "stage-end"]
        self.assertEqual(begun, ended)
        self.assertIn("compile reference", begun)
        # Kernels are counted as they are compiled.
        compiled = [event for event in events
                    if event["event"] == "progress" and event["stage"] == "compile reference"]
        done = [event["done"] for event in compiled]
        self.assertEqual(done, sorted(done))
        self.assertGreater(len(done), 2)
        self.assertEqual(done[-1], compiled[-1]["total"])

    def test_a_gate(self):
        recipe = self.folder / "recipe.yaml"
        recipe.write_text('version: 1\nweights:\n  - {match: "*none*", format: int4}\n'
                          '  - {match: "*", format: int8}\n', encoding="ascii")
        options = ("--recipe", recipe, "--max-context", 64, "--gate")
        events, result, _ = self.events(*options, "kl<=1")
        self.assertEqual(result.stderr, "")
        self.assertEqual({"warning", "note"} - {event["event"] for event in events}, set())
        report = self.folder / "report.json"
        events, result, output = self.events(*options, "kl<=0.0000001", "--report", report,
                                             status=3)
        self.assertFalse(output.with_suffix(".new").exists())
        self.assertEqual((events[-1]["event"], events[-1]["code"]), ("failed", "INGOT-E2119"))
        self.assertEqual(result.stderr, f"error: INGOT-E2119: {events[-1]['text']}\n")
        self.assertRegex(result.stderr, r"accuracy budget: kl<=0\.0000001 \([\d.e-]+\); choose ")
        # What was built and why is told of an engine that is refused, too.
        told = json.loads(report.read_text(encoding="utf-8"))["provenance"]["options"]
        self.assertIn("kl<=0.0000001", [option["asked"] for option in told])

    def test_what_fails(self):
        events, result, _ = self.events(model=self.folder / "absent", status=1)
        self.assertEqual([event["event"] for event in events], ["failed"])
        self.assertEqual(result.stderr, f"error: {events[0]['code']}: {events[0]['text']}\n")
        # A wrong command line has no events.
        events, result, _ = self.events("--dump-stage", "plan", status=2)
        self.assertEqual(events, [])
        self.assertRegex(result.stderr, r"\Aerror: INGOT-E2103: .*--dump-stage")

    def test_text(self):
        result, _ = self.build_with()
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"(?m)^compile reference +[\d.]+ s")

    def test_the_schema_is_of_json_schema(self):
        for kind in SCHEMA["oneOf"]:
            self.assertEqual(set(kind["required"]), set(kind["properties"]))
        self.assertTrue(list(self.check.problems({"event": "finished", "file": 1, "bytes": 2},
                                                 KINDS["finished"], "event")))


class JsonAlone(harness.BuildTest):
    """Every command with `--json` prints one JSON value and nothing else."""

    def test_every_command(self):
        engine, text = self.folder / "m.ingot", self.folder / "text"
        self.assert_built(self.build(harness.FABLES, engine), engine)
        text.write_text("Once upon a time there was a fox.\n" * 4, encoding="ascii")
        arguments = {"inspect": [engine], "plan": [engine], "diff": [engine, engine],
                     "eval": [engine, "--text", text, "--window", 16],
                     "bench": [engine, "-p", 8, "-n", 4, "-r", 1, "--probe", 0]}
        listed = self.ingot_run("--list-commands").stdout
        commands = [line.split()[0] for line in listed.splitlines()]
        flagged = [command for command in commands if re.search(
            r"^ +--json +(?!TEXT)", self.ingot_run(command, "--help").stdout, re.MULTILINE)]
        self.assertEqual(sorted(flagged), sorted(arguments))
        for command, words in arguments.items():
            with self.subTest(command=command):
                result = self.ingot_run(command, *words, "--json")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(json.loads(result.stdout))


if __name__ == "__main__":
    harness.main()
