# SPDX-License-Identifier: Apache-2.0
"""What the scripts here share: where the programs are, running them, and the closing line."""
import functools
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FABLES = ROOT / "examples" / "fables" / "model"
LIMIT = 300  # Seconds for one program; far more than any takes.
STAGE = re.compile(r"^compile \S+ +[\d.]+ s\b", re.MULTILINE)  # of `ingot build`

REFUSAL = re.compile(r"INGOT-E\d{4}: .*")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")

# Set by main() from the command line.
programs = tools = None
# What builds and simulators took, as lines for tests/time_spent.py, which main() prints.
stages = []


@functools.cache
def options_of(*command):
    """The options that the help of a command names; `run` and `serve` have their programs' too."""
    program, *rest = command
    text = subprocess.run([programs / program, *rest, "--help"], capture_output=True, text=True,
                          check=False).stdout
    more = {"run": ("ingot-run",), "serve": ("ingot-server",)}.get(" ".join(rest))
    return set(OPTION.findall(text)) | {"--help"} | (options_of(*more) if more else set())


class BuildTest(unittest.TestCase):
    """A test with an empty folder of its own, `self.folder`."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def ingot(self, *arguments, **options):
        """Runs ingot to its end; returns the finished process with its output as text."""
        result = subprocess.run(
            [programs / "ingot", *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=LIMIT, check=False, **options)
        stages.extend(STAGE.findall(result.stdout))
        self.assert_advice(("ingot", str(arguments[0])), arguments, result)
        return result

    def assert_advice(self, command, arguments, result):
        """Options that a refusal names are those of its command, or of one that it names."""
        for refusal in REFUSAL.findall(result.stdout) if result.returncode else ():
            known = set(OPTION.findall(" ".join(map(str, arguments)))) | options_of(*command)
            for other in re.findall(r"`ingot ([a-z]+)", refusal):
                known |= options_of("ingot", other)
            self.assertLessEqual(set(OPTION.findall(refusal)), known, refusal)

    def build(self, model, output, *options, **more):
        """Builds for the reference target, whose kernels take the least time to compile."""
        if "--target" not in options:
            options = ("--target", "reference", *options)
        return self.ingot("build", model, "-o", output, *options, **more)

    def ingot_run(self, *arguments):
        """Runs ingot-run to its end; its text and its messages apart."""
        start = time.monotonic()
        result = subprocess.run(
            [programs / "ingot-run", *map(str, arguments)], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False)
        if "--simulate" in arguments:
            target = arguments[arguments.index("--simulate") + 1]
            stages.append(f"simulate {target} {time.monotonic() - start:.2f} s")
        return result

    def differing(self, one, other):
        """The areas in which two engines differ."""
        result = self.ingot_run("diff", one, other, "--json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return {change["category"] for change in json.loads(result.stdout)["changes"]}

    def assert_built(self, result, output):
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertTrue(output.is_file(), result.stdout)

    def assert_refused(self, result, output, code="INGOT-E"):
        """A status of its own, not a signal; a message with a code; and no file at all."""
        self.assertGreater(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, code)
        self.assertNotIn("Sanitizer", result.stdout)
        if output.parent.is_dir():
            self.assertEqual(os.listdir(output.parent), [], result.stdout)

    def fresh(self, name):
        """A new empty folder."""
        folder = self.folder / name
        folder.mkdir()
        return folder

    def copy_of(self, model, name="model"):
        """A copy of a model that may be damaged."""
        copy = self.folder / name
        shutil.copytree(model, copy)
        for path in copy.iterdir():
            path.chmod(0o644)
        return copy

    def checkpoint(self, *options):
        """A checkpoint of random weights."""
        folder = self.folder / "checkpoint"
        subprocess.run([tools / "make-checkpoint", *options, folder], check=True, timeout=LIMIT)
        return folder


def numpy():
    """The module that scripts/setup installs; without it the calling script ends as skipped."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for the small matrices of tests
    sys.path.insert(0, str(ROOT / "build" / "numpy"))
    try:
        return importlib.import_module("numpy")
    except ImportError:
        print(f"SKIP {pathlib.Path(sys.argv[0]).stem}: scripts/setup installs numpy")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)


class FablesTest(BuildTest):
    """Tests that share an engine of the example model, `engine`."""

    @classmethod
    def setUpClass(cls):
        cls.shared = BuildTest("ingot")
        cls.shared.setUp()
        cls.engine = cls.shared.folder / "m.ingot"
        cls.shared.assert_built(cls.shared.build(FABLES, cls.engine), cls.engine)

    @classmethod
    def tearDownClass(cls):
        cls.shared.doCleanups()


def main():
    """Runs the tests of the calling script: SCRIPT PROGRAMS TOOLS [unittest's arguments]."""
    global programs, tools
    programs, tools = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    # A script is its own module `__main__`; tests reach the harness by import.
    sys.modules["harness"].__dict__.update(programs=programs, tools=tools)
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    print("\n".join(stages))
    for test, reason in result.skipped:
        print(f"SKIP {test.id().removeprefix('__main__.')}: {reason}")
    failed = len({test.id().split(" ")[0] for test, _ in result.failures + result.errors})
    passed = result.testsRun - failed - len(result.skipped)
    print(f"{passed} passed, {failed} failed, {len(result.skipped)} skipped", flush=True)
    sys.exit(1 if failed else 0)
