# SPDX-License-Identifier: Apache-2.0
"""Qwen2ForCausalLM: a Llama with biases on q, k and v, and none on the output projection."""
import json
import random
import struct

import harness

F32 = "version: 1\nweights:\n  - {match: '*', format: f32}\nactivations: f32\nkv_cache: f32\n"


def bf16(values):
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def read_tensors(path):
    """Name to (dtype, shape, bytes)."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"],
                   data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for name, entry in header.items()}


def write_tensors(path, tensors, metadata=None):
    header, offset = {"__metadata__": metadata} if metadata else {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text +
                     b"".join(data for _, _, data in tensors.values()))


class Qwen2Family(harness.BuildTest):
    def model(self, name, output_bias, **changes):
        """The example with random biases; those of Llama's output projection are zero."""
        folder = self.copy_of(harness.FABLES, name)
        config = json.loads((folder / "config.json").read_text())
        config.update(changes)
        (folder / "config.json").write_text(json.dumps(config))
        tensors = read_tensors(folder / "model.safetensors")
        numbers = random.Random(3)
        for layer in range(config["num_hidden_layers"]):
            prefix = f"model.layers.{layer}.self_attn."
            for part, heads in (("q", config["num_attention_heads"]),
                                ("k", config["num_key_value_heads"]),
                                ("v", config["num_key_value_heads"])):
                rows = heads * config["head_dim"]
                values = [numbers.uniform(-1, 1) for _ in range(rows)]
                tensors[f"{prefix}{part}_proj.bias"] = ("BF16", [rows], bf16(values))
            if output_bias:
                rows = config["hidden_size"]
                tensors[f"{prefix}o_proj.bias"] = ("BF16", [rows], bf16([0.0] * rows))
        write_tensors(folder / "model.safetensors", tensors)
        return folder

    def text(self, model, name, target):
        recipe = self.folder / "f32.yaml"
        recipe.write_text(F32)
        output = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(model, output, "--target", target, "--recipe", recipe,
                                     "--max-context", "256"), output)
        result = self.ingot_run(output, "--greedy", "-n", "24", "--ids", "-p", "Once upon a time",
                                "--max-sequences", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_the_same_numbers_as_a_llama_with_biases(self):
        qwen = self.model("qwen", False, architectures=["Qwen2ForCausalLM"], model_type="qwen2",
                          use_sliding_window=False, sliding_window=2048, max_window_layers=5)
        llama = self.model("llama", True, attention_bias=True)
        texts = [self.text(qwen, "q-reference", "reference"),
                 self.text(qwen, "q-x86", "x86-64-v3"),
                 self.text(llama, "l-reference", "reference")]
        self.assertEqual(len(set(texts)), 1, texts)
        plain = self.text(harness.FABLES, "plain", "reference")
        self.assertNotEqual(plain, texts[0])  # the biases count

    def test_a_missing_bias_is_named(self):
        model = self.copy_of(harness.FABLES)
        config = json.loads((model / "config.json").read_text())
        config["architectures"] = ["Qwen2ForCausalLM"]
        (model / "config.json").write_text(json.dumps(config))
        output = self.fresh("refused") / "m.ingot"
        result = self.build(model, output)
        self.assert_refused(result, output, "INGOT-E1038")
        self.assertIn("q_proj.bias", result.stdout)


if __name__ == "__main__":
    harness.main()
