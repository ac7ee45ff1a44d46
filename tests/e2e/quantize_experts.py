# SPDX-License-Identifier: Apache-2.0
"""`ingot quantize` of mixtures of experts: a real model whose feed-forward parts became experts, so
that they compute what it does and read what its layers read."""
import array
import json
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

import harness
from qwen2_family import read_tensors, write_tensors

DATA = harness.ROOT.parent / "shared" / "data"
SOURCE = DATA / "TinyStories-656K-rot256"
TEXTS = DATA / "text"
HIDDEN, INNER, LAYERS = 256, 512, 2
EXPERTS = 6
NEVER = EXPERTS - 1  # Two before it are chosen like it, and of equal ones the lower two.
PLAIN = "version: 1\nactivations: f32\nkv_cache: f32\n"
F32 = 'version: 1\nweights: [{match: "*", format: f32}]\nactivations: f32\nkv_cache: f32\n'
RECIPE = """version: 1
weights:
  - {match: "*.experts.*", format: int4, group: 128}
  - {match: "*gate*", format: int4, group: 128}
  - {match: "*", format: stored}
method: %s
"""


def floats(values):
    return array.array("f", values).tobytes()


def router():
    """Rows of random numbers; three of them are equal."""
    numbers = random.Random(5)
    rows = [[numbers.gauss(0, 0.3) for _ in range(HIDDEN)] for _ in range(EXPERTS)]
    rows[NEVER] = rows[NEVER - 1] = rows[0]
    return "F32", [EXPERTS, HIDDEN], floats(value for row in rows for value in row)


def rows_of(tensor, first, count):
    dtype, (rows, columns), data = tensor
    size = len(data) // rows
    return dtype, [count, columns], data[first * size:(first + count) * size]


def columns_of(tensor, first, count, factor=1.0):
    dtype, (rows, columns), data = tensor
    values = array.array("f", data)
    return dtype, [rows, count], floats(
        factor * values[row * columns + first + i] for row in range(rows) for i in range(count))


def mixtral(tensors):
    """Every expert is the whole feed-forward part, and two of them weigh 1 together."""
    result = {}
    for name, tensor in tensors.items():
        layer, found, part = name.partition(".mlp.")
        if not found:
            result[name] = tensor
            continue
        own = {"gate_proj.weight": "w1", "up_proj.weight": "w3", "down_proj.weight": "w2"}[part]
        module = f"{layer}.block_sparse_moe"
        result[f"{module}.gate.weight"] = router()
        for expert in range(EXPERTS):
            result[f"{module}.experts.{expert}.{own}.weight"] = tensor
    return result


def qwen2_moe(tensors):
    """One half of the neurons is every expert, the other the one that all tokens go through, behind
    a gate that is a half."""
    result, half = {}, INNER // 2
    for name, tensor in tensors.items():
        layer, found, part = name.partition(".mlp.")
        if not found:
            result[name] = tensor
            continue
        module = f"{layer}.mlp"
        result[f"{module}.gate.weight"] = router()
        result[f"{module}.shared_expert_gate.weight"] = "F32", [1, HIDDEN], floats([0] * HIDDEN)
        if part == "down_proj.weight":
            own, shared = columns_of(tensor, 0, half), columns_of(tensor, half, half, 2.0)
        else:
            own, shared = rows_of(tensor, 0, half), rows_of(tensor, half, half)
        for expert in range(EXPERTS):
            result[f"{module}.experts.{expert}.{part}"] = own
        result[f"{module}.shared_expert.{part}"] = shared
    return result


