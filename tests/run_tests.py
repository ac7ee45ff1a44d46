#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds every preset that has tests, runs each test program once and adds up the results.

The tests are those that CMake knows (`ctest --show-only`), so a test is declared in one place.
How a program's results are counted:
  - GoogleTest and lit programs write an XML file when asked to, which is read;
  - another program may end with a line `N passed, N failed, N skipped`, with one line
    `SKIP name: reason` for each test it skips;
  - otherwise the program is one test: status 0 passed, 77 skipped, anything else failed.
Tests labelled `full` run only with --full; those labelled `fuzz` run under the sanitizers, and with
--full everywhere. With --full each libFuzzer target runs for five minutes too. The last line of the
output is `N passed, N failed, N skipped`, after a table of the CPU seconds by kind of work and by
program (time_spent.py), which also goes into a JSON file; without --full each kind has a budget in
tests/budget.json. The exit status is 0 if nothing failed, no budget was passed and, where the test
data stands beside the checkout, every skipped test is listed in tests/expected_skips.txt.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree

import time_spent

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
LOGS = ROOT / "build" / "test-logs"
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
SKIP_STATUS = 77
SETUP_LIMIT = 2700  # Seconds for one build; a first one without a cache is the long case.
TEST_LIMIT = 1800  # Seconds for one test program that states no TIMEOUT of its own.
PROGRESS_INTERVAL = 60  # Seconds of silence before a line says what is running.

printing = threading.Lock()
spent = time_spent.Seconds()


class Outcome(collections.namedtuple("Outcome", "name passed failed skipped seconds output")):
    """What one program did: `passed` is a number, `failed` and `skipped` are lists of names."""

    @property
    def tests(self):
        return self.passed + len(self.failed) + len(self.skipped)


class Run(collections.namedtuple("Run", "status seconds cpu output")):
    """A program that ended: its exit status, None if it passed its limit; seconds of the clock, and
    of CPU with those of the programs it waited for."""


def say(text):
    with printing:
        print(text, flush=True)


