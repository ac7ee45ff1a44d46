# SPDX-License-Identifier: Apache-2.0
"""The formats that `ingot quantize` makes beside words of integers: each is read back as numpy
decodes it, loses less with calibration than without, and can be asked for by a build."""
import json
import shutil
import struct
import sys
import unittest

import harness

sys.path.insert(0, str(harness.ROOT / "build" / "numpy"))
try:
    import numpy as np
except ImportError:
    print("SKIP quantize_formats: scripts/setup installs numpy")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

DATA = harness.ROOT.parent / "shared" / "data"
MODEL = DATA / "TinyStories-656K-rot256"
TEXT = DATA / "text" / "tinystories_train_head_ascii.txt"
PLAIN = "version: 1\nactivations: f32\nkv_cache: f32\n"
STATIC = "activations: {compute: fp8-static, store: f32}\nkv_cache: fp8-static\n"
FLOATS = ("nvfp4", "mxfp4", "nf4", "fp4")
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6], np.float32)
E2M1 = np.concatenate([E2M1, -E2M1])
E4M3 = np.array([(mantissa / 8 + (exponent > 0)) * 2.0 ** (max(exponent, 1) - 7)
                 for exponent in range(16) for mantissa in range(8)], np.float32)
TYPES = {"F32": np.float32, "BF16": np.uint16, "U8": np.uint8, "I8": np.int8, "I32": np.int32,
         "I64": np.int64, "F8_E4M3": np.uint8}


def tensors_of(folder):
    data = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data[8 + size + begin:8 + size + end], TYPES[entry["dtype"]])
            tensors[name] = values.reshape(entry["shape"])
    return tensors


def nibbles(packed, high_first=False):
    halves = [packed & 15, packed >> 4]
    return np.stack(halves[::-1] if high_first else halves, -1).reshape(packed.shape[0], -1)


def decoded(tensors, module):
    """The matrix of a module, by what its format's own documents say; None for others."""
    part = {name[len(module) + 1:]: value for name, value in tensors.items()
            if name.startswith(module + ".")}
    if "weight.absmax" in part:
        state = json.loads(bytes(next(value for name, value in part.items()
                                      if "quant_state" in name)))
        scales = (part["weight.nested_quant_map"][part["weight.absmax"]] *
                  np.repeat(part["weight.nested_absmax"], state["nested_blocksize"])
                  [:part["weight.absmax"].size] + np.float32(state["nested_offset"]))
        values = part["weight.quant_map"][nibbles(part["weight"], True).reshape(-1)]
        return (values * np.repeat(scales, state["blocksize"])[:values.size]).reshape(
            state["shape"])
    if "weight_global_scale" in part:
        scales = E4M3[part["weight_scale"]] / part["weight_global_scale"]
        return E2M1[nibbles(part["weight_packed"])] * np.repeat(scales, 16, 1)
    if "weight_packed" in part:
        scales = 2.0 ** (part["weight_scale"].astype(np.float32) - 127)
        return E2M1[nibbles(part["weight_packed"])] * np.repeat(scales, 32, 1)
    if "weight_scale" in part and part["weight"].dtype == np.int8:
        return part["weight"] * part["weight_scale"]
    if "weight_scale" in part:
        bits = part["weight"]
        return np.where(bits < 128, 1, -1) * E4M3[bits & 127] * part["weight_scale"]
    return None


