# SPDX-License-Identifier: Apache-2.0
"""Gemma 4: as E2B and E4B are, as 26B-A4B is, and unified as 12B is."""
from towers.checkpoint import BYTES, Tower

SPECIALS = ("<pad>", "<eos>", "<bos>", "<|image|>", "<|image>", "<image|>", "<|video|>",
            "<|audio|>", "<|audio>", "<audio|>")
IDS = {name: BYTES + place for place, name in enumerate(SPECIALS)}
VOCABULARY = BYTES + 16
SLIDING, FULL = "sliding_attention", "full_attention"
AROUND = {
    "boi_token_id": IDS["<|image>"], "eoi_token_id": IDS["<image|>"],
    "image_token_id": IDS["<|image|>"], "video_token_id": IDS["<|video|>"],
    "audio_token_id": IDS["<|audio|>"], "boa_token_id": IDS["<|audio>"],
    "eoa_token_index": IDS["<audio|>"], "audio_config": None, "tie_word_embeddings": True,
    "dtype": "float32",
}
TEXT = {
    "vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 512, "rms_norm_eps": 1e-6,
    "sliding_window": 48, "head_dim": 16, "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size_per_layer_input": 0, "final_logit_softcapping": 30.0,
    "bos_token_id": IDS["<bos>"], "eos_token_id": IDS["<eos>"], "pad_token_id": IDS["<pad>"],
    "rope_parameters": {FULL: {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                               "rope_theta": 100000.0},
                        SLIDING: {"rope_type": "default", "rope_theta": 1000.0}},
}
VISION = {
    "model_type": "gemma4_vision", "hidden_size": 48, "intermediate_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16,
    "patch_size": 4, "position_embedding_size": 240, "pooling_kernel_size": 3,
    "rope_parameters": {"rope_type": "axial", "rope_theta": 100.0},
}
PROCESSOR = {
    "processor_class": "Gemma4Processor", "image_seq_length": 70, "audio_seq_length": 750,
    "audio_ms_per_token": 40, "feature_extractor": {
        "feature_extractor_type": "Gemma4AudioFeatureExtractor"},
    "video_processor": {"video_processor_type": "Gemma4VideoProcessor"},
    "image_processor": {
        "do_convert_rgb": True, "do_normalize": False, "do_rescale": True, "do_resize": True,
        "image_mean": [0.0, 0.0, 0.0], "image_processor_type": "Gemma4ImageProcessor",
        "image_std": [1.0, 1.0, 1.0], "max_soft_tokens": 70, "patch_size": 4,
        "pooling_kernel_size": 3, "resample": 3, "rescale_factor": 1 / 255},
}
TOKENIZER = {"image_token": "<|image|>", "boi_token": "<|image>", "eoi_token": "<image|>",
             "audio_token": "<|audio|>", "boa_token": "<|audio>", "eoa_token": "<audio|>",
             "processor_class": "Gemma4Processor", "extra_special_tokens": {}}


def value(name, shape):
    """Bounds that are met, factors of layers, tables that are multiplied by a root."""
    if name.endswith(("input_min", "output_min")):
        return -1.0, 0.5
    if name.endswith(("input_max", "output_max")):
        return 1.0, 0.5
    if name.endswith("std_bias"):
        return 0.0, 2.0
    if "embed_tokens" in name:
        return 0.0, 0.25
    if name.endswith(("position_embedding_table", "pos_embedding")):
        return 0.0, 0.5
    if name.endswith("layer_scalar"):
        return 0.8, 0.2
    return None


def tower(text, vision, architecture="Gemma4"):
    unified = architecture != "Gemma4"
    model_type = "gemma4_unified" if unified else "gemma4"
    processor = {**PROCESSOR, "processor_class": f"{architecture}Processor"}
    for part, kind in (("feature_extractor", "feature_extractor_type"),
                       ("video_processor", "video_processor_type"),
                       ("image_processor", "image_processor_type")):
        processor[part] = {**PROCESSOR[part], kind: PROCESSOR[part][kind].replace(
            "Gemma4", architecture)}
    config = {"architectures": [f"{architecture}ForConditionalGeneration"],
              "model_type": model_type, **AROUND,
              "text_config": {**TEXT, "model_type": f"{model_type}_text",
                              "num_hidden_layers": len(text["layer_types"]), **text},
              "vision_config": vision}
    return Tower(config, processor, SPECIALS, "<|image|>",
                 {**TOKENIZER, "processor_class": processor["processor_class"]}, value)


TOWERS = {
    # Products within bounds, inputs of layers, the last two of which read what others keep.
    "gemma4_e": tower({
        "layer_types": [SLIDING, FULL, SLIDING, SLIDING, FULL], "global_head_dim": 32,
        "num_kv_shared_layers": 2, "use_double_wide_mlp": True, "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": VOCABULARY}, {**VISION, "use_clipped_linears": True}),
    # Means are shifted, text has experts, and tokens of a picture see each other.
    "gemma4_experts": tower({
        "layer_types": [SLIDING, FULL, SLIDING, FULL], "global_head_dim": 32,
        "attention_k_eq_v": True, "num_global_key_value_heads": 1, "enable_moe_block": True,
        "num_experts": 6, "top_k_experts": 2, "moe_intermediate_size": 24,
        "use_bidirectional_attention": "vision"},
        {**VISION, "standardize": True, "num_attention_heads": 3, "num_key_value_heads": 3,
         "head_dim": 24, "rope_parameters": {"rope_type": "axial", "rope_theta": 50.0}}),
    "gemma4_unified": tower({
        "layer_types": [FULL, SLIDING, SLIDING, FULL],
        "per_layer_config": {"0": {"head_dim": 32}, "3": {"head_dim": 32}}},
        {"model_type": "gemma4_unified_vision", "patch_size": 4, "pooling_kernel_size": 3,
         "mm_embed_dim": 40, "output_proj_dims": 40, "mm_posemb_size": 80},
        "Gemma4Unified"),
}
del TOWERS["gemma4_unified"].config["text_config"]["hidden_size_per_layer_input"]
