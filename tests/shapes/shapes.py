# SPDX-License-Identifier: Apache-2.0
"""Plans every published size for every architecture, one of each family with every recipe by name
and the others with two, and compiles a sample.

usage: shapes.py PROGRAMS [--full] [--models NAME ...] [--architectures NAME ...]
                 [--recipes NAME ...] [--report FILE]
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import models

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of a kind each: few query heads for a KV head, odd ones, soft-capping with a window, experts.
SAMPLE = [("Qwen2.5-7B", "sm_90a", "bf16"), ("Gemma-2-27B", "sm_90a", "bf16"),
          ("gpt-oss-20B", "sm_80", "bf16"), ("SmolLM2-135M", "sm_120a", "int4")]
FEW = ("bf16", "int4")  # Recipes of all sizes.
LIMIT = 1800  # Seconds for one build.
QUANTIZES = "INGOT-E2013"


def names_in(text, pattern):
    """What a program says it accepts."""
    return re.search(pattern, text).group(1).split(", ")


class Shapes:
    def __init__(self, programs, folder):
        self.ingot, self.folder = programs / "ingot", folder
        help_text = self.run("build", "--help-all").stdout
        named = re.findall(r"^  (\w+) +\S.*$", help_text.split("recipes by name:")[1]
                           .split("\n\n")[0], re.MULTILINE)
        refused = self.run("build", self.model("Llama-3-8B"), "--random-weights", "1", "--target",
                           "sm_1", "-o", folder / "none.ingot")
        self.architectures = [name for name in
                              names_in(refused.stdout, r"known are (sm_\w+(?:, sm_\w+)*)")]
        # Those that quantize a model's own weights first are not for random ones.
        self.recipes = [name for name in named if QUANTIZES not in
                        self.plan("SmolLM2-135M", self.architectures[:1], name)]

    def run(self, *arguments):
        return subprocess.run([self.ingot, *map(str, arguments)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT, check=False)

    def model(self, name):
        """A folder for --random-weights: any tokenizer will do."""
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(models.config(name)))
            for file in ("tokenizer.json", "tokenizer_config.json"):
                shutil.copy(ROOT / "examples/fables/model" / file, folder)
        return folder

    def plan(self, name, architectures, recipe):
        """The error, if any, of planning for all of them at once."""
        targets = [word for target in architectures for word in ("--target", target)]
        result = self.run("plan", self.model(name), "--random-weights", "1", "--recipe", recipe,
                          *targets)
        return result.stdout.strip() if result.returncode else ""

    def build(self, name, architecture, recipe):
        """The error, if any, kernels that ran in others' places, and kernels compiled."""
        report, engine = self.folder / "report.json", self.folder / "engine.ingot"
        result = self.run("build", self.model(name), "--random-weights", "1", "--recipe", recipe,
                          "--target", architecture, "--no-ptx", "-o", engine, "--report", report)
        if result.returncode:
            return result.stdout.strip().splitlines()[-1], 0, 0
        engine.unlink()
        said = json.loads(report.read_text())
        notes = said["targets"][0]["fusions"]
        return ("", sum(note["pass"] == "kernel-fallback" for note in notes),
                said["targets"][0]["kernels"])


def compile_all(shapes, wanted, report):
    """Builds each; the failures. A line for each is printed as soon as it is there."""
    failures, rows = [], collections.defaultdict(lambda: [0, 0, 0, 0.0])
    for name, architecture, recipe in wanted:
        start = time.monotonic()
        error, fallbacks, kernels = shapes.build(name, architecture, recipe)
        seconds = time.monotonic() - start
        print(f"{name} {architecture} {recipe}: {error or f'{kernels} kernels'}"
              f"{f', {fallbacks} in the place of others' if fallbacks else ''} ({seconds:.1f} s)",
              flush=True)
        failures += [error] if error else []
        row = rows[architecture, recipe]
        for i, value in enumerate((1, bool(error), fallbacks, seconds)):
            row[i] += value
    if report:
        lines = ["| architecture | recipe | sizes | refused | fallbacks | seconds |",
                 "|---|---|---|---|---|---|"]
        lines += [f"| {architecture} | {recipe} | {count} | {refused} | {fallbacks} | {took:.0f} |"
                  for (architecture, recipe), (count, refused, fallbacks, took) in rows.items()]
        report.write_text("\n".join(lines) + "\n")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--full", action="store_true", help="compile everything")
    parser.add_argument("--models", nargs="+", default=list(models.SIZES))
    parser.add_argument("--architectures", nargs="+")
    parser.add_argument("--recipes", nargs="+")
    parser.add_argument("--report", type=pathlib.Path, help="file for the table of --full")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ingot-shapes-") as folder:
        shapes = Shapes(options.programs.resolve(), pathlib.Path(folder))
        architectures = options.architectures or shapes.architectures
        recipes = options.recipes or shapes.recipes
        if options.full:
            wanted = [(name, architecture, recipe) for architecture in architectures
                      for recipe in recipes for name in options.models]
            failures, passed = compile_all(shapes, wanted, options.report), len(wanted)
        else:
            failures, passed, known = compile_all(shapes, SAMPLE, None), len(SAMPLE), set()
            for name in options.models:
                family = models.SIZES[name][0]
                some = recipes if options.recipes or family not in known else FEW
                known.add(family)
                for recipe in some:
                    passed += 1
                    if error := shapes.plan(name, architectures, recipe):
                        print(f"{name} {recipe}: {error}", flush=True)
                        failures.append(error)
    print(f"{passed - len(failures)} passed, {len(failures)} failed, 0 skipped", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
