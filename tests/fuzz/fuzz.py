#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one libFuzzer target of the preset `fuzz`, from its seeds and its packed corpus.

The last line says what the run did. A crash, a leak, more than 2 GiB or an input that takes more
than ten seconds is a failure; libFuzzer leaves that input in build/fuzz/findings. With --update the
inputs that reach all that was reached are packed anew into tests/fuzz/corpora.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--update", action="store_true", help="pack the corpus anew")
    arguments = parser.parse_args()
    name = arguments.target

    program = BUILD / "bin" / f"{name}_fuzz"
    committed = ROOT / "tests" / "fuzz" / "corpora" / f"{name}.corpus"
    corpus = BUILD / "corpora" / name
    dictionary = BUILD / "corpora" / f"{name}.dict"
    findings = BUILD / "findings"
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True)
    findings.mkdir(exist_ok=True)
    subprocess.run([program, "--write-seeds", corpus, dictionary], check=True)
    if committed.exists():
        for index, content in enumerate(unpack(committed.read_bytes())):
            (corpus / f"packed-{index}").write_bytes(content)

    limits = ["-rss_limit_mb=2048", "-timeout=10"]
    run = subprocess.run(
        [program, corpus, f"-dict={dictionary}", f"-max_total_time={arguments.seconds}", *limits,
         f"-artifact_prefix={findings}/{name}-", "-print_final_stats=1"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    output = run.stdout.decode(errors="replace")
    print(output)
    executions = number(r"number_of_executed_units: +(\d+)", output)
    edges = number(r"cov: (\d+)", output)
    new = number(r"new_units_added: +(\d+)", output)
    print(f"FUZZ {name}: {executions} executions, {edges} edges, {new} new inputs, "
          f"status {run.returncode}", flush=True)
    if run.returncode != 0 or not arguments.update:
        return 1 if run.returncode else 0

    merged = BUILD / "corpora" / f"{name}-merged"
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir()
    subprocess.run([program, "-merge=1", *limits, merged, corpus], check=True,
                   stderr=subprocess.DEVNULL)
    inputs = [path.read_bytes() for path in merged.iterdir()]
    packed, count = pack(inputs)
    committed.write_bytes(packed)
    print(f"packed {count} of {len(inputs)} inputs, {len(packed)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
