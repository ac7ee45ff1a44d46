# SPDX-License-Identifier: Apache-2.0
"""Methods that store matrices as another one does, under names or in an order of their own: the
golden checkpoints, packed again by the methods' formulas, are the same numbers."""
import json
import random
import shutil
import struct

import harness
import variants
from qwen2_family import read_tensors, write_tensors
from variants import AWQ_ORDER, DATA, awq_nibbles, transposed

GPTQ, AWQ, INT8 = "gptq-w4-g32-sym", "awq-gemm-w4-g64", "ct-w8a8-int8-dynamic"
MARLIN_PLACES = [0, 2, 4, 6, 1, 3, 5, 7]


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


def gptq_codes(data, outputs):
    """Codes [inputs][outputs] of words along the inputs."""
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return [[words[r + n] >> 4 * i & 15 for n in range(outputs)]
            for r in range(0, len(words), outputs) for i in range(8)]


def signed_rows(data, words_of_row):
    """Rows of words along the inputs, which hold a number plus 8, in two's complement."""
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return [[words[n + k // 8] >> 4 * (k % 8) & 15 ^ 8 for k in range(8 * words_of_row)]
            for n in range(0, len(words), words_of_row)]


def words_of(rows, order=range(8)):
    """Each eight codes of a row in a word, code j in nibble order[j]."""
    return b"".join(struct.pack("<I", sum(row[n + j] << 4 * order[j] for j in range(8)))
                    for row in rows for n in range(0, len(row), 8))


def marlin_permutation():
    """Which number of four tiles of 16 x 16 side by side a field holds: tile, input, output."""
    fields = []
    for thread in range(32):
        numbers = [16 * row + thread // 4 + 8 * block for block in (0, 1)
                   for row in (2 * (thread % 4), 2 * (thread % 4) + 1,
                               2 * (thread % 4 + 4), 2 * (thread % 4 + 4) + 1)]
        fields += [number + 256 * tile for tile in range(4) for number in numbers]
    return [fields[i + place] for i in range(0, 1024, 8) for place in MARLIN_PLACES]


def marlin_words(codes):
    """Codes [inputs][outputs] in the kernel's order."""
    fields, outputs, done = marlin_permutation(), len(codes[0]), []
    for k in range(0, len(codes), 16):
        tiles = [codes[k + r][n + c] for n in range(0, outputs, 16)
                 for r in range(16) for c in range(16)]
        row = [tiles[i + field] for i in range(0, len(tiles), 1024) for field in fields]
        done.append(row)
    return words_of(done)


def marlin_scales(data, groups):
    numbers = halves(data)
    order = [i + 8 * j for i in range(8) for j in range(8)] if groups > 1 else [
        2 * i + j for i in range(4) for j in (0, 1, 8, 9, 16, 17, 24, 25)]
    return b"".join(numbers[i + place] for i in range(0, len(numbers), len(order))
                    for place in order)


class QuantizationMethods(variants.VariantTest):
    def test_words_of_auto_round_are_those_of_gptq_and_awq(self):
        asymmetric = "gptq_v2-w4-g32-asym"

        def less(name, dtype, shape, data):
            """Zero points less one, field by field."""
            if not name.endswith(".qzeros"):
                return name, dtype, shape, data
            return name, dtype, shape, bytes(
                (byte & 15) - 1 & 15 | ((byte >> 4) - 1 & 15) << 4 for byte in data)

        auto = {"quant_method": "auto-round", "bits": 4, "group_size": 32, "data_type": "int",
                "iters": 200, "act_bits": 16}
        for name, source, change, said in (
                ("symmetric", GPTQ, same, {"sym": True, "packing_format": "auto_round:auto_gptq"}),
                ("old", GPTQ, same, {"quant_method": "intel/auto-round", "sym": True}),
                ("stored", asymmetric, same, {"sym": False, "packing_format": "auto_round"}),
                ("less", asymmetric, less,
                 {"sym": False, "packing_format": "auto_round:auto_gptq"}),
                ("some", asymmetric, same,
                 {"sym": True, "packing_format": "auto_round:gptqmodel",
                  "extra_config": {".*proj.*": {"sym": False}}}),
                ("awq", AWQ, same, {"sym": False, "group_size": 64,
                                    "packing_format": "auto_round:auto_awq"})):
            with self.subTest(name):
                ours, _ = self.report(name, self.variant(source, name + "-model", change,
                                                         {**auto, **said}))
                theirs, _ = self.report("of-" + name, DATA / "quantized" / source)
                self.assert_same_weights(theirs, ours)
        # Group sizes and bits of single modules are those of their tensors.
        ours = self.variant(GPTQ, "groups", same, {
            **auto, "sym": True, "group_size": 128, "packing_format": "auto_round:auto_gptq",
            "extra_config": {"model": {"group_size": 32}}})
        self.assert_same_weights(self.report("groups", ours)[0],
                                 self.folder / "symmetric.engine" / "m.ingot")
        self.assert_variant_refused(GPTQ, same, "INGOT-E1080.*groups", {
            **auto, "sym": True, "group_size": 128})

    def test_floats_of_auto_round(self):
        auto = {"quant_method": "auto-round", "group_size": 16, "act_bits": 16}
        for name, source, said in (
                ("nvfp4", "ct-nvfp4a16", {"bits": 4, "data_type": "nv_fp",
                                          "packing_format": "auto_round:llm_compressor"}),
                ("fp8", "modelopt-fp8", {"bits": 8, "data_type": "fp8", "act_bits": 8,
                                         "act_dynamic": False,
                                         "packing_format": "auto_round:fp8_static"})):
            with self.subTest(name):
                ours, options = self.report(name, self.variant(source, name + "-model", same,
                                                               {**auto, **said}))
                theirs, _ = self.report("of-" + name, DATA / "quantized" / source)
                self.assert_same_weights(theirs, ours)
                if name == "fp8":
                    self.assertEqual(options["recipe: activations"]["effective"], "fp8-static")

    def test_rows_of_fbgemm(self):
        ours, said = self.report("fbgemm", self.variant("ct-fp8-dynamic", "fbgemm-model", same, {
            "quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0,
            "modules_to_not_convert": ["lm_head"]}))
        theirs, other = self.report("ct", DATA / "quantized" / "ct-fp8-dynamic")
        self.assert_same_weights(theirs, ours)
        for options in said, other:
            self.assertEqual(options["recipe: activations"]["effective"], "fp8-dynamic")
        self.assertEqual(said["checkpoint: activation_scale_ub"]["effective"], "no bound")
        self.assertNotIn("checkpoint: activation_scale_ub", other)

    def quark(self, weight, inputs=None, **more):
        spec = {"is_dynamic": False, "symmetric": True, "qscheme": "per_tensor", **weight}
        return {"quant_method": "quark", "global_quant_config": {
            "weight": spec, "input_tensors": inputs, "output_tensors": None, "bias": None},
                "layer_quant_config": {}, "exclude": ["lm_head"], "algo_config": [],
                "export": {"kv_cache_group": [], "pack_method": "reorder",
                           "weight_format": "real_quantized", **more}}

    def test_bytes_of_quark(self):
        tensor = {"dtype": "fp8_e4m3", "qscheme": "per_tensor", "is_dynamic": False,
                  "symmetric": True}
        ours, said = self.report("fp8", self.variant("modelopt-fp8", "fp8-model", same,
                                                     self.quark(tensor, tensor)))
        theirs, _ = self.report("of-fp8", DATA / "quantized" / "modelopt-fp8")
        self.assert_same_weights(theirs, ours)
        self.assertEqual(said["recipe: activations"]["effective"], "fp8-static")

        def vectors(name, dtype, shape, data):
            return name, dtype, shape[:1] if name.endswith("weight_scale") else shape, data

        zeros = {name.replace("weight", "weight_zero_point"): ("I8", shape[:1], bytes(shape[0]))
                 for name, (dtype, shape, _) in tensors_of(INT8).items() if dtype == "I8"}
        token = {"dtype": "int8", "qscheme": "per_channel", "is_dynamic": True, "symmetric": True}
        ours, said = self.report("int8", self.variant(
            INT8, "int8-model", vectors,
            self.quark({"dtype": "int8", "qscheme": "per_channel"}, token), zeros))
        theirs, _ = self.report("of-int8", DATA / "quantized" / INT8)
        self.assert_same_weights(theirs, ours)
        self.assertEqual(said["recipe: activations"]["effective"], "int8-dynamic")

    def test_words_of_quark(self):
        names = {"qweight": "weight", "qzeros": "weight_zero_point", "scales": "weight_scale"}
        groups = {"qscheme": "per_group", "ch_axis": 1, "group_size": 64}

        def packed(signed, order):
            def change(name, dtype, shape, data):
                module, part = name.rsplit(".", 1)
                if part in ("qweight", "qzeros"):
                    data = words_of([[code ^ (8 if signed else 0) for code in row]
                                     for row in awq_nibbles(data, shape[1])], order)
                return f"{module}.{names.get(part, part)}", dtype, shape, data
            return change

        theirs, _ = self.report("awq", DATA / "quantized" / AWQ)
        for kind in "uint4", "int4":
            for method, order in ("reorder", AWQ_ORDER), ("order", range(8)):
                with self.subTest(kind, method=method):
                    ours, _ = self.report(kind + method, self.variant(
                        AWQ, f"{kind}-{method}", packed(kind == "int4", order), self.quark(
                            {"dtype": kind, "symmetric": False, **groups}, pack_method=method)))
                    self.assert_same_weights(theirs, ours)

        def symmetric(name, dtype, shape, data):
            module, part = name.rsplit(".", 1)
            if part == "weight_packed":
                return (module + ".weight", dtype, [8 * shape[1], shape[0] // 8],
                        words_of(zip(*signed_rows(data, shape[1])), AWQ_ORDER))
            if part == "weight_scale":
                return transposed(name, dtype, shape, data)
            return name, dtype, shape, data

        source = "ct-w4a16-g64-sym"
        ours, _ = self.report("symmetric", self.variant(
            source, "symmetric-model", symmetric, self.quark({"dtype": "int4", **groups})))
        self.assert_same_weights(self.report("of-symmetric", DATA / "quantized" / source)[0], ours)

    def test_blocks_of_quark_and_modelopt(self):
        def rows(name, dtype, shape, data):
            if name.endswith("weight_blocks"):
                return (name.removesuffix("_blocks"), dtype, [shape[0], shape[1] * shape[2]], data)
            return name.replace("weight_scales", "weight_scale"), dtype, shape, data

        source = "mxfp4-blocks-scales"
        block = {"dtype": "fp4", "qscheme": "per_group", "group_size": 32, "scale_format": "e8m0",
                 "symmetric": None}
        ours, said = self.report("ours", self.variant(
            source, "rows", rows, self.quark(block, {**block, "is_dynamic": True})))
        theirs, _ = self.report("theirs", DATA / "quantized" / source)
        self.assert_same_weights(theirs, ours)
        self.assertIn("fp4 per_group", said["checkpoint: input_tensors"]["asked"])

        scales = {name.replace("weight_scales", "input_scale"): ("F32", [], struct.pack("<f", 0.5))
                  for name in tensors_of(source) if name.endswith("weight_scales")}
        ours, said = self.report("modelopt", self.variant(source, "modelopt-rows", rows, {
            "quant_method": "modelopt", "quant_algo": "W4A8_MXFP4_FP8", "group_size": 32}, scales))
        self.assert_same_weights(theirs, ours)
        self.assertEqual(said["recipe: activations"]["effective"], "fp8-static")

    def tokens(self, engine):
        result = self.ingot_run(engine, "--greedy", "-n", "12", "--ids", "--ignore-eos",
                                "--max-sequences", "1", "-p", "Once upon a time")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def smoothed(self, source, algorithm, factor, **more):
        """Scales divided by `factor`, a power of two, which inputs are multiplied by; and the
        scales of inputs multiplied by it."""
        added = {}
        for name, (dtype, shape, _) in tensors_of(source).items():
            module, part = name.rsplit(".", 1)
            if "_proj" in name and part in ("weight", "weight_packed"):
                columns = shape[1] * {"I32": 8, "U8": 2}.get(dtype, 1)
                added[module + ".pre_quant_scale"] = (
                    "F32", [columns], struct.pack("<f", factor) * columns)
                if "input_scale" in more:
                    added[module + ".input_scale"] = (
                        "F32", [], struct.pack("<f", more["input_scale"] * factor))
                if algorithm == "W4A8_AWQ":
                    added[module + ".weight_scale_2"] = "F32", [], struct.pack("<f", 0.5)

        def change(name, dtype, shape, data):
            if name.endswith("weight_scale") and dtype == "BF16":
                data = b"".join(
                    struct.pack("<f", struct.unpack("<f", b"\0\0" + half)[0] / factor)[2:]
                    for half in halves(data))
                shape = shape[:1] if shape[1] == 1 else shape
            if name.endswith("weight_packed") and dtype == "I32":
                rows = signed_rows(data, shape[1])
                return (name.replace("weight_packed", "weight"), "U8",
                        [shape[0] // 2, 8 * shape[1]], bytes(
                            low | high << 4 for n in range(0, len(rows), 2)
                            for low, high in zip(rows[n], rows[n + 1])))
            if name.endswith("weight_global_scale"):
                return (name.replace("weight_global_scale", "weight_scale_2"), dtype, [],
                        struct.pack("<f", 1 / 1024 / factor))
            return name.replace("weight_packed", "weight"), dtype, shape, data

        model = self.variant(source, f"{algorithm}{factor}", change, {
            "quant_method": "modelopt", "quant_algo": algorithm, "pre_quant_scale": True,
            "group_size": 64 if algorithm.endswith("AWQ") else 16}, added)
        return self.report(f"{algorithm}-{factor}", model)

    def test_modelopt_multiplies_inputs_whatever_it_stores(self):
        for source, algorithm, read, more in (
                ("ct-w4a16-g64-sym", "W4A16_AWQ", None, {}),
                ("ct-w4a16-g64-sym", "W4A8_AWQ", "fp8-static", {"input_scale": 0.0625}),
                ("ct-nvfp4a16", "NVFP4_AWQ", None, {}),
                ("ct-nvfp4a16", "W4A8_NVFP4_FP8", "fp8-static", {"input_scale": 0.0625}),
                (INT8, "W8A8_SQ_PER_CHANNEL", "int8-static", {"input_scale": 0.0625}),
                (INT8, "W8A16", None, {}),
                ("ct-fp8-dynamic", "FP8_PER_CHANNEL_PER_TOKEN", "fp8-dynamic", {})):
            with self.subTest(algorithm):
                one, said = self.smoothed(source, algorithm, 1.0, **more)
                four, _ = self.smoothed(source, algorithm, 4.0, **more)
                self.assertEqual(self.tokens(one), self.tokens(four))
                self.assertIn("weights", self.differing(one, four))
                self.assertEqual(said.get("recipe: activations", {}).get("effective"), read)

    def test_words_of_marlin(self):
        def whole(change):
            """With one group for each output: the scales of the first."""
            def changed(name, dtype, shape, data):
                if name.endswith((".scales", ".qzeros")):
                    data, shape = data[:len(data) // shape[0]], [1, shape[1]]
                return change(name, dtype, shape, data)
            return changed

        def marlin(awq):
            def change(name, dtype, shape, data):
                module, part = name.rsplit(".", 1)
                if part == "qweight":
                    codes = gptq_codes(data, shape[1])
                    return (module + (".qweight" if awq else ".B"), dtype,
                            [len(codes) // 16, shape[1] * 2], marlin_words(codes))
                if part == "scales":
                    return (module + (".scales" if awq else ".s"), dtype, shape,
                            marlin_scales(data, shape[0]))
                return (module + "." + {"g_idx": "unused_g_idx", "qzeros": "unused_qzeros"}.get(
                    part, part), dtype, shape, data)
            return change

        def ordered(name, dtype, shape, data):
            """As they are, of columns in order."""
            return name.replace("g_idx", "unused_g_idx"), dtype, shape, data

        gptq = config_of(GPTQ)
        for groups, wrap, size in ("groups", lambda change: change, 32), ("rows", whole, -1):
            theirs, _ = self.report("of-" + groups, self.variant(
                GPTQ, "gptq-" + groups, wrap(ordered), {**gptq, "group_size": size}))
            for name, awq, said in (
                    ("gptq", False, {**gptq, "checkpoint_format": "marlin", "group_size": size}),
                    ("awq", True, {"quant_method": "awq", "bits": 4, "group_size": size,
                                   "zero_point": False, "version": "marlin"})):
                with self.subTest(name, groups=groups):
                    ours, _ = self.report(name + groups, self.variant(
                        GPTQ, f"{name}-marlin-{groups}", wrap(marlin(awq)), said))
                    self.assert_same_weights(theirs, ours)

    def hqq(self, bits, group):
        """A random checkpoint of so many bits, and that of its values."""
        numbers, packed, plain = random.Random(bits), {}, {}
        for name, (dtype, shape, data) in tensors_of("plain-bf16").items():
            if "_proj." not in name:
                packed[name] = plain[name] = dtype, shape, data
                continue
            module, (rows, columns) = name.rsplit(".", 1)[0], shape
            size = group or columns
            count = rows * columns // size
            codes = [[numbers.randrange(1 << bits) for _ in range(size)] for _ in range(count)]
            scales, zeros = ([numbers.randint(1, most) / 2**11 for _ in range(count)]
                             for most in (1023, 2**bits << 11))
            zeros = struct.unpack(f"<{count}e", struct.pack(f"<{count}e", *zeros))
            parts = 8 // bits
            step = count // parts
            stored = bytes(sum(codes[part * step + row][k] << bits * (parts - 1 - part)
                               for part in range(parts)) for row in range(step)
                           for k in range(size))
            packed.update({
                module + ".W_q": ("U8", [step, size], stored),
                module + ".scale": ("F16", [count, 1], struct.pack(f"<{count}e", *scales)),
                module + ".zero": ("F16", [count, 1], struct.pack(f"<{count}e", *zeros)),
                module + ".nbits": ("I64", [], struct.pack("<q", bits)),
                module + ".axis": ("I64", [], struct.pack("<q", 1))})
            plain[name] = "F32", shape, struct.pack(f"<{rows * columns}f", *(
                (code - zero) * scale for row, scale, zero in zip(codes, scales, zeros)
                for code in row))
        folders = []
        for kind, tensors in ("hqq", packed), ("plain", plain):
            folder = self.fresh(f"{kind}{bits}")
            for path in (DATA / "quantized" / "plain-bf16").glob("*.json"):
                shutil.copyfile(path, folder / path.name)
            write_tensors(folder / "model.safetensors", tensors)
            folders.append(folder)
        config = json.loads((folders[0] / "config.json").read_text())
        config["quantization_config"] = {
            "quant_method": "hqq", "skip_modules": ["lm_head"], "quant_config": {
                "weight_quant_params": {
                    "nbits": bits, "group_size": group, "axis": 1, "channel_wise": True,
                    "optimize": True, "round_zero": False, "view_as_float": False},
                "scale_quant_params": None, "zero_quant_params": None, "offload_meta": False}}
        (folders[0] / "config.json").write_text(json.dumps(config))
        return folders

    def test_values_of_hqq(self):
        """As f16; StoredWeightsTest compares all bits."""
        for bits, group in (4, 64), (2, 32), (8, None):
            with self.subTest(bits):
                self.assert_same_values(*self.hqq(bits, group))
        engine, _ = self.report("stored", self.folder / "hqq4")
        self.assertIn("affine4", self.ingot_run("inspect", engine, "--json").stdout)
        self.assert_sound(engine)

    def torch_ao(self, source, kind, block, numbers="weight_scale"):
        """The golden matrices as tensors of TorchAO's class `kind`."""
        said = {"tensor_names": "[]"}

        def change(name, dtype, shape, data):
            module, part = name.rsplit(".", 1)
            if "_proj." not in name or part not in ("weight", numbers):
                return name, dtype, shape, data
            if part == "weight":
                said[name] = json.dumps({"_type": kind, "_data": {
                    "block_size": block(shape)}, "_tensor_data_names": ["qdata", "scale"]})
            return (f"{module}._weight_" + {"weight": "qdata"}.get(part, "scale"), dtype, shape,
                    data)
        return change, said

    def test_bytes_of_torchao(self):
        for source, kind, config, read in (
                (INT8, "Int8Tensor", "Int8DynamicActivationInt8WeightConfig", "int8-dynamic"),
                ("ct-fp8-dynamic", "Float8Tensor", "Float8DynamicActivationFloat8WeightConfig",
                 "fp8-dynamic")):
            with self.subTest(kind):
                change, said = self.torch_ao(source, kind, lambda shape: [1, shape[1]])
                rows = {"granularity": [{"_type": "PerRow", "_data": {}}] * 2}
                quantization = {"quant_method": "torchao", "quant_type": {
                    "default": {"_type": config, "_data": rows}}}
                ours, options = self.report(kind, self.variant(
                    source, kind + "-model", change, quantization, metadata=said))
                theirs, _ = self.report("of-" + kind, DATA / "quantized" / source)
                self.assert_same_weights(theirs, ours)
                self.assertEqual(options["recipe: activations"]["effective"], read)
                for name in list(said):
                    said[name] = said[name].replace(kind, "MXTensor")
                output = self.fresh("out") / "m.ingot"
                self.assert_refused(self.build(self.variant(
                    source, "other", change, quantization, metadata={}), output), output,
                    "INGOT-E1054.*no metadata")
                shutil.rmtree(self.folder / "other")
                shutil.rmtree(output.parent)

    def test_groups_of_torchao(self):
        """IntxUnpackedToInt8Tensor: small integers in bytes, in groups with zero points."""
        source, said, added, plain = "ct-w4a16-g64-sym", {"tensor_names": "[]"}, {}, {}
        for name, (dtype, shape, data) in tensors_of(source).items():
            module, part = name.rsplit(".", 1)
            if part == "weight_packed":
                words = struct.unpack(f"<{len(data) // 4}I", data)
                codes = [(word >> 4 * i & 15) - 8 for word in words for i in range(8)]
                columns = 8 * shape[1]
                zeros = [i % 5 - 2 for i in range(shape[0] * columns // 64)]
                added[module + "._weight_qdata"] = "I8", [shape[0], columns], struct.pack(
                    f"<{len(codes)}b", *(code + zeros[i // 64] for i, code in enumerate(codes)))
                added[module + "._weight_zero_point"] = (
                    "I8", [shape[0], columns // 64], struct.pack(f"<{len(zeros)}b", *zeros))
                said[module + ".weight"] = json.dumps({
                    "_type": "IntxUnpackedToInt8Tensor", "_data": {"block_size": [1, 64]}})
            elif part == "weight_scale":
                added[module + "._weight_scale"] = dtype, shape, data
            elif part != "weight_shape":
                added[name] = dtype, shape, data
        model = self.variant(source, "intx", same, {"quant_method": "torchao", "quant_type": {
            "default": {"_type": "IntxWeightOnlyConfig", "_data": {}}}})
        write_tensors(model / "model.safetensors", added, said)
        self.assert_same_values(DATA / "quantized" / source, model)

    def test_tiles_of_torchao(self):
        """Int4TilePackedTo4dTensor: the numbers of Int4Tensor in the order of a kernel."""
        source, numbers = "ct-w4a16-g64-sym", random.Random(3)
        tensors, engines = tensors_of(source), []

        def tiles(rows):
            """Of rows that are padded to 1024 inputs."""
            rows = [[*row, *[0] * (-len(row) % 1024)] for row in rows]
            return b"".join(struct.pack("<I", sum(
                rows[n + lane // 4][k + 32 * word + lane % 4 * 2 + 8 * place + odd]
                << 4 * (4 * odd + place) for odd in (0, 1) for place in range(4)))
                for n in range(0, len(rows), 8) for k in range(0, len(rows[0]), 128)
                for lane in range(32) for word in range(4))

        def parts(kind, shape, data, scales):
            """Of a matrix of words along the inputs: the tensors of its module."""
            rows, columns, groups = shape[0], 8 * shape[1], shape[1] // 8
            signed = signed_rows(data, shape[1])
            middles = b"".join(struct.pack("<f", numbers.randint(-15, 15) / 2**10)[2:]
                               for _ in range(rows * groups))
            _, *scale = transposed("", "BF16", [rows, groups], scales)
            if kind == "PLAIN":
                return {"qdata": ("I8", [rows, columns // 2], bytes(
                            low | high << 4 for row in signed
                            for low, high in zip(row[::2], row[1::2]))),
                        "scale": scale, "zero_point": ("BF16", [groups, rows], middles)}
            padded = -(-columns // 1024) * 1024
            pairs = b"".join(map(b"".join, zip(halves(scale[2]), halves(middles))))
            return {"qdata": ("I32", [rows // 8, padded // 128, 32, 4],
                              tiles([code ^ 8 for code in row] for row in signed)),
                    "scale_and_zero": ("BF16", [padded // 64, rows, 2],
                                       pairs.ljust(padded // 64 * rows * 4, b"\x7f"))}

        for kind, name in ("PLAIN", "Int4Tensor"), ("TILE_PACKED_TO_4D",
                                                    "Int4TilePackedTo4dTensor"):
            numbers.seed(3)
            added, said = {}, {"tensor_names": "[]"}
            for tensor, rest in tensors.items():
                module, part = tensor.rsplit(".", 1)
                if part == "weight_packed":
                    said[module + ".weight"] = json.dumps({"_type": name, "_data": {
                        "block_size": [1, 64]}})
                    added.update({f"{module}._weight_{key}": value for key, value in parts(
                        kind, *rest[1:], tensors[module + ".weight_scale"][2]).items()})
                elif part not in ("weight_scale", "weight_shape"):
                    added[tensor] = rest
            model = self.variant(source, kind, same, {"quant_method": "torchao", "quant_type": {
                "default": {"_type": "Int4WeightOnlyConfig", "_data": {
                    "int4_packing_format": {"_type": "Int4PackingFormat", "_data": kind}}}}})
            write_tensors(model / "model.safetensors", added, said)
            engines.append(self.report(name, model)[0])
        self.assert_same_weights(*engines)

    def test_what_is_refused_names_what_converts(self):
        for said, code in (
                ({"quant_method": "gptq", "checkpoint_format": "bitblas"}, "GPTQModel made it"),
                ({"quant_method": "compressed-tensors", "format": "marlin-24"}, "llm-compressor"),
                ({"quant_method": "compressed-tensors", "format": "sparse-24-bitmask"},
                 "run_compressed=False"),
                ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"axis": 0}}},
                 r"HqqConfig\(nbits=4, axis=1\)"),
                ({"quant_method": "auto-round", "packing_format": "mlx"}, "auto_gptq"),
                ({"quant_method": "modelopt", "quant_algo": "NVFP4_SVD"}, "ModelOpt"),
                ({"quant_method": "torchao", "quant_type": {"default": {
                    "_type": "Int8DynamicActivationInt4WeightConfig"}}}, "Int4WeightOnlyConfig"),
                ({"quant_method": "quark", "global_quant_config": {"weight": {
                    "dtype": "mx"}}}, "scale_format e8m0")):
            with self.subTest(code):
                self.assert_variant_refused(GPTQ, same, "INGOT-E1054.*" + code, said)


if __name__ == "__main__":
    harness.main()
