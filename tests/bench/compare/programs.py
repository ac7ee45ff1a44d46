# SPDX-License-Identifier: Apache-2.0
"""The programs that are compared, one class each, all with the same calls: `open` a model with a
number of threads, `load`, `prompt`, `generate`, `perplexity`, `close`."""
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import checkpoints

INGOT, LLAMA_CLANG, IK_LLAMA = "Ingot", "llama.cpp clang", "ik_llama.cpp"
PER_TOKEN = "Ingot, one scale a token"
OURS = (INGOT, PER_TOKEN)
OPENVINO = "OpenVINO GenAI"
# Positions in the cache before many sequences generate.
DEPTH = 4
# Perplexity is of windows so long, the second half scored, as llama.cpp's rule is.
WINDOW = 512
# Published models that begin every text with BOS, and so each window.
BOS_IN_WINDOWS = ("gemma-3-270m",)
TIME_LIMIT = 1200
KEPT_OUTPUT = 1500


class Failure(Exception):
    """A program did not measure what it was asked to."""


class NotLoaded(Failure):
    """It failed before, when the model was loaded."""


@dataclasses.dataclass(frozen=True)
class Model:
    """One model in one format; `threads` of the cell that is measured."""
    shape: str
    format: str
    threads: int


@dataclasses.dataclass(frozen=True)
class Figure:
    """Tokens or seconds, and the program's largest resident memory so far."""
    value: float
    peak_bytes: int


