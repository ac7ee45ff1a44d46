#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what PyTorch and its libraries take for the operations that engines run on a GPU.

usage: peers.py --shapes FILE.json --lines OUT.jsonl [--device cuda|cpu] [--only a,b]
                [--budget SECONDS] [--divide N]

Needs Python 3.9 and any PyTorch from 2.3 on, nothing of Ingot. FILE.json is what write_shapes of
tests/bench/shapes.py writes. --only keeps the measurements whose peer, kind, model and name hold
one of the words; --divide makes every shape smaller, for a try without a GPU. After SECONDS nothing
is begun, and 5 seconds later what still runs is ended. The exit status is 0 whatever fails.

OUT.jsonl gets one JSON object a line, each at once. The first describes the machine:
  device, library ("torch 2.8.0, CUDA 12.8"), l2_bytes, planned (measurements to come),
  modules (packages with kernels of their own that are installed, with their versions)
or is {"skipped": "why"}, and then it is the only one. Each further line is one measurement:
  peer        what was timed: "cuBLAS bf16", "SDPA flash", ...
  kind        "copy", "matmul" (bf16 or FP8 weights), "w4" (4-bit weights) or "attention"
  model, name of FILE.json; attention: "decode" (one token for each of m sequences that have
              `context` tokens) or "prompt" (causal, one sequence of m tokens)
  m, n, k     rows of activations, outputs and inputs of a product; attention instead of n and k:
              context, heads, kv_heads, head_dim, and gqa: "enable_gqa" if K and V were read as
              they are, "expanded" if a copy for each head was (older PyTorch)
  seconds     of one call: the median of 7 samples of 4 ms or more, after a warm-up of 50 ms
  bytes       that one call must move at least: weights with scales, K and V, inputs, outputs;
              of a copy what it reads and writes
  operations  2 m n k, or those of both products of attention (half the square where causal)
  method      "graph": many calls in one CUDA graph, so that launching does not count; "events":
              the same calls from Python, `note` says why no graph; "clock": on a CPU
  library     as above
  error       instead of seconds, what went wrong
The last line is {"stopped": "why", "left": measurements} if not all were begun.

Calls rotate over copies of the weights (K and V, source and target) that are larger together than
twice the L2 cache, and activations stay the same, as in a step of a model. Measurements run in a
process of their own, in the order of their worth; one that ends the process costs itself alone.
"""
import argparse
import contextlib
import functools
import gc
import importlib.metadata
import importlib.util
import json
import math
import multiprocessing
import os
import pathlib
import signal
import statistics
import sys
import time

DECODE, PROMPTS, CONTEXT = (1, 10, 32, 64), (512, 2048), 1024
COPY_BYTES = 1 << 30
GROUP = 128  # Weights that share a scale, where the peer leaves the choice.
WARM_UP_SECONDS, SAMPLE_SECONDS, SAMPLES, MOST_CALLS = 0.05, 0.004, 7, 1000
MOST_SECONDS = 1  # What takes longer gets fewer samples.
GRACE_SECONDS = 5
UNKNOWN_L2_BYTES = 128 << 20  # PyTorch tells from 2.5 on; no GPU before had more.
BROKEN = 75  # Exit status of a process whose device answers nothing but errors.
MODULES = ("triton", "bitsandbytes", "vllm", "flash_attn", "flashinfer", "transformer_engine",
           "torchao", "gemlite", "tensorrt_llm")


def why(error):
    """One line of an exception."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:400]


def random_bf16(torch, device, *shape):
    return torch.randn(*shape, dtype=torch.bfloat16, device=device)


class Bf16:
    """F.linear: cuBLAS on a GPU."""
    kind, weight_bytes, input_bytes = "matmul", 2, 2

    def weight(self, torch, device, n, k):
        """[n, k] and what belongs to it, in memory of its own."""
        return random_bf16(torch, device, n, k)

    def activations(self, torch, device, m, k):
        """[m, k] and what belongs to it."""
        return random_bf16(torch, device, m, k)

    def product(self, torch, x, weight):
        return torch.nn.functional.linear(x, weight)


