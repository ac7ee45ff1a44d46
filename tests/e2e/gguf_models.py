# SPDX-License-Identifier: Apache-2.0
"""Models that are one file: GGUF files made here from the example model, as a converter would, and
a checkpoint of llama2.c. The engines must hold the same weights and the same tokenizer as those
built from the model's directory."""
import array
import hashlib
import json
import math
import random
import shutil
import struct
import sys
import unittest

import gguf_blocks
import harness
from gguf_files import (as_llamas, BF16, CONVERTIBLE, DATA, F32, FAMILIES, file_tensors, gguf,
                        IQ2_S, iq2_s, IQ3_S, iq3_s, metadata, MXFP4, mxfp4_of_directory,
                        mxfp4_stacks, PAIRED, proportional, Q4_K, q4_k, Q8_0, q8_0, Q8_K,
                        SAME_IN_BOTH, single_experts, STACKS, stacks, tensors_of)
from gguf_hybrids import HYBRIDS
from gguf_latent import LATENT
from qwen2_family import bf16, read_tensors, write_tensors

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

# Families whose folders become GGUF files, beside Llama and Qwen2.
WRITTEN = ("arcee", "ernie4_5", "gemma2", "gemma3", "granite", "qwen3", "seed_oss", "smollm3")


class GgufModels(harness.BuildTest):
    def checkpoint_with_biases(self, architecture):
        """The example with random biases on q, k and v, and zeros where a family needs more."""
        folder = self.copy_of(harness.FABLES)
        config = json.loads((folder / "config.json").read_text())
        tensors = read_tensors(folder / "model.safetensors")
        numbers = random.Random(5)
        parts = {"q": config["num_attention_heads"], "k": config["num_key_value_heads"],
                 "v": config["num_key_value_heads"]}
        if architecture == "llama":
            config["attention_bias"] = True
            parts["o"] = config["hidden_size"] // config["head_dim"]
        else:
            config["architectures"] = ["Qwen2ForCausalLM"]
        for layer in range(config["num_hidden_layers"]):
            for part, heads in parts.items():
                rows = heads * config["head_dim"]
                tensors[f"model.layers.{layer}.self_attn.{part}_proj.bias"] = (
                    "BF16", [rows], bf16([numbers.uniform(-1, 1) for _ in range(rows)]))
        (folder / "config.json").write_text(json.dumps(config))
        write_tensors(folder / "model.safetensors", tensors)
        return folder

    def converted(self, folder, architecture="llama", parts=1, paired=None, divisors=()):
        """The GGUF file, or the last of several, made of a model directory. `paired`: whether rows
        stand by rotary pairs; by default as the architecture wants them. `divisors`: of the rotary
        frequencies."""
        config = json.loads((folder / "config.json").read_text())
        paired = architecture == "llama" if paired is None else paired
        tensors = file_tensors(config, read_tensors(folder / "model.safetensors"), paired)
        if divisors:
            tensors["rope_freqs.weight"] = (F32, [len(divisors)],
                                            struct.pack(f"<{len(divisors)}f", *divisors))
        keys = metadata(architecture, config, folder)
        place = self.fresh("converted")
        if parts == 1:
            (place / "tale.gguf").write_bytes(gguf(keys, tensors))
            return place / "tale.gguf"
        names = list(tensors)
        for number in range(parts):
            split = {"split.no": number, "split.count": parts, "split.tensors.count": len(names)}
            path = place / f"tale-{number + 1:05}-of-{parts:05}.gguf"
            path.write_bytes(gguf({**(keys if number == 0 else {}), **split},
                                  {name: tensors[name] for name in names[number::parts]}))
        return path

    def built(self, name, model, *options):
        output = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(model, output, "--max-context", "256", *options), output)
        return output

    def ids(self, engine):
        result = self.ingot_run(engine, "--greedy", "-n", "24", "--ids", "--ignore-eos",
                                "--max-sequences", "1", "-p", "Once upon 12 times, a")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def assert_same_model(self, architecture):
        folder = self.checkpoint_with_biases(architecture)
        theirs, ours = self.built("theirs", folder), self.built(
            "ours", self.converted(folder, architecture))
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())
        self.assertEqual(self.ids(theirs), self.ids(ours))

    def test_a_llama_with_its_rows_by_rotary_pairs(self):
        self.assert_same_model("llama")

    def test_a_qwen2_with_its_rows_as_they_are(self):
        self.assert_same_model("qwen2")

    def family(self, name, convert_experts=stacks, changes=(), resized=None):
        """A model directory of that family with the example's tokenizer, and its GGUF file. With
        `resized`, of a tensor's name and shape: metadata and tensors of the file."""
        architecture, other_names, keys = FAMILIES[name]
        folder = self.copy_of(harness.FABLES)
        example = json.loads((folder / "config.json").read_text())
        shared = {key: example[key] for key in
                  ("vocab_size", "bos_token_id", "eos_token_id", "pad_token_id")}
        config = {"head_dim": 16, **models.CASES[name].config, "max_position_embeddings": 256,
                  **CONVERTIBLE.get(name, {}), **shared, **dict(changes)}
        if "vocab_size_per_layer_input" in config:
            config["vocab_size_per_layer_input"] = config["vocab_size"]
        (folder / "config.json").write_text(json.dumps(config))
        shapes = tensors_of(name, config)
        if resized:
            shapes = {tensor: resized(tensor, shape) for tensor, shape in shapes.items()}
        models.write_safetensors(folder / "model.safetensors", models.Case(
            config, embeddings=0.2).checkpoint(shapes))
        stored = read_tensors(folder / "model.safetensors")
        tensors = file_tensors(config, as_llamas(config, stored), architecture in PAIRED,
                               other_names)
        tensors.update(convert_experts(config, stored))
        if name == "phi3_long":
            for kind in ("short", "long"):
                numbers = array.array("f", config["rope_scaling"][f"{kind}_factor"])
                tensors[f"rope_factors_{kind}.weight"] = F32, [len(numbers)], numbers.tobytes()
        if architecture == "gemma4":
            tensors["rope_freqs.weight"] = proportional(config)
        if architecture in ("gemma2", "gemma3"):  # Converters add 1.
            for tensor, (kind, shape, data) in tensors.items():
                if tensor.endswith("norm.weight"):
                    tensors[tensor] = kind, shape, array.array(
                        "f", (1 + number for number in array.array("f", data))).tobytes()
        known = metadata(architecture, config, folder, keys)
        if resized:
            return known, tensors
        path = self.fresh("converted") / "tale.gguf"
        path.write_bytes(gguf(known, tensors))
        return folder, path

    def check_mixed(self, name, base, wider, **changes):
        """A file with tensors of several types computes as one with the same numbers in F32; in a
        model that is 256 wide, so that rows are super-blocks, where sizes `wider` are four times
        as large, or what they are there."""
        if not isinstance(wider, dict):
            wider = {size: 4 * size for size in wider}

        def resized(tensor, shape):
            first = shape[:1] if tensor.startswith((
                "model.embed_tokens", "backbone.embeddings", "lm_head")) else []
            return first + [wider.get(size, size) for size in shape[len(first):]]

        known, tensors = self.family(name, STACKS.get(name, stacks),
                                     {"hidden_size": 256, **changes}, resized)
        recipe = self.folder / "f32.yaml"
        recipe.write_text("version: 1\nactivations: f32\n")
        answers = []
        for kind, own in zip(("blocks", "plain"), gguf_blocks.in_blocks(
                tensors, base, random.Random(9))):
            path = self.fresh(kind) / "tale.gguf"
            path.write_bytes(gguf(known, own))
            answers.append(self.ids(self.built(f"engine-{kind}", path, "--recipe", recipe)))
        self.assertEqual(*answers)

    def check_family(self, name):
        folder, path = self.family(name, STACKS.get(name, stacks))
        theirs, ours = self.built("theirs", folder), self.built("ours", path)
        # Norms of these are sums that the build forms, or those that the file has.
        same = SAME_IN_BOTH - ({"weights"} if name in ("gemma2", "gemma3") else set())
        # Their heads are in another order, or their factors in the weights.
        if "linear_num_value_heads" not in models.CASES[name].config and (
                name not in (*HYBRIDS, *LATENT)):
            self.assertEqual(self.differing(theirs, ours) & same, set())
        self.assertEqual(self.ids(theirs), self.ids(ours))

    def check_quantized(self, mix, folder, path):
        """`ingot quantize` of a directory, and of the file that is converted from it."""
        files = []
        for name, model in ("folder", folder), ("file", path):
            files.append(self.folder / f"{name}.gguf")
            result = self.ingot("quantize", model, "-o", files[-1], "--recipe", mix, "--samples",
                                4, "--length", 64)
            self.assertEqual(result.returncode, 0, result.stdout)
        self.assertNotEqual(*(file.read_bytes() for file in files))  # other names of the model
        ours, theirs = (self.built(file.stem, file) for file in files)
        self.assertEqual(self.differing(ours, theirs) & SAME_IN_BOTH, set())
        self.assertEqual(self.ids(ours), self.ids(theirs))

    @staticmethod
    def widen_vectors(folder):
        """Makes them f32, as converters do."""
        tensors = read_tensors(folder / "model.safetensors")
        for name, (_, shape, data) in tensors.items():
            if len(shape) == 1:
                wide = b"".join(b"\0\0" + data[at:at + 2] for at in range(0, len(data), 2))
                tensors[name] = "F32", shape, wide
        write_tensors(folder / "model.safetensors", tensors)

    def check_quantized_example(self, mix, architecture):
        folder = self.checkpoint_with_biases(architecture)
        self.widen_vectors(folder)
        self.check_quantized(mix, folder, self.converted(folder, architecture))

    def test_what_files_cannot_say_is_refused_by_name(self):
        folder = self.copy_of(harness.FABLES)
        config = json.loads((folder / "config.json").read_text())

        def refuse(code, mention, **keys):
            (folder / "config.json").write_text(json.dumps({**config, **keys}))
            result = self.ingot("quantize", folder, "-o", self.folder / "m.gguf", "--recipe",
                                "q8_0")
            self.assertGreater(result.returncode, 0, result.stdout)
            self.assertIn(f"INGOT-{code}", result.stdout)
            self.assertIn(mention, result.stdout)
            self.assertEqual(list(self.folder.glob("m.gguf*")), [])

        refuse("E2155", "Olmo2ForCausalLM", architectures=["Olmo2ForCausalLM"])
        refuse("E2157", "sliding window", architectures=["MistralForCausalLM"], sliding_window=64)
        tensors, name = read_tensors(folder / "model.safetensors"), "self_attn.q_proj.weight"
        for module, (kind, shape, data) in list(tensors.items()):
            if module.endswith(name):
                tensors[module] = kind, [63, shape[1]], data[:63 * shape[1] * 2]
        write_tensors(folder / "model.safetensors", tensors)
        refuse("E2157", name)

    def test_a_folder_of_llama_as_blocks(self):
        self.check_quantized_example("q4_k_m", "llama")

    def test_a_folder_of_qwen2_as_blocks(self):
        self.check_quantized_example("q5_k_s", "qwen2")

    def test_experts_of_older_files(self):
        folder, path = self.family("mixtral", single_experts)
        theirs, ours = self.built("theirs", folder), self.built("ours", path)
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())

    def test_experts_of_gpt_oss_in_mxfp4(self):
        folder, path = self.family("gpt_oss", mxfp4_stacks)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({
            **config, "quantization_config": {"quant_method": "mxfp4"}}))
        tensors = read_tensors(folder / "model.safetensors")
        stacked = mxfp4_stacks(config, tensors)
        for layer in range(config["num_hidden_layers"]):
            for name, parts in (("gate_up_proj", ("gate", "up")), ("down_proj", ("down",))):
                name = f"model.layers.{layer}.mlp.experts.{name}"
                del tensors[name]
                tensors[name + "_blocks"], tensors[name + "_scales"] = mxfp4_of_directory(
                    [stacked[f"blk.{layer}.ffn_{part}_exps.weight"] for part in parts])
        write_tensors(folder / "model.safetensors", tensors)
        theirs, ours = self.built("theirs", folder), self.built("ours", path)
        changes = json.loads(self.ingot_run("diff", theirs, ours, "--json").stdout)["changes"]
        self.assertEqual({change["what"] for change in changes if change["category"] == "weights"},
                         {"weights 'MXFP4.codebook'", "weights 'e2m1.codebook'",
                          "weights 'MXFP4.scales.codebook'", "weights 'e8m0.codebook'"})
        self.assertEqual(self.ids(theirs), self.ids(ours))

    def test_gates_and_ups_of_gemma4_in_one_stack_of_blocks(self):
        changed = {}

        def in_blocks(_, stored):
            numbers, stacked = random.Random(7), {}
            changed.update(stored)
            for name, (kind, shape, _) in stored.items():
                if name.endswith("experts.gate_up_proj"):
                    blocks, values = q8_0(math.prod(shape) // 32, numbers)
                    changed[name] = kind, shape, values.tobytes()
                    layer = name.split(".")[2]
                    stacked[f"blk.{layer}.ffn_gate_up_exps.weight"] = Q8_0, shape, blocks
            return stacked

        folder, path = self.family("gemma4_moe", in_blocks)
        write_tensors(folder / "model.safetensors", changed)
        recipe = self.folder / "f32.yaml"
        recipe.write_text("version: 1\nactivations: f32\n")
        self.assertEqual(self.ids(self.built("theirs", folder)),
                         self.ids(self.built("ours", path, "--recipe", recipe)))

    def test_gemma_4_as_trained_for_q4_0(self):
        self.check_mixed("gemma4_shared", gguf_blocks.Q4_0, (8, 16, 32, 40, 64, 128), head_dim=64,
                         global_head_dim=128, hidden_size_per_layer_input=32)

    def test_qwen_3_5_in_several_types(self):
        self.check_mixed("qwen3_5", gguf_blocks.Q4_K, (32, 64, 128, 256), head_dim=128)

    def test_qwen_3_5_with_experts_in_several_types(self):
        self.check_mixed("qwen3_5_moe", gguf_blocks.Q5_K, (32, 64, 128, 256), head_dim=128)

    def test_lfm2_in_several_types(self):
        self.check_mixed("lfm2", gguf_blocks.Q4_K, (32, 64, 192), num_attention_heads=16,
                         num_key_value_heads=8)

    def test_granite_4_in_several_types(self):
        self.check_mixed("granite_hybrid", gguf_blocks.Q4_K, {
            32: 128, 40: 160, 64: 256, 80: 320, 96: 384, 128: 512, 160: 544, 192: 768, 296: 1064},
                         mamba_d_head=64, intermediate_size=384, shared_intermediate_size=160,
                         head_dim=64)

    def test_nemotron_3_in_several_types(self):
        self.check_mixed("nemotron_h", gguf_blocks.Q5_K, {
            32: 128, 40: 160, 64: 256, 96: 512, 128: 512, 160: 576, 264: 1096},
                         mamba_head_dim=64, intermediate_size=512, head_dim=128,
                         moe_intermediate_size=128, moe_shared_expert_intermediate_size=160)

    def test_deepseek_v3_in_several_types(self):
        self.check_mixed("deepseek_v3", gguf_blocks.Q4_K, (24, 64, 96), intermediate_size=384,
                         moe_intermediate_size=96, q_lora_rank=96, qk_nope_head_dim=32,
                         v_head_dim=32)

    def test_experts_in_blocks(self):
        self.check_blocks((Q4_K, q4_k, 256), (Q8_0, q8_0, 32))

    def test_experts_in_rows_of_grids(self):
        report = self.check_blocks((IQ2_S, iq2_s, 256), (IQ3_S, iq3_s, 256))
        # Engines hold more bits of these than the file, and say so.
        said = {option["name"]: (option["asked"], option["effective"])
                for option in report["provenance"]["options"]}
        self.assertEqual(said["checkpoint: IQ2_S"], ("2.56 bits a weight", "6.00 bits a weight"))
        self.assertEqual(said["checkpoint: IQ3_S"], ("3.44 bits a weight", "5.00 bits a weight"))

    @staticmethod
    def widened(tensor, shape):
        """The shape where the model is 256 wide and has 4 experts."""
        if tensor.endswith("mlp.gate.weight"):
            return [4, 256]
        if len(shape) == 1 and "layernorm" in tensor or tensor == "model.norm.weight":
            return [256]
        if len(shape) == 1:
            return shape
        return [256, shape[1]] if "o_proj" in tensor else [shape[0], 256]

    def check_blocks(self, both, down):
        """A mixture of experts with gate and up matrices in blocks of one type and the down
        matrices in another's; a type is its number, a function and the elements of a block. The
        report of the last build."""
        folder = self.copy_of(harness.FABLES)
        example = json.loads((folder / "config.json").read_text())
        config = {**models.CASES["qwen3_moe"].config, **CONVERTIBLE["qwen3_moe"],
                  **{key: example[key] for key in ("vocab_size", "bos_token_id", "eos_token_id",
                                                   "pad_token_id")},
                  "hidden_size": 256, "moe_intermediate_size": 256, "num_experts": 4,
                  "max_position_embeddings": 256}
        checkpoint = models.Case(config).checkpoint(
            {tensor: self.widened(tensor, shape)
             for tensor, shape in tensors_of("qwen3_moe", config).items()
             if ".experts." not in tensor})
        tensors, numbers = {}, random.Random(3)
        for layer in range(config["num_hidden_layers"]):
            for part, (kind, encode, width) in ("gate", both), ("up", both), ("down", down):
                whole = b""
                for expert in range(config["num_experts"]):
                    blocks, values = encode(256 * 256 // width, numbers)
                    whole += blocks
                    checkpoint[f"model.layers.{layer}.mlp.experts.{expert}.{part}_proj.weight"] = (
                        [256, 256], values)
                tensors[f"blk.{layer}.ffn_{part}_exps.weight"] = (
                    kind, [config["num_experts"], 256, 256], whole)
        (folder / "config.json").write_text(json.dumps(config))
        models.write_safetensors(folder / "model.safetensors", checkpoint)
        _, other_names, keys = FAMILIES["qwen3_moe"]
        tensors.update(file_tensors(config, read_tensors(folder / "model.safetensors"), False,
                                    other_names))
        path = self.fresh("converted") / "tale.gguf"
        path.write_bytes(gguf(metadata("qwen3moe", config, folder, keys), tensors))
        theirs = self.ids(self.built("theirs", folder))
        recipe = self.folder / "f32.yaml"
        recipe.write_text("version: 1\nactivations: f32\n")
        report = self.folder / "report.json"
        for target in "reference", "x86-64-v3":
            ours = self.built(target, path, "--target", target, "--recipe", recipe, "--report",
                              report)
            self.assertEqual(theirs, self.ids(ours))
        return json.loads(report.read_text())

    def test_formats_of_a_recipe_come_out_the_same(self):
        recipe = self.folder / "int4.yaml"
        recipe.write_text("version: 1\nweights:\n"
                          "  - {match: '*self_attn*', format: int4, group: 32}\n"
                          "  - {match: '*', format: int8}\n")
        options = "--recipe", recipe, "--target", "x86-64-v3"
        theirs = self.built("theirs", harness.FABLES, *options)
        ours = self.built("ours", self.converted(harness.FABLES), *options)
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())

    def test_the_engine_names_every_part_and_can_be_made_again(self):
        last = self.converted(harness.FABLES, parts=3)
        engine = self.built("parts", last)
        result = self.ingot("verify", engine, "--rebuild",
                            last.with_name("tale-00001-of-00003.gguf"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("rebuild: identical", result.stdout)
        listed = json.loads(self.ingot_run("inspect", engine, "--section", "provenance",
                                           "--json").stdout)["provenance"]["inputs"]
        self.assertEqual({entry["name"]: entry["digest"] for entry in listed},
                         {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                          for path in last.parent.iterdir()})

    def test_rows_in_the_wrong_order_would_be_noticed(self):
        theirs = self.built("theirs", harness.FABLES)
        ours = self.built("ours", self.converted(harness.FABLES, paired=False))
        self.assertIn("weights", self.differing(theirs, ours))

    def test_frequencies_are_divided_as_llama3_scales_them(self):
        folder, context, factor = self.copy_of(harness.FABLES), 64, 8.0
        config = json.loads((folder / "config.json").read_text())
        # The blend between the two factors is so narrow that no pair lies in it.
        config["rope_scaling"] = {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0,
                                  "high_freq_factor": 1.001,
                                  "original_max_position_embeddings": context}
        (folder / "config.json").write_text(json.dumps(config))
        size = config["head_dim"]
        waves = [2 * math.pi * config["rope_theta"] ** (2 * i / size) for i in range(size // 2)]
        divisors = [factor if wave > context else 1.0 for wave in waves]
        self.assertEqual(set(divisors), {1.0, factor})
        self.widen_vectors(folder)
        path = self.converted(folder, divisors=divisors)
        theirs, ours = self.built("theirs", folder), self.built("ours", path)
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())
        self.assertIn("weights", self.differing(theirs, self.built("plain", harness.FABLES)))
        self.check_quantized("q8_0", folder, path)

    def test_a_plan_reads_the_file_alone(self):
        result = self.ingot("plan", self.converted(harness.FABLES), "--target", "reference")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("KV", result.stdout)

    def refuse(self, path, code, *mentions):
        output = self.fresh("refused") / "m.ingot"
        result = self.build(path, output)
        self.assert_refused(result, output, code)
        for mention in mentions:
            self.assertIn(mention, result.stdout)
        shutil.rmtree(output.parent)

    def test_what_is_not_understood_is_refused_by_name(self):
        config = json.loads((harness.FABLES / "config.json").read_text())
        keys = metadata("llama", config, harness.FABLES)
        tensors = file_tensors(config, read_tensors(harness.FABLES / "model.safetensors"), True)
        path = self.folder / "m.gguf"

        def refuse(code, *mentions, more_keys=(), more_tensors=()):
            path.write_bytes(gguf({**keys, **dict(more_keys)}, {**tensors, **dict(more_tensors)}))
            self.refuse(path, code, *mentions)

        blocks = (Q8_K, [256, 256], bytes(256 * 292))
        refuse("INGOT-E1081", "blk.0.attn_q.weight", "Q8_K", "m.gguf",
               more_tensors={"blk.0.attn_q.weight": blocks})
        refuse("INGOT-E1083", "blk.0.attn_q_norm.weight",
               more_tensors={"blk.0.attn_q_norm.weight": (F32, [64], bytes(256))})
        refuse("INGOT-E1083", "blk.5.ffn_up.weight",
               more_tensors={"blk.5.ffn_up.weight": (F32, [64], bytes(256))})
        refuse("INGOT-E1080", "blk.1.ffn_norm.weight",
               more_tensors={"blk.1.ffn_norm.weight": (F32, [64], bytes(256))})
        refuse("INGOT-E1052", "yarn", more_keys={"llama.rope.scaling.type": "yarn"})
        refuse("INGOT-E1116", "falcon", more_keys={"tokenizer.ggml.pre": "falcon"})
        pickle = self.folder / "pytorch_model.bin"
        pickle.write_bytes(b"PK")
        self.refuse(pickle, "INGOT-E1031", "pickle")

    @unittest.skipUnless(DATA.exists(), "../shared/data is absent")
    def test_a_checkpoint_of_llama2c(self):
        place = self.copy_of(DATA / "stories260K", "stories")
        model = place / "stories260K.bin"
        theirs, ours = (self.built(name, source) for name, source in (
            ("theirs", DATA / "stories260K-hf"), ("ours", model)))
        self.assertEqual(self.differing(theirs, ours) & SAME_IN_BOTH, set())
        self.assertEqual(self.ids(theirs), self.ids(ours))
        self.assertIn("rebuild: identical", self.ingot("verify", ours, "--rebuild", model).stdout)
        self.assertIn("KV", self.ingot("plan", model, "--target", "reference").stdout)

        content = model.read_bytes()
        model.write_bytes(content[:-4])
        self.refuse(model, "INGOT-E1122", "1056540 bytes")
        model.write_bytes(struct.pack("<I", 0x616b3432) + content[4:])
        self.refuse(model, "INGOT-E1122", "version 0")
        model.write_bytes(content)
        tokens = place / "tok512.bin"
        vocabulary = tokens.read_bytes()
        tokens.write_bytes(vocabulary[:-2])
        self.refuse(model, "INGOT-E1123", "token 511 is cut short")
        tokens.write_bytes(vocabulary[:-11])
        self.refuse(model, "INGOT-E1123", "511 tokens")
        tokens.unlink()
        self.refuse(model, "INGOT-E1123", "tokenizer.bin")


for family in WRITTEN:
    setattr(GgufModels, f"test_a_folder_of_{family}_as_blocks",
            lambda self, name=family: self.check_quantized("q8_0", *self.family(name)))
for family in FAMILIES:
    setattr(GgufModels, f"test_{family}", lambda self, name=family: self.check_family(name))

if __name__ == "__main__":
    harness.main()
