# SPDX-License-Identifier: Apache-2.0
"""What GGUF files of models with state spaces, and of all of Granite, call tensors, where their
keys come from, and what converters make of the tensors."""
import array
import math

SPACE = {"ssm_a": "A_log", "ssm_d": "D", "ssm_dt.bias": "dt_bias", "ssm_in": "in_proj",
         "ssm_conv1d": "conv1d", "ssm_norm": "norm", "ssm_out": "out_proj"}


def of_space(module):
    return {ours: f"{module}.{theirs}" for ours, theirs in SPACE.items()}


def granite_heads(config):
    return [config["num_key_value_heads"] if kind == "attention" else 0
            for kind in config["layer_types"]]


MAMBA_KEYS = {
    "ssm.conv_kernel": 4, "ssm.state_size": "mamba_d_state", "ssm.group_count": "mamba_n_groups",
    "ssm.time_step_rank": "mamba_n_heads",
    "ssm.inner_size": lambda config: config["mamba_n_heads"] * config["mamba_d_head"]}
GRANITE_SCALES = {
    "embedding_scale": "embedding_multiplier", "residual_scale": "residual_multiplier",
    "attention.scale": "attention_multiplier", "logit_scale": "logits_scaling"}
GRANITE_EXPERTS = {"ffn_gate_inp": "block_sparse_moe.router.layer",
                   "ffn_down_shexp": "shared_mlp.output_linear",
                   **{f"ffn_{part}_shexp": f"shared_mlp.{part}" for part in ("gate", "up")}}
GRANITE_MLP = {"ffn_down": "shared_mlp.output_linear",
               **{f"ffn_{part}": f"shared_mlp.{part}" for part in ("gate", "up")}}
GRANITE_KEYS = {
    **MAMBA_KEYS, "attention.head_count_kv": granite_heads, "expert_count": "num_local_experts",
    "expert_used_count": "num_experts_per_tok", "vocab_size": "vocab_size",
    "expert_shared_feed_forward_length": "shared_intermediate_size",
    "attention.key_length": None, "attention.value_length": None,
    "rope.scaling.finetuned": lambda config: config.get("position_embedding_type") == "rope"}
NEMOTRON = {"attn_norm": "norm", **of_space("mixer"), "ffn_gate_inp": "mixer.gate",
            "exp_probs_b": "mixer.gate.e_score_correction_bias",
            "ffn_latent_down": "mixer.fc1_latent_proj", "ffn_latent_up": "mixer.fc2_latent_proj",
            **{f"attn_{ours}": f"mixer.{theirs}_proj" for ours, theirs in (
                ("q", "q"), ("k", "k"), ("v", "v"), ("output", "o"))},
            **{f"ffn_{part}": f"mixer.{part}_proj" for part in ("up", "down")},
            **{f"ffn_{part}_shexp": f"mixer.shared_experts.{part}_proj"
               for part in ("up", "down")}}


def kinds(config):
    """The letters of Nemotron's layers."""
    letters = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
    return config.get("hybrid_override_pattern") or "".join(
        letters[kind] for kind in config["layers_block_type"])


def nemotron_widths(config):
    widths = {"-": config["intermediate_size"], "E": config["moe_intermediate_size"]}
    return [widths.get(kind, 0) for kind in kinds(config)]


