# SPDX-License-Identifier: Apache-2.0
"""`ingot quantize` of mixtures of experts: a real model whose feed-forward parts became experts, so
that they compute what it does and read what its layers read. And of GPT-2, whose matrices are
stored as [inputs, outputs]."""
import array
import json
import pathlib
import random
import shutil
import sys
import unittest

import harness
import quantizing
from qwen2_family import read_tensors, write_tensors

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

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


def stacked(matrices):
    """[experts, inputs, outputs] of equal experts, whose outputs are those of `matrices`."""
    rows = [array.array("f", data)[row * shape[1]:(row + 1) * shape[1]]
            for _, shape, data in matrices for row in range(shape[0])]
    turned = floats(value for column in zip(*rows) for value in column)
    return "F32", [EXPERTS, len(rows[0]), len(rows)], turned * EXPERTS


def llama4(tensors):
    """As qwen2_moe(), with all experts' matrices in two tensors. What it computes differs, for
    heads rotate otherwise and inputs of experts are scaled."""
    result, half = {}, INNER // 2
    for name, tensor in tensors.items():
        if ".mlp." not in name:
            result[name] = tensor
    for layer in range(LAYERS):
        module, prefix = f"model.layers.{layer}.feed_forward", f"model.layers.{layer}.mlp"
        gate, up, down = (tensors[f"{prefix}.{part}.weight"] for part in PARTS)
        result[f"{module}.router.weight"] = router()
        result[f"{module}.experts.gate_up_proj"] = stacked([rows_of(gate, 0, half),
                                                            rows_of(up, 0, half)])
        result[f"{module}.experts.down_proj"] = stacked([columns_of(down, 0, half)])
        result[f"{module}.shared_expert.gate_proj.weight"] = rows_of(gate, half, half)
        result[f"{module}.shared_expert.up_proj.weight"] = rows_of(up, half, half)
        result[f"{module}.shared_expert.down_proj.weight"] = columns_of(down, half, half)
    return result


