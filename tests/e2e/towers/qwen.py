# SPDX-License-Identifier: Apache-2.0
"""Qwen3-VL with experts, and Qwen3.5 with and without."""
from towers.checkpoint import BYTES, Tower

SPECIALS = ("<|endoftext|>", "<|im_end|>", "<|im_start|>", "<|vision_start|>", "<|vision_end|>",
            "<|image_pad|>", "<|video_pad|>")
IDS = {name: BYTES + place for place, name in enumerate(SPECIALS)}
HIDDEN = 64
AROUND = {
    "image_token_id": IDS["<|image_pad|>"], "video_token_id": IDS["<|video_pad|>"],
    "vision_start_token_id": IDS["<|vision_start|>"],
    "vision_end_token_id": IDS["<|vision_end|>"], "tie_word_embeddings": False,
    "dtype": "float32",
}
TEXT = {
    "vocab_size": BYTES + 16, "hidden_size": HIDDEN, "intermediate_size": 96, "head_dim": 32,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "hidden_act": "silu",
    "attention_bias": False, "eos_token_id": IDS["<|im_end|>"], "tie_word_embeddings": False,
}
VISION = {
    "depth": 3, "hidden_size": 48, "intermediate_size": 80, "num_heads": 2, "in_channels": 3,
    "patch_size": 4, "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": HIDDEN,
    "num_position_embeddings": 36, "hidden_act": "gelu_pytorch_tanh",
}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
DELTA_NET = {
    "head_dim": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "linear_key_head_dim": 16,
    "linear_value_head_dim": 24, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_conv_kernel_dim": 4, "full_attention_interval": 2, "attn_output_gate": True,
    "mamba_ssm_dtype": "float32", "layer_types": ["linear_attention", "full_attention"] * 2,
    "mtp_num_hidden_layers": 1,
    # A quarter of a head turns: eight pairs, of which not every third is of one axis.
    "rope_parameters": {"rope_type": "default", "rope_theta": 9000.0, "mrope_interleaved": True,
                        "mrope_section": [3, 3, 2], "partial_rotary_factor": 0.25},
}
PROCESSOR = {
    "processor_class": "Qwen3VLProcessor",
    "video_processor": {"video_processor_type": "Qwen3VLVideoProcessor"},
    "image_processor": {
        "do_convert_rgb": True, "do_normalize": True, "do_rescale": True, "do_resize": True,
        "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 3, "rescale_factor": 1 / 255,
        "image_processor_type": "Qwen2VLImageProcessor", "merge_size": 2, "patch_size": 4,
        "temporal_patch_size": 2, "size": {"longest_edge": 6000, "shortest_edge": 2048}},
}
TOKENIZER = {"processor_class": "Qwen3VLProcessor"}


def decays(name, shape):
    """Of delta nets: some heads remember for longer than a chunk."""
    return (-3.0, 3.0) if name.endswith("A_log") else None


def less_one(name, shape):
    """Likewise, and norms of text are stored less 1 but for those of delta nets."""
    is_norm = "norm" in name and "visual" not in name and "linear_attn" not in name
    return (0.0, 0.4) if is_norm else decays(name, shape)


def stacks(name, shape):
    """Matrices of experts are stored with rows of inputs."""
    return (0.0, 1.5 * (3 / shape[1]) ** 0.5) if len(shape) == 3 else None


def tower(architecture, model_type, text, layers, value):
    config = {"architectures": [architecture], "model_type": model_type, **AROUND,
              "text_config": {**TEXT, "model_type": model_type + "_text", **text},
              "vision_config": {**VISION, "model_type": model_type,
                                "deepstack_visual_indexes": layers}}
    return Tower(config, PROCESSOR, SPECIALS, "<|vision_start|><|image_pad|><|vision_end|>",
                 TOKENIZER, value)


TOWERS = {
    "qwen3_vl_moe": tower("Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe", {
        **EXPERTS, "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 9000.0,
                            "mrope_interleaved": True, "mrope_section": [6, 5, 5]}},
        [0, 2], stacks),
    "qwen3_5": tower("Qwen3_5ForConditionalGeneration", "qwen3_5", DELTA_NET, [], less_one),
    "qwen3_5_moe": tower("Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", {
        **DELTA_NET, **EXPERTS, "shared_expert_intermediate_size": 40}, [], less_one),
}
