# SPDX-License-Identifier: Apache-2.0
"""Quantizing small models of families whose layers are not attention and a dense network alone:
what stays as it is has a name, methods lose less than rounding does, and recipes by name hold
sensitive parts in 8 bits."""
import json
import sys

import harness
import quantizing
from qwen2_family import read_tensors

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

RECIPE = "version: 1\nweights:\n  - {match: '*', format: int4, group: 32}\n"
WHY = "4 bits would cost more there than elsewhere"
FEW = ("--samples", 16, "--length", 128)
# What is quantized nowhere: embeddings, small convolutions over tokens, norms.
NEVER = ("embed_tokens", "embeddings", "embed_tokens_per_layer", "conv1d", "conv.conv", "lm_head")


class QuantizeFamilies(quantizing.QuantizingTest):
    def prepare(self, name):
        self.model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        (self.model / "generation_config.json").unlink()
        case = models.CASES[name]
        config = {**case.config, "max_position_embeddings": 512}
        (self.model / "config.json").write_text(json.dumps(config))
        models.write_safetensors(self.model / "model.safetensors", case.checkpoint())
        self.few = (*FEW, "--calibration-text", self.calibration)

    def stored(self, folder):
        """The tensors of a folder, and the modules that it says are as they were."""
        tensors = read_tensors(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text())["quantization_config"]
        return tensors, set(config["ignore"])

    def check(self, name):
        self.prepare(name)
        base = self.engine(self.model, quantizing.F32, "f32")
        divergences = {}
        for method in ("round", "gptq"):
            recipe = self.write(f"{method}.yaml", f"{RECIPE}method: {method}\n")
            folder = self.quantize(recipe, method, model=self.model)
            tensors, ignored = self.stored(folder)
            left = {tensor.removesuffix(".weight") for tensor in tensors
                    if tensor.endswith(".weight")}
            unnamed = {module for module in left - ignored
                       if "norm" not in module and not module.endswith(NEVER)}
            self.assertEqual(unnamed, set())
            result = self.ingot_run("eval", self.engine(folder), "--against", base, "--text",
                                    self.text, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            divergences[method] = json.loads(result.stdout)["divergence"]["mean"]
        self.assertLess(divergences["gptq"], 0.7 * divergences["round"])

    def sensitive(self, name, modules, outside=()):
        """Recipes by name hold these modules of layers in 8 bits, or in layouts without them as
        they are. Those outside layers are what builds alone quantize."""
        self.prepare(name)
        for preset, said in (("w4a16-gptq", "int8"), ("nf4", "kept as it is")):
            output = self.folder / preset
            result = self.ingot("quantize", self.model, "-o", output, "--recipe", preset, *self.few)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn(f"{said}: {WHY}", " ".join(result.stdout.split()))
            tensors = read_tensors(output / "model.safetensors")
            for module in modules:
                self.assertEqual(f"{module}.weight" in tensors, preset == "nf4", module)
        config = json.loads((self.folder / "w4a16-gptq" / "config.json").read_text())
        targets = {group["weights"]["num_bits"]: group["targets"] for group
                   in config["quantization_config"]["config_groups"].values()}
        self.assertLessEqual(set(modules), set(targets[8]))
        self.assertTrue(targets[4])
        report = self.folder / "report.json"
        engine = self.fresh("built") / "m.ingot"
        result = self.ingot("build", self.model, "-o", engine, "--recipe", "int4", "--report",
                            report, "--max-context", 512)
        self.assert_built(result, engine)
        self.assertIn(WHY, report.read_text())
        weights = self.ingot_run("inspect", engine, "--section", "weights").stdout
        for module in (*modules, *outside):
            weight = f"{module.removeprefix('model.')}.weight"
            line = next(line for line in weights.splitlines() if weight in line)
            self.assertIn("int8", line)

    def test_short_convolutions_and_experts(self):
        self.check("lfm2_moe")

    def test_linear_attention(self):
        self.check("qwen3_5")

    def test_state_spaces_and_stacked_experts(self):
        self.check("granite_hybrid")

    def test_layers_of_one_mixer(self):
        self.check("nemotron_h_latent")

    def test_latent_attention(self):
        self.check("deepseek_v3")

    def test_experts_beside_a_dense_network(self):
        self.check("gemma4_moe")

    def test_linear_attention_is_sensitive(self):
        self.sensitive("qwen3_next", ["model.layers.0.linear_attn.out_proj"])

    def test_inputs_of_layers_are_sensitive(self):
        self.sensitive("gemma4_shared", ["model.layers.0.per_layer_input_gate"],
                       ["model.per_layer_model_projection"])


if __name__ == "__main__":
    harness.main()
