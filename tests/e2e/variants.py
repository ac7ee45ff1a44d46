# SPDX-License-Identifier: Apache-2.0
"""Golden checkpoints, stored otherwise: what tests of stored formats share."""
import json
import shutil
import struct
import unittest

import harness
from qwen2_family import read_tensors, write_tensors

DATA = harness.ROOT.parent / "shared" / "data"
AWQ_ORDER = [0, 4, 1, 5, 2, 6, 3, 7]


def transposed(name, dtype, shape, data):
    """A tensor with rows and columns exchanged, under another name."""
    rows, columns = shape
    size = len(data) // (rows * columns)
    return name, dtype, [columns, rows], b"".join(
        data[(r * columns + c) * size:(r * columns + c + 1) * size]
        for c in range(columns) for r in range(rows))


def awq_nibbles(data, columns):
    """Rows of a packing along the outputs, in the outputs' order."""
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return [[words[i + j] >> 4 * AWQ_ORDER[n] & 15 for j in range(columns) for n in range(8)]
            for i in range(0, len(words), columns)]


@unittest.skipUnless(DATA.exists(), "../shared/data is absent")
class VariantTest(harness.BuildTest):
    """A test of checkpoints that are made of the golden ones."""

    def variant(self, source, name, change, quantization=None, added=None, metadata=None):
        """A copy of a quantized checkpoint whose tensors `change` has made anew, one by one: it
        gets and returns name, dtype, shape and bytes. `quantization`: another configuration;
        `added`: tensors beside them; `metadata`: of the file."""
        folder = self.fresh(name)
        for path in (DATA / "quantized" / source).iterdir():
            if path.suffix == ".json":
                shutil.copyfile(path, folder / path.name)
        config = json.loads((folder / "config.json").read_text())
        config["quantization_config"] = quantization or config["quantization_config"]
        (folder / "config.json").write_text(json.dumps(config))
        tensors = read_tensors(DATA / "quantized" / source / "model.safetensors")
        changed = (change(old, *tensor) for old, tensor in tensors.items())
        changed = {new: rest for new, *rest in changed}
        write_tensors(folder / "model.safetensors", {**changed, **(added or {})}, metadata)
        return folder

    def report(self, name, model, *options):
        """Builds; the engine, and what the report says of options."""
        folder = self.fresh(name + ".engine")
        output = folder / "m.ingot"
        self.assert_built(self.build(model, output, "--max-context", "256", "--report",
                                     folder / "report.json", *options), output)
        options = json.loads((folder / "report.json").read_text())["provenance"]["options"]
        return output, {option["name"]: option for option in options}

    def assert_sound(self, engine, *options):
        result = self.ingot_run("selftest", engine, *options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def assert_same_weights(self, one, other):
        self.assertNotIn("weights", self.differing(one, other))

    def assert_variant_refused(self, source, change, code, quantization=None):
        output = self.fresh("out") / "m.ingot"
        model = self.variant(source, "changed", change, quantization)
        self.assert_refused(self.build(model, output), output, code)
        shutil.rmtree(model)
        shutil.rmtree(output.parent)

    def assert_same_values(self, one, other):
        """The numbers that the matrices of two checkpoints stand for, as f16."""
        recipe = self.folder / "f16.yaml"
        recipe.write_text("version: 1\nweights: [{match: '*', format: f16}]\n")
        engines = [self.report(f"values{i}", model, "--recipe", recipe)[0]
                   for i, model in enumerate((one, other))]
        self.assert_same_weights(*engines)
        for engine in engines:
            shutil.rmtree(engine.parent)
