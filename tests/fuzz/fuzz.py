#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one libFuzzer target of the preset `fuzz`, from its seeds and its packed corpus.

The last line says what the run did. A crash, a leak, more than 2 GiB or an input that takes more
than ten seconds is a failure; libFuzzer leaves that input in build/fuzz/findings. With --pack
nothing is run: the inputs that reach every branch the last run reached are packed anew into
tests/fuzz/corpora.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "fuzz"
MOST_BYTES = 150_000  # Of one packed corpus.
MOST_INPUTS = 300
LIMITS = ["-rss_limit_mb=2048", "-timeout=10"]


def unpack(packed):
    """The inputs of a packed corpus: each after its length in a line."""
    inputs = []
    while packed:
        length, _, rest = packed.partition(b"\n")
        inputs.append(rest[:int(length)])
        packed = rest[int(length):]
    return inputs


def pack(inputs):
    """The smallest of `inputs` up to the caps, and how many those are."""
    packed, count = b"", 0
    for content in sorted(inputs, key=lambda content: (len(content), content)):
        entry = b"%d\n" % len(content) + content
        if count == MOST_INPUTS or len(packed) + len(entry) > MOST_BYTES:
            break
        packed += entry
        count += 1
    return packed, count


def number(pattern, output):
    found = re.findall(pattern, output)
    return int(found[-1]) if found else 0


class Target:
    """The files of one target."""

    def __init__(self, name):
        self.name = name
        self.program = BUILD / "bin" / f"{name}_fuzz"
        self.committed = ROOT / "tests" / "fuzz" / "corpora" / f"{name}.corpus"
        self.corpus = BUILD / "corpora" / name

    def start(self):
        """Fills the corpus; returns the path of the dictionary."""
        shutil.rmtree(self.corpus, ignore_errors=True)
        self.corpus.mkdir(parents=True)
        dictionary = BUILD / "corpora" / f"{self.name}.dict"
        subprocess.run([self.program, "--write-seeds", self.corpus, dictionary], check=True)
        if self.committed.exists():
            for index, content in enumerate(unpack(self.committed.read_bytes())):
                (self.corpus / f"packed-{index}").write_bytes(content)
        return dictionary

    def run(self, seconds):
        dictionary = self.start()
        findings = BUILD / "findings"
        findings.mkdir(exist_ok=True)
        run = subprocess.run(
            [self.program, self.corpus, f"-dict={dictionary}", f"-max_total_time={seconds}",
             *LIMITS, f"-artifact_prefix={findings}/{self.name}-", "-print_final_stats=1"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        output = run.stdout.decode(errors="replace")
        print(output)
        executions = number(r"number_of_executed_units: +(\d+)", output)
        edges = number(r"cov: (\d+)", output)
        new = number(r"new_units_added: +(\d+)", output)
        print(f"FUZZ {self.name}: {executions} executions, {edges} edges, {new} new inputs, "
              f"status {run.returncode}")
        return 1 if run.returncode else 0

    def pack(self):
        """Without counters an input is kept for the edges it takes, not for how often."""
        merged = BUILD / "corpora" / f"{self.name}-merged"
        shutil.rmtree(merged, ignore_errors=True)
        merged.mkdir()
        subprocess.run([self.program, "-set_cover_merge=1", "-use_counters=0", *LIMITS, merged,
                        self.corpus], check=True, stderr=subprocess.DEVNULL)
        inputs = [path.read_bytes() for path in merged.iterdir()]
        packed, count = pack(inputs)
        self.committed.write_bytes(packed)
        print(f"{self.name}: packed {count} of {len(inputs)} inputs, {len(packed)} bytes")
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--pack", action="store_true", help="pack the corpus of the last run")
    arguments = parser.parse_args()
    target = Target(arguments.target)
    return target.pack() if arguments.pack else target.run(arguments.seconds)


if __name__ == "__main__":
    sys.exit(main())
