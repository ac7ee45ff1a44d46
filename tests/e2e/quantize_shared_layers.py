# SPDX-License-Identifier: Apache-2.0
"""Quantizing and comparing models whose layers read more than x of the one before: inputs of their
own, keys and values of other layers, streams. Layers run alone there."""
import json
import sys

import harness
import quantizing
from qwen2_family import read_tensors

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

RECIPE = "version: 1\nweights:\n  - {match: '*', format: int4, group: 32}\n"


class QuantizeSharedLayers(quantizing.QuantizingTest):
    def prepare(self, name):
        """The model, and its engine in f32."""
        model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        (model / "generation_config.json").unlink()
        case = models.CASES[name]
        config = {**case.config, "max_position_embeddings": 512}
        (model / "config.json").write_text(json.dumps(config))
        models.write_safetensors(model / "model.safetensors", case.checkpoint())
        return model, self.engine(model, quantizing.F32, "f32")

    def divergence_of(self, folder, base):
        result = self.ingot_run("eval", self.engine(folder), "--against", base, "--text", self.text,
                                "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["divergence"]["mean"]

    def check(self, name, layers, kept):
        model, base = self.prepare(name)
        # Parts in a row are the model, but for f32's rounding.
        found = self.ingot("bisect", base, model, "--text", self.text, "--tolerance", 1e-5)
        self.assertEqual(found.returncode, 0, found.stdout)
        parts = [line.split() for line in found.stdout.splitlines()
                 if line.startswith(("embed", "layers."))]
        self.assertEqual(len(parts), layers + 1)
        for part, _, accumulated in parts:
            self.assertLess(float(accumulated), 1e-5, part)
        few = ("--samples", 16, "--length", 128, "--calibration-text", self.calibration)
        divergences = {}
        for method in ("round", "gptq", "best"):
            recipe = self.write(f"{method}.yaml", f"{RECIPE}method: {method}\n")
            folder = self.quantize(recipe, method, *few, model=model)
            divergences[method] = self.divergence_of(folder, base)
            stored = read_tensors(folder / "model.safetensors")
            for layer in range(layers):
                self.assertIn(f"model.layers.{layer}.per_layer_input_gate.weight_packed", stored)
            config = json.loads((folder / "config.json").read_text())["quantization_config"]
            self.assertLessEqual({"lm_head", *kept}, set(config["ignore"]))
            for module in kept:
                self.assertIn(f"{module}.weight", stored)
        print(name, divergences, flush=True)
        self.assertLess(divergences["gptq"], 0.7 * divergences["round"])
        self.assertLess(divergences["best"], 0.7 * divergences["round"])
        return model, few

    def test_keys_of_other_layers(self):
        model, few = self.check("gemma4_shared", 5, ["model.per_layer_model_projection"])
        recipe = self.write("static.yaml", f"{RECIPE}method: awq\nkv_cache: int8-static\n")
        folder = self.quantize(recipe, "static", *few, model=model)
        scales = {name for name in read_tensors(folder / "model.safetensors")
                  if name.endswith("k_scale")}
        self.assertEqual(scales, {f"model.layers.{layer}.self_attn.k_scale" for layer in range(3)})

    def test_streams(self):
        self.check("gemma3n", 4, [
            "model.per_layer_model_projection", "model.layers.1.altup.modality_router",
            "model.altup_projections.0", "model.altup_unembed_projections.1"])


if __name__ == "__main__":
    harness.main()