def run(name, command, limit, environment=None, folder=ROOT):
    """Runs `command` with its output in a log. A program that passes its limit is ended together
    with what it started."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / (name.replace("/", "-") + ".log")
    start = time.monotonic()
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True)
        ended = queue.Queue()
        threading.Thread(target=lambda: ended.put(os.wait4(process.pid, 0)), daemon=True).start()
        entry, waited = None, 0
        while entry is None and waited < limit:
            try:
                entry = ended.get(timeout=min(PROGRESS_INTERVAL, limit - waited))
            except queue.Empty:
                waited = time.monotonic() - start
                if waited < limit:
                    say(f"  ... {name}, {waited:.0f} s")
        in_time = entry is not None
        if not in_time:
            os.killpg(process.pid, signal.SIGKILL)
            entry = ended.get()
        _, status, usage = entry
        process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(encoding="utf-8", errors="replace")
    if not in_time:
        text += f"\nstopped after {limit} s\n"
    return Run(process.returncode if in_time else None, time.monotonic() - start,
               usage.ru_utime + usage.ru_stime, text)


def read_xml(path):
    """Counts of the XML file a GoogleTest program or lit writes; None if there is none."""
    try:
        tree = ElementTree.parse(path)
    except (OSError, ElementTree.ParseError):
        return None
    passed, failed, skipped = 0, [], []
    for case in tree.iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped.append(name)
        else:
            passed += 1
    return passed, failed, skipped


def read_counts(output):
    """Counts of the closing line of a script; None if the output has no such line."""
    lines = output.rstrip().splitlines()
    match = COUNTS.match(lines[-1].strip()) if lines else None
    if not match:
        return None
    passed, failed, skipped = map(int, match.groups())
    names = [line[5:].split(":")[0] for line in lines if line.startswith("SKIP ")]
    names += ["unnamed"] * (skipped - len(names))
    return passed, ["see the output"] * failed, names


def run_test(name, kind, command, limit=TEST_LIMIT, environment=None, folder=ROOT):
    """Runs one test program, whose seconds go to `kind`, and prints its line."""
    results = LOGS / (name.replace("/", "-") + ".xml")
    results.unlink(missing_ok=True)
    environment = {**os.environ, **(environment or {}), "GTEST_OUTPUT": f"xml:{results}",
                   "LIT_OPTS": f"-v --xunit-xml-output={results}"}
    if not command:
        status, seconds, cpu, output = Run(1, 0.0, 0.0, "this program was not built\n")
    else:
        status, seconds, cpu, output = run(name, command, limit, environment, folder)
    counts = read_xml(results) or read_counts(output)
    if counts is None:
        counts = {0: (1, [], []), SKIP_STATUS: (0, [], ["program"])}.get(status)
    if counts is None:
        counts = 0, [f"status {status}" if status is not None else "time limit"], []
    passed, failed, skipped = counts
    if status not in (0, SKIP_STATUS) and not failed:
        failed = [f"status {status}" if status is not None else "time limit"]
    outcome = Outcome(name, passed, failed, skipped, seconds, output)
    spent.add_program(name, kind, cpu, seconds, output, outcome.tests,
                      time_spent.case_seconds(results))
    report(outcome)
    return outcome


def report(outcome):
    """One line per program; the end of the output too when it failed."""
    counts = f"{outcome.passed} passed"
    if outcome.failed:
        counts += f", {len(outcome.failed)} failed"
    if outcome.skipped:
        counts += f", {len(outcome.skipped)} skipped"
    text = f"{outcome.name:<44} {counts:<34} {outcome.seconds:8.1f} s"
    if outcome.failed:
        tail = "\n".join(outcome.output.splitlines()[-80:])
        text += f"\n{tail}\nFAILED {outcome.name}: {', '.join(outcome.failed)}"
    say(text)


def build(preset, *targets):
    """Configures and builds a preset, or `targets` of it. Counted only when it fails: the tests
    show the rest."""
    name = f"{preset}/build"
    folder = ROOT / "build" / preset
    before = time_spent.log_lines(folder)
    status, seconds, cpu, output = run(name, ["scripts/build", preset, *targets], SETUP_LIMIT)
    spent.add_build(name, cpu, seconds,
                    time_spent.build_steps(time_spent.log_lines(folder) - before))
    if status == 0:
        say(f"{name:<44} {'built':<34} {seconds:8.1f} s")
        return []
    failed = [f"status {status}" if status is not None else "time limit"]
    outcome = Outcome(name, 0, failed, [], seconds, output)
    report(outcome)
    return [outcome]


def declared_tests(preset):
    """The tests CMake knows in a preset's build folder, as dictionaries."""
    listing = subprocess.run(
        ["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"], cwd=ROOT, check=True,
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    tests = []
    for test in json.loads(listing.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        tests.append({
            "name": f"{preset}/{test['name']}",
            "command": test.get("command"),
            "labels": properties.get("LABELS", []),
            "serial": properties.get("RUN_SERIAL", False),
            "cost": properties.get("COST", 0),
            "limit": properties.get("TIMEOUT", TEST_LIMIT),
            "folder": properties.get("WORKING_DIRECTORY", ROOT),
            "environment": dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", [])),
        })
    return tests


def run_tests(preset, left_out, slower=1, only=None):
    """Runs a preset's tests, or those of them labelled `only`: as many at a time as there are
    processors, those of the highest COST first, so that none is long when the others have ended;
    then those that say they must run alone. Returns their outcomes."""
    def start(test):
        return run_test(test["name"], (test["labels"] or ["other"])[0], test["command"],
                        test["limit"] * slower, test["environment"], test["folder"])

    tests = [test for test in declared_tests(preset) if not left_out.intersection(test["labels"])
             and (only is None or only in test["labels"])]
    tests.sort(key=lambda test: -test["cost"])
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        outcomes = list(pool.map(start, [test for test in tests if not test["serial"]]))
    return outcomes + [start(test) for test in tests if test["serial"]]


def run_fuzzing():
    """Runs each libFuzzer target for a while, as many at a time as there are processors."""
    def start(target):
        outcome = run_test(f"fuzz/{target}", "fuzz", [sys.executable, "tests/fuzz/fuzz.py", target])
        say("\n".join(line for line in outcome.output.splitlines() if line.startswith("FUZZ ")))
        return outcome

    targets = [path.stem for path in sorted((ROOT / "tests" / "fuzz" / "corpora").glob("*.corpus"))]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(start, targets))


def expected_skips():
    """Patterns of the skips that are right where the test data is present."""
    lines = (ROOT / "tests" / "expected_skips.txt").read_text().splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def show_seconds(path, full):
    """Prints the table and writes it to `path`; returns the outcome of the budgets, which are for
    the default tests alone."""
    budget, usual = time_spent.read_budget(ROOT / "tests" / "budget.json")
    speed = time_spent.probe()
    say("\n".join(["", *spent.table({} if full else budget), ""]))
    spent.write(path, speed)
    if full:
        return []
    over = list(time_spent.over_budget(spent.kinds, budget, max(1, speed / usual)))
    for line in over:
        say(f"over budget: {line}")
    return [Outcome("seconds", int(not over), over, [], 0.0, "")]


def main():
    parser = argparse.ArgumentParser(description="Builds and runs every test.")
    parser.add_argument("--full", action="store_true",
                        help="also the longer grids, soaks and fuzzing")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "build" / "test-seconds.json",
                        help="where the table of seconds goes", metavar="FILE")
    arguments = parser.parse_args()
    full = arguments.full
    left_out = set() if full else {"full"}

    outcomes = build("release")
    release_built = not outcomes
    outcomes += build("runtime-only")
    outcomes.append(run_test("lint", "lint", [sys.executable, "tests/lint/lint.py"]))
    if release_built:
        outcomes += run_tests("release", left_out | (set() if full else {"fuzz"}))
    # The tests alone: under the sanitizers nothing runs the programs that are shipped.
    failures = build("asan", "unit_tests")
    outcomes += failures or run_tests("asan", left_out, slower=4)
    failures = build("tsan", "thread_tests")
    outcomes += failures or run_tests("tsan", left_out, slower=4, only="threads")

    if full:
        outcomes += build("fuzz", "fuzzers") or run_fuzzing()

    outcomes += show_seconds(arguments.json, full)
    patterns = expected_skips()
    surprises = [f"{outcome.name}: {skip}" for outcome in outcomes for skip in outcome.skipped
                 if not any(fnmatch.fnmatchcase(f"{outcome.name}: {skip}", pattern)
                            for pattern in patterns)]
    for skip in surprises:
        say(f"skipped, {skip}")
    unexpected = surprises if DATA.exists() else []
    if unexpected:
        say("skipped tests that tests/expected_skips.txt does not list are failures here")
    failed = sum(len(outcome.failed) for outcome in outcomes)
    passed = sum(outcome.passed for outcome in outcomes)
    skipped = sum(len(outcome.skipped) for outcome in outcomes)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
