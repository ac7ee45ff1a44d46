# SPDX-License-Identifier: Apache-2.0
"""LoRA adapters merged by a build: the same weights as in a checkpoint that was merged before."""
import array
import json
import math
import os
import random
import shutil
import sys

import harness
from qwen2_family import F32, read_tensors, write_tensors

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

RANK, ALPHA = 4, 8
ADAPTED = ("model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.o_proj",
           "model.layers.1.mlp.down_proj", "lm_head")


def floats(data):
    return array.array("f", data)


def merged(weight, left, right, rank, scale):
    """weight + scale * left * right; all numbers are such that nothing is rounded."""
    rows, columns = len(left) // rank, len(right) // rank
    return array.array("f", (
        weight[n * columns + k] +
        scale * sum(left[n * rank + r] * right[r * columns + k] for r in range(rank))
        for n in range(rows) for k in range(columns)))


class Adapters(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        case = models.CASES["qwen3"]
        (self.model / "config.json").write_text(json.dumps(case.config))
        (self.model / "generation_config.json").unlink(missing_ok=True)
        weights = {name: (shape, array.array("f", (round(value * 1024) / 1024 for value in data)))
                   for name, (shape, data) in case.checkpoint().items()}
        models.write_safetensors(self.model / "model.safetensors", weights)
        self.tensors = {}
        numbers = random.Random(11)
        for module in ADAPTED:
            rows, columns = weights[module + ".weight"][0]
            for factor, shape in (("A", [RANK, columns]), ("B", [rows, RANK])):
                self.tensors[f"base_model.model.{module}.lora_{factor}.weight"] = (
                    shape, array.array("f", (numbers.randint(-8, 8) / 16
                                             for _ in range(math.prod(shape)))))
        self.adapter = self.fresh("adapter")
        self.write_adapter()

    def write_adapter(self, tensors=None, **changes):
        config = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "bias": "none",
                  "target_modules": ["q_proj"], "use_rslora": False, "modules_to_save": None,
                  "rank_pattern": {}, "alpha_pattern": {}, **changes}
        (self.adapter / "adapter_config.json").write_text(json.dumps(config))
        models.write_safetensors(self.adapter / "adapter_model.safetensors",
                                 self.tensors if tensors is None else tensors)

    def merged_model(self, scale, scales=()):
        """The checkpoint with the adapter in its weights; `scales`: of modules with their own."""
        folder = self.copy_of(self.model, "merged")
        tensors = read_tensors(folder / "model.safetensors")
        for module in ADAPTED:
            dtype, shape, data = tensors[module + ".weight"]
            factors = [self.tensors[f"base_model.model.{module}.lora_{factor}.weight"][1]
                       for factor in "BA"]
            tensors[module + ".weight"] = (
                dtype, shape, merged(floats(data), *factors, len(factors[0]) // shape[0],
                                     dict(scales).get(module, scale)).tobytes())
        write_tensors(folder / "model.safetensors", tensors)
        return folder

    def built(self, name, model, recipe, *options):
        output = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(model, output, "--recipe", recipe, "--max-context", 64,
                                     *options), output)
        return output

    def recipe(self, text):
        path = self.folder / "recipe.yaml"
        path.write_text(text)
        return path

    def check(self, scale, recipe, *options, scales=()):
        ours = self.built("ours", self.model, recipe, "--lora", self.adapter, *options)
        theirs = self.built("theirs", self.merged_model(scale, scales), recipe)
        self.assertEqual(self.differing(ours, theirs) & {"weights", "programs"}, set())
        return ours

    def test_an_adapter_is_added_to_the_weights(self):
        recipe = self.recipe(F32)
        ours = self.check(ALPHA / RANK, recipe)
        self.assertIn("weights", self.differing(ours, self.built("bare", self.model, recipe)))
        names = [entry["name"] for entry in json.loads(self.ingot_run(
            "inspect", ours, "--section", "provenance", "--json").stdout)["provenance"]["inputs"]]
        self.assertIn("adapter/adapter_model.safetensors", names)
        # Where the adapter lies is not part of the engine.
        inside = self.model / "lora"
        shutil.copytree(self.adapter, inside)
        moved = self.fresh("moved") / "m.ingot"
        self.assert_built(self.build(
            self.model, moved, "--recipe", recipe, "--max-context", 64, "--lora",
            os.path.relpath(inside)), moved)
        self.assertEqual(moved.read_bytes(), ours.read_bytes())
        again = "verify", ours, "--rebuild", self.model
        result = self.ingot(*again, "--lora", self.adapter)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("rebuild: identical", result.stdout)
        self.assertRegex(self.ingot(*again).stdout, "INGOT-E3202.*adapter")

    def test_what_is_quantized_is_the_sum(self):
        self.check(ALPHA / RANK, self.recipe(
            "version: 1\nweights:\n  - {match: '*proj*', format: int4, group: 32}\n"
            "  - {match: '*', format: f32}\nactivations: f32\nkv_cache: f32\n"))

    def test_scales(self):
        self.write_adapter(use_rslora=True)  # The square root of 4.
        recipe = self.recipe(F32)
        self.check(0.5 * ALPHA / 2, recipe, "--lora-scale", 0.5)
        odd = self.built("odd", self.model, recipe, "--lora", self.adapter, "--lora-scale", 0.3001)
        result = self.ingot("verify", odd, "--rebuild", self.model, "--lora", self.adapter)
        self.assertIn("rebuild: identical", result.stdout)
        output = self.fresh(f"refused{len(list(self.folder.iterdir()))}") / "m.ingot"
        for options, code in (((), "INGOT-E2103.*--lora"),
                              (("--lora", self.adapter), "INGOT-E2103.*nan")):
            self.assert_refused(self.build(self.model, output, "--lora-scale", "nan", *options),
                                output, code)

    def test_matrices_with_a_scale_of_their_own(self):
        first, second, third, head = ADAPTED
        for factor in "AB":  # Rank 2 for one matrix.
            name = f"base_model.model.{head}.lora_{factor}.weight"
            (rows, columns), data = self.tensors[name]
            self.tensors[name] = (([2, columns], data[:2 * columns]) if factor == "A"
                                  else ([rows, 2], data[:2 * rows]))
        # Of two that match the first one counts, whatever the order of their letters.
        self.write_adapter(
            rank_pattern={"lm_head": 2},
            alpha_pattern={r"layers\.1\.self_attn\..*": 16, "o_proj": 1,
                           "^model.layers.1.mlp.down_proj": 2, "q_pro": 64})
        recipe = self.recipe(F32)
        engine = self.check(ALPHA / RANK, recipe, scales={
            second: 16 / RANK, third: 2 / RANK, head: ALPHA / 2})
        report = self.ingot_run("inspect", engine, "--section", "provenance").stdout
        for pattern in "o_proj", "q_pro":
            self.assertRegex(report, f'alpha_pattern.*"{pattern}".*not used')
        self.assertNotIn("down_proj", report)

    def refuse(self, code, *mentions, model=None, tensors=None, **changes):
        self.write_adapter(tensors, **changes)
        output = self.fresh(f"refused{len(list(self.folder.iterdir()))}") / "m.ingot"
        result = self.build(model or self.model, output, "--lora", self.adapter)
        self.assert_refused(result, output, code)
        for mention in mentions:
            self.assertIn(mention, result.stdout)

    def test_what_cannot_be_merged_is_refused_by_name(self):
        self.refuse("INGOT-E1120", "use_dora", use_dora=True)
        self.refuse("INGOT-E1120", "bias", bias="all")
        self.refuse("INGOT-E1120", "modules_to_save", modules_to_save=["lm_head"])
        self.refuse("INGOT-E1120", "alpha_pattern", "(?=", alpha_pattern={"(?=q)q_proj": 3})
        self.refuse("INGOT-E1120", "steps", alpha_pattern={"((.*)*)*[!?]": 3})
        self.refuse("INGOT-E1080", "rank", rank_pattern={"q_proj": 3})
        self.refuse("INGOT-E1120", "IA3", peft_type="IA3")
        self.refuse("INGOT-E1004", "lora_alpha", lora_alpha=None)
        name = f"base_model.model.{ADAPTED[0]}.lora_A.weight"
        embedding = {"base_model.model.model.embed_tokens.lora_embedding_A": self.tensors[name]}
        self.refuse("INGOT-E1120", "lora_embedding_A", tensors={**self.tensors, **embedding})
        unknown = {name.replace("layers.0", "layers.7"): self.tensors[name]}
        self.refuse("INGOT-E1083", "layers.7", tensors={**self.tensors, **unknown})
        self.refuse("INGOT-E1038", "lora_A", tensors={
            key: value for key, value in self.tensors.items() if key != name})
        wrong = {name: self.tensors["base_model.model.model.layers.1.mlp.down_proj.lora_A.weight"]}
        self.refuse("INGOT-E1080", "lora_A", tensors={**self.tensors, **wrong})

    def test_models_that_none_can_be_merged_into(self):
        config = json.loads((self.model / "config.json").read_text())
        output = self.fresh(f"refused{len(list(self.folder.iterdir()))}") / "m.ingot"
        result = self.build(self.model, output, "--lora", self.adapter, "--random-weights", 1)
        self.assert_refused(result, output, "INGOT-E1121.*random")
        (self.model / "config.json").write_text(json.dumps(
            {**config, "quantization_config": {"quant_method": "bitsandbytes",
                                               "load_in_4bit": True}}))
        result = self.build(self.model, output, "--lora", self.adapter)
        self.assert_refused(result, output, "INGOT-E1121.*quantized already")
        (self.adapter / "adapter_model.safetensors").rename(self.adapter / "adapter_model.bin")
        (self.model / "config.json").write_text(json.dumps(config))
        result = self.build(self.model, output, "--lora", self.adapter)
        self.assert_refused(result, output, "INGOT-E1031.*pickle")