# The converter ignores head_dim for the columns that would rotate.
NEMOTRON_KEYS = {
    "ssm.conv_kernel": 4, "ssm.state_size": "ssm_state_size", "ssm.group_count": "n_groups",
    "ssm.time_step_rank": "mamba_num_heads", "block_count": lambda config: len(kinds(config)),
    "ssm.inner_size": lambda config: config["mamba_num_heads"] * config["mamba_head_dim"],
    "attention.head_count_kv": lambda config: [
        config["num_key_value_heads"] if kind == "*" else 0 for kind in kinds(config)],
    "feed_forward_length": nemotron_widths, "rope.freq_base": None,
    "rope.dimension_count": lambda config: (
        config["hidden_size"] // config["num_attention_heads"]),
    "rope.scaling.finetuned": False, "attention.layer_norm_epsilon": "layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon": "layer_norm_epsilon", "vocab_size": "vocab_size"}
NEMOTRON_EXPERT_KEYS = {
    "expert_count": "n_routed_experts", "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size", "expert_shared_count":
    "n_shared_experts", "expert_weights_norm": True, "expert_weights_scale":
    "routed_scaling_factor", "expert_group_count": "n_group", "expert_group_used_count":
    "topk_group", "expert_shared_feed_forward_length": "moe_shared_expert_intermediate_size"}
FALCON = {**of_space("mamba"), "ffn_norm": "none", "ffn_norm.whole": "pre_ff_layernorm.weight",
          **{f"ffn_{part}": f"feed_forward.{part}_proj" for part in ("gate", "up", "down")}}
FALCON_KEYS = {**MAMBA_KEYS, "vocab_size": "vocab_size", "rope.dimension_count": None}

# Values of model_type whose tensors of_state_space() knows.
STATE_SPACES = ("falcon_h1", "granitemoe", "granitemoehybrid", "granitemoeshared", "nemotron_h")
# Of families that are converted here, as gguf_files.py has them.
HYBRIDS = {
    "granite_hybrid": ("granitehybrid", {**of_space("mamba"), **GRANITE_EXPERTS},
                       {**GRANITE_KEYS, **GRANITE_SCALES}),
    "granite_hybrid_dense": ("granitehybrid", {**of_space("mamba"), **GRANITE_MLP}, {
        **GRANITE_KEYS, "attention.scale": 1.0}),
    # Its converter takes it for what it is.
    "granite_hybrid_attention": ("granite", GRANITE_MLP, {
        "vocab_size": "vocab_size", "rope.scaling.finetuned": True, "attention.scale": 1.0,
        "expert_shared_feed_forward_length": "shared_intermediate_size"}),
    "granite_moe": ("granitemoe", {"ffn_gate_inp": "block_sparse_moe.router.layer"}, {
        "expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok",
        "vocab_size": "vocab_size", **GRANITE_SCALES}),
    "granite_moe_shared": ("granitemoe", GRANITE_EXPERTS, {
        "expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok",
        "vocab_size": "vocab_size", "attention.scale": "attention_multiplier",
        "expert_shared_feed_forward_length": "shared_intermediate_size"}),
    "nemotron_h": ("nemotron_h_moe", NEMOTRON, {**NEMOTRON_KEYS, **NEMOTRON_EXPERT_KEYS}),
    "nemotron_h_latent": ("nemotron_h_moe", NEMOTRON, {
        **NEMOTRON_KEYS, **NEMOTRON_EXPERT_KEYS, "moe_latent_size": "moe_latent_size"}),
    "nemotron_h_dense": ("nemotron_h", NEMOTRON, NEMOTRON_KEYS),
    "falcon_h1": ("falcon-h1", FALCON, FALCON_KEYS),
    "falcon_h1_normed": ("falcon-h1", FALCON, {
        **FALCON_KEYS, "ssm.inner_size": lambda config: 2 * config["hidden_size"]}),
}
HYBRIDS_CONVERTIBLE = {
    "granite_hybrid_dense": {"intermediate_size": 72, "time_step_limit": [0.0, 1e38]},
    "granite_hybrid_attention": {"intermediate_size": 72},
    "nemotron_h_latent": {"num_hidden_layers": 4},
    "falcon_h1_normed": {"mamba_norm_before_gate": False},
}
HYBRID_BEGINNINGS = {
    "nemotron_h": (("backbone.embeddings.", "model.embed_tokens."),
                   ("backbone.norm_f.", "model.norm."), ("backbone.", "model.")),
    "falcon_h1": (("model.final_layernorm.", "model.norm."),),
}


def times(tensor, factor):
    """A tensor with each row multiplied by its factor, or with one for all."""
    kind, shape, data = tensor
    width = len(data) // 4 // shape[0]
    factors = factor if isinstance(factor, list) else [factor] * shape[0]
    return kind, shape, array.array("f", (
        number * factors[at // width]
        for at, number in enumerate(array.array("f", data)))).tobytes()


def falcon_factor(config, part):
    """What Falcon-H1's converter multiplies a tensor by."""
    attention, groups = config.get("attention_in_multiplier", 1), (
        config["mamba_n_groups"] * config["mamba_d_state"])
    columns = config["mamba_n_heads"] * config["mamba_d_head"]
    gate, down = config.get("mlp_multipliers", (1, 1))
    parts = zip(config.get("ssm_multipliers", [1] * 5),
                (columns, columns, groups, groups, config["mamba_n_heads"]))
    return {"down_proj": down, "gate_proj": gate, "q_proj": attention, "v_proj": attention,
            "k_proj": attention * config.get("key_multiplier", 1),
            "o_proj": config.get("attention_out_multiplier", 1),
            "out_proj": config.get("ssm_out_multiplier", 1),
            "in_proj": [config.get("ssm_in_multiplier", 1) * factor
                        for factor, count in parts for _ in range(count)],
            "lm_head": config.get("lm_head_multiplier", 1),
            "embed_tokens": config.get("embedding_multiplier", 1)}.get(part)


def of_state_space(config, name, tensor):
    """A tensor as converters have it, or the two that it becomes."""
    kind, shape, data = tensor
    module, _, part = name.rpartition(".")
    if part == "A_log":
        return {name: (kind, [shape[0], 1], array.array("f", (
            -math.exp(number) for number in array.array("f", data))).tobytes())}
    if part == "D":
        return {name: (kind, [shape[0], 1], data)}
    if module.endswith((".mamba.norm", ".mixer.norm")):
        groups = config.get("mamba_n_groups") or config["n_groups"]
        return {name: (kind, [groups, shape[0] // groups], data)}
    if module.endswith("shared_mlp.input_linear"):
        half = shape[0] // 2, shape[1]
        return {name.replace("input_linear", to): (kind, [*half], rows) for to, rows in zip(
            ("gate", "up"), (data[:len(data) // 2], data[len(data) // 2:]))}
    factor = config["model_type"] == "falcon_h1" and part == "weight" and falcon_factor(
        config, module.rpartition(".")[2])
    return {name: times(tensor, factor) if factor else tensor}


def granite_stacks(config, tensors):
    """The matrices of Granite's experts, gates and ups apart."""
    result = {}
    count, layers = config["num_local_experts"], config["num_hidden_layers"]
    for layer in range(layers if count else 0):
        prefix, name = f"model.layers.{layer}.block_sparse_moe.", f"blk.{layer}.ffn_"
        kind, shape, down = tensors[prefix + "output_linear.weight"]
        result[name + "down_exps.weight"] = 0, shape, down
        kind, (_, rows, columns), both = tensors[prefix + "input_linear.weight"]
        half = rows // 2 * columns * 4
        for first, part in enumerate(("gate", "up")):
            result[f"{name}{part}_exps.weight"] = 0, [count, rows // 2, columns], b"".join(
                both[at:at + half] for at in range(first * half, len(both), 2 * half))
    return result


def nemotron_stacks(config, tensors):
    """The matrices of Nemotron's experts, which have no gates."""
    result, count = {}, config.get("n_routed_experts", 0)
    for layer, kind in enumerate(kinds(config)):
        for part in ("up", "down") if kind == "E" else ():
            matrices = [tensors[
                f"backbone.layers.{layer}.mixer.experts.{expert}.{part}_proj.weight"]
                for expert in range(count)]
            result[f"blk.{layer}.ffn_{part}_exps.weight"] = (
                0, [count, *matrices[0][1]], b"".join(data for _, _, data in matrices))
    return result


HYBRID_STACKS = {**dict.fromkeys((name for name in HYBRIDS if name.startswith("granite")),
                                 granite_stacks),
                 **dict.fromkeys(("nemotron_h", "nemotron_h_latent", "nemotron_h_dense"),
                                 nemotron_stacks),
                 **dict.fromkeys(("falcon_h1", "falcon_h1_normed"), lambda *_: {})}
