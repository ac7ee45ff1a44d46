# SPDX-License-Identifier: Apache-2.0
"""Engines without weight data: from config.json alone, equal everywhere, and honest about it."""
import json
import shutil

import harness

W4A32 = "version: 1\nweights:\n  - {match: '*', format: int4, group: 64, zero_points: true}\n" \
        "activations: f32\nkv_cache: f32\n"
W4A16 = "version: 1\nweights:\n  - {match: 'model.layers.*', format: int4, group: 64}\n" \
        "  - {match: '*', format: bf16}\nactivations: bf16\nkv_cache: bf16\n"


class RandomWeights(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.model = self.fresh("model")
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            shutil.copy(harness.FABLES / name, self.model)

    def made(self, name, *options, recipe=W4A32, seed=7):
        file = self.folder / f"{name}.yaml"
        file.write_text(recipe)
        output = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(self.model, output, "--random-weights", seed, "--recipe", file,
                                     "--max-context", "256", *options), output)
        return output

    def tokens(self, engine, *options, count=16):
        result = self.ingot_run(engine, "--greedy", "-n", count, "--ids", "-p",
                                "Once upon a time", "--max-sequences", "1", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("random", result.stderr)
        return result.stdout

    def test_targets_agree_whatever_their_layouts_and_merges(self):
        engine = self.made("both", "--target", "reference", "--target", "x86-64-v3")
        texts = [self.tokens(engine, "--target", name) for name in ("reference", "x86-64-v3")]
        self.assertEqual(texts[0], texts[1])
        self.assertGreater(len(set(texts[0].split())), 4, texts)

    def test_a_gpu_in_the_simulator_agrees(self):
        engine = self.made("gpu", "--target", "reference", "--target", "sm_80", recipe=W4A16)
        self.assertEqual(self.tokens(engine, "--simulate", "sm_80"),
                         self.tokens(engine, "--target", "reference"))
        result = self.ingot_run("selftest", engine, "--simulate", "sm_80")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"memory +passed")

    def test_experts_agree_whatever_their_layouts(self):
        config = json.loads((self.model / "config.json").read_text())
        config.update(architectures=["Qwen3MoeForCausalLM"], num_experts=8, num_experts_per_tok=3,
                      moe_intermediate_size=96, norm_topk_prob=True)
        (self.model / "config.json").write_text(json.dumps(config))
        engine = self.made("mixture", "--target", "reference", "--target", "x86-64-v3")
        texts = [self.tokens(engine, "--target", name) for name in ("reference", "x86-64-v3")]
        self.assertEqual(texts[0], texts[1])
        engine = self.made("gpu", "--target", "reference", "--target", "sm_90a", recipe=W4A16)
        self.assertEqual(self.tokens(engine, "--simulate", "sm_90a"),
                         self.tokens(engine, "--target", "reference"))

    def test_latents_agree_on_simulated_gpus(self):
        """Of the sizes that tensor cores take, those of DeepSeek's models."""
        config = json.loads((self.model / "config.json").read_text())
        config.update(architectures=["DeepseekV3ForCausalLM"], kv_lora_rank=512, q_lora_rank=64,
                      qk_nope_head_dim=32, qk_rope_head_dim=64, v_head_dim=32,
                      num_attention_heads=20, num_hidden_layers=2, first_k_dense_replace=2,
                      n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=96,
                      n_shared_experts=1, n_group=1, topk_group=1, norm_topk_prob=True,
                      routed_scaling_factor=1.5)
        (self.model / "config.json").write_text(json.dumps(config))
        engine = self.made("latents", "--target", "reference", "--target", "sm_80", "--target",
                           "sm_90a", recipe=W4A16)
        kernels = self.ingot_run("inspect", engine, "--section", "kernels").stdout
        self.assertIn("AttentionLatent", kernels)
        wanted = self.tokens(engine, "--target", "reference", count=8)
        for name in ("sm_80", "sm_90a"):
            self.assertEqual(self.tokens(engine, "--simulate", name, count=8), wanted)

    def test_matrices_that_are_stored_fused_agree(self):
        config = json.loads((self.model / "config.json").read_text())
        config.update(architectures=["Phi3ForCausalLM"], sliding_window=None)
        (self.model / "config.json").write_text(json.dumps(config))
        for recipe in (W4A32, W4A32.replace("int4, group: 64, zero_points: true", "int8")):
            engine = self.made(f"fused{len(recipe)}", "--target", "reference", "--target",
                               "x86-64-v3", recipe=recipe)
            texts = [self.tokens(engine, "--target", name) for name in ("reference", "x86-64-v3")]
            self.assertEqual(texts[0], texts[1])

    def test_weight_files_are_not_read_and_bytes_are_equal(self):
        first = self.made("first")
        (self.model / "model.safetensors").write_text("no weights at all")
        self.assertTrue(first.read_bytes() == self.made("again").read_bytes())
        self.assertFalse(first.read_bytes() == self.made("seed", seed=8).read_bytes())
        result = self.ingot("verify", first, "--rebuild", self.model)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"random weights +\d+ weights made at load")
        self.assertIn("rebuild: identical", result.stdout)

    def test_the_engine_says_what_it_is(self):
        engine = self.made("told")
        self.assertLess(engine.stat().st_size, 1 << 20)
        for command in ("inspect", "plan", "selftest"):
            result = self.ingot_run(command, engine)
            if command == "selftest":
                self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
                self.assertRegex(result.stdout, "golden +NONE +the engine has no golden tokens: "
                                                "the weights are random")
                self.assertIn("\nno golden tokens; all else passed on ", result.stdout)
                continue
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("random weights", result.stdout)
        text = self.ingot_run("inspect", engine, "--section", "provenance").stdout
        self.assertRegex(text, r"--random-weights +7 +7 ")
        self.assertRegex(text, r"golden tokens .*random")

    def test_a_plan_needs_no_weights_either(self):
        result = self.ingot("plan", self.model, "--random-weights", 1, "--target", "reference")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("random weights", result.stdout)

    def test_a_config_without_a_type_is_refused(self):
        config = json.loads((self.model / "config.json").read_text())
        del config["torch_dtype"]
        (self.model / "config.json").write_text(json.dumps(config))
        output = self.fresh("refused") / "m.ingot"
        self.assert_refused(self.build(self.model, output, "--random-weights", 1), output,
                            "INGOT-E1058")


if __name__ == "__main__":
    harness.main()
