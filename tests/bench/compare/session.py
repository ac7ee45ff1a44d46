# SPDX-License-Identifier: Apache-2.0
"""One run of compare_cpu: what is measured, in which order, with probes in between."""
import datetime
import json
import os
import pathlib
import platform
import shlex
import sys
import time

import checkpoints
import pages
import programs
import report

FEWEST_STEPS = 8
# With more sequences each generates fewer tokens.
MANY = 4
BUSY_SECONDS = 0.2
# A figure that was disturbed is measured again, of all programs alike.
MOST_TRIES = 3
# Between two looks at whether the machine is quiet again, and how long that may take at most
# before one figure.
LOOK_SECONDS, LONGEST_WAIT = 1.0, 30.0


# What machines are told apart by: those with other vectors or tiles have tables of their own.
KINDS = (("AMX", "amx_tile"), ("AVX-512", "avx512f"), ("AVX2", "avx2"))


def cpu_fields():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in fields.items()}


def kind():
    """The widest of KINDS that the CPU has."""
    flags = cpu_fields().get("flags", "").split()
    return next((name for name, flag in KINDS if flag in flags), platform.machine())


def machine():
    """The CPU, its instruction sets that matter here, and memory."""
    fields = cpu_fields()
    sets = [name for name, flag in (("AVX-512", "avx512f"), ("VNNI", "avx512_vnni"),
                                    ("BF16", "avx512_bf16"), ("AMX", "amx_tile"))
            if flag in fields.get("flags", "").split()]
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    name = fields.get("model name", platform.machine())
    return f"{len(os.sched_getaffinity(0))} CPUs of {name} ({', '.join(sets) or 'no AVX-512'}), " \
           f"{size:.0f} GiB"


def busy_cpus(seconds):
    """How many CPUs work while this process sleeps."""
    def busy():
        fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        return sum(map(int, fields)) - int(fields[3]) - int(fields[4])  # idle, waiting for disks
    before = busy()
    time.sleep(seconds)
    return (busy() - before) / os.sysconf("SC_CLK_TCK") / seconds


def read_through(file, anew=True):
    """Reads a file, so that what loads it finds it in the page cache; `anew`: from the disk, in
    pieces as large as reading ahead makes them, since what a program just wrote lies in the sizes
    it was written in."""
    with open(file, "rb", buffering=0) as stream:
        if anew:
            os.fsync(stream.fileno())
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while stream.read(1 << 24):
            pass