class Fp8:
    """torch._scaled_mm of e4m3 with fast accumulation: cuBLAS with one scale for a tensor; one for
    each row of both sides (2.5 and later) has been CUTLASS at first and cuBLAS since."""
    kind, weight_bytes, input_bytes = "matmul", 1, 1

    def __init__(self, by_row):
        self.by_row = by_row

    def scales(self, torch, device, *shape):
        return torch.ones(*(shape if self.by_row else (1, 1)), dtype=torch.float32, device=device)

    def weight(self, torch, device, n, k):
        codes = random_bf16(torch, device, n, k).to(torch.float8_e4m3fn)
        return codes.t(), self.scales(torch, device, 1, n)

    def activations(self, torch, device, m, k):
        codes = random_bf16(torch, device, m, k).to(torch.float8_e4m3fn)
        return codes, self.scales(torch, device, m, 1)

    def product(self, torch, x, weight):
        return torch._scaled_mm(x[0], weight[0], scale_a=x[1], scale_b=weight[1],
                                out_dtype=torch.bfloat16, use_fast_accum=True)


class Int4Pack(Bf16):
    """torch._weight_int4pack_mm: PyTorch's own kernel, 4 bits with bf16 scales and offsets."""
    kind, weight_bytes = "w4", 0.5 + 4 / GROUP

    def weight(self, torch, device, n, k):
        suffix = "_for_cpu" if device == "cpu" and \
            hasattr(torch, "_convert_weight_to_int4pack_for_cpu") else ""
        pack = getattr(torch, "_convert_weight_to_int4pack" + suffix)
        try:
            codes = torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device=device)
            packed = pack(codes, 8)
        except RuntimeError:  # Before 2.5, and on CPUs again later, a code takes 32 bits here.
            codes = torch.randint(0, 16, (n, k), dtype=torch.int32, device=device)
            packed = pack(codes, 8)
        scales = random_bf16(torch, device, k // GROUP, n, 2)
        return packed, scales, getattr(torch, "_weight_int4pack_mm" + suffix)

    def product(self, torch, x, weight):
        packed, scales, multiply = weight
        return multiply(x, packed, GROUP, scales)


class BitsAndBytes(Bf16):
    """bitsandbytes.matmul_4bit with NF4: a kernel of its own for one row, else bf16 weights made
    before each product."""
    kind, weight_bytes = "w4", 0.5 + 4 / 64

    def weight(self, torch, device, n, k):
        functional = importlib.import_module("bitsandbytes.functional")
        codes, state = functional.quantize_4bit(random_bf16(torch, device, n, k), blocksize=64,
                                                quant_type="nf4")
        return codes.t(), state

    def product(self, torch, x, weight):
        return importlib.import_module("bitsandbytes").matmul_4bit(x, weight[0],
                                                                   quant_state=weight[1])


PRODUCTS = {"cuBLAS bf16": Bf16(), "torch fp8 per tensor": Fp8(False), "torch int4pack": Int4Pack(),
            "torch fp8 per row": Fp8(True), "bitsandbytes nf4": BitsAndBytes()}
# The backend of torch.nn.attention that each name asks for; the first leaves the choice to PyTorch.
ATTENTION = {"SDPA": None, "SDPA flash": "FLASH_ATTENTION", "SDPA cuDNN": "CUDNN_ATTENTION"}


def planned(shapes, options):
    """All measurements without their results, in the order of their worth."""
    divide = options.divide
    size = max(COPY_BYTES // divide**2, 4096)
    everything = [{"peer": "copy", "kind": "copy", "model": "", "name": "device to device",
                   "bytes": 2 * size, "operations": 0}]
    prompts = [max(tokens // divide, 1) for tokens in PROMPTS]
    context = max(CONTEXT // divide, 1)
    peers = [name for name in PRODUCTS
             if name != "bitsandbytes nf4" or importlib.util.find_spec("bitsandbytes")]
    for peer in peers:
        everything += products(peer, shapes, DECODE, divide)
    for peer in ATTENTION:
        everything += [attention(peer, shape, "decode", m, context)
                       for shape in shapes["attention"] for m in DECODE]
    for peer in ATTENTION:
        everything += [attention(peer, shape, "prompt", m, m)
                       for shape in shapes["attention"] for m in prompts]
    for peer in peers:
        everything += products(peer, shapes, prompts, divide)
    words = list(filter(None, options.only.split(",")))
    return [one for one in everything
            if not words or any(word in f"{one['peer']} {one['kind']} {one['model']} {one['name']}"
                                for word in words)]


def products(peer, shapes, rows, divide):
    made = PRODUCTS[peer]
    for shape in shapes["products"]:
        n, k = (math.ceil(shape[key] / divide / GROUP) * GROUP for key in ("n", "k"))
        for m in rows:
            moved = n * k * made.weight_bytes + m * k * made.input_bytes + m * n * 2
            yield {"peer": peer, "kind": made.kind, "model": shape["model"], "name": shape["name"],
                   "m": m, "n": n, "k": k, "bytes": int(moved), "operations": 2 * m * n * k}


def attention(peer, shape, name, m, context):
    heads, kv_heads, width = shape["heads"], shape["kv_heads"], shape["head_dim"]
    cached = context * (m if name == "decode" else 1)
    pairs = m * context if name == "decode" else m * (m + 1) // 2
    return {"peer": peer, "kind": "attention", "model": shape["model"], "name": name, "m": m,
            "context": context, "heads": heads, "kv_heads": kv_heads, "head_dim": width,
            "bytes": 4 * width * (cached * kv_heads + m * heads),
            "operations": 4 * pairs * heads * width}


class Measurer:
    """Makes the calls of measurements on one device and times them."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        self.library = f"torch {torch.__version__}, CUDA {torch.version.cuda}"
        self.name, self.l2_bytes = device, 0
        if device == "cuda":
            properties = torch.cuda.get_device_properties(0)
            self.name = properties.name
            self.l2_bytes = getattr(properties, "L2_cache_size", 0) or UNKNOWN_L2_BYTES
        # Those of one product serve all its rows.
        self.weights = functools.lru_cache(maxsize=1)(self.weights)

    def copies(self, size):
        """How many buffers of `size` bytes exceed twice the L2 cache."""
        return max(2, 2 * self.l2_bytes // max(size, 1) + 1)

    def weights(self, peer, n, k):
        made = PRODUCTS[peer]
        return [made.weight(self.torch, self.device, n, k)
                for _ in range(self.copies(int(n * k * made.weight_bytes)))]

    def calls(self, one):
        """The calls of a measurement, which differ in the memory that they read; what is to be
        said about them beside."""
        if one["kind"] == "copy":
            return self.copy_calls(one["bytes"] // 2), {}
        if one["kind"] == "attention":
            return self.attention_calls(one)
        made = PRODUCTS[one["peer"]]
        x = made.activations(self.torch, self.device, one["m"], one["k"])
        return [functools.partial(made.product, self.torch, x, weight)
                for weight in self.weights(one["peer"], one["n"], one["k"])], {}

    def copy_calls(self, size):
        source, target = (self.torch.ones(size, dtype=self.torch.uint8, device=self.device)
                          for _ in range(2))
        return [functools.partial(target.copy_, source)]

    def attention_calls(self, one):
        """K and V of shared heads as they are where PyTorch (2.5) and the backend know that."""
        try:
            return self.attention_of(one, one["kv_heads"], enable_gqa=True), {"gqa": "enable_gqa"}
        except (TypeError, RuntimeError):
            return self.attention_of(one, one["heads"]), {"gqa": "expanded"}

    def attention_of(self, one, kv_heads, **shared):
        torch, decode = self.torch, one["name"] == "decode"
        sequences, rows = (one["m"], 1) if decode else (1, one["m"])
        backend = ATTENTION[one["peer"]]
        if backend:
            backend = getattr(torch.nn.attention.SDPBackend, backend)
        q = random_bf16(torch, self.device, sequences, one["heads"], rows, one["head_dim"])
        cache = sequences, kv_heads, one["context"], one["head_dim"]

        def call(k, v):
            attend = functools.partial(torch.nn.functional.scaled_dot_product_attention, q, k, v,
                                       is_causal=not decode, **shared)
            if backend is None:
                return attend()
            with torch.nn.attention.sdpa_kernel([backend]):
                return attend()
        calls = [functools.partial(call, random_bf16(torch, self.device, *cache),
                                   random_bf16(torch, self.device, *cache))
                 for _ in range(self.copies(4 * math.prod(cache)))]
        calls[0]()
        return calls

    def timed(self, work):
        """Seconds from the first operation of `work` to the end of its last."""
        if self.device != "cuda":
            start = time.perf_counter()
            work()
            return time.perf_counter() - start
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def graph(self, work):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            work()
        return graph

    def measure(self, one):
        """The measurement with its result."""
        calls, about = self.calls(one)

        def rotation():
            for call in calls:
                call()
        rotation()  # Libraries choose kernels and allocate.
        rounds = math.ceil(SAMPLE_SECONDS / max(self.timed(rotation), 1e-9))
        rounds = max(1, min(rounds, MOST_CALLS // len(calls)))

        def work():
            for _ in range(rounds):
                rotation()
        method = "clock"
        if self.device == "cuda":
            method = "graph"
            try:
                work = self.graph(work).replay
            except Exception as error:  # What cannot be captured is launched.
                method, about["note"] = "events", why(error)
        warm = time.monotonic() + WARM_UP_SECONDS
        while time.monotonic() < warm:
            self.timed(work)
        samples, limit = [], time.monotonic() + MOST_SECONDS
        while len(samples) < SAMPLES and not (samples and time.monotonic() > limit):
            samples.append(self.timed(work))
        seconds = statistics.median(samples) / rounds / len(calls)
        if seconds <= 0:
            raise RuntimeError("the clock did not advance")
        return {**one, **about, "seconds": seconds, "method": method}

    def answers(self):
        """Frees what a failed measurement left; false if the device has failed for good."""
        self.weights.cache_clear()
        gc.collect()
        try:
            if self.device == "cuda":
                self.torch.cuda.synchronize()
                self.torch.cuda.empty_cache()
            return True
        except Exception:
            return False


def versions():
    found = {}
    for name in MODULES:
        if importlib.util.find_spec(name):
            try:
                found[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                found[name] = "unknown"
    return found


def append(lines, line):
    with open(lines, "a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
    if "seconds" in line:
        rates = [line[key] / line["seconds"] / unit for key, unit in (("bytes", 1e9),
                                                                      ("operations", 1e12))]
        result = f"{line['seconds'] * 1e6:.1f} us, {rates[0]:.0f} GB/s, {rates[1]:.1f} TFLOP/s"
    else:
        result = line.get("error") or json.dumps(line)
    subject = " ".join(str(line[key]) for key in ("peer", "model", "name") if line.get(key))
    rows = f" m={line['m']}" if "m" in line else ""
    with contextlib.suppress(OSError):  # Nobody need be reading.
        print(f"{subject}{rows}: {result}" if subject else result, flush=True)


def work_through(plan, first, lines, device, deadline):
    """Runs in a process of its own: takes the measurements from number `first` on and appends their
    lines, up to the deadline (of time.monotonic)."""
    try:
        import torch
        if device == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("PyTorch finds no CUDA device")
        measurer = Measurer(torch, device)
    except Exception as error:
        if first == 0:
            append(lines, {"skipped": why(error)})
            return
        raise
    if first == 0:
        append(lines, {"device": measurer.name, "library": measurer.library,
                       "l2_bytes": measurer.l2_bytes, "planned": len(plan), "modules": versions()})
    gc.freeze()  # Capturing a graph collects garbage; a framework's modules are none.
    for one in plan[first:]:
        if time.monotonic() > deadline:
            return
        try:
            line, usable = measurer.measure(one), True
        except Exception as error:
            line = {**one, "error": why(error)}
            error.__traceback__ = None  # It would keep the tensors.
            usable = measurer.answers()
        append(lines, {**line, "library": measurer.library})
        if not usable:
            os._exit(BROKEN)  # Ending in order would ask the device.


def written(lines):
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]


def supervise(plan, lines, device, budget):
    """Lets processes work through the plan until it is done or the budget is spent."""
    deadline = time.monotonic() + budget
    context, measured = multiprocessing.get_context("spawn"), 0
    while measured < len(plan):
        child = context.Process(target=work_through, daemon=True,
                                args=(plan, measured, lines, device, deadline))
        child.start()
        child.join(max(deadline - time.monotonic(), 0) + GRACE_SECONDS)
        late = child.is_alive()
        if late:
            child.kill()
            child.join()
        found = written(lines)
        end = f"ended with status {child.exitcode}" if not late else "did not end in time"
        if not found or "skipped" in found[0]:
            if not found:
                append(lines, {"skipped": f"starting PyTorch {end}"})
            return
        measured = len(found) - 1
        if child.exitcode not in (0, BROKEN) and measured < len(plan):
            append(lines, {**plan[measured], "error": f"the process {end}",
                           "library": found[0]["library"]})
            measured += 1
        if time.monotonic() > deadline and measured < len(plan):
            append(lines, {"stopped": f"the budget of {budget:g} seconds is spent",
                           "left": len(plan) - measured})
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=pathlib.Path, required=True)
    parser.add_argument("--lines", type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", default="", help="words, separated by commas")
    parser.add_argument("--budget", type=float, default=180, metavar="SECONDS")
    parser.add_argument("--divide", type=int, default=1, metavar="N")
    options = parser.parse_args()
    plan = planned(json.loads(options.shapes.read_text(encoding="utf-8")), options)
    options.lines.write_text("", encoding="utf-8")
    # An ended parent takes the process that measures with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    supervise(plan, options.lines, options.device, options.budget)


if __name__ == "__main__":
    main()
