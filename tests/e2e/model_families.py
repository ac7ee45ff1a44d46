# SPDX-License-Identifier: Apache-2.0
"""Small models of every family against what transformers computes for them (tests/families)."""
import array
import json
import sys

import harness

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

F32 = "version: 1\nweights:\n  - {match: '*', format: f32}\nactivations: f32\nkv_cache: f32\n"
ALTERNATIVES = 20  # The most that a request may ask for; more than the goldens have.
TOLERANCE = 1e-4  # Of a logit, relative to the largest of its step.


class ModelFamilies(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        self.recipe = self.folder / "f32.yaml"
        self.recipe.write_text(F32)
        self.goldens = json.loads(
            (harness.ROOT / "tests" / "families" / "goldens.json").read_text())

    def write(self, case, **changes):
        (self.model / "config.json").write_text(json.dumps({**case.config, **changes}))
        (self.model / "generation_config.json").unlink(missing_ok=True)
        models.write_safetensors(self.model / "model.safetensors", case.checkpoint())

    def steps(self, engine, target, case):
        """What an engine says of every token that it generates."""
        request = {"prompt_ids": case.prompt, "max_tokens": models.TOKENS, "temperature": 0,
                   "ignore_eos": True, "logprobs": ALTERNATIVES}
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text(json.dumps(request) + "\n")
        device = ["--simulate"] if target.startswith("sm_") else ["--threads", "1", "--target"]
        result = self.ingot_run(engine, "--prompts", prompts, *device, target, "--max-sequences",
                                "1")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return json.loads(result.stdout)["logprobs"]

    def compare(self, step, golden):
        actual = {one["token"]: one["logprob"] for one in step["top"]}
        largest = max(map(abs, golden["logits"]))
        for token, logit in zip(golden["ids"], golden["logits"]):
            self.assertIn(token, actual)
            self.assertAlmostEqual(actual[token], logit - golden["logsumexp"],
                                   delta=TOLERANCE * largest, msg=f"token {token}")

    def check(self, name):
        case, golden = models.CASES[name], self.goldens[name]
        self.write(case)
        output = self.fresh(name) / "m.ingot"
        targets = [word for target in case.targets for word in ("--target", target)]
        self.assert_built(self.build(self.model, output, *targets, "--recipe", self.recipe,
                                     "--max-context", case.context), output)
        for target in case.targets:
            with self.subTest(model=name, target=target):
                steps = self.steps(output, target, case)
                self.assertEqual([step["token"] for step in steps], golden["greedy_ids"])
                self.compare(steps[0], golden["first"])
                self.compare(steps[-1], golden["last"])
        tested = self.ingot_run("selftest", output, "--target", case.targets[-1])
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)
        return output

    def test_files_as_mistral_publishes_them(self):
        for name in ("mistral_sliding", "mixtral"):
            case, golden = models.CASES[name], self.goldens[name]
            params, checkpoint = models.as_mistral(case.config, case.checkpoint())
            for file in self.model.glob("*config.json"):
                file.unlink()
            (self.model / "model.safetensors").unlink(missing_ok=True)
            (self.model / "params.json").write_text(json.dumps(params))
            models.write_safetensors(self.model / "consolidated.safetensors", checkpoint)
            output = self.fresh(name) / "m.ingot"
            self.assert_built(self.build(self.model, output, "--recipe", self.recipe, "--target",
                                         "reference", "--max-context", case.context), output)
            steps = self.steps(output, "reference", case)
            self.assertEqual([step["token"] for step in steps], golden["greedy_ids"])
            self.compare(steps[-1], golden["last"])
        (self.model / "params.json").write_text(json.dumps({**params, "quantization": {}}))
        result = self.build(self.model, output.with_name("n.ingot"), "--target", "reference")
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stdout, "INGOT-E1057.*quantization")

    def test_text_parts_of_models_with_vision(self):
        for name, row in models.WRAPPERS.items():
            case, golden = models.CASES[name], self.goldens[name]
            config, stored = models.wrapped(case, row)
            forms = [models.stacked(stored, first) for first in (False, True)] if (
                "Moe" in row[0]) else [stored]
            for number, tensors in enumerate(forms):
                with self.subTest(row[0], form=number):
                    self.write(case)
                    (self.model / "config.json").write_text(json.dumps(config))
                    models.write_safetensors(self.model / "model.safetensors", tensors)
                    output = self.fresh(f"{name}{number}") / "m.ingot"
                    built = self.build(self.model, output, "--recipe", self.recipe, "--target",
                                       "x86-64-v3", "--max-context", case.context, "--no-vision")
                    self.assert_built(built, output)
                    self.assertIn("text part alone", built.stdout)
                    steps = self.steps(output, "x86-64-v3", case)
                    self.assertEqual([step["token"] for step in steps], golden["greedy_ids"])
                    self.compare(steps[-1], golden["last"])
                    refused = self.ingot_run(output, "--prompt-ids", "5", models.PLACEHOLDER)
                    self.assertNotEqual(refused.returncode, 0)
                    self.assertIn("INGOT-E6026", refused.stderr)

    def test_latents_on_simulated_gpus(self):
        case, golden = models.CASES["deepseek_v3"], self.goldens["deepseek_v3"]
        self.write(case)
        output = self.fresh("latents_gpu") / "m.ingot"
        self.assert_built(self.build(self.model, output, "--recipe", self.recipe, "--target",
                                     "sm_80", "--target", "sm_90a", "--max-context",
                                     case.context), output)
        for target in ("sm_80", "sm_90a"):
            with self.subTest(target):
                steps = self.steps(output, target, case)
                self.assertEqual([step["token"] for step in steps], golden["greedy_ids"])
                self.compare(steps[0], golden["first"])
                self.compare(steps[-1], golden["last"])

    def test_gpt2_as_its_makers_name_it(self):
        case, golden = models.CASES["gpt2"], self.goldens["gpt2"]
        self.write(case)
        stored = {name.removeprefix("transformer."): tensor
                  for name, tensor in case.checkpoint().items()}
        stored["h.0.attn.bias"] = [1, 1, 4, 4], array.array("f", [1.0] * 16)  # A mask.
        models.write_safetensors(self.model / "model.safetensors", stored)
        output = self.fresh("gpt2_names") / "m.ingot"
        self.assert_built(self.build(self.model, output, "--recipe", self.recipe, "--target",
                                     "reference", "--max-context", case.context), output)
        steps = self.steps(output, "reference", case)
        self.assertEqual([step["token"] for step in steps], golden["greedy_ids"])
        self.compare(steps[-1], golden["last"])

    def test_gemma4_layers_that_read_keys_of_others(self):
        """Releases store keys and values of theirs, which take no part."""
        case, golden = models.CASES["gemma4_shared"], self.goldens["gemma4_shared"]
        self.write(case)
        stored = case.checkpoint()
        for module, rows in (("k_proj", 32), ("v_proj", 32), ("k_norm", 0)):
            shape = [rows, 64] if rows else [16]
            name = f"model.layers.3.self_attn.{module}.weight"
            stored[name] = shape, models.values(name, shape, 1.0, "")
        stored["model.layers.3.self_attn.v_proj.qweight"] = [4, 32], array.array("f", [1.0] * 128)
        models.write_safetensors(self.model / "model.safetensors", stored)
        output = self.fresh("gemma4_stored") / "m.ingot"
        self.assert_built(self.build(self.model, output, "--recipe", self.recipe, "--target",
                                     "x86-64-v3", "--max-context", case.context), output)
        steps = self.steps(output, "x86-64-v3", case)
        self.assertEqual([step["token"] for step in steps], golden["greedy_ids"])
        self.compare(steps[-1], golden["last"])
        summary = json.loads(self.ingot_run("inspect", output, "--json").stdout)
        kept = [group["bytes_per_token"] for group in summary["targets"][0]["kv_groups"]]
        full, sliding = 2 * 2 * 32 * 4, 2 * 2 * 16 * 4
        self.assertEqual(kept, [full, 2 * sliding])

    def test_gemma3n_coefficients_of_streams_are_not_quantized(self):
        self.write(models.CASES["gemma3n"])
        self.recipe.write_text("version: 1\nweights:\n  - {match: '*', format: int8}\n")
        output = self.fresh("gemma3n_int8") / "m.ingot"
        self.assert_built(self.build(self.model, output, "--recipe", self.recipe, "--max-context",
                                     64), output)
        weights = self.ingot_run("inspect", output, "--section", "weights").stdout.splitlines()
        held = {parts[0]: parts[2] for parts in map(str.split, weights) if len(parts) > 2}
        layer = "layers.0."
        for name in ("modality_router", "prediction_coefs", "correction_coefs"):
            self.assertNotIn("int8", held[f"{layer}altup.{name}.weight"])
        for name in ("laurel.linear_left", "laurel.linear_right", "per_layer_input_gate"):
            self.assertIn("int8", held[f"{layer}{name}.weight"])

    def test_quantized_experts_are_what_they_stand_for(self):
        for name, quantize, method, held in (
                ("gpt_oss", models.mxfp4, {"quant_method": "mxfp4"}, "codebook4 group=32"),
                ("qwen3_moe", models.int8, models.INT8_METHOD, "int8")):
            with self.subTest(name):
                self.check_quantized(models.CASES[name], quantize, method, held)

    def check_quantized(self, case, quantize, method, held):
        answers = []
        for name, checkpoint, changes in zip(("stored", "meant"), quantize(case.checkpoint()),
                                             ({"quantization_config": method}, {})):
            self.write(case, **changes)
            models.write_safetensors(self.model / "model.safetensors", checkpoint)
            output = self.fresh(case.config["model_type"] + name) / "m.ingot"
            self.assert_built(self.build(self.model, output, "--recipe", self.recipe, "--target",
                                         "reference", "--target", "x86-64-v3", "--max-context",
                                         case.context), output)
            answers.append({target: self.steps(output, target, case)
                            for target in ("reference", "x86-64-v3")})
            weights = self.ingot_run("inspect", output, "--section", "weights").stdout
            self.assertEqual(held in weights, name == "stored", weights)
        for target in answers[0]:
            for stored, meant in zip(answers[0][target], answers[1][target]):
                self.assertEqual(stored["token"], meant["token"])
                self.assertAlmostEqual(stored["logprob"], meant["logprob"], delta=1e-4)

    def test_latent_attention_says_its_form(self):
        provenance = self.ingot_run("inspect", self.check("deepseek_v2"), "--section",
                                    "provenance")
        self.assertRegex(provenance.stdout, "latent attention +absorbed .*one form")

    def test_phi3_says_which_factors_it_uses(self):
        for name, factors in (("phi3_short", "short_factor"), ("phi3_long", "long_factor")):
            provenance = self.ingot_run("inspect", self.check(name), "--section", "provenance")
            self.assertRegex(provenance.stdout, f"longrope +{factors} .*trained length, 32")


for model in models.CASES.keys() - {"phi3_short", "phi3_long", "deepseek_v2"}:
    setattr(ModelFamilies, f"test_{model}", lambda self, name=model: self.check(name))

if __name__ == "__main__":
    harness.main()
