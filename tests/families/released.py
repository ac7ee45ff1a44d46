# SPDX-License-Identifier: Apache-2.0
"""Quantized folders of new families as their publishers lay them out: which modules they leave in
16 bits, in their own spelling, and how the others are stored."""
import fnmatch
import re

import layouts
import models

# Of text parts' names.
TEXT = "model.language_model."


def compressed(ignore, form, weights, inputs=None, **more):
    """A quantization_config of llm-compressor, and whether it leaves a module out."""
    def left_out(module):
        return any(re.match(entry[3:], module) if entry.startswith("re:") else entry == module
                   for entry in ignore)
    return {"quant_method": "compressed-tensors", "format": form, "ignore": ignore,
            "quantization_status": "compressed", "kv_cache_scheme": None, "sparsity_config": {},
            "transform_config": {}, "config_groups": {"group_0": {
                "targets": ["Linear"], "weights": weights, "input_activations": inputs,
                "output_activations": None, "format": form}}, **more}, left_out


def unconverted(method, modules, **more):
    """Of transformers, whose list has names, or parts of them."""
    return ({"quant_method": method, "modules_to_not_convert": modules, **more},
            lambda module: any(entry in module for entry in modules))


def excluded(ignore, **more):
    """Of ModelOpt."""
    return ({"quant_method": "modelopt", "ignore": ignore, **more},
            lambda module: any(fnmatch.fnmatchcase(module, entry) for entry in ignore))


def dynamic(rules, **more):
    """Of GPTQModel, whose first rule that fits counts."""
    def left_out(module):
        fitting = (rule for rule in rules if re.match(rule[2:], module))
        return next(fitting, "").startswith("-:")
    return {"quant_method": "gptq", "dynamic": rules, **more}, left_out


INT4 = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32,
        "actorder": None, "block_structure": None, "dynamic": False, "observer": "minmax"}
NVFP4 = {"num_bits": 4, "type": "float", "symmetric": True, "strategy": "tensor_group",
         "group_size": 16, "dynamic": False, "scale_dtype": "torch.float8_e4m3fn"}
NVFP4_INPUTS = {**NVFP4, "dynamic": "local"}
FP8_ROWS = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "channel",
            "group_size": None, "dynamic": False}
TOKENS = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "token",
          "dynamic": True}
GEMMA_WRAPPER = models.WRAPPERS["gemma4_shared"]
FLASH_WRAPPER = models.WRAPPERS["qwen3_5_moe"]
QWEN_KEPT = ["lm_head", "re:.*visual.*", "re:.*linear_attn.*", "re:.*mlp.gate$",
             "re:.*embed_tokens$", "re:.*shared_expert_gate$", "re:^mtp.*"]


def widened(case, to=32):
    """The case with experts so wide that groups divide them."""
    config = dict(case.config, moe_intermediate_size=to)
    was = case.config["moe_intermediate_size"]
    name = next(name for name in models.CASES if models.CASES[name] is case)
    wide = models.Case(config, context=case.context, embeddings=case.embeddings, seed=case.seed)
    wide.prompt = case.prompt
    tensors = {key: [{was: to, 2 * was: 2 * to}.get(size, size) if "experts." in key else size
                     for size in shape]
               for key, shape in models.stored_tensors()[name].items()}
    wide.checkpoint = lambda: models.Case.checkpoint(wide, tensors)
    return wide


