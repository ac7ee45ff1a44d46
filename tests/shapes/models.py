# SPDX-License-Identifier: Apache-2.0
"""Published sizes: config.json of each, cut to as many layers as have different kernels."""

BASE = {"rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False,
        "torch_dtype": "bfloat16", "rope_theta": 500000.0, "max_position_embeddings": 8192,
        "bos_token_id": 1, "eos_token_id": 2, "num_hidden_layers": 1}
FAMILIES = {
    "llama": {"architectures": ["LlamaForCausalLM"], "model_type": "llama"},
    "mistral": {"architectures": ["MistralForCausalLM"], "model_type": "mistral",
                "sliding_window": None},
    "mixtral": {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
                "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None},
    "qwen2": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
              "use_sliding_window": False},
    "qwen3": {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 128,
              "use_sliding_window": False},
    "qwen2_moe": {"architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe",
                  "use_sliding_window": False, "decoder_sparse_step": 1, "mlp_only_layers": [],
                  "norm_topk_prob": False},
    "qwen3_moe": {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
                  "head_dim": 128, "use_sliding_window": False, "decoder_sparse_step": 1,
                  "mlp_only_layers": [], "norm_topk_prob": True, "num_experts": 128,
                  "num_experts_per_tok": 8},
    "gemma2": {"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2",
               "num_hidden_layers": 2, "tie_word_embeddings": True, "sliding_window": 4096,
               "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
               "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh"},
    "gemma3": {"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text",
               "num_hidden_layers": 2, "tie_word_embeddings": True, "sliding_window": 1024,
               "sliding_window_pattern": 2, "rope_local_base_freq": 10000.0,
               "hidden_activation": "gelu_pytorch_tanh"},
    "phi3": {"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "pad_token_id": 0,
             "sliding_window": None, "original_max_position_embeddings": 8192},
    "granite": {"architectures": ["GraniteForCausalLM"], "model_type": "granite",
                "embedding_multiplier": 12.0, "residual_multiplier": 0.22,
                "attention_multiplier": 0.0078125, "logits_scaling": 8.0},
    "olmo2": {"architectures": ["Olmo2ForCausalLM"], "model_type": "olmo2"},
    "gpt_oss": {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "head_dim": 64,
                "num_hidden_layers": 2, "sliding_window": 128, "num_experts_per_tok": 4,
                "rope_theta": 150000.0, "rope_scaling": {
                    "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                    "truncate": False, "original_max_position_embeddings": 4096}},
}
# name: family, hidden size, inner size, heads, KV heads, vocabulary, other keys
SIZES = {
    "SmolLM2-135M": ("llama", 576, 1536, 9, 3, 49152, {}),
    "SmolLM2-360M": ("llama", 960, 2560, 15, 5, 49152, {}),
    "SmolLM2-1.7B": ("llama", 2048, 8192, 32, 32, 49152, {}),
    "TinyLlama-1.1B": ("llama", 2048, 5632, 32, 4, 32000, {}),
    "Llama-3.2-1B": ("llama", 2048, 8192, 32, 8, 128256, {}),
    "Llama-3.2-3B": ("llama", 3072, 8192, 24, 8, 128256, {}),
    "Llama-2-7B": ("llama", 4096, 11008, 32, 32, 32000, {}),
    "Llama-2-13B": ("llama", 5120, 13824, 40, 40, 32000, {}),
    "Llama-3-8B": ("llama", 4096, 14336, 32, 8, 128256, {}),
    "Llama-3-70B": ("llama", 8192, 28672, 64, 8, 128256, {}),
    "Llama-3.1-405B": ("llama", 16384, 53248, 128, 8, 128256, {}),
    "Yi-6B": ("llama", 4096, 11008, 32, 4, 64000, {}),
    "Yi-34B": ("llama", 7168, 20480, 56, 8, 64000, {}),
    "DeepSeek-Coder-33B": ("llama", 7168, 19200, 56, 8, 32256, {}),
    "Mistral-7B": ("mistral", 4096, 14336, 32, 8, 32768, {}),
    "Mistral-Nemo-12B": ("mistral", 5120, 14336, 32, 8, 131072, {"head_dim": 128}),
    "Mistral-Small-24B": ("mistral", 5120, 32768, 32, 8, 131072, {"head_dim": 128}),
    "Mistral-Large-123B": ("mistral", 12288, 28672, 96, 8, 32768, {}),
    "Mixtral-8x7B": ("mixtral", 4096, 14336, 32, 8, 32000, {}),
    "Mixtral-8x22B": ("mixtral", 6144, 16384, 48, 8, 32768, {}),
    "Qwen2.5-0.5B": ("qwen2", 896, 4864, 14, 2, 151936, {}),
    "Qwen2.5-1.5B": ("qwen2", 1536, 8960, 12, 2, 151936, {}),
    "Qwen2.5-3B": ("qwen2", 2048, 11008, 16, 2, 151936, {}),
    "Qwen2.5-7B": ("qwen2", 3584, 18944, 28, 4, 152064, {}),
    "Qwen2.5-14B": ("qwen2", 5120, 13824, 40, 8, 152064, {}),
    "Qwen2.5-32B": ("qwen2", 5120, 27648, 40, 8, 152064, {}),
    "Qwen2.5-72B": ("qwen2", 8192, 29568, 64, 8, 152064, {}),
    "Qwen1.5-MoE-A2.7B": ("qwen2_moe", 2048, 5632, 16, 16, 151936, {
        "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632}),
    "Qwen2-57B-A14B": ("qwen2_moe", 3584, 18944, 28, 4, 151936, {
        "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 2560,
        "shared_expert_intermediate_size": 20480}),
    "Qwen3-0.6B": ("qwen3", 1024, 3072, 16, 8, 151936, {}),
    "Qwen3-1.7B": ("qwen3", 2048, 6144, 16, 8, 151936, {}),
    "Qwen3-4B": ("qwen3", 2560, 9728, 32, 8, 151936, {}),
    "Qwen3-8B": ("qwen3", 4096, 12288, 32, 8, 151936, {}),
    "Qwen3-14B": ("qwen3", 5120, 17408, 40, 8, 151936, {}),
    "Qwen3-32B": ("qwen3", 5120, 25600, 64, 8, 151936, {}),
    "Qwen3-30B-A3B": ("qwen3_moe", 2048, 6144, 32, 4, 151936, {"moe_intermediate_size": 768}),
    "Qwen3-235B-A22B": ("qwen3_moe", 4096, 12288, 64, 4, 151936, {"moe_intermediate_size": 1536}),
    "Gemma-2-2B": ("gemma2", 2304, 9216, 8, 4, 256000, {
        "head_dim": 256, "query_pre_attn_scalar": 256}),
    "Gemma-2-9B": ("gemma2", 3584, 14336, 16, 8, 256000, {
        "head_dim": 256, "query_pre_attn_scalar": 256}),
    "Gemma-2-27B": ("gemma2", 4608, 36864, 32, 16, 256000, {
        "head_dim": 128, "query_pre_attn_scalar": 144}),
    "Gemma-3-270M": ("gemma3", 640, 2048, 4, 1, 262144, {
        "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 512}),
    "Gemma-3-1B": ("gemma3", 1152, 6912, 4, 1, 262144, {
        "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 512}),
    "Gemma-3-4B": ("gemma3", 2560, 10240, 8, 4, 262208, {
        "head_dim": 256, "query_pre_attn_scalar": 256}),
    "Gemma-3-12B": ("gemma3", 3840, 15360, 16, 8, 262208, {
        "head_dim": 256, "query_pre_attn_scalar": 256}),
    "Gemma-3-27B": ("gemma3", 5376, 21504, 32, 16, 262208, {
        "head_dim": 128, "query_pre_attn_scalar": 168}),
    "Phi-3-mini": ("phi3", 3072, 8192, 32, 32, 32064, {}),
    "Phi-3-medium": ("phi3", 5120, 17920, 40, 10, 32064, {}),
    "Phi-4": ("phi3", 5120, 17920, 40, 10, 100352, {}),
    "Phi-4-mini": ("phi3", 3072, 8192, 24, 8, 200064, {
        "partial_rotary_factor": 0.75, "tie_word_embeddings": True}),
    "Granite-3-2B": ("granite", 2048, 8192, 32, 8, 49155, {"tie_word_embeddings": True}),
    "Granite-3-8B": ("granite", 4096, 12800, 32, 8, 49155, {"tie_word_embeddings": True}),
    "OLMo-2-1B": ("olmo2", 2048, 8192, 16, 16, 100352, {}),
    "OLMo-2-7B": ("olmo2", 4096, 11008, 32, 32, 100352, {}),
    "OLMo-2-13B": ("olmo2", 5120, 13824, 40, 40, 100352, {}),
    "OLMo-2-32B": ("olmo2", 5120, 27648, 40, 8, 100352, {}),
    "gpt-oss-20B": ("gpt_oss", 2880, 2880, 64, 8, 201088, {"num_local_experts": 32}),
    "gpt-oss-120B": ("gpt_oss", 2880, 2880, 64, 8, 201088, {"num_local_experts": 128}),
}


def config(name):
    """The model's config.json."""
    family, hidden, inner, heads, kv_heads, vocabulary, more = SIZES[name]
    return {**BASE, **FAMILIES[family], "hidden_size": hidden, "intermediate_size": inner,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads,
            "vocab_size": vocabulary, **more}
