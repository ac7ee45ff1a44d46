# SPDX-License-Identifier: Apache-2.0
"""Methods that store matrices as another one does, under names or in an order of their own: the
golden checkpoints, packed again by the methods' formulas, are the same numbers."""
import json
import shutil
import struct

import harness
import variants
from qwen2_family import read_tensors, write_tensors
from variants import AWQ_ORDER, DATA, awq_nibbles, transposed

GPTQ, AWQ, INT8 = "gptq-w4-g32-sym", "awq-gemm-w4-g64", "ct-w8a8-int8-dynamic"


def config_of(source):
    return json.loads((DATA / "quantized" / source / "config.json").read_text())[
        "quantization_config"]


def same(*tensor):
    return tensor


def tensors_of(source):
    return read_tensors(DATA / "quantized" / source / "model.safetensors")


def halves(data):
    """Numbers of two bytes, as they are."""
    return [data[i:i + 2] for i in range(0, len(data), 2)]


def words_of(rows, order=range(8)):
    """Each eight codes of a row in a word, code j in nibble order[j]."""
    return b"".join(struct.pack("<I", sum(row[n + j] << 4 * order[j] for j in range(8)))
                    for row in rows for n in range(0, len(row), 8))


class QuantizationMethods(variants.VariantTest):
    def test_what_is_refused_names_what_converts(self):
        for said, code in (
                ({"quant_method": "gptq", "checkpoint_format": "bitblas"}, "GPTQModel made it"),
                ({"quant_method": "compressed-tensors", "format": "marlin-24"}, "llm-compressor"),
                ({"quant_method": "compressed-tensors", "format": "sparse-24-bitmask"},
                 "run_compressed=False"),
                ({"quant_method": "modelopt", "quant_algo": "NVFP4_SVD"}, "ModelOpt"),
                ({"quant_method": "torchao", "quant_type": {"default": {
                    "_type": "Int8DynamicActivationInt4WeightConfig"}}}, "Int4WeightOnlyConfig")):
            with self.subTest(code):
                self.assert_variant_refused(GPTQ, same, "INGOT-E1054.*" + code, said)


if __name__ == "__main__":
    harness.main()
