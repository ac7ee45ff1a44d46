# SPDX-License-Identifier: Apache-2.0
"""A small model of each family: its config.json, its weights, and what it is asked."""
import array
import bisect
import functools
import itertools
import json
import math
import pathlib
import random
import struct
import sys

FOLDER = pathlib.Path(__file__).parent

VOCABULARY = 272  # Of make-checkpoint's tokenizer, with some rows to spare.
TOKENS = 12  # That each model generates.
PLACEHOLDER = VOCABULARY - 1  # Stands for images, where a model has them.

COMMON = {
    "vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "bos_token_id": 1,
    "eos_token_id": 2, "pad_token_id": 0, "tie_word_embeddings": False, "torch_dtype": "float32",
}

TIED = {"tie_word_embeddings": True}
HEAD = {"head_dim": 32}
SLIDING = {"num_hidden_layers": 4, "head_dim": 32, "sliding_window": 24}
EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
ROUTED = {
    "n_routed_experts": 8, "num_experts_per_tok": 3, "n_shared_experts": 1,
    "moe_intermediate_size": 24, "first_k_dense_replace": 1, "routed_scaling_factor": 2.5,
    "n_group": 1, "topk_group": 1,
}
PHI3 = {
    **COMMON, "architectures": ["Phi3ForCausalLM"], "model_type": "phi3",
    "partial_rotary_factor": 0.75, "original_max_position_embeddings": 32, "sliding_window": 128,
}
LONGROPE = {
    "short_factor": [1.0, 1.1, 1.25, 1.5, 1.75, 2.0],
    "long_factor": [1.0, 1.5, 2.25, 3.5, 6.0, 11.0],
}
GEMMA3 = {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "head_dim": 32,
    "num_hidden_layers": 3, "tie_word_embeddings": True, "sliding_window": 24,
    "query_pre_attn_scalar": 40, "hidden_activation": "gelu_pytorch_tanh",
}
GEMMA4 = {
    "num_hidden_layers": 4, "tie_word_embeddings": True, "sliding_window": 24, "head_dim": 16,
    "global_head_dim": 32, "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size_per_layer_input": 0, "final_logit_softcapping": 30.0,
    "layer_types": ["sliding_attention", "full_attention"] * 2, "rope_parameters": {
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                           "rope_theta": 100000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0}},
}
MAMBA = {
    "mamba_n_heads": 8, "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_head": 16,
    "max_position_embeddings": 256,
}
NEMOTRON = {
    "layer_norm_epsilon": 1e-5, "mlp_hidden_act": "relu2", "mamba_num_heads": 8,
    "mamba_head_dim": 12, "n_groups": 2, "ssm_state_size": 16, "max_position_embeddings": 256,
    "moe_intermediate_size": 32, "moe_shared_expert_intermediate_size": 40,
}
NOT_NEMOTRON = ("rms_norm_eps", "rope_theta", "hidden_act", "first_k_dense_replace")
LATENT = {
    "num_hidden_layers": 3, "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 32,
    "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12, "max_position_embeddings": 256,
}
# With few heads many positions have the score 0, of which others choose others.
INDEX = {"index_topk": 12, "index_head_dim": 16, "index_n_heads": 16}
LATENT_YARN = {"rope_scaling": {
    "type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 32,
    "beta_slow": 1, "mscale": 0.707, "mscale_all_dim": 1.0}}
GATED_DELTA = {
    "num_hidden_layers": 4, "head_dim": 32, "linear_key_head_dim": 16, "linear_value_head_dim": 24,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "max_position_embeddings": 256,
    "shared_expert_intermediate_size": 40,
}
KEY_IS_VALUE = {"attention_k_eq_v": True, "num_global_key_value_heads": 1}


@functools.cache
def stored_tensors():
    """Case to name to shape of every tensor that its checkpoint has, as transformers writes it."""
    return json.loads((FOLDER / "tensors.json").read_text())


class Case:
    """A model, how many tokens its prompt has, and what its engine is built for."""

    def __init__(self, config, prompt=20, context=64, targets=("reference", "x86-64-v3"),
                 embeddings=1.0, seed=""):
        self.config, self.targets, self.embeddings = config, targets, embeddings
        self.prompt = [(7 * i * i + 31 * i + 5) % (VOCABULARY - 16) for i in range(prompt)]
        self.context, self.seed = context, seed

    def checkpoint(self, tensors=None):
        """Name to (shape, values) of every tensor, in f32."""
        if tensors is None:
            tensors = stored_tensors()[next(name for name in CASES if CASES[name] is self)]
        return {name: (shape, values(name, shape, self.embeddings, self.seed))
                for name, shape in tensors.items()}


def of_type(model_type, architecture, *parts, without=(), **options):
    """A Case of COMMON and `parts`, but for the keys `without`."""
    config = {"architectures": [architecture], "model_type": model_type}
    for part in (COMMON, *parts):
        config.update(part)
    return Case({key: value for key, value in config.items() if key not in without}, **options)


def gemma4(*parts, without=()):
    return of_type("gemma4_text", "Gemma4ForCausalLM", GEMMA4, *parts,
                   without=("rope_theta", "hidden_act", *without), prompt=60, context=96,
                   embeddings=0.2)


