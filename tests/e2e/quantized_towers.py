# SPDX-License-Identifier: Apache-2.0
"""Models that see whose matrices are quantized: their encoders are what recipes say of them, and
stay as they are in what `ingot quantize` writes and in what others publish."""
import array
import json
import struct
import sys
import unittest

import harness
import pictures
from pictures import DATA, GOLDENS

sys.path.append(str(harness.ROOT / "tests" / "families"))
import layouts  # noqa: E402
import models  # noqa: E402

MODEL = "qwen3_vl"
F32 = "version: 1\nweights: [{match: '*', format: f32}]\nactivations: f32\nkv_cache: f32\n"


def is_text(name, shape):
    return models.is_projection(name, shape) and "visual" not in name


def is_tower(name, shape):
    return len(shape) == 2 and "visual" in name and "embed" not in name and "norm" not in name


def stored(folder):
    """Name to shape and values of every tensor, which are f32."""
    data = (folder / "model.safetensors").read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    return {name: (entry["shape"], array.array("f", data[begin + entry["data_offsets"][0]:
                                                         begin + entry["data_offsets"][1]]))
            for name, entry in header.items()}


def by(store, chosen=is_text):
    return lambda tensors: layouts.quantized(
        tensors, lambda name, shape: store if chosen(name, shape) else None)


# As published: what the files hold, and what config.json says of it.
PUBLISHED = {
    "awq": (by(layouts.awq()), {
        "quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm",
        "modules_to_not_convert": ["visual"]}),
    "gptq": (by(layouts.gptq()), {**models.GPTQ_METHOD, "modules_to_not_convert": ["visual"]}),
    "fp8": (lambda tensors: models.fp8(tensors, is_text), {
        **models.FP8_METHOD, "modules_to_not_convert": ["lm_head", "model.visual.merger.linear_fc1",
                                                        "visual"]}),
    "packed": (by(layouts.packed()), {
        "quant_method": "compressed-tensors", "format": "pack-quantized",
        "ignore": ["lm_head", "re:.*visual.*"], "config_groups": {"group_0": {
            "targets": ["Linear"], "weights": {
                "num_bits": 4, "type": "int", "strategy": "group", "group_size": 32,
                "symmetric": True}}}}),
    "fp8, and the encoder": (
        lambda tensors: models.fp8(tensors, lambda *named: is_text(*named) or is_tower(*named)),
        models.FP8_METHOD),
}


