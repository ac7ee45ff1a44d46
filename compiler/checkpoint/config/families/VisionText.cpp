// SPDX-License-Identifier: Apache-2.0
// Models of text and vision, whose text part is one of the other families: Qwen2.5-VL, Qwen3-VL,
// Qwen3.5, Gemma 3, Idefics 3, SmolVLM, Mistral Small 3 and 4, Kimi K2.5 and Llama 4.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/VisionFamily.h"

namespace ingot::checkpoint::families {

static constexpr std::string_view qwenVision[] = {"visual.", "model.visual."};
static constexpr std::string_view qwenKeys[] = {
    "image_token_id", "video_token_id",        "vision_config",  "vision_end_token_id",
    "text_config",    "vision_start_token_id", "vision_token_id"};

static constexpr std::string_view qwenPlaceholders[] = {"image_token_id", "video_token_id"};
/// The same key, by releases of transformers.
static constexpr std::string_view imageToken[] = {"image_token_id", "image_token_index"};

static constexpr TextPart qwen25Text[] = {{"qwen2_5_vl_text", &qwen2}};

constinit const Family qwen25Vl = {.architecture = "Qwen2_5_VLForConditionalGeneration",
                                   .json = {.meaningless = qwenKeys},
                                   .wrapper = {.texts = qwen25Text,
                                               .skipped = qwenVision,
                                               .placeholders = qwenPlaceholders,
                                               .vision = &qwen25Tower}};

static constexpr TextPart qwen3Text[] = {{"qwen3_vl_text", &qwen3}};

constinit const Family qwen3Vl = {.architecture = "Qwen3VLForConditionalGeneration",
                                  .json = {.meaningless = qwenKeys},
                                  .wrapper = {.texts = qwen3Text,
                                              .skipped = qwenVision,
                                              .placeholders = qwenPlaceholders,
                                              .vision = &qwen3Tower}};

static constexpr TextPart qwen3MoeText[] = {{"qwen3_vl_moe_text", &qwen3VlMoeText}};

constinit const Family qwen3VlMoe = {.architecture = "Qwen3VLMoeForConditionalGeneration",
                                     .json = {.meaningless = qwenKeys},
                                     .wrapper = {.texts = qwen3MoeText,
                                                 .skipped = qwenVision,
                                                 .placeholders = qwenPlaceholders,
                                                 .vision = &qwen3Tower}};

static constexpr std::string_view qwen35Keys[] = {
    "image_token_id", "language_model_only", "text_config",          "video_token_id",
    "vision_config",  "vision_end_token_id", "vision_start_token_id"};
static constexpr TextPart qwen35Text[] = {{"qwen3_5_text", &qwen35}};

constinit const Family qwen35Vision = {.architecture = "Qwen3_5ForConditionalGeneration",
                                       .json = {.meaningless = qwen35Keys},
                                       .wrapper = {.texts = qwen35Text,
                                                   .skipped = qwenVision,
                                                   .placeholders = qwenPlaceholders,
                                                   .vision = &qwen35Tower}};

static constexpr TextPart qwen35MoeText[] = {{"qwen3_5_moe_text", &qwen35Moe}};

constinit const Family qwen35MoeVision = {.architecture = "Qwen3_5MoeForConditionalGeneration",
                                          .json = {.meaningless = qwen35Keys},
                                          .wrapper = {.texts = qwen35MoeText,
                                                      .skipped = qwenVision,
                                                      .placeholders = qwenPlaceholders,
                                                      .vision = &qwen35Tower}};

static constexpr std::string_view towers[] = {"vision_tower.", "multi_modal_projector.",
                                              "model.vision_tower.",
                                              "model.multi_modal_projector."};
static constexpr std::string_view gemmaKeys[] = {
    "boi_token_index", "eoi_token_index", "image_token_id",     "image_token_index",
    "text_config",     "vision_config",   "mm_tokens_per_image"};
static constexpr TextPart gemma3Text[] = {{"gemma3_text", &gemma3}};

constinit const Family gemma3Vision = {.architecture = "Gemma3ForConditionalGeneration",
                                       .json = {.meaningless = gemmaKeys},
                                       .wrapper = {.texts = gemma3Text,
                                                   .skipped = towers,
                                                   .tied = true,
                                                   .placeholders = imageToken,
                                                   .vision = &gemma3Tower}};

static constexpr std::string_view idefics3Parts[] = {"model.vision_model.", "model.connector."};
static constexpr std::string_view idefics3Keys[] = {
    "_pad_token_id", "image_token_id", "scale_factor", "text_config", "vision_config", "use_cache"};
static constexpr TextPart llamaText[] = {{"llama", &llama}};
static constexpr Wrapper idefics3Wrapper = {.texts = llamaText,
                                            .skipped = idefics3Parts,
                                            .placeholders = imageToken,
                                            .vision = &idefics3Tower};

constinit const Family idefics3 = {.architecture = "Idefics3ForConditionalGeneration",
                                   .json = {.meaningless = idefics3Keys},
                                   .wrapper = idefics3Wrapper};

constinit const Family smolVlm = {.architecture = "SmolVLMForConditionalGeneration",
                                  .json = {.meaningless = idefics3Keys},
                                  .wrapper = idefics3Wrapper};

static constexpr std::string_view mistralKeys[] = {
    "image_token_id",       "image_token_index",   "multimodal_projector_bias",
    "projector_hidden_act", "spatial_merge_size",  "text_config",
    "vision_config",        "vision_feature_layer"};
static constexpr TextPart mistralText[] = {
    {"mistral", &mistral}, {"ministral3", &ministral3}, {"mistral4", &mistral4}};

constinit const Family mistral3 = {
    .architecture = "Mistral3ForConditionalGeneration",
    .json = {.meaningless = mistralKeys},
    .wrapper = {.texts = mistralText, .skipped = towers, .tied = true, .placeholders = imageToken}};

static constexpr std::string_view kimiVision[] = {"vision_tower.", "mm_projector.",
                                                  "model.vision_tower.", "model.mm_projector."};
static constexpr std::string_view kimiKeys[] = {
    "ignore_index",         "image_token_id",         "media_placeholder_token_id",
    "text_config",          "projection_hidden_size", "projection_layer_norm_eps",
    "video_token_id",       "vision_config",          "vision_end_token_id",
    "vision_start_token_id"};
static constexpr std::string_view kimiPlaceholders[] = {"image_token_id", "video_token_id",
                                                        "media_placeholder_token_id"};
static constexpr TextPart kimiText[] = {{"kimi_k2", &deepSeekV3}, {"deepseek_v3", &deepSeekV3}};
static constexpr Wrapper kimiWrapper = {
    .texts = kimiText, .skipped = kimiVision, .placeholders = kimiPlaceholders};

/// As its makers name it, and as transformers does.
constinit const Family kimiK25 = {.architecture = "KimiK25ForConditionalGeneration",
                                  .json = {.meaningless = kimiKeys},
                                  .wrapper = kimiWrapper};
constinit const Family kimiK25Saved = {.architecture = "Kimi_K25ForConditionalGeneration",
                                       .json = {.meaningless = kimiKeys},
                                       .wrapper = kimiWrapper};

static constexpr std::string_view llamaVision[] = {"vision_model.", "multi_modal_projector."};
static constexpr std::string_view llamaKeys[] = {"boi_token_index", "eoi_token_index",
                                                 "image_token_id",  "image_token_index",
                                                 "text_config",     "vision_config"};
static constexpr TextPart llama4Text[] = {{"llama4_text", &llama4}};

constinit const Family llama4Vision = {
    .architecture = "Llama4ForConditionalGeneration",
    .json = {.meaningless = llamaKeys},
    .wrapper = {.texts = llama4Text, .skipped = llamaVision, .placeholders = imageToken}};

} // namespace ingot::checkpoint::families
