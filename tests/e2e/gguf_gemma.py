# SPDX-License-Identifier: Apache-2.0
"""What GGUF files of Gemma models call tensors, and where their keys come from."""
import math
import statistics

RESULT_NORMS = {"post_attention_norm": "post_attention_layernorm",
                "post_ffw_norm": "post_feedforward_layernorm"}
GEMMA_NORMS = {**RESULT_NORMS, "ffn_norm": "pre_feedforward_layernorm"}
LAYER_INPUTS = {"inp_gate": "per_layer_input_gate", "proj": "per_layer_projection",
                "post_norm": "post_per_layer_input_norm"}
GEMMA4 = {**GEMMA_NORMS, "pre_ffw_norm_2": "pre_feedforward_layernorm_2",
          **{f"post_ffw_norm_{i}": f"post_feedforward_layernorm_{i}" for i in (1, 2)},
          "ffn_gate_inp": "router.proj", "ffn_gate_inp.scale": "router.scale",
          "ffn_gate_up_exps.weight": "experts.gate_up_proj",
          "ffn_down_exps.weight": "experts.down_proj",
          "ffn_down_exps.scale": "router.per_expert_scale",
          **LAYER_INPUTS, "layer_output_scale.weight": "layer_scalar"}
GEMMA3N = {**GEMMA_NORMS, **LAYER_INPUTS, "altup_correct_coef": "altup.correction_coefs",
           "altup_correct_scale.weight": "altup.correct_output_scale",
           "altup_predict_coef": "altup.prediction_coefs", "altup_router": "altup.modality_router",
           "altup_router_norm": "altup.router_norm", "laurel_l": "laurel.linear_left",
           "laurel_r": "laurel.linear_right", "laurel_post_norm": "laurel.post_laurel_norm"}
# Tensors of matrices behind each other, and what these are called but for their numbers.
STREAM_STACKS = {"altup_proj.weight": "model.altup_projections",
                 "altup_unembd_proj.weight": "model.altup_unembed_projections"}


def slides(config):
    return [kind == "sliding_attention" for kind in config["layer_types"]]


def gemma4_kv_heads(config):
    heads = config["num_key_value_heads"]
    full = config.get("num_global_key_value_heads")
    return [heads if own else full for own in slides(config)] if full else heads


def gemma4_widths(config):
    width, layers = config["intermediate_size"], config["num_hidden_layers"]
    owners = layers - config.get("num_kv_shared_layers", 0)
    return [width if layer < owners else 2 * width for layer in range(layers)] if config.get(
        "use_double_wide_mlp") else width


def sparsity_scales(config):
    """What so large a share of normal numbers is below."""
    return [statistics.NormalDist().inv_cdf(share) if share else -math.inf
            for share in config["activation_sparsity_pattern"]]


LAYER_KEYS = {"attention.sliding_window": "sliding_window",
              "attention.sliding_window_pattern": slides,
              "embedding_length_per_layer_input": "hidden_size_per_layer_input"}
GEMMA4_KEYS = {
    "attention.head_count_kv": gemma4_kv_heads, "feed_forward_length": gemma4_widths,
    **LAYER_KEYS,
    "attention.shared_kv_layers": lambda config: config.get("num_kv_shared_layers", 0),
    "final_logit_softcapping": "final_logit_softcapping",
    **{key: "global_head_dim" for key in ("attention.key_length", "attention.value_length",
                                          "rope.dimension_count")},
    **{f"{key}_swa": "head_dim" for key in ("attention.key_length", "attention.value_length",
                                            "rope.dimension_count")},
    **{key: lambda config, kind=kind: config["rope_parameters"][f"{kind}_attention"]["rope_theta"]
       for key, kind in (("rope.freq_base", "full"), ("rope.freq_base_swa", "sliding"))}}
GEMMA3N_KEYS = {
    **LAYER_KEYS, "attention.shared_kv_layers": "num_kv_shared_layers",
    "rope.freq_base_swa": "rope_local_base_freq", "activation_sparsity_scale": sparsity_scales,
    "altup.num_inputs": "altup_num_inputs",
    "altup.active_idx": lambda config: config.get("altup_active_idx", 0)}