CASES = {
    "qwen3": Case({
        **COMMON, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 32,
        "use_sliding_window": False, "sliding_window": None, "max_window_layers": 2,
    }),
    "mistral": Case({
        **COMMON, "architectures": ["MistralForCausalLM"], "model_type": "mistral",
        "sliding_window": 64, "head_dim": 16,
    }),
    "mistral_sliding": Case({
        **COMMON, "architectures": ["MistralForCausalLM"], "model_type": "mistral",
        "sliding_window": 24, "head_dim": 16,
    }, prompt=60, context=96),
    # Its last two layers slide, one does not.
    "qwen2_sliding": Case({
        **COMMON, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
        "num_hidden_layers": 3, "use_sliding_window": True, "sliding_window": 20,
        "max_window_layers": 1,
    }, prompt=50, context=96),
    "gemma2": Case({
        **COMMON, "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "head_dim": 32,
        "num_hidden_layers": 3, "tie_word_embeddings": True, "sliding_window": 24,
        "query_pre_attn_scalar": 48, "attn_logit_softcapping": 5.0,
        "final_logit_softcapping": 8.0, "hidden_activation": "gelu_pytorch_tanh",
    }, prompt=60, context=96, embeddings=0.2),
    "gemma3": Case({
        **COMMON, **GEMMA3, "rope_theta": 100000.0, "rope_local_base_freq": 1000.0,
        "sliding_window_pattern": 2, "rope_scaling": {"rope_type": "linear", "factor": 4.0},
    }, prompt=60, context=96, embeddings=0.2),
    # As newer files spell it, with other layers that slide.
    "gemma3_v5": Case({
        **{key: value for key, value in COMMON.items() if key != "rope_theta"}, **GEMMA3,
        "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 100000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0},
        },
    }, prompt=40, context=64, targets=("reference",), embeddings=0.2),
    "gemma4": gemma4(KEY_IS_VALUE),
    # As transformers 5.24 saves it, where the list has the last layer slide.
    "gemma4_unified": gemma4({
        "num_hidden_layers": 3, "layer_types": ["full_attention"] + ["sliding_attention"] * 2,
        "per_layer_config": {"0": {"head_dim": 32}, "2": {"head_dim": 32}}, "architectures": [
            "Gemma4UnifiedForCausalLM"], "model_type": "gemma4_unified_text"},
        without=("hidden_size_per_layer_input", "global_head_dim")),
    # Two layers read what others keep, and all have inputs of their own.
    "gemma4_shared": gemma4({
        "num_kv_shared_layers": 2, "use_double_wide_mlp": True, "num_hidden_layers": 5,
        "layer_types": [f"{kind}_attention" for kind in ("sliding", "full", "sliding", "sliding",
                                                         "full")],
        "vocab_size_per_layer_input": VOCABULARY + 3, "hidden_size_per_layer_input": 8}),
    "gemma4_moe": gemma4(KEY_IS_VALUE, {
        "enable_moe_block": True, "num_experts": 6, "top_k_experts": 2,
        "moe_intermediate_size": 24}),
    # Streams of which layers read one; a part of the prompt has no row in the table of inputs.
    "gemma3n": of_type("gemma3n_text", "Gemma3nForCausalLM", SLIDING, TIED, {
        "intermediate_size": [96, 64, 96, 128], "num_kv_shared_layers": 2, "altup_num_inputs": 3,
        "layer_types": ["sliding_attention", "full_attention"] * 2, "laurel_rank": 8,
        "activation_sparsity_pattern": [0.9, 0.0, 0.5, 0.0], "rope_local_base_freq": 1000.0,
        "vocab_size_per_layer_input": 200, "hidden_size_per_layer_input": 8},
        without=("hidden_act",), prompt=60, context=96, embeddings=0.2),
    "ministral3": of_type("ministral3", "Ministral3ForCausalLM", HEAD, {"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "beta_fast": 32.0,
        "original_max_position_embeddings": 16, "beta_slow": 1.0, "mscale": 1.0,
        "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}}, without=("rope_theta",), prompt=60,
        context=96),
    "mixtral": Case({
        **COMMON, "architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
        "num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": None,
    }, prompt=40),
    # Its first layer has no experts.
    "qwen2_moe": Case({
        **COMMON, "architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe",
        "num_hidden_layers": 3, "num_experts": 9, "num_experts_per_tok": 4,
        "moe_intermediate_size": 48, "shared_expert_intermediate_size": 80,
        "norm_topk_prob": False, "decoder_sparse_step": 1, "mlp_only_layers": [0],
        "use_sliding_window": False,
    }, prompt=40),
    # Every other layer has experts.
    "qwen3_moe": Case({
        **COMMON, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
        "head_dim": 32, "num_experts": 16, "num_experts_per_tok": 3, "moe_intermediate_size": 32,
        "norm_topk_prob": True, "decoder_sparse_step": 2, "mlp_only_layers": [],
        "use_sliding_window": False,
    }, prompt=40),
    "gpt_oss": Case({
        **{key: value for key, value in COMMON.items() if key != "rope_theta"},
        "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "head_dim": 32,
        "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": 24,
        "layer_types": ["sliding_attention", "full_attention"], "attention_bias": True,
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0,
                            "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                            "original_max_position_embeddings": 32},
    }, prompt=60, context=96),
    "granite": Case({
        **COMMON, "architectures": ["GraniteForCausalLM"], "model_type": "granite",
        "embedding_multiplier": 0.4, "residual_multiplier": 1.7, "attention_multiplier": 0.125,
        "logits_scaling": 1.7, "tie_word_embeddings": True, "attention_bias": False,
        "mlp_bias": False,
    }),
    "olmo2": Case({
        **COMMON, "architectures": ["Olmo2ForCausalLM"], "model_type": "olmo2",
        "attention_bias": False,
    }),
    # In a short context, as newer files spell it: other numbers in the kernels of the next one.
    "phi3_short": Case({
        **{key: value for key, value in PHI3.items()
           if key not in ("rope_theta", "partial_rotary_factor")},
        "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0,
                            "partial_rotary_factor": 0.75, **LONGROPE},
    }, prompt=12, context=32, targets=("reference",)),
    "phi3_long": Case({**PHI3, "rope_scaling": {"type": "longrope", **LONGROPE}}, prompt=40),
    "yarn": Case({
        **COMMON, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
        "max_position_embeddings": 256, "use_sliding_window": False,
        "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
    }, prompt=100, context=128),
    "starcoder2": of_type("starcoder2", "Starcoder2ForCausalLM", TIED, {"sliding_window": 24},
                          without=("rms_norm_eps", "hidden_act"), prompt=60, context=96),
    "cohere": of_type("cohere", "CohereForCausalLM", TIED,
                      {"logit_scale": 0.25, "use_qk_norm": True}, without=("rms_norm_eps",)),
    "cohere_plain": of_type("cohere", "CohereForCausalLM", TIED,
                            {"attention_bias": True, "num_key_value_heads": 4},
                            without=("rms_norm_eps", "rope_theta"), targets=("x86-64-v3",)),
    "cohere2": of_type("cohere2", "Cohere2ForCausalLM", TIED,
                       {"num_hidden_layers": 4, "sliding_window": 24, "logit_scale": 0.25},
                       without=("rms_norm_eps",), prompt=60, context=96),
    "smollm3": of_type("smollm3", "SmolLM3ForCausalLM", TIED, {"num_hidden_layers": 4}),
    "smollm3_list": of_type("smollm3", "SmolLM3ForCausalLM", {"no_rope_layers": [0, 1]},
                            targets=("x86-64-v3",)),
    # The forms of releases: a size before it is adjusted; and of what transformers 5 saves.
    "bamba": of_type("bamba", "BambaForCausalLM", MAMBA, {
        "num_hidden_layers": 3, "attn_layer_indices": [1]}, prompt=124, context=192),
    "nemotron_h": of_type("nemotron_h", "NemotronHForCausalLM", HEAD, ROUTED, NEMOTRON, {
        "hybrid_override_pattern": "M-M*E", "num_hidden_layers": 5}, without=NOT_NEMOTRON,
                          prompt=124, context=192),
    "nemotron_h_latent": of_type("nemotron_h", "NemotronHForCausalLM", HEAD, ROUTED, NEMOTRON, {
        "layers_block_type": ["mamba", "moe", "attention", "mlp"], "moe_latent_size": 16,
        "n_group": 4, "topk_group": 2, "use_bias": True, "mlp_bias": True,
        "use_conv_bias": False}, without=("num_hidden_layers", *NOT_NEMOTRON), prompt=124,
                                 context=192),
    "nemotron_h_dense": of_type("nemotron_h", "NemotronHForCausalLM", TIED, NEMOTRON, {
        "hybrid_override_pattern": "M*-", "num_hidden_layers": 3, "attention_head_dim": 24,
        "head_dim": 24}, without=NOT_NEMOTRON, prompt=124, context=192,
                                targets=("x86-64-v3",)),
    "falcon_h1": of_type("falcon_h1", "FalconH1ForCausalLM", MAMBA, {
        "mamba_d_head": 12, "mamba_d_ssm": 96, "mamba_n_groups": 2, "embedding_multiplier": 0.5,
        "lm_head_multiplier": 0.7, "key_multiplier": 0.6, "attention_in_multiplier": 1.1,
        "attention_out_multiplier": 0.9, "ssm_in_multiplier": 1.2, "ssm_out_multiplier": 0.8,
        "ssm_multipliers": [0.5, 0.6, 0.7, 0.8, 0.9], "mlp_multipliers": [0.9, 0.4]}, prompt=124,
                         context=192),
    "falcon_h1_normed": of_type("falcon_h1", "FalconH1ForCausalLM", MAMBA, {
        "mamba_d_ssm": None, "mamba_n_groups": 2, "mamba_rms_norm": True,
        "mamba_norm_before_gate": True, "projectors_bias": True, "mlp_bias": True}, prompt=124,
                                context=192, targets=("x86-64-v3",)),
    "granite_moe": of_type("granitemoe", "GraniteMoeForCausalLM", TIED, {
        "num_local_experts": 6, "num_experts_per_tok": 2, "embedding_multiplier": 0.4,
        "residual_multiplier": 1.7, "attention_multiplier": 0.2, "logits_scaling": 1.7},
                           prompt=40),
    "granite_moe_shared": of_type("granitemoeshared", "GraniteMoeSharedForCausalLM", {
        "num_local_experts": 5, "num_experts_per_tok": 3, "shared_intermediate_size": 40,
        "attention_multiplier": 0.2, "attention_bias": True}, prompt=40,
                                  targets=("x86-64-v3",)),
    "granite_hybrid": of_type("granitemoehybrid", "GraniteMoeHybridForCausalLM", TIED, MAMBA, {
        "num_hidden_layers": 4, "layer_types": ["mamba", "attention", "mamba", "mamba"],
        "num_local_experts": 6, "num_experts_per_tok": 2, "shared_intermediate_size": 40,
        "embedding_multiplier": 0.4, "residual_multiplier": 1.7, "attention_multiplier": 0.2,
        "logits_scaling": 1.7}, prompt=125, context=192),
    "granite_hybrid_dense": of_type("granitemoehybrid", "GraniteMoeHybridForCausalLM", MAMBA, {
        "num_hidden_layers": 3, "layer_types": ["linear_attention", "attention", "mamba"],
        "num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 72,
        "mamba_n_groups": 2, "mamba_d_state": 24, "mamba_conv_bias": False,
        "mamba_proj_bias": True, "position_embedding_type": "rope", "time_step_limit": [0.3, 0.9],
        "attention_bias": True}, prompt=124, context=192),
    "granite_hybrid_attention": of_type(
        "granitemoehybrid", "GraniteMoeHybridForCausalLM", MAMBA, {
            "num_hidden_layers": 2, "layer_types": ["attention"] * 2, "num_local_experts": 0,
            "num_experts_per_tok": 0, "shared_intermediate_size": 72,
            "position_embedding_type": "rope"}, targets=("x86-64-v3",)),
    "lfm2": of_type("lfm2", "Lfm2ForCausalLM", TIED, {
        "num_hidden_layers": 4, "full_attn_idxs": [1, 3], "norm_eps": 1e-5, "conv_L_cache": 3,
        "block_ff_dim": 150, "block_multiple_of": 16}, without=("rms_norm_eps",
                                                                "intermediate_size"), prompt=40),
    "lfm2_bias": of_type("lfm2", "Lfm2ForCausalLM", TIED, {
        "num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"],
        "norm_eps": 1e-5, "conv_L_cache": 4, "conv_bias": True, "block_auto_adjust_ff_dim": False},
                         without=("rms_norm_eps",)),
    "lfm2_moe": of_type("lfm2_moe", "Lfm2MoeForCausalLM", TIED, {
        "num_hidden_layers": 4, "norm_eps": 1e-5, "conv_L_cache": 3, "num_dense_layers": 1,
        "layer_types": ["conv", "full_attention", "conv", "full_attention"],
        "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
        "routed_scaling_factor": 1.5}, without=("rms_norm_eps",), prompt=40),
    "lfm2_moe_plain": of_type("lfm2_moe", "Lfm2MoeForCausalLM", TIED, {
        "num_hidden_layers": 3, "norm_eps": 1e-5, "num_dense_layers": 0, "num_experts": 8,
        "layer_types": ["conv", "full_attention", "conv"], "use_expert_bias": False,
        "num_experts_per_tok": 2, "moe_intermediate_size": 48, "norm_topk_prob": False},
                              without=("rms_norm_eps",), targets=("x86-64-v3",)),
    # Prompts and answers pass borders of chunks of the delta rule, which has 64 tokens in each.
    "qwen3_next": of_type("qwen3_next", "Qwen3NextForCausalLM", GATED_DELTA, EXPERTS, {
        "mlp_only_layers": [0], "decoder_sparse_step": 1, "norm_topk_prob": True}, prompt=124,
        context=192),
    "qwen3_5": of_type("qwen3_5_text", "Qwen3_5ForCausalLM", GATED_DELTA, {"rope_parameters": {
        "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25,
        "mrope_section": [2, 1, 1], "mrope_interleaved": True}}, without=(
            "rope_theta", "shared_expert_intermediate_size"), prompt=124, context=192),
    "qwen3_5_moe": of_type("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", GATED_DELTA, EXPERTS, {
        "linear_num_value_heads": 6, "linear_value_head_dim": 16, "tie_word_embeddings": True,
        "full_attention_interval": 3}, without=("intermediate_size",), prompt=124,
                           context=192),
    "deepseek_v2": of_type("deepseek_v2", "DeepseekV2ForCausalLM", LATENT, ROUTED, LATENT_YARN, {
        "q_lora_rank": None, "n_shared_experts": 2, "topk_method": "group_limited_greedy",
        "n_group": 4, "topk_group": 2}, prompt=60, context=96),
    # Its groups do not count.
    "deepseek_v2_greedy": of_type("deepseek_v2", "DeepseekV2ForCausalLM", LATENT, ROUTED, {
        "topk_method": "greedy", "n_group": 4, "topk_group": 1, "attention_bias": True,
        "kv_lora_rank": 48, "v_head_dim": 16}, prompt=40, targets=("x86-64-v3",)),
    "deepseek_v3": of_type("deepseek_v3", "DeepseekV3ForCausalLM", LATENT, ROUTED, LATENT_YARN, {
        "n_group": 4, "topk_group": 2}, prompt=60, context=96),
    "deepseek_v3_halves": of_type("deepseek_v3", "DeepseekV3ForCausalLM", LATENT, ROUTED, {
        "rope_interleave": False, "q_lora_rank": None, "num_nextn_predict_layers": 1,
        "qk_nope_head_dim": 12, "v_head_dim": 20}, prompt=40, targets=("x86-64-v3",)),
    # Prompts are longer than what a token attends to.
    "deepseek_v32": of_type("deepseek_v32", "DeepseekV32ForCausalLM", LATENT, ROUTED, LATENT_YARN,
                            {"n_group": 4, "topk_group": 2, **INDEX}, prompt=60, context=96),
    # Its third layer takes the choice of the second.
    "glm_moe_dsa": of_type("glm_moe_dsa", "GlmMoeDsaForCausalLM", LATENT, ROUTED, INDEX, {
        "indexer_types": ["full", "full", "shared"]}, prompt=60, context=96),
    "glm4_moe_lite": of_type("glm4_moe_lite", "Glm4MoeLiteForCausalLM", LATENT, ROUTED, prompt=60,
                             context=96),
    "mistral4": of_type("mistral4", "Mistral4ForCausalLM", LATENT, ROUTED, {"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "beta_fast": 32.0,
        "original_max_position_embeddings": 16, "beta_slow": 1.0, "mscale": 1.0,
        "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1, "partial_rotary_factor": 8 / 24},
        "n_group": 2, "topk_group": 1,
        "first_k_dense_replace": 0}, without=("rope_theta",), prompt=60, context=96),
    "arcee": of_type("arcee", "ArceeForCausalLM", {"hidden_act": "relu2"}),
    "seed_oss": of_type("seed_oss", "SeedOssForCausalLM", HEAD),
    "exaone4": of_type("exaone4", "Exaone4ForCausalLM", SLIDING, {"sliding_window_pattern": 4},
                       prompt=60, context=96),
    "exaone4_full": of_type("exaone4", "Exaone4ForCausalLM", HEAD, {
        "sliding_window": None, "layer_types": ["full_attention"] * 2}, targets=("x86-64-v3",)),
    "olmo3": of_type("olmo3", "Olmo3ForCausalLM", SLIDING, {
        "head_dim": 16, "rope_theta": 500000.0, "rope_scaling": {
            "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}},
        prompt=60, context=96),
    "ernie4_5": of_type("ernie4_5", "Ernie4_5ForCausalLM", HEAD, TIED),
    "glm4": of_type("glm4", "Glm4ForCausalLM", HEAD, {"attention_bias": True}),
    "hunyuan_dense": of_type("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", HEAD, {
        "rope_scaling": {"type": "dynamic", "alpha": 100.0, "factor": 1.0}}),
    "glm4_moe": of_type("glm4_moe", "Glm4MoeForCausalLM", HEAD, ROUTED,
                        {"attention_bias": True, "use_qk_norm": True}, prompt=40),
    "glm4_moe_groups": of_type("glm4_moe", "Glm4MoeForCausalLM", HEAD, ROUTED,
                               {"n_group": 4, "topk_group": 2, "norm_topk_prob": False},
                               prompt=40),
    "minimax_m2": of_type("minimax_m2", "MiniMaxM2ForCausalLM", HEAD, {
        "rotary_dim": 16, "num_local_experts": 6, "num_experts_per_tok": 2}, prompt=40),
    "hy_v3": of_type("hy_v3", "HYV3ForCausalLM", HEAD, EXPERTS, {"router_scaling_factor": 2.8},
                     prompt=40),
    "ernie4_5_moe": of_type("ernie4_5_moe", "Ernie4_5_MoeForCausalLM", TIED, {
        "moe_num_experts": 6, "moe_k": 2, "moe_intermediate_size": 24}, prompt=40),
    "exaone_moe": of_type("exaone_moe", "ExaoneMoeForCausalLM", SLIDING, EXPERTS,
                          {"first_k_dense_replace": 1}, prompt=60, context=96),
    "hunyuan_moe": of_type("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", HEAD, {
        "num_experts": 6, "moe_topk": 2}, prompt=40),
    "stablelm": of_type("stablelm", "StableLmForCausalLM",
                        {"use_qkv_bias": True, "qk_layernorm": True,
                         "use_parallel_residual": True}, without=("rms_norm_eps",)),
    "stablelm_plain": of_type("stablelm", "StableLmForCausalLM", {"partial_rotary_factor": 0.5},
                              without=("rms_norm_eps",), targets=("x86-64-v3",)),
    "gpt_neox": of_type("gpt_neox", "GPTNeoXForCausalLM", {
        "num_key_value_heads": 4, "rotary_pct": 0.25, "rotary_emb_base": 1000.0,
        "hidden_act": "gelu"}, without=("rms_norm_eps", "rope_theta")),
    # One after the other, and the activation of the largest model.
    "gpt_neox_serial": of_type("gpt_neox", "GPTNeoXForCausalLM", {
        "num_key_value_heads": 4, "use_parallel_residual": False, "hidden_act": "gelu_fast"},
        without=("rms_norm_eps",), targets=("x86-64-v3",)),
    "gpt2": Case({
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": VOCABULARY,
        "n_positions": 96, "n_embd": 64, "n_layer": 2, "n_head": 4, "bos_token_id": 1,
        "eos_token_id": 2, "torch_dtype": "float32"}, prompt=60, context=96, embeddings=0.5,
        seed="b"),
    "gpt2_exact": Case({
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": VOCABULARY,
        "n_positions": 96, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": 96,
        "activation_function": "gelu", "scale_attn_weights": False, "bos_token_id": 1,
        "eos_token_id": 2, "torch_dtype": "float32"}, targets=("x86-64-v3",), embeddings=0.5,
        seed="c"),
    "apertus": of_type("apertus", "ApertusForCausalLM", {
        "hidden_act": "xielu", "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 32,
            "low_freq_factor": 1.0, "high_freq_factor": 4.0}}, prompt=60, context=96),
    "llama4": of_type("llama4_text", "Llama4ForCausalLM", HEAD, {
        "num_hidden_layers": 4, "intermediate_size_mlp": 80, "num_local_experts": 4,
        "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "attention_chunk_size": 16,
        "floor_scale": 8}, prompt=60, context=96),
    # Two experts of each token, no chunks, no norms, and its list of layers that rotate.
    "llama4_list": of_type("llama4_text", "Llama4ForCausalLM", HEAD, {
        "intermediate_size_mlp": 80, "num_local_experts": 4, "num_experts_per_tok": 2,
        "attention_chunk_size": None, "no_rope_layers": [0, 1], "use_qk_norm": False,
        "attn_temperature_tuning": False}, targets=("x86-64-v3",)),
    "mimo_v2": of_type("mimo_v2_flash", "MiMoV2FlashForCausalLM", {
        **{key: value for key, value in ROUTED.items() if key in (
            "n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
            "routed_scaling_factor", "n_group", "topk_group")},
        "num_hidden_layers": 3, "num_key_value_heads": 1, "head_dim": 24, "v_head_dim": 16,
        "sliding_window": 24,
        "layer_types": ["full_attention", "sliding_attention", "full_attention"],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 100000.0,
                               "partial_rotary_factor": 0.334},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0,
                                  "partial_rotary_factor": 0.334}}},
        without=("rope_theta",), prompt=60, context=96),
}