@unittest.skipUnless(DATA.is_dir(), "../shared/data is absent")
class QuantizedTowers(harness.BuildTest):
    lines = pictures.PicturesTest.lines
    answers = pictures.PicturesTest.answers

    def setUp(self):
        super().setUp()
        self.cases = [GOLDENS[MODEL]["cases"][name] for name in ("one", "two")]
        self.model = self.copy_of(DATA / MODEL)

    def write(self, tensors, **changes):
        models.write_safetensors(self.model / "model.safetensors", tensors)
        config = json.loads((DATA / MODEL / "config.json").read_text())
        (self.model / "config.json").write_text(json.dumps({**config, **changes}))

    def built(self, name, *options, recipe="", model=None):
        """An engine, and what the build told."""
        engine = self.fresh(name.replace(" ", "-")) / "m.ingot"
        if recipe:
            (self.folder / "r.yaml").write_text(recipe)
            options = ("--recipe", self.folder / "r.yaml", *options)
        result = self.build(model or self.model, engine, "--max-context", 512, "--max-image-rows",
                            128, "--target", "x86-64-v3", *options)
        self.assert_built(result, engine)
        return engine, result.stdout

    def tokens(self, engine, *options):
        answers = self.answers(engine, self.lines(self.cases), *options)
        self.assertEqual([answers[i].get("error") for i in sorted(answers)], [None] * 2)
        return [answers[i]["tokens"] for i in sorted(answers)]

    def encoder(self, engine):
        """How it is held, as the engine says and as its plan does."""
        lines = self.ingot_run("inspect", engine).stdout.splitlines()
        said = [line.removeprefix("picture encoder").strip() for line in lines
                if line.startswith("picture encoder")]
        planned = json.loads(self.ingot_run("plan", engine, "--json").stdout)["encoder_weights"]
        self.assertEqual(said, [planned])
        return planned

    def test_published_folders(self):
        tensors = stored(DATA / MODEL)
        for name, (quantize, said) in PUBLISHED.items():
            with self.subTest(name):
                published, meant = quantize(tensors)
                self.write(published, quantization_config=said)
                engine, _ = self.built(name, recipe=F32)
                self.write(meant)
                exact, _ = self.built(name + " meant", recipe=F32)
                self.assertEqual(self.tokens(engine), self.tokens(exact))
                holds = self.encoder(engine).partition(";")[0]
                self.assertEqual(holds, "fp8 in groups of 32" if "encoder" in name else "f32")

    def on_grid(self):
        """The model with matrices of text whose rows are multiples of a power of two, the largest
        127 of it: int8 holds them exactly."""
        tensors = stored(DATA / MODEL)
        for name, (shape, values) in tensors.items():
            if not is_text(name, shape):
                continue
            for first in range(0, len(values), shape[1]):
                row = values[first:first + shape[1]]
                unit = layouts.power(max(map(abs, row)) / 127)
                codes = [round(value / unit) for value in row]
                codes[codes.index(max(codes, key=abs))] = 127
                values[first:first + shape[1]] = array.array("f", (code * unit for code in codes))
        return tensors

    def test_quantized_folders_see(self):
        tensors = self.on_grid()
        self.write(tensors)
        recipe = self.folder / "int8.yaml"
        recipe.write_text("version: 1\nweights:\n  - {match: '*embed*', format: stored}\n"
                          "  - {match: '*', format: int8}\n")
        quantized = self.folder / "quantized"
        result = self.ingot("quantize", self.model, "-o", quantized, "--recipe", recipe)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"\d+ tensors of other parts stay as they are")
        kept = stored(quantized)
        for name, tensor in tensors.items():
            if "visual" in name:
                self.assertEqual(kept[name], tensor)
        config = json.loads((quantized / "config.json").read_text())
        self.assertIn("vision_config", config)
        ignored = config["quantization_config"]["ignore"]
        for module in ("blocks.0.attn.qkv", "merger.linear_fc2",
                       "deepstack_merger_list.1.linear_fc1"):
            self.assertIn(f"model.visual.{module}", ignored)
        engine, told = self.built("quantized engine", "--recipe", "exact", model=quantized)
        self.assertNotIn("text part alone", told)
        exact, _ = self.built("exact", "--recipe", "exact")
        self.assertEqual(self.tokens(engine), self.tokens(exact))
        self.assertEqual(self.encoder(engine), "f32")
        weights = self.ingot_run("inspect", engine, "--section", "weights").stdout
        self.assertIn("int8", weights)

    def test_builds_that_calibrate_first_see(self):
        recipe = self.folder / "r.yaml"
        recipe.write_text("version: 1\nweights:\n  - {match: '*proj*', format: int4, group: 32}\n"
                          "  - {match: 'vision.*', format: int8}\nmethod: round-mse\n")
        engine, _ = self.built("calibrated", "--recipe", recipe)
        self.assertRegex(self.encoder(engine), "int8 by row; f32: vision.patch_embed.proj")
        self.assertEqual([len(tokens) for tokens in self.tokens(engine)], [16, 16])

    def test_recipes_reach_the_encoder(self):
        plain, _ = self.built("plain", recipe=F32)
        tokens = self.tokens(plain)
        for rules, held in (
                ("{match: 'vision.*', format: bf16}", "bf16; f32: vision.patch_embed.proj"),
                ("{match: 'vision.*', format: int8}", "int8 by row; f32: vision.patch_embed.proj"),
                ("{match: 'vision.*', format: fp8}", "fp8; f32: vision.patch_embed.proj"),
                ("{match: 'vision.merger.*', format: int4, group: 32}",
                 "f32; int4 in groups of 32: vision.merger.linear_fc1, vision.merger.linear_fc2"),
                ("{match: 'model.*', format: bf16}", "f32")):
            with self.subTest(rules):
                recipe = F32.replace("[", f"[{rules}, ")
                engine, told = self.built(rules[-20:], "--target", "reference", recipe=recipe)
                self.assertNotIn("warning", told)
                planned = self.ingot("plan", self.model, "--recipe", self.folder / "r.yaml",
                                     "--target", "x86-64-v3")
                self.assertIn(held, self.encoder(engine))  # Targets may pack under more names.
                self.assertIn(f"the encoder's weights are {held}\n", planned.stdout)
                provenance = self.ingot_run("inspect", engine, "--section", "provenance").stdout
                self.assertRegex(provenance, "recipe: encoder of pictures +"
                                 + held.split(";")[0].split(" ")[0])
                both = [self.tokens(engine, "--target", target)
                        for target in ("reference", "x86-64-v3")]
                self.assertEqual(*both)
                self.assertEqual(both[0][0][0], tokens[0][0])

    def test_refusals(self):
        recipe = self.folder / "r.yaml"
        for format_ in ("f16", "nvfp4", "nf4"):
            recipe.write_text("version: 1\nweights: [{match: 'vision.merger.*', format: "
                              f"{format_}}}]\n")
            output = self.fresh(format_) / "m.ingot"
            self.assert_refused(self.build(self.model, output, "--recipe", recipe), output,
                                f"INGOT-E2014: .* {format_}")
        recipe.write_text("version: 1\nweights: [{match: 'vision.*', format: int8}]\n")
        result = self.ingot("quantize", self.model, "-o", self.folder / "q", "--recipe", recipe)
        self.assertGreater(result.returncode, 0)
        self.assertRegex(result.stdout, r"INGOT-E2014: rule vision\.\*")
        output = self.fresh("blind") / "m.ingot"
        result = self.build(self.model, output, "--no-vision", "--recipe", recipe)
        self.assert_built(result, output)
        self.assertIn("recipe rule vision.* matches no tensor", result.stdout)


if __name__ == "__main__":
    harness.main()
