# SPDX-License-Identifier: Apache-2.0
"""Where a run of the tests spends its CPU seconds: by program and by kind of work, as a table and
as JSON, against tests/budget.json.

Seconds of CPU, not of the clock, so that neighbours on the machine and programs side by side change
little. Where one process does several kinds of work, its CPU seconds are shared out by the clock:
  - a build's by ninja's log;
  - a program's by the lines `compile TARGET SECONDS s` and `simulate TARGET SECONDS s` that it
    prints, which is how `ingot build` tells its stages.
"""
import collections
import json
import os
import pathlib
import re
import threading
import time
import xml.etree.ElementTree as ElementTree

STAGE = re.compile(r"^(compile|simulate) (\S+) +(\d+\.\d+) s\b", re.MULTILINE)
SHOWN = 15  # Programs in the table.
KEPT = 40  # Programs' test cases and build steps in the JSON file.

Step = collections.namedtuple("Step", "start end output")


def probe():
    """CPU seconds that this machine takes for a fixed piece of work: its speed."""
    def once():
        start = time.process_time()
        sum(i * i for i in range(2_000_000))
        return time.process_time() - start

    return min(once() for _ in range(3))


def machine():
    """The model of the processor and how many of them this process may use."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return {"model": model.group(1) if model else "unknown",
            "processors": len(os.sched_getaffinity(0))}


def log_lines(folder):
    """The lines of ninja's log in a build folder: start, end (both in ms since ninja started), time
    stamp, output and hash of the command. Ninja adds to the log, so what a build did is what the
    log has then and had not before."""
    try:
        return set((folder / ".ninja_log").read_text(errors="replace").splitlines()[1:])
    except OSError:
        return set()


def build_steps(lines):
    """The commands that ran; one with several outputs has a line for each."""
    steps = {}
    for fields in (line.split("\t") for line in sorted(lines)):
        if len(fields) == 5:
            start, end, _, output, command = fields
            steps.setdefault((start, end, command), Step(int(start), int(end), output))
    return list(steps.values())


def kind_of_step(output):
    """What made a file of a build folder."""
    name = pathlib.PurePosixPath(output)
    if name.suffix == ".bc":
        return "bitcode"
    if name.suffix == ".pch" or name.suffix == ".o" and name.parts[0] == "CMakeFiles":
        return "parsed headers"
    if name.suffix == ".o":
        return "C++ of " + name.parts[0]
    if name.parts[0] == "bin" or name.suffix == ".a" or ".so" in name.suffixes:
        return "link"
    return "generated sources"


def stage_seconds(output):
    """Clock seconds of the kinds of work that a program tells of itself."""
    seconds = collections.Counter()
    for stage, target, text in STAGE.findall(output):
        kind = "simulation" if stage == "simulate" else \
            "NVRTC" if target.startswith("sm_") else "LLVM specialisation"
        seconds[kind] += float(text)
    return seconds


def case_seconds(path):
    """(name, clock seconds) of each test in the XML file of a GoogleTest program or of lit."""
    try:
        cases = ElementTree.parse(path).iter("testcase")
        return [(f"{case.get('classname')}.{case.get('name')}", float(case.get("time") or 0))
                for case in cases]
    except (OSError, ElementTree.ParseError, ValueError):
        return []


class Seconds:
    """What is known of one run. Programs may be added from several threads."""

    def __init__(self):
        self.kinds = collections.Counter()
        self.tests = collections.Counter()
        self.programs, self.cases, self.steps = [], [], []
        self.started = time.monotonic()
        self.lock = threading.Lock()

    def add_program(self, name, kind, cpu, clock, output="", tests=0, cases=()):
        """A test program and its seconds of CPU and of the clock; `kind` is that of what it does
        not tell of itself."""
        place = name.split("/")[0] + "/" if "/" in name else ""
        stages = stage_seconds(output)
        share = cpu / max(clock, sum(stages.values()), 1e-9)
        with self.lock:
            self.programs.append({"name": name, "cpu": round(cpu, 2), "clock": round(clock, 2)})
            self.tests[place + kind] += tests
            for stage, seconds in stages.items():
                self.kinds[place + stage] += seconds * share
            self.kinds[place + kind] += cpu - sum(stages.values()) * share
            self.cases += [(seconds, f"{name}: {case}") for case, seconds in cases]

    def add_build(self, name, cpu, clock, steps):
        """A build `PRESET/build`; what ninja's log does not explain of the clock is configuring."""
        place = name.split("/")[0] + "/"
        clocks = collections.Counter()
        for step in steps:
            clocks[kind_of_step(step.output)] += (step.end - step.start) / 1000
            self.steps.append(((step.end - step.start) / 1000, place + step.output))
        last = max((step.end for step in steps), default=0) / 1000
        clocks["configure"] = max(clock - last, 0)
        share = cpu / max(sum(clocks.values()), 1e-9)
        self.programs.append({"name": name, "cpu": round(cpu, 2), "clock": round(clock, 2)})
        for kind, seconds in clocks.items():
            self.kinds[place + kind] += seconds * share

    def table(self, budget):
        """The table, as lines: every kind with its budget, then the dearest programs."""
        lines = [f"{'kind of work':<48} {'CPU s':>8} {'budget':>8}"]
        for kind, seconds in sorted(self.kinds.items()):
            own = budget.get(kind, budget.get("*", "-"))
            lines.append(f"{kind:<48} {seconds:8.1f} {own:>8}")
        lines.append(f"{'in all':<48} {sum(self.kinds.values()):8.1f}")
        lines += ["", f"{'dearest programs':<48} {'CPU s':>8} {'clock s':>8}"]
        dearest = sorted(self.programs, key=lambda program: -program["cpu"])
        for program in dearest[:SHOWN]:
            lines.append(f"{program['name']:<48} {program['cpu']:8.1f} {program['clock']:8.1f}")
        return lines

    def write(self, path, speed):
        """Everything, as JSON; `speed` is what `probe` said."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "machine": {**machine(), "probe": round(speed, 4)},
            "clock": round(time.monotonic() - self.started, 1),
            "cpu": round(sum(self.kinds.values()), 1),
            "kinds": {kind: round(seconds, 1) for kind, seconds in sorted(self.kinds.items())},
            "tests": dict(sorted(self.tests.items())),
            "programs": sorted(self.programs, key=lambda program: -program["cpu"]),
        }
        for key, entries in ("slowest_cases", self.cases), ("slowest_steps", self.steps):
            content[key] = [{"name": name, "clock": round(seconds, 2)}
                            for seconds, name in sorted(entries, reverse=True)[:KEPT]]
        path.write_text(json.dumps(content, indent=1) + "\n")


def read_budget(path):
    """(CPU seconds by kind, probe of the machine that they were measured on)."""
    content = json.loads(path.read_text())
    return content["seconds"], content["probe"]


def over_budget(kinds, budget, scale):
    """A line for each kind of work above `scale` times its budget, which for kinds without one of
    their own is that of "*"; and for each kind without any."""
    for kind, seconds in sorted(kinds.items()):
        own = budget.get(kind, budget.get("*"))
        if own is None:
            yield f"{kind}: {seconds:.1f} s of CPU and no budget; give it one in tests/budget.json"
        elif seconds > own * scale:
            yield (f"{kind}: {seconds:.1f} s of CPU, over its budget of {own * scale:.0f} "
                   f"s ({own} in tests/budget.json, times {scale:.2f} for this machine)")
