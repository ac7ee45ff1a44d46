# SPDX-License-Identifier: Apache-2.0
"""Stored formats that name their tensors otherwise must give the same engine; what an engine holds
in more bits than the checkpoint is said."""
import json
import shutil
import struct

import harness
import variants
from qwen2_family import read_tensors, write_tensors
from variants import AWQ_ORDER, DATA, awq_nibbles, transposed

AWQ = "awq-gemm-w4-g64"


class StoredCheckpoints(variants.VariantTest):
    def test_nvfp4_of_modelopt_is_that_of_compressed_tensors_with_the_scale_inverted(self):
        def divisor(name, dtype, shape, data):
            # A power of two, so that multiplying by its inverse rounds nothing.
            return name, dtype, shape, (struct.pack("<f", 1024.0)
                                        if name.endswith("global_scale") else data)

        def modelopt(name, dtype, shape, data):
            if name.endswith("weight_global_scale"):
                return (name.replace("weight_global_scale", "weight_scale_2"), dtype, [],
                        struct.pack("<f", 1 / 1024))
            return name.replace("weight_packed", "weight"), dtype, shape, data

        theirs, said = self.report("ct", self.variant("ct-nvfp4a16", "ct", divisor))
        self.assertNotIn("checkpoint: scales", said)
        ours, said = self.report("modelopt", self.variant(
            "ct-nvfp4a16", "modelopt", modelopt,
            {"quant_method": "modelopt", "quant_algo": "NVFP4"}))
        self.assertIn("checkpoint: input_scale", said)
        self.assert_same_weights(theirs, ours)

    def test_mxfp4_in_rows_is_mxfp4_in_blocks(self):
        def rows(name, dtype, shape, data):
            if name.endswith("weight_blocks"):
                return (name.replace("weight_blocks", "weight_packed"), dtype,
                        [shape[0], shape[1] * shape[2]], data)
            return name.replace("weight_scales", "weight_scale"), dtype, shape, data

        scheme = {"weights": {"num_bits": 4, "type": "float", "strategy": "group",
                              "group_size": 32}}
        ours, said = self.report("rows", self.variant(
            "mxfp4-blocks-scales", "rows", rows,
            {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
             "config_groups": {"group_0": scheme}}))
        self.assertNotIn("checkpoint: scales", said)
        theirs, _ = self.report("blocks", DATA / "quantized" / "mxfp4-blocks-scales")
        self.assert_same_weights(theirs, ours)

    def test_mxfp8_is_fp8_in_blocks_of_one_row(self):
        """Scales from 2^-20 on as exponents, and as numbers of blocks of 1 x 32."""
        def scaled(asNumbers):
            def change(name, dtype, shape, data):
                if not name.endswith("_scale_inv"):
                    return name, dtype, shape, data
                rows, columns = shapes[name.removesuffix("_scale_inv")]
                codes = bytes(107 + (i * 7 + i // 5) % 16 for i in range(rows * columns // 32))
                counts = [rows, columns // 32]
                if asNumbers:
                    return name, "F32", counts, b"".join(
                        struct.pack("<f", 2.0 ** (code - 127)) for code in codes)
                return name.removesuffix("_inv"), "U8", counts, codes
            return change

        source = "fp8-block128"
        shapes = {name: shape for name, (_, shape, _) in
                  read_tensors(DATA / "quantized" / source / "model.safetensors").items()}
        scheme = {"weights": {"num_bits": 8, "type": "float", "strategy": "group",
                              "group_size": 32}}
        numbers = self.variant(source, "numbers", scaled(True),
                               {"quant_method": "fp8", "weight_block_size": [1, 32]})
        for name, said in (
                ("compressed", {"quant_method": "compressed-tensors", "format": "mxfp8-quantized",
                                "config_groups": {"group_0": scheme}}),
                ("modelopt", {"quant_method": "modelopt", "quant_algo": "MXFP8"})):
            with self.subTest(name):
                codes = self.variant(source, name, scaled(False), said)
                self.assert_same_values(numbers, codes)
                engine, said = self.report("engine-" + name, codes)
                self.assertNotIn("checkpoint: scales", said)
                self.assert_sound(engine)

    def test_awq_by_rows_is_awq_by_columns(self):
        scheme = json.loads((DATA / "quantized" / AWQ / "config.json").read_text())

        def packed(rows, words):
            """Each row in so many words, the first value in the lowest bits."""
            return b"".join(struct.pack("<I", sum(
                value << 4 * n for n, value in enumerate(row[8 * i:8 * i + 8])))
                for row in rows for i in range(words))

        def gemv(name, dtype, shape, data):
            if name.endswith((".qweight", ".qzeros")):
                rows = list(zip(*awq_nibbles(data, shape[1])))
                words = -(-len(rows[0]) // 8) + (1 if name.endswith("qzeros") else 0)  # Padded.
                return name, dtype, [len(rows), words], packed(rows, words)
            if name.endswith(".scales"):
                groups, outputs = shape
                extent = 8 * (-(-groups // 8) + 1)
                halves = [data[2 * i:2 * i + 2] for i in range(groups * outputs)]
                return name, dtype, [outputs, extent], b"".join(
                    halves[g * outputs + n] if g < groups else b"\x00\x7e"
                    for n in range(outputs) for g in range(extent))
            return name, dtype, shape, data

        ours, _ = self.report("gemv", self.variant(
            AWQ, "gemv-model", gemv,
            {**scheme["quantization_config"], "version": "gemv"}))
        theirs, _ = self.report("gemm", DATA / "quantized" / AWQ)
        self.assert_same_weights(theirs, ours)

    def test_interleaved_awq_is_awq_by_columns(self):
        scheme = json.loads((DATA / "quantized" / AWQ / "config.json").read_text())[
            "quantization_config"]
        tensors = read_tensors(DATA / "quantized" / AWQ / "model.safetensors")
        rounded = [1, 1, 2, 2, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8, 8, 8]

        def points(name):
            """Zero points whose products with scales are f16: powers of two."""
            _, shape, data = tensors[name]
            return [[rounded[zero] for zero in row] for row in awq_nibbles(data, shape[1])]

        def gemm(name, dtype, shape, data):
            if name.endswith(".qzeros"):
                data = b"".join(struct.pack("<I", sum(
                    row[n + j] << 4 * AWQ_ORDER[j] for j in range(8)))
                    for row in points(name) for n in range(0, len(row), 8))
            return name, dtype, shape, data

        def fast(name, dtype, shape, data):
            if name.endswith(".qweight"):
                rows = list(zip(*awq_nibbles(data, shape[1])))
                outputs, inputs = len(rows), len(rows[0])
                stream = [rows[n + r][k + half + p // 8 * 2 + p % 8 // 4 + p % 4 * 8]
                          for n in range(0, outputs, 4) for k in range(0, inputs, 64)
                          for r in range(4) for half in (0, 32) for p in range(32)]
                return name, "I16", [outputs // 4, inputs], bytes(
                    low | high << 4 for low, high in zip(stream[::2], stream[1::2]))
            if name.endswith((".scales", ".qzeros")):
                scales = tensors[name.replace("qzeros", "scales")]
                groups, outputs = scales[1]
                values = struct.unpack(f"<{groups * outputs}e", scales[2])
                if name.endswith(".qzeros"):
                    zeros = [zero for row in points(name) for zero in row]
                    values = [-scale * zero for scale, zero in zip(values, zeros)]
                    name = name.replace("qzeros", self.offsets)
                padded = [*values, *[float("nan")] * (8 * outputs)]
                return (name, "F16", [groups + 8, outputs],
                        struct.pack(f"<{len(padded)}e", *padded))
            return name, dtype, shape, data

        theirs = self.variant(AWQ, "gemm", gemm)
        for self.offsets, config in (("qzeros", {**scheme, "version": "gemv_fast"}),
                                     ("scaled_zeros", {**scheme, "backend": "llm-awq"})):
            ours = self.variant(AWQ, self.offsets, fast, config)
            self.assert_same_values(theirs, ours)
        self.assert_variant_refused(AWQ, lambda *tensor: tensor, "INGOT-E1054.*I32 elements",
                                    {**scheme, "version": "gemv_fast"})

    def test_zero_points_of_compressed_tensors(self):
        def packed(name, dtype, shape, data):
            module, part = name.rsplit(".", 1)
            names = {"qweight": "weight_packed", "scales": "weight_scale",
                     "qzeros": "weight_zero_point"}
            if part in names:
                return transposed(f"{module}.{names[part]}", dtype, shape, data)
            return name.replace("g_idx", "weight_g_idx"), dtype, shape, data

        source = "gptq_v2-w4-g32-asym"
        scheme = {"weights": {"num_bits": 4, "type": "int", "symmetric": False, "group_size": 32,
                              "strategy": "group"}}
        ours, _ = self.report("ct", self.variant(
            source, "ct-model", packed,
            {"quant_method": "compressed-tensors", "format": "pack-quantized",
             "config_groups": {"group_0": scheme}}))
        theirs, _ = self.report("gptq", DATA / "quantized" / source)
        self.assert_same_weights(theirs, ours)

    def test_columns_ordered_by_group_of_compressed_tensors(self):
        def packed(name, dtype, shape, data):
            module, part = name.rsplit(".", 1)
            if part == "qweight":
                return transposed(module + ".weight_packed", dtype, shape, data)
            if part == "scales":
                return transposed(module + ".weight_scale", dtype, shape, data)
            names = {"g_idx": "weight_g_idx", "qzeros": "unused"}
            return f"{module}.{names.get(part, part)}", dtype, shape, data

        source = "gptq-w4-g32-sym-desc_act"
        scheme = {"weights": {"num_bits": 4, "type": "int", "symmetric": True, "group_size": 32,
                              "strategy": "group", "actorder": "group"}}
        ours, _ = self.report("ct", self.variant(
            source, "ct-model", packed,
            {"quant_method": "compressed-tensors", "format": "pack-quantized",
             "config_groups": {"group_0": scheme}}))
        theirs, _ = self.report("gptq", DATA / "quantized" / source)
        self.assertEqual(self.differing(theirs, ours) & {"weights", "programs"}, set())

    def test_bytes_with_zero_points_are_bytes_without_that_were_moved(self):
        source = "gptq-w8-g64-sym"
        scheme = json.loads((DATA / "quantized" / source / "config.json").read_text())[
            "quantization_config"]
        tensors = read_tensors(DATA / "quantized" / source / "model.safetensors")

        def moved(module):
            """Bytes [inputs][outputs] of a matrix, and zero points [groups][outputs] of 1 to 255,
            128 in the file, which are as far away as both can be."""
            _, (words, outputs), data = tensors[module + ".qweight"]
            rows = [[data[4 * (r * outputs + n) + i] for n in range(outputs)]
                    for r in range(words) for i in range(4)]
            groups = len(rows) // scheme["group_size"]
            zeros = [[0] * outputs for _ in range(groups)]
            for g in range(groups):
                group = rows[g * len(rows) // groups:(g + 1) * len(rows) // groups]
                for n, column in enumerate(zip(*group)):
                    far = max(-127, -min(column)) if n % 2 else min(127, 255 - max(column))
                    zeros[g][n] = 128 + far
                    for row in group:
                        row[n] += far
            return rows, zeros

        def gptq(less):
            def change(name, dtype, shape, data):
                module, part = name.rsplit(".", 1)
                if part == "qweight":
                    rows, _ = moved(module)
                    data = b"".join(bytes(four) for k in range(0, len(rows), 4)
                                    for four in zip(*rows[k:k + 4]))
                if part == "qzeros":
                    data = bytes(zero - less for row in moved(module)[1] for zero in row)
                return name, dtype, shape, data
            return change

        def packed(name, dtype, shape, data):
            module, part = name.rsplit(".", 1)
            if part == "qweight":
                return (module + ".weight_packed", dtype, shape[::-1],
                        b"".join(map(bytes, zip(*moved(module)[0]))))
            if part == "qzeros":
                columns = list(zip(*moved(module)[1]))
                return module + ".weight_zero_point", dtype, shape[::-1], b"".join(
                    bytes(four) for n in range(0, len(columns), 4)
                    for four in zip(*columns[n:n + 4]))
            if part == "scales":
                return transposed(module + ".weight_scale", dtype, shape, data)
            return (name.replace("g_idx", "weight_g_idx"), dtype, shape, data)

        group = {"weights": {"num_bits": 8, "type": "int", "symmetric": False, "group_size": 64,
                             "strategy": "group"}}
        for name, change, config in (
                ("first", gptq(1), {**scheme, "sym": False}),
                ("second", gptq(0), {**scheme, "sym": False, "checkpoint_format": "gptq_v2"}),
                ("packed", packed, {"quant_method": "compressed-tensors",
                                    "format": "pack-quantized",
                                    "config_groups": {"group_0": group}})):
            with self.subTest(name):
                self.assert_same_values(DATA / "quantized" / source,
                                        self.variant(source, name, change, config))

    def test_rows_of_bytes_with_zero_points(self):
        source = "ct-w8a8-int8-dynamic"
        tensors = read_tensors(DATA / "quantized" / source / "model.safetensors")

        def with_zeros(name, zeros_of, dtype="I8"):
            """Adds zero points to every matrix; `zeros_of` gets the numbers of a row."""
            folder, added = self.variant(source, name, lambda *tensor: tensor), {}
            for tensor, (kind, shape, data) in tensors.items():
                added[tensor] = kind, shape, data
                if kind != "I8":
                    continue
                numbers = struct.unpack(f"<{len(data)}b", data)
                rows = [numbers[n:n + shape[1]] for n in range(0, len(numbers), shape[1])]
                zeros = [zeros_of(row) for row in rows]
                added[tensor] = kind, shape, b"".join(
                    struct.pack(f"<{len(row)}b", *(number + zero for number in row))
                    for row, zero in zip(rows, zeros))
                added[tensor + "_zero_point"] = dtype, [shape[0], 1], struct.pack(
                    f"<{len(zeros)}b", *zeros)
            write_tensors(folder / "model.safetensors", added)
            return folder

        def tokens(engine):
            result = self.ingot_run(engine, "--greedy", "-n", "12", "--ids", "--ignore-eos",
                                    "--max-sequences", "1", "-p", "Once upon a time")
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout

        theirs, _ = self.report("symmetric", DATA / "quantized" / source)
        # Older files have zero points of symmetric weights.
        none, _ = self.report("none", with_zeros("none-model", lambda row: 0))
        self.assert_same_weights(theirs, none)
        moved = with_zeros("moved-model", lambda row: -128 - min(row))
        ours, _ = self.report("moved", moved)
        self.assertIn("int8 zero_points", self.ingot_run("inspect", ours, "--json").stdout)
        self.assertEqual(tokens(theirs), tokens(ours))
        self.assert_same_values(DATA / "quantized" / source, moved)
        output = self.fresh("out") / "m.ingot"
        unsigned = with_zeros("unsigned", lambda row: -128 - min(row), "U8")
        self.assert_refused(self.build(unsigned, output), output, "INGOT-E1054.*U8 zero points")

    def test_blocks_take_the_bits_of_the_file(self):
        file = DATA / "gguf" / "rot256.Q4_K_M.gguf"
        engine, said = self.report("k", file)
        self.assertFalse([name for name in said if "_K" in name])
        # Beside the weights, mostly 4.5 bits: kernels, metadata and the tables of rotary embedding.
        entries = json.loads(self.ingot_run("inspect", engine, "--json").stdout)["weights"]
        held = sum(entry["bytes"] for entry in entries)
        self.assertLess(held, 1.02 * file.stat().st_size)

    def test_scales_of_another_type_are_refused(self):
        def wrong(name, dtype, shape, data):
            return name, "U8" if name.endswith("weight_scale") else dtype, shape, data

        self.assert_variant_refused("ct-nvfp4a16", wrong, "INGOT-E1081.*weight_scale")

    def test_groups_of_different_sizes_are_refused(self):
        def moved(name, dtype, shape, data):
            # One column more in the first group.
            return name, dtype, shape, (data.replace(struct.pack("<i", 1), struct.pack("<i", 0), 1)
                                        if name.endswith("g_idx") else data)

        self.assert_variant_refused("gptq-w4-g32-sym-desc_act", moved,
                                    "INGOT-E1054.*different sizes")

    def test_products_of_one_input_share_its_reordered_columns(self):
        source, orders = "gptq-w4-g32-sym-desc_act", {}

        def alike(name, dtype, shape, data):
            # GPTQ finds the order of a product's input; these were drawn matrix by matrix.
            return name, dtype, shape, (orders.setdefault(len(data), data)
                                        if name.endswith("g_idx") else data)

        output, _ = self.report("ordered", self.variant(source, "alike", alike))
        programs = json.loads(self.ingot_run("inspect", output, "--json").stdout)["targets"][0]
        step = next(program for program in programs["programs"] if program["name"] == "step")
        launches = [instruction for instruction in step["instructions"]
                    if instruction.get("name", "").startswith("gather_columns")]
        # In each of two layers: q, k and v; o; gate and up; down.
        self.assertEqual(len(launches), 2 * 4)

    def cache_scales(self, name, scales, config=None):
        """modelopt-fp8 with these tensors beside its own: names are of a layer's attention."""
        source = DATA / "quantized" / "modelopt-fp8"
        config = config or json.loads((source / "config.json").read_text())["quantization_config"]
        model = self.variant("modelopt-fp8", name, lambda *tensor: tensor, config)
        scales = {f"model.layers.{layer}.self_attn.{part}": tensor
                  for layer in range(2) for part, tensor in scales.items()}
        write_tensors(model / "model.safetensors",
                      {**read_tensors(source / "model.safetensors"), **scales})
        return model

    def assert_no_scales(self, source, asked):
        """A recipe that asks for scales which the checkpoint does not have is refused."""
        recipe = self.folder / "scales.yaml"
        recipe.write_text(f"version: 1\n{asked}\n")
        output = self.fresh("out") / "m.ingot"
        self.assert_refused(self.build(DATA / "quantized" / source, output, "--recipe", recipe),
                            output, "INGOT-E2011")

    def test_scales_of_an_uneven_cache_are_not_taken(self):
        config = json.loads((DATA / "quantized" / "modelopt-fp8" / "config.json").read_text())[
            "quantization_config"]
        scheme = {"num_bits": 8, "type": "int", "symmetric": False, "strategy": "tensor"}
        scale = "F32", [], struct.pack("<f", 0.5)
        model = self.cache_scales("uneven", {"k_scale": scale, "v_scale": scale},
                                  {**config, "kv_cache_scheme": scheme})
        _, said = self.report("uneven-engine", model)
        self.assertNotIn("recipe: kv_cache", said)
        self.assertIn("asymmetric", said["checkpoint: KV cache"]["asked"])

    def test_scales_of_the_cache_are_taken(self):
        keys, values = (("F32", [], struct.pack("<f", scale)) for scale in (0.5, 0.25))
        _, said = self.report("plain", DATA / "quantized" / "modelopt-fp8")
        self.assertNotIn("recipe: kv_cache", said)
        names = (("k_scale", "v_scale"), ("k_proj.k_scale", "v_proj.v_scale"),
                 ("k_proj.output_scale", "v_proj.output_scale"))
        engines = []
        for number, (key, value) in enumerate(names):
            model = self.cache_scales(f"cache{number}", {key: keys, value: values})
            engine, said = self.report(f"cache-engine{number}", model)
            self.assertEqual(said["recipe: kv_cache"]["effective"], "e4m3-static")
            self.assert_sound(engine)
            engines.append(engine)
        for other in engines[1:]:
            self.assert_same_weights(engines[0], other)

        gpu, _ = self.report("cache-gpu", self.folder / "cache0", "--target", "sm_90a")
        self.assert_sound(gpu, "--simulate", "sm_90a")

        # Other scales are other numbers in the engine; without them there is nothing to take.
        half = self.cache_scales("half", {"k_scale": values, "v_scale": values})
        self.assertIn("weights", self.differing(engines[0], self.report("half-engine", half)[0]))
        recipe = self.folder / "cache.yaml"
        recipe.write_text("version: 1\nkv_cache: e4m3\n")
        _, said = self.report("own", half, "--recipe", recipe)
        self.assertEqual(said["checkpoint: KV cache"]["reason"], "the recipe says so")
        self.assert_no_scales("modelopt-fp8", "kv_cache: e4m3-static")

    def test_scales_of_inputs_are_taken(self):
        source = DATA / "quantized" / "modelopt-fp8"
        engine, said = self.report("static", source)
        self.assertEqual(said["recipe: activations"]["effective"], "fp8-static")
        self.assert_sound(engine)

        # In the type that the model's other numbers have.
        def short(name, dtype, shape, data):
            if not name.endswith("input_scale"):
                return name, dtype, shape, data
            return name, "BF16", shape, data[2:]

        def rounded(name, dtype, shape, data):
            return name, dtype, shape, (b"\0\0" + data[2:] if name.endswith("input_scale")
                                        else data)

        self.assert_same_weights(*(
            self.report(f"{change.__name__}-engine",
                        self.variant("modelopt-fp8", change.__name__, change))[0]
            for change in (short, rounded)))

        def changed(dtype, shape, data):
            return lambda *tensor: ((tensor[0], dtype, shape, data)
                                    if tensor[0].endswith("input_scale") else tensor)

        for tensor, code in ((("F32", [1], struct.pack("<f", 0)), "INGOT-E1125.*input_scale is 0"),
                             (("F32", [1], struct.pack("<f", -1)), "INGOT-E1125"),
                             (("F32", [1], b"\0\0\xc0\x7f"), "INGOT-E1125.*nan"),
                             (("F32", [2], bytes(8)), "INGOT-E1054.*several numbers"),
                             (("I32", [1], bytes(4)), "INGOT-E1081.*I32")):
            self.assert_variant_refused("modelopt-fp8", changed(*tensor), code)
        # Where the recipe reads other activations, they do not matter.
        recipe = self.folder / "bf16.yaml"
        recipe.write_text("version: 1\nactivations: bf16\n")
        broken = self.variant("modelopt-fp8", "broken", changed("F32", [1], bytes(4)))
        _, said = self.report("bf16", broken, "--recipe", recipe)
        self.assertEqual(said["checkpoint: activations"]["asked"], "fp8-static")
        self.assert_no_scales("fp8-block128", "activations: fp8-static")

    def test_fp8_blocks_of_other_sizes(self):
        """The scales of blocks of 128 x 128, each for the smaller ones that it is made of."""
        source = "fp8-block128"
        shapes = {name: shape for name, (_, shape, _) in
                  read_tensors(DATA / "quantized" / source / "model.safetensors").items()}
        stated = json.loads((DATA / "quantized" / source / "config.json").read_text())

        def smaller(rows, columns):
            def change(name, dtype, shape, data):
                if not name.endswith("_scale_inv"):
                    return name, dtype, shape, data
                size = len(data) // (shape[0] * shape[1])
                whole = shapes[name.removesuffix("_scale_inv")]
                counts = [-(-whole[0] // rows), -(-whole[1] // columns)]
                places = (i * rows // 128 * shape[1] + j * columns // 128
                          for i in range(counts[0]) for j in range(counts[1]))
                return name, dtype, counts, b"".join(
                    data[place * size:(place + 1) * size] for place in places)

            return change, {**stated["quantization_config"], "weight_block_size": [rows, columns]}

        whole = self.variant(source, "whole", lambda *tensor: tensor)
        for rows, columns in ((64, 32), (16, 64), (32, 128)):
            with self.subTest(rows=rows, columns=columns):
                self.assert_same_values(whole, self.variant(source, f"{rows}x{columns}",
                                                            *smaller(rows, columns)))
        change, other = smaller(64, 64)
        self.assert_variant_refused(source, change, "INGOT-E1080.*weight_block_size",
                                    {**other, "weight_block_size": [64, 32]})
        self.assert_variant_refused(source, change, "INGOT-E1054.*weight_block_size",
                                    {**other, "weight_block_size": [64]})

    def test_blocks_that_cross_rows(self):
        source = "bnb-nf4"

        def states(block):
            """The same numbers in larger blocks: the scale of the first of those that they join;
            and likewise in blocks of 64."""
            def scales(data, joins):
                return b"".join(data[4 * (i - i % joins):4 * (i - i % joins) + 4]
                                for i in range(len(data) // 4))

            def small(name, dtype, shape, data):
                return (name, dtype, shape, scales(data, block // 64)
                        if name.endswith(".absmax") else data)

            def large(name, dtype, shape, data):
                if name.endswith(".absmax"):
                    data = b"".join(data[i:i + 4] for i in range(0, len(data), 4 * (block // 64)))
                    shape = [len(data) // 4]
                if ".quant_state." in name:
                    data = json.dumps({**json.loads(data), "blocksize": block}).encode()
                    shape = [len(data)]
                return name, dtype, shape, data

            return small, large

        for block in (256, 32768):  # The last of the larger ones is short.
            with self.subTest(block):
                self.assert_same_values(*(
                    self.variant(source, f"{change.__name__}{block}", change)
                    for change in states(block)))

        def odd(name, dtype, shape, data):
            return name, dtype, shape, data.replace(b'"blocksize": 64', b'"blocksize": 68')

        self.assert_variant_refused(source, odd, "INGOT-E1054.*8 must divide both")

    def test_quantized_scales_are_those_that_they_stand_for(self):
        def f32(number):
            return struct.unpack("<f", struct.pack("<f", number))[0]

        for size in (256, 512):  # Of the larger ones some are short.
            with self.subTest(size):
                self.quantize_scales(size, f32)

    def quantize_scales(self, size, f32):
        """Builds checkpoints with quantized scales in blocks of `size` and with what they are."""
        nested, plain = (self.variant("bnb-nf4", f"{name}{size}", lambda *tensor: tensor)
                         for name in ("nested", "plain"))
        tensors = read_tensors(plain / "model.safetensors")
        book, offset, result = [(i - 128) / 128 for i in range(256)], f32(0.0625), {}
        for name, (dtype, shape, data) in list(tensors.items()):
            if not name.endswith(".absmax"):
                result.setdefault(name, (dtype, shape, data))
                continue
            scales = struct.unpack(f"<{shape[0]}f", data)
            codes, stands, outer = bytearray(), [], []
            for start in range(0, len(scales), size):
                block = [scale - offset for scale in scales[start:start + size]]
                outer.append(f32(max(map(abs, block))))
                for scale in block:
                    codes.append(min(255, max(0, round(scale / outer[-1] * 128) + 128)))
                    stands.append(f32(f32(book[codes[-1]] * outer[-1]) + offset))
            matrix = name.removesuffix(".absmax")
            state = matrix + ".quant_state.bitsandbytes__nf4"
            text = json.dumps({**json.loads(tensors[state][2]), "nested_blocksize": size,
                               "nested_dtype": "float32", "nested_offset": offset}).encode()
            result.update({
                name: ("U8", shape, bytes(codes)),
                matrix + ".nested_absmax": ("F32", [len(outer)],
                                            struct.pack(f"<{len(outer)}f", *outer)),
                matrix + ".nested_quant_map": ("F32", [256], struct.pack("<256f", *book)),
                state: ("U8", [len(text)], text)})
            tensors[name] = dtype, shape, struct.pack(f"<{len(stands)}f", *stands)
        write_tensors(nested / "model.safetensors", result)
        write_tensors(plain / "model.safetensors", tensors)
        self.assert_same_weights(self.report(f"nested-{size}", nested)[0],
                                 self.report(f"plain-{size}", plain)[0])

        for key, code in (("nested_offset", "INGOT-E1005"), ("nested_blocksize", "INGOT-E1005")):
            broken = {name: (dtype, shape, data.replace(key.encode(), b"x" * len(key)))
                      for name, (dtype, shape, data) in result.items()}
            write_tensors(nested / "model.safetensors", broken)
            output = self.fresh("out") / "m.ingot"
            self.assert_refused(self.build(nested, output), output, code)
            shutil.rmtree(output.parent)


if __name__ == "__main__":
    harness.main()