def values(name, shape, embeddings, seed):
    """Numbers that follow from the name: norms around 1, everything else around 0."""
    numbers = random.Random(name + seed)
    if not shape:  # Of xIELU.
        middle, bound = -1e-6 if name.endswith("eps") else 0.625, 0.0
    elif name.endswith("bias"):
        middle, bound = 0.0, 0.5
    elif name.endswith("A_log"):  # Some heads remember for longer than a chunk.
        middle, bound = -3.0, 3.0
    elif len(shape) == 1 or "norm" in name:
        middle, bound = 1.0, 0.5
    elif len(shape) == 3:  # Rows of inputs.
        middle, bound = 0.0, 1.5 * math.sqrt(3 / shape[1])
    else:
        middle, bound = 0.0, 1.5 * math.sqrt(3 / shape[-1])
    if name.startswith(("model.embed_tokens", "transformer.wte")):
        bound = embeddings
    return array.array("f", (middle + bound * (2 * numbers.random() - 1)
                             for _ in range(math.prod(shape))))


MISTRAL_NAMES = {
    "model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output",
    "model.layers": "layers", "self_attn.q_proj": "attention.wq",
    "self_attn.k_proj": "attention.wk", "self_attn.v_proj": "attention.wv",
    "self_attn.o_proj": "attention.wo",
    "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2",
    "mlp.up_proj": "feed_forward.w3", "block_sparse_moe": "feed_forward",
}