class Run:
    """One run of the command: its figures, and the probes between them."""

    def __init__(self, options, found):
        self.options, self.found = options, found
        self.start = time.monotonic()
        self.probe = programs.Probe(options.programs.resolve(), options.probe_seconds)
        self.last_probe = None, None, 0.0
        self.patience = options.wait * 60  # seconds left to wait in
        self.seconds = {}  # of each cell, when it was measured last
        self.raw = {"date": datetime.date.today().isoformat(), "machine": machine(),
                    "kind": kind(), "command": self.command(),
                    "notes": list(options.note), "busy": [],
                    "programs": {p.name: p.version() for p in found}, "figures": []}

    def command(self):
        """The command without this machine's folders."""
        hidden = {str(folder) for _, folder in self.options.llama_cpp} | {
            str(value) for value in vars(self.options).values() if isinstance(value, pathlib.Path)}
        words = ["tests/bench/compare_cpu"]
        for word, before in zip(sys.argv[1:], ["", *sys.argv[1:]]):
            name, sign, value = word.partition("=")
            if before in ("--llama-cpp", "--published") and sign:
                word = f"{name}=DIR" if before == "--llama-cpp" else f"{name}=FILE"
            elif before == "--openvino":
                word = "PYTHON"
            elif before in ("--programs", "--folder", "--ik-llama"):
                word = "DIR"
            elif before in ("--json", "--text"):
                word = "FILE"
            elif value in hidden or "/" in word:
                word = f"{name}=..." if sign else "..."
            words.append(word)
        return shlex.join(words)

    def probes(self, model):
        """A probe of what bounds this cell; the last one if it has just been taken."""
        wanted = ("dram", *report.PEAKS[model.format])
        cell, measured, when = self.last_probe
        if cell != (model.threads, wanted) or time.monotonic() - when > 0.5:
            measured = self.probe.measure(model.threads, wanted)
        self.last_probe = (model.threads, wanted), measured, time.monotonic()
        return measured

    def quiet_probes(self, model, metric):
        """The same, once the machine is quiet again or its time to become so is over."""
        best = report.best_bounds(self.raw["figures"])
        begun = time.monotonic()
        while True:
            measured = self.probes(model)
            found = report.bounds(metric, model.format, model.threads, measured)
            waited = time.monotonic() - begun
            if report.share_of_best(found, best) >= report.QUIET \
                    or waited > min(LONGEST_WAIT, self.patience):
                break
            time.sleep(LOOK_SECONDS)
        self.patience -= waited
        return measured

    def figure(self, program, model, metric, number):
        kind, _, amount = metric.partition(" ")
        figure = {"shape": model.shape, "format": model.format, "threads": model.threads,
                  "metric": metric, "program": program.name, "pass": number}
        figure["before"] = self.quiet_probes(model, metric)
        begun = time.monotonic()
        try:
            if kind == "load":
                result = program.load()
            elif kind == "perplexity":
                result = program.perplexity(self.options.text)
            elif kind == "prompt":
                result = program.prompt(int(amount))
            else:
                steps = self.options.generate * MANY // max(MANY, int(amount))
                result = program.generate(int(amount), max(FEWEST_STEPS, steps))
            figure |= {"value": result.value, "peak_bytes": result.peak_bytes}
            said = pages.number(result.value)
        except (programs.Failure, OSError, ValueError, KeyError, IndexError) as error:
            figure["error"] = str(error)
            said = "failed: " + (str(error).strip().splitlines() or ["?"])[-1][:100]
        figure["seconds"] = time.monotonic() - begun
        self.last_probe = None, None, 0.0
        figure["after"] = self.probes(model)
        self.raw["figures"].append(figure)
        after = figure["after"]
        where = f"{number} {model.shape} {model.format} {model.threads}T"
        beside = f"DRAM {after.get('dram', 0) / 1e9:.1f} GB/s, " \
                 f"peak {report.peak(model.format, after) / 1e12:.2f} T/s"
        print(f"{where} {metric:<12} {program.name:<18} {said:>8}  "
              f"({beside}, {figure['seconds']:.1f} s)", flush=True)

    def cell(self, model, files, number):
        """Everything of one shape, format and number of threads. Runs of one sequence come first:
        they are those whose memory counts."""
        begun = time.monotonic()
        metrics = ["load", *(f"prompt {n}" for n in sorted(self.options.prompts)),
                   *(f"generate {n}" for n in sorted(self.options.batch))]
        # It is the same in every pass.
        if self.options.text and model.shape in checkpoints.PUBLISHED and number == 0 \
                and model.threads == max(self.options.threads):
            metrics.append("perplexity")
        turn = number % len(self.found)
        for file in {file for file in files.values() if file}:
            read_through(file)
        for program in self.found:
            program.open(model, files.get(program.name))
        for metric in metrics:
            self.raw["busy"].append(busy_cpus(BUSY_SECONDS))
            for program in self.found[turn:] + self.found[:turn]:
                for _ in range(MOST_TRIES if files.get(program.name) else 0):
                    if metric == "load":  # a program before may have taken the memory of the file
                        read_through(files[program.name], anew=False)
                    self.figure(program, model, metric, number)
                    figures = self.raw["figures"]
                    if len(figures) - 1 not in report.disturbed(figures):
                        break
        for program in self.found:
            program.close()
        self.seconds[model] = time.monotonic() - begun
        if self.options.json:
            unfinished = self.options.json.with_suffix(".unfinished")
            unfinished.write_text(json.dumps(self.raw, indent=1) + "\n")
            unfinished.rename(self.options.json)

    def passes(self):
        """(number, threads) of each pass over all models: one with every number of threads, then
        the repeats with most threads, which matter most where time is short."""
        all_passes = [(number, threads) for threads in self.options.threads
                      for number in range(self.options.repeats)]
        return sorted(all_passes, key=lambda entry: entry[0] > 0)

    def fits(self, model):
        """Whether a cell may start: by the time it, or else the longest one, took before."""
        left = self.options.minutes * 60 - (time.monotonic() - self.start)
        longest = max(self.seconds.values(), default=0)
        return not self.options.minutes or self.seconds.get(model, longest) < left

    def files(self, folder):
        """What each program reads of each model; made where it is not there."""
        quantizer = next((where / "llama-quantize" for where in [
            *(folder for _, folder in self.options.llama_cpp), self.options.ik_llama]
            if where and (where / "llama-quantize").exists()), "llama-quantize")
        models = []
        for shape, file in self.options.published:
            models.append((shape, checkpoints.PUBLISHED[shape]))
            link = folder / f"{'-'.join(models[-1])}.gguf"
            link.unlink(missing_ok=True)
            link.symlink_to(file)
        models += [(shape, model_format) for shape in self.options.shapes
                   for model_format in self.options.formats]
        result = {}
        for shape, model_format in models:
            paths = result[shape, model_format] = {}
            for program in self.found:
                wanted = program.file_formats.get(model_format, model_format)
                try:
                    file = checkpoints.model_file(folder, shape, wanted, quantizer)
                    paths[program.name] = program.prepare(shape, model_format, file)
                except (programs.Failure, RuntimeError, OSError) as error:
                    print(f"{program.name}: {error}", flush=True)
                    self.raw["notes"].append(f"{program.name} has no {shape} in {model_format}")
        return result

    def measure(self, folder):
        files = self.files(folder)
        left_out = 0
        for number, threads in self.passes():
            for shape, model_format in files:
                model = programs.Model(shape, model_format, threads)
                if self.fits(model):
                    self.cell(model, files[shape, model_format], number)
                elif number == 0:
                    left_out += 1
        if left_out:
            self.raw["notes"].append(f"{left_out} combinations of shape, weights and threads were "
                                     f"left out after {self.options.minutes:g} minutes")
        self.raw["waited"] = self.options.wait - self.patience / 60
        self.raw["minutes"] = (time.monotonic() - self.start) / 60
        self.probe.close()
        print(f"took {self.raw['minutes']:.1f} minutes\n")