def run(command):
    """Runs a program to its end: what it printed to both streams, seconds, peak bytes."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, \
            tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=errors, stdin=subprocess.DEVNULL,
                                   cwd=folder)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            seconds = time.monotonic() - start
            if pid:
                break
            if seconds > TIME_LIMIT:
                process.kill()
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in out, errors:
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    if process.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}\n{(texts[0] + texts[1])[-KEPT_OUTPUT:]}\n"
                      f"{pathlib.Path(command[0]).name}: status {process.returncode}")
    return texts[0], texts[1], seconds, usage.ru_maxrss * 1024


class Program:
    """What all have in common."""
    name = ""
    file_formats = {}  # where another file than that of the format's name is read

    def __init__(self):
        self.model, self.file = None, None

    def prepare(self, shape, model_format, file):
        """Makes once what the program reads."""
        return file

    def open(self, model, file):
        self.model, self.file = model, file

    def perplexity(self, text):
        raise Failure("it measures no perplexity")

    def close(self):
        pass


class Ingot(Program):
    """This project's engine of the same weights, by default: where weights have 4 or 8 bits,
    products read activations of 8 bits with a scale for 32 columns, as peers do."""
    name = INGOT
    recipe = None

    def __init__(self, programs):
        super().__init__()
        self.programs = programs

    def version(self):
        return run([self.programs / "ingot", "--version"])[0].strip()

    def engine(self, file):
        """The path of the engine of a file, and the options it is built with."""
        return file.with_suffix(".ingot"), []

    def prepare(self, shape, model_format, file):
        engine, options = self.engine(file)
        program = self.programs / "ingot"
        status = program.stat()
        maker = f"{status.st_size} {status.st_mtime_ns}\n{self.recipe}"
        note = engine.with_suffix(".maker")
        if not (engine.exists() and note.exists() and note.read_text() == maker):
            print(f"building {engine.name}", flush=True)
            note.unlink(missing_ok=True)
            run([program, "build", file, "-o", engine, "--max-context", "4096", *options])
            note.write_text(maker)
        return engine

    def bench(self, *options):
        out, _, seconds, peak = run([
            self.programs / "ingot-run", "bench", self.file, "--json", "--probe", "0", "-r", "1",
            "--threads", str(self.model.threads), *map(str, options)])
        return json.loads(out)["results"][0], seconds, peak

    def load(self):
        # A prompt of one token is the one step that others take for theirs.
        _, seconds, peak = self.bench("-p", 1, "-n", 0, "--warm-ups", 0)
        return Figure(seconds, peak)

    def prompt(self, tokens):
        result, _, peak = self.bench("-p", tokens, "-n", 0)
        return Figure(result["prompt_tokens_per_second"], peak)

    def generate(self, sequences, steps):
        depth = 1 if sequences == 1 else DEPTH
        result, _, peak = self.bench("-p", 0, "-n", steps, "--batch", sequences, "--depth", depth)
        return Figure(result["generated_tokens_per_second"], peak)

    def perplexity(self, text):
        out, _, _, peak = run([
            self.programs / "ingot-run", "eval", self.file, "--text", text, "--json", "--window",
            str(WINDOW), "--scoring", "second-half", "--threads", str(self.model.threads),
            *(["--bos-each-window"] if self.model.shape in BOS_IN_WINDOWS else [])])
        return Figure(json.loads(out)["perplexity"], peak)


class PerToken(Ingot):
    """The same with one scale for all columns of a token: faster and coarser. Only of quantized
    weights; others compute as they do by default."""
    name = PER_TOKEN
    recipe = ("version: 1\nactivations: {compute: int8-dynamic, store: bf16}\n"
              "kv_cache: bf16\n")

    def engine(self, file):
        record = file.with_suffix(".token.yaml")
        record.write_text(self.recipe)
        return file.with_suffix(".token.ingot"), ["--recipe", record]

    def prepare(self, shape, model_format, file):
        return None if model_format == "bf16" else super().prepare(shape, model_format, file)


class LlamaCpp(Program):
    """llama-bench for one sequence, llama-batched-bench for more; attention, mapping and repacking
    as they are by default."""
    bench_options = []
    batch_options = []
    no_warm_up = ["--no-warmup"]

    def __init__(self, name, folder):
        super().__init__()
        self.name, self.folder = name, folder

    def version(self):
        out, errors, *_ = run([self.folder / "llama-bench", "--version"])
        return ", ".join((out + errors).strip().splitlines())

    def bench(self, *options):
        out, _, seconds, peak = run([
            self.folder / "llama-bench", "-m", self.file, "-o", "json", "-r", "1", "-t",
            str(self.model.threads), *self.bench_options, *map(str, options)])
        # Some builds write lines of their own before the list.
        results = json.loads(out[out.index("[\n"):])
        return results[0]["avg_ts"], seconds, peak

    def load(self):
        _, seconds, peak = self.bench("-p", 0, "-n", 1, *self.no_warm_up)
        return Figure(seconds, peak)

    def prompt(self, tokens):
        value, _, peak = self.bench("-p", tokens, "-n", 0)
        return Figure(value, peak)

    def generate(self, sequences, steps):
        if sequences == 1:
            value, _, peak = self.bench("-p", 0, "-n", steps)
            return Figure(value, peak)
        out, errors, _, peak = run([
            self.folder / "llama-batched-bench", "-m", self.file, "-c", str(sequences * 256),
            "-npp", str(DEPTH), "-ntg", str(steps), "-npl", str(sequences), "-t",
            str(self.model.threads), *self.batch_options])
        # | PP | TG | B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s | ...
        row = re.search(rf"^\|\s*{DEPTH} \|\s*{steps} \|\s*{sequences} \|(.*)", out + errors,
                        re.MULTILINE)
        if not row:
            raise Failure(f"llama-batched-bench of {self.name}: no row\n"
                          + (out + errors)[-KEPT_OUTPUT:])
        return Figure(float(row.group(1).split("|")[4]), peak)

    def perplexity(self, text):
        out, errors, _, peak = run([
            self.folder / "llama-perplexity", "-m", self.file, "-f", text, "-c", str(WINDOW), "-t",
            str(self.model.threads)])
        found = re.search(r"Final estimate: PPL.* = ([\d.]+)", out + errors)
        if not found:
            raise Failure("llama-perplexity: no estimate\n" + (out + errors)[-KEPT_OUTPUT:])
        return Figure(float(found.group(1)), peak)


class IkLlama(LlamaCpp):
    """The same programs of ik_llama.cpp, which repack weights as they load them."""
    bench_options = ["-rtr", "1", "-fa", "1"]
    batch_options = ["-rtr", "-fa", "on"]
    no_warm_up = ["-w", "0"]

    def __init__(self, folder):
        super().__init__(IK_LLAMA, folder)

    def version(self):
        return "run-time repacking"


class OpenVino(Program):
    """A pipeline with continuous batching in a process that stays while a cell is measured, since
    compiling the model takes longer than measuring it."""
    file_formats = {"bf16": "f16"}  # it reads no bf16 from GGUF, and computes in bf16 by itself

    def __init__(self, python, precision):
        super().__init__()
        self.python, self.precision, self.process, self.errors = python, precision, None, None
        self.name = OPENVINO if precision == "default" else f"{OPENVINO} {precision}"

    def version(self):
        say = "import openvino_genai; print(openvino_genai.__version__)"
        return run([self.python, "-c", say])[0].strip()

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.errors.close()
            self.process = None

    def ask(self, **request):
        if not self.process:
            raise NotLoaded("the model was not loaded")
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        for line in self.process.stdout:
            if line.startswith("RESULT "):
                result = json.loads(line[len("RESULT "):])
                return result["value"], result["peak_bytes"]
        status = self.process.wait()
        self.errors.seek(0)
        message = self.errors.read().decode(errors="replace")[-KEPT_OUTPUT:]
        self.close()
        raise Failure(f"{message}\nstatus {status}")

    def load(self):
        self.close()
        start = time.monotonic()
        self.errors = tempfile.TemporaryFile()
        script = pathlib.Path(__file__).with_name("openvino_run.py")
        self.process = subprocess.Popen(
            [self.python, script, self.file, str(self.model.threads),
             str(checkpoints.SHAPES[self.model.shape].vocabulary), self.precision],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        _, peak = self.ask(sequences=1, depth=1, steps=0)
        return Figure(time.monotonic() - start, peak)

    def prompt(self, tokens):
        self.ask(prompt=tokens)  # the first of a length compiles
        return Figure(*self.ask(prompt=tokens))

    def generate(self, sequences, steps):
        self.ask(sequences=sequences, depth=DEPTH, steps=2)
        return Figure(*self.ask(sequences=sequences, depth=DEPTH, steps=steps))


class Probe:
    """`cpu-probe`, which stays and keeps its buffer."""

    def __init__(self, programs, seconds):
        self.seconds = seconds
        self.process = subprocess.Popen([programs / "cpu-probe"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def measure(self, threads, names):
        self.process.stdin.write(f"{threads} {self.seconds} {' '.join(names)}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"cpu-probe ended with status {self.process.wait()}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