def as_mistral(config, checkpoint):
    """A Mistral or Mixtral as its makers publish it: params.json and the weights."""
    params = {
        "dim": config["hidden_size"], "n_layers": config["num_hidden_layers"],
        "head_dim": config.get("head_dim", config["hidden_size"] // config["num_attention_heads"]),
        "hidden_dim": config["intermediate_size"], "n_heads": config["num_attention_heads"],
        "n_kv_heads": config["num_key_value_heads"], "norm_eps": config["rms_norm_eps"],
        "vocab_size": config["vocab_size"], "rope_theta": config["rope_theta"],
        "sliding_window": config["sliding_window"],
    }
    if "num_local_experts" in config:
        params["moe"] = {"num_experts": config["num_local_experts"],
                         "num_experts_per_tok": config["num_experts_per_tok"]}
    stored, half = {}, params["head_dim"] // 2
    for name, (shape, data) in checkpoint.items():
        for known, own in MISTRAL_NAMES.items():
            name = name.replace(known, own)
        if name.endswith(("wq.weight", "wk.weight")):  # Rows that rotate together stand together.
            rows = [data[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]
            data = array.array("f")
            for row in range(shape[0]):
                head, place = divmod(row, 2 * half)
                data.extend(rows[head * 2 * half + place // 2 + place % 2 * half])
        stored[name] = shape, data
    return params, stored


E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def mxfp4(checkpoint):
    """gpt-oss experts [E, K, N] as its checkpoints store them, [E, N, K / 32, 16] and scales; and
    the checkpoint with the values that these stand for."""
    stored, meant = dict(checkpoint), dict(checkpoint)
    for name, (shape, data) in checkpoint.items():
        if len(shape) != 3:
            continue
        count, depth, rows = shape
        blocks, scales = array.array("B"), array.array("B")
        values = array.array("f", data)
        for row in range(count * rows):
            places = [(row // rows * depth + k) * rows + row % rows for k in range(depth)]
            for first in range(0, depth, 32):
                block = places[first:first + 32]
                exponent = math.frexp(max(abs(data[place]) for place in block))[1] - 3
                codes = []
                for place in block:
                    share = abs(data[place]) / 2.0 ** exponent
                    code = min(range(8), key=lambda i: abs(E2M1[i] - share))
                    sign = data[place] < 0
                    values[place] = math.copysign(E2M1[code] * 2.0 ** exponent, data[place])
                    codes.append(code + 8 * sign)
                blocks.extend(codes[i] + 16 * codes[i + 1] for i in range(0, 32, 2))
                scales.append(exponent + 127)
        del stored[name]
        stored[name + "_blocks"] = [count, rows, depth // 32, 16], blocks
        stored[name + "_scales"] = [count, rows, depth // 32], scales
        meant[name] = shape, values
    return stored, meant


INT8_METHOD = {
    "quant_method": "compressed-tensors", "format": "int-quantized",
    "ignore": ["lm_head", "re:.*mlp.gate$"],
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {
        "num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True}}},
}


def is_expert(name, shape):
    return ".experts." in name


def is_projection(name, shape):
    """Whether it is a matrix that quantizers quantize: no norm, embedding, head or router."""
    return (len(shape) == 2 and ".layers." in name and "norm" not in name and "bias" not in name
            and not name.endswith(("gate.weight", "router.weight", "router.proj.weight",
                                   "gate.wg.weight")))


def int8(checkpoint, chosen=is_expert):
    """The chosen matrices as compressed-tensors stores them, and what these stand for."""
    stored, meant = {}, {}
    for name, (shape, data) in checkpoint.items():
        stored[name] = meant[name] = shape, data
        if not chosen(name, shape):
            continue
        codes, scales, values = array.array("b"), array.array("f"), array.array("f")
        for first in range(0, len(data), shape[1]):
            row = data[first:first + shape[1]]
            scales.append(max(map(abs, row)) / 127)
            own = [round(value / scales[-1]) for value in row]
            codes.extend(own)
            values.extend(code * scales[-1] for code in own)
        stored[name] = shape, codes
        stored[name + "_scale"] = [shape[0], 1], scales
        meant[name] = shape, values
    return stored, meant


GROUP = 32

GPTQ_METHOD = {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False,
               "sym": True, "checkpoint_format": "gptq"}
FP8_METHOD = {"quant_method": "fp8", "activation_scheme": "dynamic",
              "weight_block_size": [GROUP, GROUP]}
# The positive values of e4m3 by their codes; the last one is no number.
E4M3 = [(code % 8) * 2.0 ** -9 if code < 8 else (1 + code % 8 / 8) * 2.0 ** (code // 8 - 7)
        for code in range(127)]
E4M3_BORDERS = [(one + other) / 2 for one, other in itertools.pairwise(E4M3)]


def e4m3(share):
    """The code of the number that is nearest to one from 0 on."""
    return bisect.bisect(E4M3_BORDERS, share)


def fp8(checkpoint, chosen=is_projection):
    """The chosen matrices in e4m3 with a scale for each block, and what these stand for."""
    stored, meant = {}, {}
    for name, (shape, data) in checkpoint.items():
        if not chosen(name, shape):
            stored[name] = meant[name] = shape, data
            continue
        rows, columns = shape
        blocks = [-(-rows // GROUP), -(-columns // GROUP)]
        scales = array.array("f", [0.0] * math.prod(blocks))
        place = [row // GROUP * blocks[1] + column // GROUP
                 for row in range(rows) for column in range(columns)]
        for block, value in zip(place, data):
            scales[block] = max(scales[block], abs(value) / 448)
        codes, values = array.array("B"), array.array("f")
        for block, value in zip(place, data):
            code = e4m3(abs(value) / scales[block])
            codes.append(code + 128 * (value < 0))
            values.append(math.copysign(E4M3[code] * scales[block], value))
        stored[name] = shape, codes
        stored[name + "_scale_inv"] = blocks, scales
        meant[name] = shape, values
    return stored, meant


def write_safetensors(path, checkpoint, framework=""):
    """`framework`: which transformers asks old releases' files for. A tensor may say its type."""
    header, offset = {"__metadata__": {"format": framework}} if framework else {}, 0
    for name, (shape, data, *given) in checkpoint.items():
        end = offset + data.itemsize * len(data)
        dtype = {"f": "F32", "B": "U8", "b": "I8", "i": "I32", "H": "F16", "q": "I64"}[
            data.typecode]
        if dtype == "U8" and name.endswith(".weight"):
            dtype = "F8_E4M3"
        dtype = given[0] if given else dtype
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data, *_ in checkpoint.values():
            if sys.byteorder == "big":
                data.byteswap()
            file.write(data.tobytes())


def wrapped(case, row, checkpoint=None):
    """config.json and tensors of a model of text and vision with the text part of `case`; a row of
    WRAPPERS."""
    architecture, text_type, model, head, vision, changes = row
    text = {key: value for key, value in {**case.config, **changes}.items()
            if key != "architectures" and value is not None}
    text["model_type"] = text_type
    config = {"architectures": [architecture], "vision_config": {"depth": 2},
              "image_token_id": PLACEHOLDER, "model_type": architecture.split("For")[0].lower()}
    if model == "model.":  # Older files have all keys side by side.
        config = {**text, **config}
    else:
        config["text_config"] = text
    stored = {vision + "patch_embed.proj.weight": ([2, 4], array.array("f", [0.5] * 8))}
    for name, tensor in (checkpoint or case.checkpoint()).items():
        known = name.startswith("model.")
        stored[model + name.removeprefix("model.") if known else head + name] = tensor
    return config, stored


MROPE = {"rope_scaling": {"rope_type": "default", "mrope_section": [6, 5, 5],
                          "mrope_interleaved": True}}
# Case to architecture, type of the text part, what stands before its names and before the head's,
# and before the vision part's; and keys that differ.
WRAPPERS = {
    "qwen2_sliding": ("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", "model.", "", "visual.",
                      {"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}),
    "qwen3": ("Qwen3VLForConditionalGeneration", "qwen3_vl_text", "model.language_model.", "",
              "model.visual.", MROPE),
    "qwen3_moe": ("Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe_text",
                  "model.language_model.", "", "model.visual.",
                  {**MROPE, "norm_topk_prob": None}),
    "qwen3_5": ("Qwen3_5ForConditionalGeneration", "qwen3_5_text", "model.language_model.", "",
                "model.visual.", {"mtp_num_hidden_layers": 1, "output_gate_type": "swish",
                                  "attn_output_gate": True, "mamba_ssm_dtype": "float32"}),
    "qwen3_5_moe": ("Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe_text",
                    "model.language_model.", "", "model.visual.", {}),
    "gemma3": ("Gemma3ForConditionalGeneration", "gemma3_text", "language_model.model.",
               "language_model.", "vision_tower.", {"tie_word_embeddings": None}),
    "gemma3n": ("Gemma3nForConditionalGeneration", "gemma3n_text", "model.language_model.", "",
                "model.vision_tower.", {"tie_word_embeddings": None}),
    "gemma4_shared": ("Gemma4ForConditionalGeneration", "gemma4_text", "model.language_model.", "",
                      "model.vision_tower.", {"tie_word_embeddings": None}),
    "gemma4_unified": ("Gemma4UnifiedForConditionalGeneration", "gemma4_unified_text",
                       "model.language_model.", "", "model.vision_embedder.", {}),
    "deepseek_v3": ("KimiK25ForConditionalGeneration", "kimi_k2", "language_model.model.",
                    "language_model.", "vision_tower.", {}),
    "mistral4": ("Mistral3ForConditionalGeneration", "mistral4", "language_model.model.",
                 "language_model.", "vision_tower.", {}),
    "mistral": ("Mistral3ForConditionalGeneration", "mistral", "language_model.model.",
                "language_model.", "vision_tower.", {}),
    "ministral3": ("Mistral3ForConditionalGeneration", "ministral3", "model.language_model.", "",
                   "model.vision_tower.", {}),
    "llama4": ("Llama4ForConditionalGeneration", "llama4_text", "language_model.model.",
               "language_model.", "vision_model.", {}),
}


def apart(checkpoint, inputs_first=True):
    """The tensors with each matrix of stacked experts in one of its own, as programs that quantize
    take them apart."""
    result = {}
    for name, (shape, data) in checkpoint.items():
        if len(shape) != 3 or ".experts." not in name:
            result[name] = shape, data
            continue
        count, inputs, outputs = shape if inputs_first else (shape[0], shape[2], shape[1])
        module = name.rpartition(".")[0]
        parts = ("gate_proj", "up_proj") if name.endswith("gate_up_proj") else ("down_proj",)
        rows = outputs // len(parts)
        for expert in range(count):
            for number, part in enumerate(parts):
                result[f"{module}.{expert}.{part}.weight"] = [rows, inputs], array.array("f", (
                    data[(expert * inputs + column) * outputs + number * rows + row]
                    if inputs_first else
                    data[(expert * outputs + number * rows + row) * inputs + column]
                    for row in range(rows) for column in range(inputs)))
    return result


def stacked(stored, inputs_first):
    """The tensors with all experts' matrices in one, gate before up."""
    result, stacks = {}, {}
    for name, (shape, data) in stored.items():
        module, found, rest = name.partition(".experts.")
        if found:
            expert, part, _ = rest.split(".")
            stacks.setdefault(module, {})[int(expert), part] = shape, data
        else:
            result[name] = shape, data
    for module, parts in stacks.items():
        for stack, names in (("gate_up_proj", ("gate_proj", "up_proj")),
                             ("down_proj", ("down_proj",))):
            values, count = array.array("f"), 1 + max(expert for expert, _ in parts)
            for expert in range(count):
                rows = []
                for name in names:
                    shape, data = parts[expert, name]
                    rows += [data[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]
                for row in zip(*rows) if inputs_first else rows:
                    values.extend(row)
            size = [len(rows), len(rows[0])]
            result[f"{module}.experts.{stack}"] = (
                [count, *(reversed(size) if inputs_first else size)], values)
    return result