FAMILIES = {
    "mixtral": (mixtral, {
        "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "sliding_window": None,
        "num_local_experts": EXPERTS, "num_experts_per_tok": 2}),
    "qwen2_moe": (qwen2_moe, {
        "architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe", "qkv_bias": False,
        "num_experts": EXPERTS, "num_experts_per_tok": 2, "moe_intermediate_size": INNER // 2,
        "shared_expert_intermediate_size": INNER // 2, "norm_topk_prob": True}),
    "llama4": (llama4, {
        "architectures": ["Llama4ForCausalLM"], "model_type": "llama4_text", "use_qk_norm": False,
        "num_local_experts": EXPERTS, "num_experts_per_tok": 2, "intermediate_size": INNER // 2,
        "intermediate_size_mlp": INNER, "interleave_moe_layer_step": 1,
        "attention_chunk_size": 512, "no_rope_layers": [1] * LAYERS}),
}
PARTS = ("gate_proj", "up_proj", "down_proj")


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

    def engine(self, model, recipe, context=512):
        engine = self.folder / f"{model.name}.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--recipe",
                                     self.write("build.yaml", recipe), "--max-context",
                                     context, "--max-sequences", 1), engine)
        return engine

    def evaluated(self, engine, base, window=512):
        result = self.ingot_run("eval", engine, "--against", base, "--text", self.text, "--window",
                                str(window), "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["divergence"]["mean"]

    def check(self, family, methods, module, kept, parts=PARTS):
        """Experts lose less by what they read; all but router and gates is quantized."""
        model = self.model(family)
        base = self.engine(model, F32)
        if family != "llama4":  # What the mixture is made of computes the same.
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
                stored = {name for name in tensors if name.startswith(f"{prefix}.experts.")}
                self.assertEqual(stored, {
                    f"{prefix}.experts.{expert}.{part}.weight_{own}" for expert in range(EXPERTS)
                    for part in parts for own in ("packed", "scale", "shape")})
                for name in kept:
                    self.assertIn(f"{prefix}.{name}.weight", tensors)
            config = json.loads((folder / "config.json").read_text())["quantization_config"]
            for name in kept:
                self.assertIn(f"model.layers.0.{module}.{name}", config["ignore"])
        print(family, found, flush=True)
        for method in methods:
            self.assertLess(found[method], (0.8 if method == "awq" else 0.4) * found["round"])

    def test_mixtral(self):
        self.check("mixtral", ("awq", "gptq", "awq-gptq", "best"), "block_sparse_moe",
                   ("gate",), ("w1", "w2", "w3"))

    def test_qwen2_moe(self):
        self.check("qwen2_moe", ("gptq", "awq-gptq"), "mlp", ("gate", "shared_expert_gate"))

    def test_stacks_are_taken_apart(self):
        self.check("llama4", ("gptq", "awq-gptq"), "feed_forward", ("router",))

    def test_stacks_mean_the_same_either_way(self):
        """And under the prefix that a model of text and vision has."""
        config, stored = models.wrapped(models.CASES["qwen3_moe"], models.WRAPPERS["qwen3_moe"])
        recipe, found = self.recipe("gptq"), []
        recipe.write_text(recipe.read_text().replace("128", "32"))
        for inputs_first in (False, True):
            model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
            (model / "generation_config.json").unlink()
            (model / "config.json").write_text(json.dumps(config))
            models.write_safetensors(model / "model.safetensors",
                                     models.stacked(stored, inputs_first))
            output = self.folder / f"quantized-{inputs_first}"
            result = self.ingot("quantize", model, "-o", output, "--recipe", recipe, "--samples", 8,
                                "--length", 64, "--calibration-text", self.calibration)
            self.assertEqual(result.returncode, 0, result.stdout)
            found.append(read_tensors(output / "model.safetensors"))
            shutil.rmtree(model)
        self.assertIn("model.language_model.layers.1.mlp.experts.0.up_proj.weight_packed", found[0])
        self.assertEqual(*found)

    def test_scales_of_inputs_that_no_token_gave(self):
        """They are the largest of the layer, by which no token is clipped that went elsewhere."""
        model = self.model("qwen2_moe")
        recipe = self.write("static.yaml", RECIPE.replace("int4, group: 128", "fp8")
                            % "round" + "activations: fp8-static\n")
        output = self.folder / "static"
        result = self.ingot("quantize", model, "-o", output, "--recipe", recipe, "--samples", 8,
                            "--length", 64, "--calibration-text", self.calibration)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("scale of the layer's largest", result.stdout)
        self.assertNotIn("round-mse", result.stdout)
        tensors = read_tensors(output / "model.safetensors")
        for layer in range(LAYERS):
            for part in PARTS:
                scales = [array.array("f", tensors[
                    f"model.layers.{layer}.mlp.experts.{expert}.{part}.input_scale"][2])[0]
                    for expert in range(EXPERTS)]
                self.assertLess(max(scales), 0.9)
                self.assertEqual(scales[NEVER], max(scales))

    def test_stacks_of_which_some_matrices_are_quantized(self):
        """The others are tensors of their own too, in the model's type."""
        model = self.model("llama4")
        recipe = self.write("some.yaml", RECIPE.replace("*.experts.*", "*.experts.?.down_proj*")
                            % "gptq")
        output = self.folder / "some"
        result = self.ingot("quantize", model, "-o", output, "--recipe", recipe, *self.few)
        self.assertEqual(result.returncode, 0, result.stdout)
        tensors = read_tensors(output / "model.safetensors")
        module, before = "model.layers.1.feed_forward.experts", read_tensors(
            model / "model.safetensors")
        self.assertNotIn(f"{module}.gate_up_proj", tensors)
        for part in ("down_proj", "gate_proj"):  # Rules of the recipe name both.
            self.assertIn(f"{module}.3.{part}.weight_packed", tensors)
        up = array.array("f", tensors[f"{module}.3.up_proj.weight"][2])
        stack, width = array.array("f", before[f"{module}.gate_up_proj"][2]), INNER // 2
        for row, column in ((0, 0), (17, 200), (255, 255)):
            place = (3 * HIDDEN + column) * 2 * width + width + row
            self.assertEqual(up[row * HIDDEN + column], stack[place])
        self.assertLess(self.evaluated(self.engine(output, PLAIN), self.engine(model, F32)), 0.01)

    def test_inputs_first(self):
        """Of random weights, whose layers have inputs that are not."""
        case = models.CASES["gpt2"]
        model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        (model / "generation_config.json").unlink()
        (model / "config.json").write_text(json.dumps(case.config))
        models.write_safetensors(model / "model.safetensors", case.checkpoint())
        base, found = self.engine(model, F32, 64), {}
        for method in ("round", "gptq"):
            recipe = self.write("gpt2.yaml", "version: 1\nweights: [{match: 'model.layers.*', "
                                f"format: int4, group: 32}}]\nmethod: {method}\n")
            output = self.folder / method
            result = self.ingot("quantize", model, "-o", output, "--recipe", recipe, "--samples",
                                64, "--length", 32, "--calibration-text", self.calibration)
            self.assertEqual(result.returncode, 0, result.stdout)
            tensors = read_tensors(output / "model.safetensors")
            packed = [name for name in tensors if name.endswith(".weight_packed")]
            self.assertEqual(len(packed), 4 * case.config["n_layer"])
            found[method] = self.evaluated(self.engine(output, PLAIN, 64), base, 32)
        print("gpt2", found, flush=True)
        self.assertLess(found["gptq"], 0.4 * found["round"])

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
        second = pathlib.Path(f"{output}.partial") / "layer-1.1.safetensors"
        self.assertTrue(quantizing.kill_behind(second, command),
                        "the run ended before it was killed")
        result = self.ingot(*map(str, command[1:-4]))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("going on behind layer 1 of 2", result.stdout)
        self.assertEqual((output / "model.safetensors").read_bytes(), expected)

        result = self.ingot("quantize", model, "-o", self.folder / "x", "--recipe",
                            self.recipe("gptq"), *self.few, "--max-build-memory", "200MiB")
        self.assertIn("INGOT-E2122", result.stdout)


if __name__ == "__main__":
    harness.main()
