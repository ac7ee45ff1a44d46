# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of TorchAO's Int4Tensor: the same weights as in one that holds their values. One of
the matrices was saved by torchao (torchao_int4.safetensors), the others are packed here alike."""
import array
import json
import pathlib
import random
import shutil
import struct
import sys

import harness
from qwen2_family import read_tensors, write_tensors

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

GOLDEN = pathlib.Path(__file__).with_name("torchao_int4.safetensors")
GROUP = 32
CONFIG = {"quant_method": "torchao", "modules_to_not_convert": ["lm_head"], "quant_type": {
    "default": {"_type": "Int4WeightOnlyConfig", "_version": 2, "_data": {
        "group_size": GROUP, "int4_packing_format": {
            "_type": "Int4PackingFormat", "_data": "PLAIN"}}}}}


def metadata_of(path):
    data = path.read_bytes()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]


def part(name, key):
    module, last = name.rsplit(".", 1)
    return f"{module}._{last}_{key}"


def float32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def int4_tensor(name, shape, numbers):
    """The parts of a random matrix, what the file says of it, and its values."""
    rows, columns = shape
    codes = [[numbers.randrange(16) for _ in range(columns)] for _ in range(rows)]
    # Sixteenths, which bf16 holds.
    scales, middles = ([[number() / 2**10 for _ in range(rows)] for _ in range(columns // GROUP)]
                       for number in (lambda: numbers.randint(1, 15),
                                      lambda: numbers.randint(-15, 15)))
    values = array.array("f", (
        scales[k // GROUP][n] * codes[n][k] + float32(
            middles[k // GROUP][n] - 8 * scales[k // GROUP][n])
        for n in range(rows) for k in range(columns)))
    qdata = bytes(row[k] ^ 8 | (row[k + 1] ^ 8) << 4 for row in codes for k in range(0, columns, 2))
    parts = {part(name, "qdata"): ("I8", [rows, columns // 2], qdata)}
    for key, rest in ("scale", scales), ("zero_point", middles):
        parts[part(name, key)] = ("BF16", [columns // GROUP, rows], b"".join(
            struct.pack("<f", number)[2:] for row in rest for number in row))
    said = {"_type": "Int4Tensor", "_data": {
        "activation_dtype": {"_type": "torch.dtype", "_data": "bfloat16"},
        "block_size": [1, GROUP], "shape": shape}, "_tensor_data_names": [
            "qdata", "scale", "zero_point"]}
    return parts, json.dumps(said), values


class TorchAoCheckpoints(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.plain = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        (self.plain / "generation_config.json").unlink(missing_ok=True)
        case = models.CASES["mistral"]
        self.config, self.prompt = case.config, case.prompt
        golden = read_tensors(GOLDEN)
        numbers = random.Random(7)
        self.tensors, self.metadata, values = {}, {}, {}
        for name, (shape, data) in case.checkpoint().items():
            values[name] = shape, data
            if "_proj." not in name:
                self.tensors[name] = "F32", shape, data.tobytes()
                self.metadata[name] = json.dumps({"_type": "Tensor"})
                continue
            parts, self.metadata[name], numbers_of = int4_tensor(name, shape, numbers)
            if set(parts) <= set(golden):
                parts = {key: golden[key] for key in parts}
                self.metadata[name] = metadata_of(GOLDEN)[name]
                numbers_of = array.array("f", golden["values"][2])
            self.tensors.update(parts)
            values[name] = shape, numbers_of
        self.assertLess(set(golden) - {"values"}, set(self.tensors))
        self.metadata["tensor_names"] = json.dumps(list(self.metadata))
        self.packed = self.copy_of(self.plain, "packed")
        models.write_safetensors(self.plain / "model.safetensors", values)
        (self.plain / "config.json").write_text(json.dumps(self.config))
        self.write()

    def write(self, quantization=None, tensors=(), **said):
        """`tensors`: other ones; `said`: what the metadata of each matrix say otherwise."""
        (self.packed / "config.json").write_text(json.dumps(
            {**self.config, "quantization_config": quantization or CONFIG}))
        metadata = dict(self.metadata)
        for name, text in self.metadata.items():
            if "_proj." in name:
                content = json.loads(text)
                content["_data"].update(said.get("data", {}))
                metadata[name] = json.dumps({**content, **said.get("own", {})})
        write_tensors(self.packed / "model.safetensors", {**self.tensors, **dict(tensors)},
                      metadata)

    def built(self, name, model, *options):
        output = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(model, output, "--max-context", 64, *options), output)
        return output

    def recipe(self, text):
        path = self.folder / "recipe.yaml"
        path.write_text(text)
        return path

    def test_values_are_those_of_torchao(self):
        """As f16; StoredWeightsTest compares all bits."""
        recipe = self.recipe("version: 1\nweights: [{match: '*', format: f16}]\n")
        theirs, ours = (self.built(name, model, "--recipe", recipe)
                        for name, model in (("theirs", self.plain), ("ours", self.packed)))
        self.assertEqual(self.differing(theirs, ours) & {"weights", "programs"}, set())

    def ids(self, engine):
        result = self.ingot_run(engine, "--greedy", "-n", 16, "--ids", "--ignore-eos",
                                "--max-sequences", 1, "-p", "Once upon a time")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_kernels_read_them_as_they_are_stored(self):
        recipe = self.recipe("version: 1\nactivations: f32\nkv_cache: f32\n")
        theirs = self.ids(self.built("theirs", self.plain, "--recipe", recipe))
        for target in "reference", "x86-64-v3":
            engine = self.built(target, self.packed, "--recipe", recipe, "--target", target)
            self.assertEqual(self.ids(engine), theirs)
        listed = self.ingot_run("inspect", engine, "--section", "weights").stdout
        self.assertIn("affine4", listed)

    def test_whatever_else_torchao_saves_is_refused_by_name(self):
        output = self.fresh(f"refused{len(list(self.folder.iterdir()))}") / "m.ingot"

        def refuse(code, **changes):
            self.write(**changes)
            self.assert_refused(self.build(self.packed, output), output, code)

        for kind in "Int4PreshuffledTensor", "Float8Tensor", "Int8Tensor":
            refuse(f"INGOT-E1054.*{kind}", own={"_type": kind})
        refuse("INGOT-E1054.*float8_e4m3fn", data={"activation_dtype": {
            "_type": "torch.dtype", "_data": "float8_e4m3fn"}})
        refuse("INGOT-E1054.*block_size", data={"block_size": [1, 24]})
        refuse("INGOT-E1054.*block_size", data={"block_size": [2, 32]})
        refuse("INGOT-E1080.*scale", data={"block_size": [1, 16]})
        name = next(key for key in self.tensors if key.endswith("q_proj._weight_qdata"))
        refuse("INGOT-E1054.*act_pre_scale", tensors={
            name.replace("qdata", "act_pre_scale"): ("BF16", [64], bytes(128))})
        refuse("INGOT-E1080.*qdata", tensors={name: ("I8", [32, 16], bytes(512))})
        scale = name.replace("qdata", "scale")
        _, shape, data = self.tensors[scale]
        refuse("INGOT-E1081.*F16", tensors={scale: ("F16", shape, data)})
        default = CONFIG["quant_type"]["default"]
        for change, mention in (({"_type": "FqnToConfig"}, "FqnToConfig"),
                                ({"_data": {"int4_packing_format": "preshuffled"}},
                                 "preshuffled")):
            refuse(f"INGOT-E1054.*{mention}", quantization={
                **CONFIG, "quant_type": {"default": {**default, **change}}})
        metadata, self.metadata = self.metadata, {"format": "pt"}
        refuse("INGOT-E1054.*metadata")
        self.metadata = metadata
        shutil.rmtree(self.packed)


if __name__ == "__main__":
    harness.main()