class Release:
    """`stores`: of `layouts`, by expressions of which a matrix's name has one. `held`: what of them
    the engine has. `inputs_first`: of stacked experts, which are taken apart."""

    def __init__(self, case, said, stores, held, wrapper=None, inputs_first=None, rename=("", "")):
        self.case, (self.said, self.left_out), self.held = models.CASES[case], said, held
        if held != "fp8" and "moe_intermediate_size" in self.case.config:
            self.case = widened(self.case)
        self.stores = stores if isinstance(stores, dict) else {"": stores}
        self.wrapper, self.inputs_first, self.rename = wrapper, inputs_first, rename

    def store_of(self, name, shape):
        module = name.removesuffix(".weight")
        kept = ("norm", "vision", "visual", "embed_tokens")
        if (len(shape) != 2 or module == name or any(part in name for part in kept) or
                self.left_out(module)):
            return None
        if self.held != "fp8" and shape[1] % 32 != 0:  # Groups do not divide it.
            return None
        return next((store for part, store in self.stores.items() if re.search(part, name)), None)

    def tensors(self):
        """config.json without what is said of quantization; stored tensors, and those meant."""
        config, checkpoint = self.case.config, self.case.checkpoint()
        if self.inputs_first is not None:
            checkpoint = models.apart(checkpoint, self.inputs_first)
        if self.wrapper:
            config, checkpoint = models.wrapped(self.case, self.wrapper, checkpoint)
        checkpoint = {name.replace(*self.rename): tensor for name, tensor in checkpoint.items()}
        return config, *layouts.quantized(checkpoint, self.store_of)