@unittest.skipUnless(MODEL.is_dir() and TEXT.is_file(), "../shared/data is absent")
class QuantizeFormats(harness.BuildTest):
    def setUp(self):
        super().setUp()
        text = TEXT.read_text()
        self.text = self.write("text.txt", text[:12_000])
        self.few = ("--samples", 24, "--length", 256, "--calibration-text",
                    self.write("calibration.txt", text[20_000:120_000]))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def recipe(self, form, method, rest=""):
        return self.write(f"{form}-{method}.yaml",
                          'version: 1\nweights: [{match: "*embed*", format: stored}, '
                          '{match: "*lm_head*", format: stored}, '
                          f'{{match: "*", format: {form}}}]\nmethod: {method}\n{rest}')

    def quantize(self, recipe, name, *options, model=MODEL):
        output = self.folder / name
        result = self.ingot("quantize", model, "-o", output, "--recipe", recipe, *self.few,
                            *options)
        self.assertEqual(result.returncode, 0, result.stdout)
        return output

    def engine(self, model, name, *options):
        engine = self.folder / f"{name}.ingot"
        options = options or ("--recipe", self.write("plain.yaml", PLAIN))
        self.assert_built(self.ingot("build", model, "-o", engine, "--max-context", 512,
                                     "--max-sequences", 1, *options), engine)
        return engine

    def evaluated(self, engine):
        base = self.folder / "base.ingot"
        if not base.exists():
            self.engine(MODEL, "base")
        result = self.ingot_run("eval", engine, "--against", base, "--text", self.text, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        return found["perplexity"], found["divergence"]["mean"]

    def config(self, folder):
        return json.loads((folder / "config.json").read_text())["quantization_config"]

    def plain(self, folder):
        """A copy of a quantized model whose matrices are what numpy makes of them, in f32."""
        tensors, plain = tensors_of(folder), self.folder / f"{folder.name}-plain"
        modules = {name.split(".weight")[0] for name in tensors if "_proj.weight" in name}
        kept = {name: value for name, value in tensors.items() if "_proj" not in name}
        for module in modules:
            kept[f"{module}.weight"] = decoded(tensors, module).astype(np.float32)
        shutil.copytree(folder, plain)
        header, data = {}, b""
        for name, value in kept.items():
            kind = next(key for key, dtype in TYPES.items() if dtype == value.dtype)
            header[name] = {"dtype": kind, "shape": value.shape,
                            "data_offsets": [len(data), len(data) + value.nbytes]}
            data += value.tobytes()
        text = json.dumps(header).encode()
        (plain / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
        config = json.loads((plain / "config.json").read_text())
        del config["quantization_config"]
        (plain / "config.json").write_text(json.dumps(config))
        return plain

    def expect_read_as_decoded(self, folder):
        read = self.evaluated(self.engine(folder, f"{folder.name}-read"))
        meant = self.evaluated(self.engine(self.plain(folder), f"{folder.name}-meant"))
        self.assertAlmostEqual(read[0], meant[0], delta=1e-4 * meant[0])
        self.assertAlmostEqual(read[1], meant[1], delta=1e-2 * meant[1] + 1e-6)
        return read[1]

    def test_floats_of_4_bits(self):
        for form in FLOATS:
            with self.subTest(form=form):
                named = self.quantize(form, form)
                self.assertEqual(self.config(named)["quant_method"],
                                 "bitsandbytes" if form in ("nf4", "fp4") else
                                 "compressed-tensors")
                calibrated = self.expect_read_as_decoded(named)
                rounded = self.quantize(self.recipe(form, "round"), f"{form}-round")
                found = self.evaluated(self.engine(rounded, f"{form}-round"))[1]
                print(form, "gptq", calibrated, "round", found, flush=True)
                self.assertLess(calibrated, 0.6 * found)
                self.assertLess((named / "model.safetensors").stat().st_size,
                                0.9 * (MODEL / "model.safetensors").stat().st_size)

    def test_methods_of_nvfp4(self):
        found = {}
        for method in ("round", "round-mse", "awq", "best"):
            folder = self.quantize(self.recipe("nvfp4", method), method)
            found[method] = self.evaluated(self.engine(folder, method))[1]
        print(found, flush=True)
        self.assertLess(found["round-mse"], found["round"])
        self.assertLess(found["awq"], found["round"])
        self.assertLess(found["best"], 0.5 * found["awq"])
        again = self.quantize(self.recipe("nvfp4", "best"), "again", "--threads", 3)
        self.assertEqual((again / "model.safetensors").read_bytes(),
                         (self.folder / "best" / "model.safetensors").read_bytes())
        # Matrices with the same input have one global scale, as loaders that stack them want.
        tensors = tensors_of(self.folder / "best")
        scales = {str(tensors[f"model.layers.0.{module}.weight_global_scale"])
                  for module in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")}
        self.assertEqual(len(scales), 1)

    def test_int8_smoothquant(self):
        smooth = self.quantize("int8-sq", "smooth")
        config = self.config(smooth)
        self.assertEqual(config["format"], "int-quantized")
        self.assertEqual(config["config_groups"]["group_0"]["input_activations"]["strategy"],
                         "token")
        before, after = tensors_of(MODEL), tensors_of(smooth)
        norm = "model.layers.0.input_layernorm.weight"
        self.assertFalse(np.array_equal(before[norm], after[norm]))
        self.expect_read_as_decoded(smooth)
        activations = "activations: {compute: int8-dynamic, store: f32}\nkv_cache: f32\n"
        rounded = self.quantize(self.recipe("int8", "round", activations), "rounded")
        run = ("--recipe", self.write("run.yaml", "version: 1\n" + activations))
        found = {folder.name: self.evaluated(self.engine(folder, folder.name, *run))[1]
                 for folder in (smooth, rounded)}
        print(found, flush=True)
        self.assertLess(found["smooth"], found["rounded"])
        # A rule of the format that matrices have leaves them as they are.
        again = self.write("again.yaml", 'version: 1\nweights: [{match: "*_proj*", '
                                         'format: int8}]\n' + activations)
        self.assertEqual(self.evaluated(self.engine(smooth, "again", "--recipe", again))[1],
                         found["smooth"])

    def test_fp8_with_static_scales(self):
        folder = self.quantize("fp8-static", "static")
        self.expect_read_as_decoded(folder)
        group = self.config(folder)["config_groups"]["group_0"]
        self.assertEqual(group["weights"]["strategy"], "channel")
        self.assertEqual((group["input_activations"]["strategy"],
                          group["input_activations"]["dynamic"]), ("tensor", False))
        tensors = tensors_of(folder)
        modules = [name for name in tensors if name.endswith("_proj.weight")]
        for name in modules:
            self.assertGreater(tensors[name.replace(".weight", ".input_scale")][0], 0)
        run = self.write("run.yaml", "version: 1\nactivations: {compute: fp8-static, store: f32}\n"
                                     "kv_cache: f32\n")
        found = self.evaluated(self.engine(folder, "static", "--recipe", run))[1]
        rounded = self.quantize(self.recipe("fp8", "round", "activations: fp8-static\n"), "rounded")
        nearest = self.evaluated(self.engine(rounded, "rounded", "--recipe", run))[1]
        print("fp8-static", found, "by rounding:", nearest, flush=True)
        self.assertLess(found, 0.85 * nearest)

    def test_scales_of_caches(self):
        """Static scales hold all keys and values, and are what a build takes where they are."""
        for kind, most in (("fp8-static", 448), ("int8-static", 127)):
            with self.subTest(kind=kind):
                folder = self.quantize(self.recipe("int8", "round", f"kv_cache: {kind}\n"), kind)
                scheme = self.config(folder)["kv_cache_scheme"]
                self.assertEqual((scheme["type"], scheme["strategy"], scheme["dynamic"]),
                                 ("float" if most == 448 else "int", "tensor", False))
                scales = {name: value[0] * most for name, value in tensors_of(folder).items()
                          if name.endswith(("k_scale", "v_scale"))}
                self.assertEqual(len(scales), 4)
                self.assertTrue(all(0.5 < value < 200 for value in scales.values()), scales)
                run = self.write("run.yaml", f"version: 1\nactivations: f32\nkv_cache: {kind}\n")
                found = self.evaluated(self.engine(folder, kind, "--recipe", run))[1]
                print(kind, found, scales, flush=True)
                self.assertLess(found, 0.01)
        result = self.ingot("quantize", MODEL, "-o", self.folder / "x", "--recipe",
                            self.recipe("nf4", "round", "kv_cache: fp8-static\n"))
        self.assertIn("INGOT-E2123", result.stdout)

    def test_modelopt_holds_what_compressed_tensors_does(self):
        of_tokens = "activations: {compute: fp8-dynamic, store: f32}\n"
        for name, recipe in (("nvfp4", "nvfp4"), ("int4", self.recipe("int4", "gptq")),
                             ("int8", self.recipe("int8", "round")),
                             ("fp8", self.recipe("fp8", "round", of_tokens))):
            with self.subTest(recipe=name):
                found = {form: self.evaluated(self.engine(
                    self.quantize(recipe, f"{name}-{form}", "--format", form), f"{name}-{form}"))
                    for form in ("compressed-tensors", "modelopt")}
                print(name, found, flush=True)
                self.assertAlmostEqual(*(divergence for _, divergence in found.values()),
                                       delta=1e-5 * found["modelopt"][1] + 1e-7)
                folder = self.folder / f"{name}-modelopt"
                self.assertEqual(self.config(folder)["quant_algo"],
                                 json.loads((folder / "hf_quant_config.json").read_text())[
                                     "quantization"]["quant_algo"])

    def test_modelopt_writes_the_file_that_modelopt_does(self):
        quantized = DATA / "quantized"
        written = self.quantize(self.recipe("fp8", "round", STATIC), "modelopt", "--format",
                                "modelopt", model=quantized / "plain-bf16")
        theirs, ours = tensors_of(quantized / "modelopt-fp8"), tensors_of(written)
        config = self.config(written)
        self.assertEqual(config.pop("kv_cache_scheme")["type"], "float")
        self.assertEqual(config, self.config(quantized / "modelopt-fp8"))
        caches = {f"model.layers.{layer}.self_attn.{name}" for layer in range(2)
                  for name in ("k_proj.k_scale", "v_proj.v_scale")}
        self.assertEqual(ours.keys(), theirs.keys() | caches)
        for name, value in theirs.items():
            self.assertEqual((value.dtype, value.shape), (ours[name].dtype, ours[name].shape), name)
            if not name.endswith("input_scale"):  # Theirs are none of this model.
                np.testing.assert_array_equal(value, ours[name], name)
        run = self.write("run.yaml", f"version: 1\n{STATIC}")
        self.assertLess(self.evaluated(self.engine(written, "modelopt", "--recipe", run))[1], 0.03)

    def test_builds_quantize_first(self):
        for form in ("nvfp4", "nf4", "fp8-static"):
            with self.subTest(form=form):
                engine = self.folder / f"{form}.ingot"
                result = self.ingot("build", MODEL, "-o", engine, "--recipe", form,
                                    "--calibration-text", self.few[-1], "--max-context", 512,
                                    "--max-sequences", 1, "--cache", self.folder / "cache")
                self.assert_built(result, engine)
                self.assertIn("layer 2 of 2", result.stdout)
                self.assertLess(self.evaluated(engine)[1], 0.05)

    def test_refused(self):
        output = self.folder / "x"
        result = self.ingot("quantize", MODEL, "-o", output, "--recipe", "nvfp4", "--format",
                            "gptq")
        self.assertIn("INGOT-E2106", result.stdout)
        result = self.ingot("build", MODEL, "-o", output, "--recipe", "nf4", "--random-weights", 1)
        self.assertIn("INGOT-E2115", result.stdout)
        result = self.ingot("plan", MODEL, "--recipe", "nf4")
        self.assertIn("INGOT-E2013", result.stdout)
        mixed = self.write("mixed.yaml", 'version: 1\nweights: [{match: "*mlp*", format: nf4}, '
                                         '{match: "*attn*", format: fp4}]\n')
        result = self.ingot("quantize", MODEL, "-o", output, "--recipe", mixed)
        self.assertIn("INGOT-E2109", result.stdout)
        self.assertFalse(output.exists())


if __name__ == "__main__":
    harness.main()