def expert_delta(left, right, shape, expert, scale):
    """What PEFT adds to the matrix [rows, columns] of an expert that is stacked with `count`: the
    first factor has its rows together, the second one a column in each group of `count`."""
    rows, columns, count, rank = shape
    return [[scale * sum(left[o * rank * count + k * count + expert] *
                         right[(expert * rank + k) * columns + i] for k in range(rank))
             for i in range(columns)] for o in range(rows)]


class StackedExperts(harness.BuildTest):
    """target_parameters: factors for the parameter that stacks all experts."""

    def stacks(self, case, layer):
        """Of each stack: its name, the rows and columns of an expert's matrix, and where in a
        checkpoint the matrices lie, as (tensor, its first row in the matrix) by expert."""
        config = models.CASES[case].config
        hidden = config["hidden_size"]
        inner = config.get("moe_intermediate_size", config["intermediate_size"])
        module = "block_sparse_moe" if case == "mixtral" else "mlp"
        gate, up, down = ("w1", "w3", "w2") if case == "mixtral" else (
            "gate_proj", "up_proj", "down_proj")
        prefix = f"model.layers.{layer}.{module}.experts."
        yield "gate_up_proj", 2 * inner, hidden, lambda expert: (
            (f"{prefix}{expert}.{gate}.weight", 0), (f"{prefix}{expert}.{up}.weight", inner))
        yield "down_proj", hidden, inner, lambda expert: ((f"{prefix}{expert}.{down}.weight", 0),)

    def add(self, tensors, case, name, expert, places, delta):
        """Adds `delta` to an expert's matrices in a checkpoint."""
        if case == "gpt_oss":  # Transposed, and really one tensor.
            data, columns, rows = tensors[name][1], len(delta[0]), len(delta)
            for i in range(columns):
                for o in range(rows):
                    data[(expert * columns + i) * rows + o] += delta[o][i]
            return
        for tensor, first in places:
            (rows, columns), data = tensors[tensor]
            for o in range(rows):
                for i in range(columns):
                    data[o * columns + i] += delta[first + o][i]

    def check(self, case, layer, targets):
        model = self.checkpoint("--shape", "tiny")
        config = models.CASES[case].config
        (model / "config.json").write_text(json.dumps(config))
        (model / "generation_config.json").unlink(missing_ok=True)
        count = config.get("num_experts", config.get("num_local_experts"))
        numbers, rank, tensors, factors = random.Random(5), 2, {}, {}
        for name, (shape, data) in models.CASES[case].checkpoint().items():
            tensors[name] = shape, array.array("f", (round(value * 1024) / 1024 for value in data))
        merged_tensors = {name: (shape, array.array("f", data))
                          for name, (shape, data) in tensors.items()}
        for stack, rows, columns, places in self.stacks(case, layer):
            if stack not in targets:
                continue
            left, right = (array.array("f", (numbers.randint(-8, 8) / 16 for _ in range(size)))
                           for size in (rows * rank * count, rank * count * columns))
            inner = stack == "gate_up_proj" and len(targets) == 2
            prefix = f"base_model.model.model.layers.{layer}.mlp.experts." + (
                "base_layer." if inner else "")
            factors[prefix + "lora_A.weight"] = [rank * count, columns], right
            factors[prefix + "lora_B.weight"] = [rows, rank * count], left
            for expert in range(count):
                self.add(merged_tensors, case, f"model.layers.{layer}.mlp.experts.{stack}", expert,
                         places(expert), expert_delta(left, right, (rows, columns, count, rank),
                                                      expert, 8 / rank))
        adapter = self.fresh("adapter")
        (adapter / "adapter_config.json").write_text(json.dumps({
            "peft_type": "LORA", "r": rank, "lora_alpha": 8, "target_modules": [],
            "target_parameters": [f"mlp.experts.{stack}" for stack in targets]}))
        models.write_safetensors(adapter / "adapter_model.safetensors", factors)
        recipe = self.folder / "recipe.yaml"
        recipe.write_text(F32)
        engines = []
        for name, content, options in (("ours", tensors, ("--lora", adapter)),
                                       ("theirs", merged_tensors, ()), ("bare", tensors, ())):
            models.write_safetensors(model / "model.safetensors", content)
            engines.append(self.fresh(name) / "m.ingot")
            self.assert_built(self.build(model, engines[-1], "--recipe", recipe, "--max-context",
                                         64, *options), engines[-1])
        self.assertEqual(self.differing(*engines[:2]) & {"weights", "programs"}, set())
        self.assertIn("weights", self.differing(engines[0], engines[2]))

    def test_matrices_that_checkpoints_store_one_by_one(self):
        self.check("qwen3_moe", 1, ["gate_up_proj", "down_proj"])

    def test_modules_that_checkpoints_call_otherwise(self):
        self.check("mixtral", 0, ["gate_up_proj"])

    def test_stacks_that_are_stored_as_such(self):
        self.check("gpt_oss", 1, ["down_proj", "gate_up_proj"])


if __name__ == "__main__":
    harness.main()
