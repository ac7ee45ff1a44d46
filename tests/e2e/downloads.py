# SPDX-License-Identifier: Apache-2.0
"""What downloads look like: what of them is told, what is refused, and what is done about it."""
import json
import re

import harness
from qwen2_family import bf16, read_tensors, write_tensors

HEAD = "lm_head.weight"


class Downloads(harness.BuildTest):
    def model(self, name, more=(), **changes):
        """The example with other keys and with more tensors."""
        folder = self.copy_of(harness.FABLES, name)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changes}))
        tensors = read_tensors(folder / "model.safetensors")
        tensors.update(more)
        write_tensors(folder / "model.safetensors", tensors)
        return folder

    def built(self, model, *options):
        """The engine, what the terminal showed and the report."""
        output = self.fresh(f"{model.name}-out{len(list(self.folder.iterdir()))}") / "m.ingot"
        report = self.folder / "report.json"
        if "--max-context" not in options:
            options = ("--max-context", 64, *options)
        result = self.build(model, output, "--report", report, *options)
        self.assert_built(result, output)
        return output, result.stdout, json.loads(report.read_text())

    def refuse(self, model, code, *mentions, options=()):
        output = self.folder / "refused" / "m.ingot"
        output.parent.mkdir(exist_ok=True)
        result = self.build(model, output, *options)
        self.assert_refused(result, output, code)
        for mention in mentions:
            self.assertIn(mention, result.stdout)

    def embedding(self):
        return read_tensors(harness.FABLES / "model.safetensors")["model.embed_tokens.weight"]

    def test_a_stored_head_counts_where_it_differs(self):
        dtype, shape, data = self.embedding()
        plain, text, _ = self.built(harness.FABLES)
        self.assertNotIn("tie_word_embeddings", text)
        equal, text, _ = self.built(self.model("equal", {HEAD: (dtype, shape, data)}))
        self.assertNotIn("tie_word_embeddings", text)
        self.assertEqual(self.differing(plain, equal) & {"weights", "programs"}, set())
        other = self.model("other", {HEAD: (dtype, shape, data[::-1])})
        apart, text, report = self.built(other)
        self.assertIn("tie_word_embeddings true: false", text)
        self.assertIn("weights", self.differing(plain, apart))
        self.assertIn("checkpoint: tie_word_embeddings",
                      [option["name"] for option in report["provenance"]["options"]])
        untied, text, _ = self.built(self.model("untied", {HEAD: (dtype, shape, data[::-1])},
                                                tie_word_embeddings=False))
        self.assertNotIn("tie_word_embeddings", text)
        self.assertEqual(self.differing(apart, untied) & {"weights", "programs"}, set())

    def test_rules_of_either_name_of_a_tied_matrix_are_known(self):
        recipe = self.folder / "recipe.yaml"
        recipe.write_text("version: 1\nweights:\n  - {match: lm_head.weight, format: int8}\n"
                          "  - {match: lm_haed.weight, format: int8}\n"
                          "  - {match: model.embed_tokens.weight, format: int4, group: 64}\n"
                          "  - {match: '*norm*', format: stored}\n"
                          "  - {match: 'lm_head*', format: int4}\n")
        for options in (), ("--random-weights", 1):
            output = self.fresh(f"engine{len(options)}") / "m.ingot"
            result = self.build(harness.FABLES, output, "--recipe", recipe, "--max-context", 64,
                                *options)
            self.assert_built(result, output)
            self.assertEqual(re.findall("recipe rule (.*)", result.stdout),
                             ["lm_haed.weight matches no tensor",
                              "lm_head* is never reached: earlier rules take its tensors"])

    def test_unknown_keys_are_named(self):
        _, text, _ = self.built(self.model("unknown", moons=2, router_jitter_noise=0.1,
                                               stars=None, comets=False, suns=[]))
        self.assertIn("config.json moons: not read", text)
        self.assertNotIn("router_jitter_noise", text)
        self.refuse(self.model("chunks", dual_chunk_attention_config={"chunk_size": 8}),
                    "INGOT-E1057", "dual_chunk_attention_config")

    def test_rotation_that_goes_by_the_context_is_told(self):
        numbers = {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32}
        model = self.model("longrope", original_max_position_embeddings=32,
                           max_position_embeddings=128,
                           rope_scaling={"rope_type": "longrope", "factor": 4.0, **numbers})
        _, text, _ = self.built(model)
        self.assertIn("longrope: sequences of every length rotate as those of --max-context 64; "
                      "transformers rotates those up to 32 otherwise", text)
        _, text, report = self.built(model, "--max-context", 32)
        self.assertNotIn("longrope:", text)
        self.assertIn("short_factor",
                      [option["effective"] for option in report["provenance"]["options"]])

    def test_the_post_processor_counts(self):
        """As in transformers 5: add_bos_token is not read where there is a tokenizer.json."""
        model = self.model("bos")
        config = json.loads((model / "tokenizer_config.json").read_text())
        (model / "tokenizer_config.json").write_text(
            json.dumps({**config, "add_bos_token": False, "add_eos_token": False}))
        engine, text, _ = self.built(model)
        self.assertIn("tokenizer_config.json add_bos_token false: not read", text)
        self.assertNotIn("add_eos_token", text)
        self.assertNotIn("tokenizer", self.differing(engine, self.built(harness.FABLES)[0]))

    def test_tensors_that_nothing_reads(self):
        bias = bf16([0.0] * 256)
        harmless = {"model.layers.0.self_attn.rotary_emb.inv_freq": ("F32", [1], bytes(4)),
                    "model.layers.1.self_attn.o_proj.bias": ("BF16", [256], bias),
                    "model.layers.0.self_attn.k_scale": ("F32", [1], bytes(4)),
                    "model.mtp.layers.0.norm.weight": ("BF16", [256], bias)}
        _, text, report = self.built(self.model("harmless", harmless))
        self.assertNotIn("not read", text)
        self.assertEqual(report["unread_tensors"], [])
        left = {f"vision.{i}": ("F32", [1], bytes(4)) for i in range(5)}
        _, text, report = self.built(self.model("left", left))
        self.assertIn("vision.0, vision.1, vision.2 and 2 more: not read", text)
        self.assertEqual(report["unread_tensors"], sorted(left))
        for name, data in (("model.layers.1.self_attn.o_proj.bias", bf16([0.5] * 256)),
                           ("model.layers.5.input_layernorm.weight", bias),
                           ("model.layers.0.self_attn.q_norm.weight", bias),
                           ("model.final_norm.weight", bias), ("lm_head.bias", bf16([1.0] * 256))):
            self.refuse(self.model(name, {name: ("BF16", [256], data)}), "INGOT-E1083", name)
        # One that a key of the configuration speaks of only drafts.
        name = "model.layers.5.input_layernorm.weight"
        self.built(self.model("drafts", {name: ("BF16", [256], bias)}, num_nextn_predict_layers=1))

    def test_weight_files_that_nothing_reads(self):
        model = self.model("stray")
        data = (model / "model.safetensors").read_bytes()
        (model / "model-00001-of-00001.safetensors").write_bytes(data)
        (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {
            name: "model-00001-of-00001.safetensors"
            for name in read_tensors(model / "model.safetensors")}}))
        _, text, _ = self.built(model)
        self.assertIn("weight files model-00001-of-00001.safetensors: not read; the weights are "
                      "those of model.safetensors", text)
        (model / "model.safetensors").unlink()
        (model / "consolidated.safetensors").write_bytes(data)
        _, text, _ = self.built(model)
        self.assertNotIn("not read", text)

    def test_what_cannot_be_written_is_noticed_first(self):
        nothing = self.folder / "no-model"
        absent = self.folder / "absent" / "m.ingot"
        result = self.build(nothing, absent)
        self.assert_refused(result, absent, "INGOT-E7103")
        self.assertIn(str(absent), result.stdout)
        self.refuse(nothing, "INGOT-E7001", "no-model")
        for report in (self.folder, self.folder / "absent" / "report.json"):
            self.refuse(nothing, "INGOT-E7103", "--report", options=("--report", report))

    def test_random_weights_take_no_quantization(self):
        for method in "awq", "sorcery":
            model = self.model(method, quantization_config={"quant_method": method, "bits": 4})
            _, text, _ = self.built(model, "--random-weights", 1)
            self.assertIn(f"quantization_config {method}: not used", text)

    def test_halves_of_a_tokenizer(self):
        model = self.model("halves")
        (model / "tokenizer.json").unlink()
        self.refuse(model, "INGOT-E1401", "beside its weights")
        for name in "vocab.json", "merges.txt":
            (model / name).write_text("{}")
        self.refuse(model, "INGOT-E1401", "tokenizer.json", "save_pretrained")

    def test_values_of_generation_that_make_no_sense(self):
        model = self.model("generation", eos_token_id=[0, 5000])
        (model / "generation_config.json").write_text(json.dumps(
            {"top_k": 20.0, "pad_token_id": [1, 2], "bos_token_id": -1, "eos_token_id": 2048}))
        _, text, _ = self.built(model)
        for told in ("config.json eos_token_id 5000", "generation_config.json eos_token_id 2048",
                     "generation_config.json bos_token_id -1",
                     "generation_config.json pad_token_id [1,2]"):
            self.assertIn(told + ": not read", text)
        self.assertNotIn("top_k", text)


if __name__ == "__main__":
    harness.main()
