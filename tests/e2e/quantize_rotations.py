# SPDX-License-Identifier: Apache-2.0
"""Recipes with a rotation: the rotated model computes what the model does, in every family whose
stream can be rotated; others are refused; and models with channels that stand out lose less."""
import array
import json
import shutil
import struct
import sys
import unittest

import harness
import model_families
import quantizing

np = harness.numpy()
sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

DATA = harness.ROOT.parent / "shared" / "data"
ROTATION = "version: 1\nrotation: hadamard\n"
INT4 = 'weights: [{match: "*proj*", format: int4, group: 32}]\nmethod: %s\n'
W8A8 = 'weights: [{match: "*proj*", format: int8}]\nactivations: {compute: int8-dynamic}\n'
LOUD, CHANNELS = 40.0, (5, 21, 70)  # What stands out of the stream, and by how much.


def read_tensors(folder):
    """Of a model in f32."""
    data = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return {name: np.frombuffer(data, np.float32, int(np.prod(entry["shape"])),
                                8 + size + entry["data_offsets"][0]).reshape(entry["shape"]).copy()
            for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


class Rotations(quantizing.QuantizingTest):
    """On a Llama of 128 channels with a tied head, whose heads of values are shared by two."""
    model = DATA / "TinyStories-656K"

    def setUp(self):
        super().setUp()
        if not self.model.is_dir():
            self.skipTest("../shared/data is absent")
        self.rotation = self.write("rotation.yaml", ROTATION)

    def base_engine(self):
        return self.engine(self.model, quantizing.F32, "f32")

    def divergence_of(self, folder, base, recipe=quantizing.F32):
        result = self.ingot_run("eval", self.engine(folder, recipe, folder.name), "--against", base,
                                "--text", self.text, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_same_function(self):
        folder = self.quantize(self.rotation, "rotated", "--threads", 1, model=self.model)
        found = self.divergence_of(folder, self.base_engine())
        print(found["divergence"], flush=True)
        self.assertLess(abs(found["divergence"]["mean"]), 1e-6)
        self.assertLess(found["divergence"]["largest"], 1e-5)
        self.assertEqual(found["divergence"]["same_top"], 1)
        self.assertFalse(json.loads((folder / "config.json").read_text())["tie_word_embeddings"])
        was, now = read_tensors(self.model), read_tensors(folder)
        for name, tensor in now.items():
            if name.endswith("norm.weight"):
                self.assertTrue((tensor == 1).all(), name)
        embedding = "model.embed_tokens.weight"
        one, other = now[embedding], was["lm_head.weight"]  # which the file calls the pair
        self.assertGreater(np.abs(one - other).max(), 0.01)
        self.assertLess(np.abs(one @ one.T - other @ other.T).max(), 1e-4)
        again = self.quantize(self.rotation, "again", "--threads", 3, model=self.model)
        self.assertEqual((again / "model.safetensors").read_bytes(),
                         (folder / "model.safetensors").read_bytes())
        other = self.quantize(self.rotation, "other", "--seed", 1, model=self.model)
        self.assertNotEqual((other / "model.safetensors").read_bytes(),
                            (folder / "model.safetensors").read_bytes())

    def loud(self):
        """The model with normed channels that stand out: what reads them is as much smaller."""
        copy, tensors = self.copy_of(self.model, "loud"), read_tensors(self.model)
        for name, tensor in tensors.items():
            if name.endswith("layernorm.weight"):
                tensor[list(CHANNELS)] *= LOUD
            elif name.split(".")[-2] in ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"):
                tensor[:, CHANNELS] /= LOUD
        models.write_safetensors(copy / "model.safetensors", {
            name: (list(tensor.shape), array.array("f", tensor.tobytes()))
            for name, tensor in tensors.items()})
        return copy

    def test_channels_that_stand_out(self):
        base, loud = self.base_engine(), self.loud()
        found = {}
        for name, rules in (("int4", INT4 % "round"), ("gptq", INT4 % "gptq"), ("w8a8", W8A8)):
            for rotation in ("none", "hadamard"):
                recipe = self.write("r.yaml", f"version: 1\nrotation: {rotation}\n{rules}")
                folder = self.quantize(recipe, f"{name}-{rotation}", model=loud)
                stored = "version: 1\n" + ("activations: {compute: int8-dynamic, store: f32}\n"
                                           if name == "w8a8" else "activations: f32\n")
                found[name, rotation] = self.divergence_of(
                    folder, base, stored + "kv_cache: f32\n")["divergence"]["mean"]
        print(found, flush=True)
        for name in ("int4", "gptq", "w8a8"):
            self.assertLess(found[name, "hadamard"], 0.8 * found[name, "none"])

    def test_going_on(self):
        """A run that was killed takes the rotated model that it left, to the same bytes."""
        recipe = self.write("gptq.yaml", ROTATION + INT4 % "gptq")
        command = [harness.programs / "ingot", "quantize", self.model, "-o",
                   self.folder / "killed", "--recipe", recipe, *map(str, self.few)]
        first = self.folder / "killed.partial" / "layer-0.0.safetensors"
        self.assertTrue(quantizing.kill_behind(first, command),
                        "the run ended before it was killed")
        result = self.ingot(*map(str, command[1:]))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertNotRegex(result.stdout, "(?m)^rotate ")
        whole = self.quantize(recipe, "whole", model=self.model)
        self.assertEqual((self.folder / "killed" / "model.safetensors").read_bytes(),
                         (whole / "model.safetensors").read_bytes())

    def test_build(self):
        """A build rotates first, with a budget too."""
        recipe = self.write("rotated.yaml", ROTATION + INT4 % "round" + "activations: f32\n")
        for name, options in (("plain", ()), ("mix", ("--bits", 6))):
            engine = self.folder / f"{name}.ingot"
            result = self.ingot("build", self.model, "-o", engine, "--recipe", recipe, "--no-cache",
                                "--max-sequences", 1, *options)
            self.assert_built(result, engine)
            self.assertRegex(result.stdout, "(?m)^rotate ")
            self.assertNotIn("rotation", self.ingot_run("inspect", engine, "--json").stdout)


class Families(harness.BuildTest):
    """Small models of every family: rotated they give transformers' tokens, or are refused."""
    write = model_families.ModelFamilies.write
    steps = model_families.ModelFamilies.steps
    compare = model_families.ModelFamilies.compare

    def setUp(self):
        super().setUp()
        self.model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        self.recipe = self.folder / "f32.yaml"
        self.recipe.write_text(quantizing.F32)
        self.rotation = self.folder / "rotation.yaml"
        self.rotation.write_text(ROTATION)
        self.goldens = json.loads(
            (harness.ROOT / "tests" / "families" / "goldens.json").read_text())

    def rotate(self):
        return self.ingot("quantize", self.model, "-o", self.folder / "rotated", "--recipe",
                          self.rotation, "--length", 32)

    def assert_not_rotated(self, error):
        result = self.rotate()
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, error)
        self.assertFalse((self.folder / "rotated").exists())

    def check(self, name):
        self.write(models.CASES[name])
        if name in REFUSED:
            self.assert_not_rotated(f"INGOT-E2160: .*{REFUSED[name]}")
            return
        result = self.rotate()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual("heads of values are not rotated" in result.stdout, name in WITHOUT_HEADS)
        self.assert_golden(name)

    def assert_golden(self, name):
        case, golden, rotated = models.CASES[name], self.goldens[name], self.folder / "rotated"
        output = self.fresh("built") / "m.ingot"
        self.assert_built(self.build(rotated, output, "--recipe", self.recipe, "--max-context",
                                     case.context), output)
        steps = self.steps(output, "reference", case)
        self.assertEqual([step["token"] for step in steps], golden["greedy_ids"])
        self.compare(steps[0], golden["first"])
        self.compare(steps[-1], golden["last"])

    def test_parts_of_models_with_vision(self):
        """Their tensors have other names; which one a tied head's would have is not known."""
        case = models.CASES["mistral"]
        self.write(case)
        config, stored = models.wrapped(case, models.WRAPPERS["mistral"])
        (self.model / "config.json").write_text(json.dumps(config))
        models.write_safetensors(self.model / "model.safetensors", stored)
        self.assertEqual(self.rotate().returncode, 0)
        self.assert_golden("mistral")
        shutil.rmtree(self.folder / "rotated")
        config["text_config"]["tie_word_embeddings"] = True
        (self.model / "config.json").write_text(json.dumps(config))
        models.write_safetensors(self.model / "model.safetensors", {
            name: tensor for name, tensor in stored.items() if "lm_head" not in name})
        self.assert_not_rotated("INGOT-E2162")

    def write_widths(self, hidden, head):
        """A model of two layers with other widths."""
        config = {**models.CASES["mistral"].config, "hidden_size": hidden, "head_dim": head}
        inner, vocabulary = config["intermediate_size"], config["vocab_size"]
        shapes = {"model.embed_tokens": [vocabulary, hidden], "lm_head": [vocabulary, hidden],
                  "model.norm": [hidden]}
        for layer in range(config["num_hidden_layers"]):
            shapes.update({f"model.layers.{layer}.{name}": shape for name, shape in {
                "input_layernorm": [hidden], "post_attention_layernorm": [hidden],
                "self_attn.q_proj": [4 * head, hidden], "self_attn.k_proj": [2 * head, hidden],
                "self_attn.v_proj": [2 * head, hidden], "self_attn.o_proj": [hidden, 4 * head],
                "mlp.gate_proj": [inner, hidden], "mlp.up_proj": [inner, hidden],
                "mlp.down_proj": [hidden, inner]}.items()})
        (self.model / "config.json").write_text(json.dumps(config))
        models.write_safetensors(self.model / "model.safetensors", {
            f"{name}.weight": (shape, models.values(name, shape, 1.0, ""))
            for name, shape in shapes.items()})

    def test_widths_without_matrices(self):
        self.write_widths(52, 16)
        self.assert_not_rotated("INGOT-E2161: .* 52 channels")
        self.write_widths(60, 22)
        result = self.rotate()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("no Hadamard matrix of 22 channels is known", result.stdout)


MEAN, BEHIND, STACK = "subtracts the mean", "made by norm", "is not stored by rows in order"
REFUSED = {
    **dict.fromkeys(("cohere", "cohere2", "cohere_plain", "gpt2", "gpt2_exact", "gpt_neox",
                     "gpt_neox_serial", "stablelm", "stablelm_plain", "starcoder2"), MEAN),
    **dict.fromkeys(("exaone4", "exaone4_full", "gemma2", "gemma3", "gemma3_v5", "gemma4",
                     "gemma4_moe", "gemma4_shared", "gemma4_unified", "glm4", "olmo2", "olmo3"),
                    BEHIND),
    "gemma3n": "more than sums and products",
    **dict.fromkeys(("gpt_oss", "llama4", "llama4_list"), STACK)}
LATENT = ("deepseek_v2", "deepseek_v2_greedy", "deepseek_v3", "deepseek_v3_halves",
          "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa", "mistral4")
WITHOUT_HEADS = (*LATENT, "mimo_v2", "qwen3_5", "qwen3_5_moe", "qwen3_next")
for case_name in models.CASES:
    setattr(Families, f"test_{case_name}", lambda self, name=case_name: self.check(name))

if __name__ == "__main__":
    harness.main()
