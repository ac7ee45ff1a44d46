# SPDX-License-Identifier: Apache-2.0
"""What peers.py writes, with fake_torch.py in PyTorch's place."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))
import fake_torch
import shapes

FAKE = (HERE / "fake_torch.py").read_text()
SMALL = {"products": [{"model": "small", "name": "o_proj", "n": 512, "k": 1024},
                      {"model": "small", "name": "down_proj", "n": 1024, "k": 2048}],
         "attention": [{"model": "small", "heads": 8, "kv_heads": 2, "head_dim": 64}]}
BITSANDBYTES = """
import torch
def quantize_4bit(weight, blocksize, quant_type):
    return torch.Tensor((weight.shape[0] * weight.shape[1] // 2, 1), torch.uint8), None
def matmul_4bit(x, codes, quant_state):
    torch.read(codes)
"""


class Peers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-peers-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "shapes.json").write_text(json.dumps(SMALL))

    def measure(self, torch, *options):
        """Runs peers.py with `torch` as the text of that module; its lines."""
        (self.folder / "torch.py").write_text(torch)
        lines = self.folder / "lines.jsonl"
        result = subprocess.run(
            [sys.executable, "-B", HERE / "peers.py", "--shapes", self.folder / "shapes.json",
             "--lines", lines, *options], capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return [json.loads(line) for line in lines.read_text().splitlines()]

    def test_all_are_measured_out_of_memory_and_in_order(self):
        package = self.folder / "bitsandbytes"
        package.mkdir()
        for file in ("__init__.py", "functional.py"):
            (package / file).write_text(BITSANDBYTES)
        header, *lines = self.measure(FAKE)
        self.assertEqual(header["device"], "Fake")
        self.assertEqual(header["library"], "torch 2.0, CUDA 12.0")
        self.assertEqual(header["l2_bytes"], fake_torch.L2_BYTES)
        self.assertEqual(header["planned"], len(lines))
        self.assertIn("bitsandbytes", header["modules"])
        kinds = [(line["kind"], line["m"] > 100 or line["name"] == "prompt") for line in lines[1:]]
        self.assertEqual(lines[0]["kind"], "copy")
        self.assertEqual(list(dict.fromkeys(kinds)),
                         [("matmul", False), ("w4", False), ("attention", False),
                          ("attention", True), ("matmul", True), ("w4", True)])
        for line in lines:
            if line["peer"] == "SDPA cuDNN":  # This PyTorch does not know it.
                self.assertIn("AttributeError", line["error"])
                continue
            self.assertEqual((line["method"], line["library"]), ("graph", header["library"]), line)
            # What the fake device reads of it; nothing is found in the cache.
            size = {"copy": lambda: 1 << 30,
                    "attention": lambda: 4 * 64 * 2 * line["context"] *
                    (line["m"] if line["name"] == "decode" else 1),
                    "matmul": lambda: line["n"] * line["k"] * (2 if "bf16" in line["peer"] else 1),
                    "w4": lambda: line["n"] * line["k"] / 2}[line["kind"]]()
            self.assertAlmostEqual(line["seconds"] * fake_torch.BANDWIDTH / size, 1, 6, line)
            self.assertGreaterEqual(line["bytes"], size)
        product = next(line for line in lines if line["name"] == "down_proj")
        self.assertEqual((product["m"], product["operations"], product["bytes"]),
                         (1, 2 * 1024 * 2048, 2 * (1024 * 2048 + 1024 + 2048)))

    def test_a_failure_costs_itself_alone(self):
        failing = FAKE + """
def failing(x, weight):
    if x.shape[0] == 10:
        raise RuntimeError("no such kernel\\nand more")
    read(weight)
nn.functional.linear = failing
def uncapturable(made):
    raise RuntimeError("not permitted")
cuda.graph = uncapturable
"""
        header, *lines = self.measure(failing, "--only", "cuBLAS")
        self.assertEqual([line["m"] for line in lines], [1, 10, 32, 64] * 2 + [512, 2048] * 2)
        for line in lines:
            if line["m"] == 10:
                self.assertEqual(line["error"], "RuntimeError: no such kernel")
                self.assertNotIn("seconds", line)
            else:
                self.assertEqual(line["method"], "events")
                self.assertEqual(line["note"], "RuntimeError: not permitted")
                self.assertGreater(line["seconds"], 0)

    def test_an_ended_process_costs_one_measurement(self):
        for ending, error in (("os.kill(os.getpid(), 9)", "the process ended with status -9"),
                              ("broken()", "RuntimeError: illegal memory access")):
            crashing = FAKE + f"""
import os
def broken():
    cuda.synchronize = broken
    raise RuntimeError("illegal memory access")
def crashing(x, weight):
    if x.shape[0] == 32:
        {ending}
    if cuda.synchronize == broken:
        broken()
    read(weight)
nn.functional.linear = crashing
"""
            header, *lines = self.measure(crashing, "--only", "cuBLAS")
            self.assertEqual(len(lines), header["planned"])
            self.assertEqual([line.get("error") for line in lines],
                             [error if line["m"] == 32 else None for line in lines])

    def test_without_pytorch_or_device(self):
        for torch, reason in (("raise ImportError('no torch here')", "ImportError: no torch here"),
                              (FAKE + "cuda.is_available = lambda: False",
                               "RuntimeError: PyTorch finds no CUDA device"),
                              ("import os\nos.kill(os.getpid(), 9)",
                               "starting PyTorch ended with status -9")):
            self.assertEqual(self.measure(torch), [{"skipped": reason}])

    def test_cpu_and_older_pytorch(self):
        older = FAKE + """
def _convert_weight_to_int4pack(codes, tiles):
    if codes.dtype != int32:
        raise RuntimeError("expected int32")
    return Tensor((codes.shape[0] // 8, codes.shape[1] // 128, 32, 4), int32)
def attend(q, k, v, is_causal=False):
    assert q.shape[1] == k.shape[1]
nn.functional.scaled_dot_product_attention = attend
"""
        header, *lines = self.measure(older, "--device", "cpu", "--divide", "4", "--only",
                                      "w4,SDPA flash")
        self.assertEqual((header["device"], header["l2_bytes"]), ("cpu", 0))
        self.assertEqual({line["peer"]: line["method"] for line in lines},
                         {"torch int4pack": "clock", "SDPA flash": "clock"})
        self.assertEqual({line["gqa"] for line in lines if "gqa" in line}, {"expanded"})
        self.assertEqual({line["context"] for line in lines if line["name"] == "decode"}, {256})

    def test_the_budget_is_kept(self):
        header, stopped = self.measure(FAKE, "--budget", "0")
        self.assertEqual(stopped["left"], header["planned"])
        hanging = FAKE + """
import time
def hanging(x, weight):
    time.sleep(600 if x.shape[0] == 10 else 0)
    read(weight)
nn.functional.linear = hanging
"""
        header, *lines, stopped = self.measure(hanging, "--budget", "2", "--only", "cuBLAS")
        self.assertEqual([line["m"] for line in lines], [1, 10])
        self.assertEqual(lines[1]["error"], "the process did not end in time")
        self.assertEqual(stopped, {"stopped": "the budget of 2 seconds is spent",
                                   "left": header["planned"] - 2})

    def test_published_shapes(self):
        shapes.write_shapes(self.folder / "shapes.json", ["llama-3-8b", "qwen2.5-32b"])
        header, *lines = self.measure(FAKE, "--only", "cuBLAS bf16 matmul llama,qwen2.5-32b decode")
        sizes = {(line["name"], line["n"], line["k"]) for line in lines if "n" in line}
        self.assertEqual(sizes, {("qkv_proj", 6144, 4096), ("o_proj", 4096, 4096),
                                 ("gate_up_proj", 28672, 4096), ("down_proj", 4096, 14336),
                                 ("lm_head", 128256, 4096)})
        self.assertEqual({(line["heads"], line["kv_heads"], line["head_dim"]) for line in lines
                          if line["kind"] == "attention"}, {(40, 8, 128)})


if __name__ == "__main__":
    unittest.main()
