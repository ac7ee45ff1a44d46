// SPDX-License-Identifier: Apache-2.0
// The lists of keys. Sources: the attributes of transformers' configuration classes, 4.0 to 5.24,
// and what published models hold beside them.
#include "compiler/checkpoint/config/ConfigKeys.h"

#include <algorithm>

namespace ingot::checkpoint {

namespace {

using Names = std::span<const std::string_view>;

/// Read by others than the readers of families, or about training, generation and programs.
constexpr std::string_view harmless[] = {
    // what other readers take
    "architectures", "layer_types", "partial_rotary_factor", "quantization_config",
    "rope_parameters", "rope_scaling", "rope_theta", "original_max_position_embeddings",
    // who made the file, and for which program
    "_attn_implementation", "_attn_implementation_autoset", "_name_or_path", "attn_implementation",
    "auto_map", "license", "model_name", "model_type", "tokenizer_class", "torchscript",
    "transformers.js_config", "transformers_version", "unsloth_fixed", "unsloth_version",
    "use_bfloat16", "use_flash_attn", "tf_legacy_loss", "_pre_quantization_dtype",
    // training
    "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop", "embd_pdrop",
    "gradient_checkpointing", "hidden_dropout", "hidden_dropout_prob", "initializer_range",
    "output_router_logits", "pretraining_tp", "resid_pdrop", "router_aux_loss_coef",
    "router_jitter_noise", "router_z_loss_coef",
    // heads for other tasks, and encoders
    "add_cross_attention", "chunk_size_feed_forward", "cross_attention_hidden_size",
    "decoder_start_token_id", "finetuning_task", "id2label", "is_decoder", "is_encoder_decoder",
    "is_llama_config", "label2id", "num_labels", "num_nextn_predict_layers", "prefix",
    "problem_type", "pruned_heads", "sep_token_id", "task_specific_params", "tie_encoder_decoder",
    // generation: generation_config.json counts
    "bad_words_ids", "begin_suppress_tokens", "cache_implementation", "diversity_penalty",
    "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id",
    "length_penalty", "max_length", "min_length", "no_repeat_ngram_size", "num_beam_groups",
    "num_beams", "num_return_sequences", "output_attentions", "output_hidden_states",
    "output_scores", "pad_token_id", "remove_invalid_values", "repetition_penalty", "return_dict",
    "return_dict_in_generate", "suppress_tokens", "temperature", "top_k", "top_p", "typical_p",
    "use_cache"};

/// Keys that change what is computed, where a family does not read them. The last ones multiply.
constexpr std::string_view changing[] = {
    "alibi",
    "attention_chunk_size",
    "attn_logit_softcapping",
    "attn_temperature_tuning",
    "clip_qkv",
    "dual_chunk_attention_config",
    "final_logit_softcapping",
    "hidden_size_per_layer_input",
    "index_topk",
    "kv_lora_rank",
    "n_routed_experts",
    "n_shared_experts",
    "no_rope_layers",
    "num_experts",
    "num_kv_shared_layers",
    "num_local_experts",
    "parallel_attn",
    "q_lora_rank",
    "qk_layernorm",
    "qk_norm",
    "rope_interleaved",
    "rotary_pct",
    "scale_attn_by_inverse_layer_idx",
    "sparse_attention_config",
    "use_bidirectional_attention",
    "use_parallel_residual",
    "use_qk_norm",
    "attention_multiplier",
    "embedding_multiplier",
    "logit_scale",
    "logits_scaling",
    "residual_multiplier",
    "scale_depth",
    "scale_emb",
};
constexpr size_t multipliers = 7;
const Names multiplying = Names(changing).last(multipliers);

bool isIn(Names names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

/// Whether the value of `key` says that the feature is not used.
bool isNeutral(const Json &root, std::string_view key) {
  return JsonFields(root).isOff(key) || (isIn(multiplying, key) && root.find(key)->number(1, 1));
}

} // namespace

std::vector<std::string> unknownKeys(const Json &root, const JsonFields::Keys &read,
                                     const Family &family) {
  std::vector<std::string> unknown = root.keys();
  std::erase_if(unknown, [&](const std::string &key) {
    return read.contains(key) || isIn(harmless, key) || isIn(family.json.meaningless, key) ||
           isNeutral(root, key);
  });
  return unknown;
}

Expected<std::optional<Deviation>> findUnreadKeys(const Json &root, const JsonFields::Keys &read,
                                                  const Family &family) {
  std::string unread;
  for (const std::string &key : unknownKeys(root, read, family)) {
    if (isIn(changing, key) || isIn(family.json.refused, key))
      return root.find(key)->error(
          "INGOT-E1057",
          message(key, " changes what a model computes, and is not supported for ",
                  family.architecture),
          key == "dual_chunk_attention_config"
              ? "remove the key: up to its chunk_size, it is plain attention"
              : "use a checkpoint without it");
    unread += message(unread.empty() ? "" : ", ", printable(key));
  }
  if (unread.empty())
    return std::optional<Deviation>();
  return std::optional(Deviation{"config.json", unread, "not read",
                                 message("no meaning of it is known for ", family.architecture),
                                 /*isTold=*/true});
}

} // namespace ingot::checkpoint