FAMILIES = {
    "mixtral": (mixtral, {
        "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "sliding_window": None,
        "num_local_experts": EXPERTS, "num_experts_per_tok": 2}),
    "qwen2_moe": (qwen2_moe, {
        "architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe", "qkv_bias": False,
        "num_experts": EXPERTS, "num_experts_per_tok": 2, "moe_intermediate_size": INNER // 2,
        "shared_expert_intermediate_size": INNER // 2, "norm_topk_prob": True}),
}


@unittest.skipUnless(SOURCE.is_dir() and TEXTS.is_dir(), "../shared/data is absent")
class QuantizeExperts(harness.BuildTest):
    def setUp(self):
        super().setUp()
        text = (TEXTS / "tinystories_train_head_ascii.txt").read_text()
        self.calibration = self.write("calibration.txt", text[:120_000])
        self.text = self.write("text.txt", text[150_000:165_000])
        self.few = ("--samples", 16, "--length", 256, "--calibration-text", self.calibration)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def model(self, family):
        made, changes = FAMILIES[family]
        folder = self.fresh(family)
        for path in SOURCE.glob("*.json"):
            shutil.copyfile(path, folder / path.name)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changes}))
        tensors = made(read_tensors(SOURCE / "model.safetensors"))
        write_tensors(folder / "model.safetensors", tensors)
        return folder

    def recipe(self, method):
        return self.write(f"{method}.yaml", RECIPE % method)

    def quantize(self, model, method, name, *options):
        output = self.folder / name
        result = self.ingot("quantize", model, "-o", output, "--recipe", self.recipe(method),
                            *self.few, *options)
        self.assertEqual(result.returncode, 0, result.stdout)
        return output, result.stdout

    def engine(self, model, recipe):
        engine = self.folder / f"{model.name}.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--recipe",
                                     self.write("build.yaml", recipe), "--max-context", 512,
                                     "--max-sequences", 1), engine)
        return engine

    def evaluated(self, engine, base):
        result = self.ingot_run("eval", engine, "--against", base, "--text", self.text, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["divergence"]["mean"]

    def check(self, family, methods, module, shared=()):
        """Experts lose less by what they read; all but router and gates is quantized."""
        model = self.model(family)
        base = self.engine(model, F32)
        # What the mixture is made of computes the same.
        source = self.copy_of(SOURCE, "source")
        self.assertLess(self.evaluated(base, self.engine(source, F32)), 1e-5)
        found = {}
        for method in ("round", *methods):
            folder, said = self.quantize(model, method, method)
            found[method] = self.evaluated(self.engine(folder, PLAIN), base)
            named = f"fewer than 32 tokens went to experts {NEVER}, "
            self.assertEqual(said.count(named), 0 if method == "round" else LAYERS, said)
            tensors = read_tensors(folder / "model.safetensors")
            for layer in range(LAYERS):
                prefix = f"model.layers.{layer}.{module}"
                parts = ("w1", "w2", "w3") if family == "mixtral" else (
                    "gate_proj", "up_proj", "down_proj")
                for expert in range(EXPERTS):
                    for part in parts:
                        self.assertIn(f"{prefix}.experts.{expert}.{part}.weight_packed", tensors)
                        self.assertNotIn(f"{prefix}.experts.{expert}.{part}.weight", tensors)
                for kept in ("gate", *shared):
                    self.assertIn(f"{prefix}.{kept}.weight", tensors)
            config = json.loads((folder / "config.json").read_text())["quantization_config"]
            for kept in ("gate", *shared):
                self.assertIn(f"model.layers.0.{module}.{kept}", config["ignore"])
        print(family, found, flush=True)
        for method in methods:
            self.assertLess(found[method], (0.8 if method == "awq" else 0.4) * found["round"])

    def test_mixtral(self):
        self.check("mixtral", ("awq", "gptq", "awq-gptq", "best"), "block_sparse_moe")

    def test_qwen2_moe(self):
        self.check("qwen2_moe", ("gptq", "awq-gptq"), "mlp", ("shared_expert_gate",))

    def test_equal_bytes(self):
        """For any number of threads, in one pass over the text or several, at once or gone on."""
        model = self.model("mixtral")
        whole, _ = self.quantize(model, "awq-gptq", "whole", "--threads", 2)
        expected = (whole / "model.safetensors").read_bytes()
        little = ("--threads", 1, "--max-build-memory", "220MiB")
        parts, _ = self.quantize(model, "awq-gptq", "parts", *little)
        self.assertEqual((parts / "model.safetensors").read_bytes(), expected)

        output = self.folder / "killed"
        command = [harness.programs / "ingot", "quantize", model, "-o", output, "--recipe",
                   self.recipe("awq-gptq"), *map(str, (*self.few, *little))]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        third = pathlib.Path(f"{output}.partial") / "layer-1.2.safetensors"
        end = time.monotonic() + harness.LIMIT
        while not third.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue(third.exists(), "the run ended before it was killed")
        result = self.ingot(*map(str, command[1:-4]))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("going on behind layer 1 of 2", result.stdout)
        self.assertEqual((output / "model.safetensors").read_bytes(), expected)

        result = self.ingot("quantize", model, "-o", self.folder / "x", "--recipe",
                            self.recipe("gptq"), *self.few, "--max-build-memory", "200MiB")
        self.assertIn("INGOT-E2122", result.stdout)


if __name__ == "__main__":
    harness.main()