RELEASES = {
    # RedHatAI/Qwen3.5-122B-A10B-NVFP4 and Qwen3.6-35B-A3B-NVFP4.
    "qwen3_6_moe_nvfp4": Release(
        "qwen3_5_moe", compressed(QWEN_KEPT, "nvfp4-pack-quantized", NVFP4, NVFP4_INPUTS),
        layouts.nvfp4(), "codebook4", FLASH_WRAPPER),
    # nvidia/Qwen3.6-35B-A3B-NVFP4, Qwen3.8-27B-NVFP4: modules have algorithms of their own.
    "qwen3_8_modelopt_mixed": Release(
        "qwen3_5", excluded(
            ["*linear_attn.in_proj_a", "*linear_attn.in_proj_b", "*linear_attn.conv1d",
             "model.visual*", "mtp*"], quant_algo="MIXED_PRECISION", kv_cache_quant_algo=None,
            quantized_layers={
                "lm_head": {"quant_algo": "NVFP4", "group_size": 16},
                f"{TEXT}layers.0.mlp.down_proj": {"quant_algo": "NVFP4", "group_size": 16},
                f"{TEXT}layers.0.linear_attn.out_proj": {"quant_algo": "FP8"},
                f"{TEXT}layers.3.self_attn.q_proj": {"quant_algo": "FP8"}},
            producer={"name": "modelopt", "version": "0.44"}),
        {r"lm_head|mlp\.": layouts.nvfp4(modelopt=True), "attn": layouts.fp8(by_row=False)},
        "codebook4", models.WRAPPERS["qwen3_5"]),
    # Of cyankiwi and others, and of AMD: only what experts compute.
    "qwen3_5_moe_mxfp4": Release(
        "qwen3_5_moe", compressed(
            ["lm_head", "re:.*self_attn.*", "re:.*linear_attn.*", "re:.*shared_expert.*",
             "re:.*mlp.gate$", "re:.*visual.*", "re:^mtp.*"], "mxfp4-pack-quantized",
            {**NVFP4, "strategy": "group", "group_size": 32}), layouts.mxfp4, "codebook4"),
    # Qwen/Qwen3.5-27B-AWQ and QuantTrio's: parts of names.
    "qwen3_5_awq": Release(
        "qwen3_5", unconverted(
            "awq", ["linear_attn.in_proj_a", "linear_attn.in_proj_b", "linear_attn.conv1d",
                    "visual", "mtp", "lm_head", "model.layers.0."],
            bits=4, group_size=32, version="gemm", zero_point=True), layouts.awq(), "int4",
        models.WRAPPERS["qwen3_5"]),
    # moonshotai/Kimi-K2-Thinking and K2.5: what experts compute, and no more.
    "kimi_k2_int4": Release(
        "deepseek_v3", compressed(
            ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
             r"re:.*mlp\.(gate|up|gate_up|down)_proj.*"], "pack-quantized", INT4),
        layouts.packed(), "int4", models.WRAPPERS["deepseek_v3"]),
    # nvidia/DeepSeek-V3.1-NVFP4: attention stays in 16 bits, but for its result.
    "deepseek_v3_nvfp4": Release(
        "deepseek_v3", excluded(
            ["*self_attn.q_*", "*self_attn.kv_*", "lm_head", "*mlp.gate"], quant_algo="NVFP4",
            kv_cache_quant_algo=None, group_size=16, producer={"name": "modelopt",
                                                               "version": "0.44"}),
        layouts.nvfp4(modelopt=True), "codebook4"),
    # cyankiwi/GLM-4.7-Flash-AWQ-4bit and others: all but the router.
    "glm4_moe_lite_int4": Release(
        "glm4_moe_lite", compressed(["lm_head", "re:.*mlp.gate$"], "pack-quantized", INT4),
        layouts.packed(), "int4"),
    # Qwen/Qwen3.5-35B-A3B-GPTQ-Int4: rules that take out, and one that changes.
    "qwen3_next_gptq": Release(
        "qwen3_next", dynamic(
            {"-:.*attn.*": {}, "-:.*shared_expert_gate.*": {}, r"-:.*mlp\.gate$": {},
             "-:.*mtp.*": {}, "-:lm_head": {}, "+:.*shared_expert.*": {"bits": 8}},
            bits=4, group_size=32, desc_act=False, sym=True, lm_head=False,
            checkpoint_format="gptq", meta={"quantizer": ["gptqmodel:5.7.1"]}),
        {r"shared_expert\.": layouts.gptq(bits=8), "": layouts.gptq()}, "int4"),
    # google/gemma-4-E2B-it-qat-w4a16-ct: embeddings, also those of layers, are left.
    "gemma_4_e2b_w4a16": Release(
        "gemma4_shared", compressed(
            ["lm_head", "re:.*vision_tower.*", "re:.*audio_tower.*", "re:.*embed_vision.*",
             "re:.*embed_audio.*", "re:.*per_layer.*", "re:.*router.*"], "pack-quantized", INT4),
        layouts.packed(), "int4", GEMMA_WRAPPER),
    # nvidia/Gemma-4-26B-A4B-NVFP4: experts taken apart, in a module of their own.
    "gemma_4_26b_modelopt": Release(
        "gemma4_moe", excluded(["lm_head", "model.embed_vision*", "model.vision_tower*",
                                "*router*"], quant_algo="NVFP4", kv_cache_scheme=None,
                               producer={"name": "modelopt", "version": "0.43"}),
        layouts.nvfp4(modelopt=True), "codebook4", GEMMA_WRAPPER, inputs_first=False,
        rename=(".experts.", ".moe.experts.")),
    # llm-compressor's example of FP8_DYNAMIC, which takes routers along.
    "gemma_4_26b_fp8": Release(
        "gemma4_moe", compressed(["lm_head", "re:.*vision_tower.*", "re:.*embed_vision.*"],
                                 "float-quantized", FP8_ROWS, TOKENS),
        layouts.fp8(), "fp8", GEMMA_WRAPPER, inputs_first=False),
    "gemma_4_31b_w4a16": Release(
        "gemma4", compressed(["lm_head", "re:.*vision_tower.*"], "pack-quantized",
                             {**INT4, "symmetric": False}), layouts.packed(symmetric=False),
        "int4"),
    "gemma_3n_fp8": Release(
        "gemma3n", compressed(
            ["lm_head", "re:.*embed_audio.*", "re:.*embed_vision.*", "re:.*audio_tower.*",
             "re:.*vision_tower.*", "re:.*altup.*", "re:.*laurel.*", "re:.*per_layer.*"],
            "float-quantized", FP8_ROWS, TOKENS), layouts.fp8(), "fp8",
        models.WRAPPERS["gemma3n"]),
    "lfm2_w4a16": Release(
        "lfm2", compressed(["lm_head"], "pack-quantized", {**INT4, "symmetric": False}),
        layouts.packed(symmetric=False), "int4"),
    "lfm2_moe_fp8": Release(
        "lfm2_moe", compressed(["lm_head", "re:.*feed_forward.gate$", "re:.*conv.conv$"],
                               "float-quantized", FP8_ROWS, TOKENS), layouts.fp8(), "fp8"),
}
