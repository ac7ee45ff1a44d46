// SPDX-License-Identifier: Apache-2.0
// Reading generation_config.json.
#include "compiler/checkpoint/GenerationConfig.h"

#include "compiler/checkpoint/File.h"
#include "compiler/checkpoint/JsonFields.h"

namespace ingot::checkpoint {

static constexpr uint64_t longestFile = uint64_t{1} << 20;

Expected<GenerationConfig>
GenerationConfig::parse(std::string_view text, const std::string &fileName, uint64_t vocabSize) {
  JsonLimits limits;
  limits.maxBytes = longestFile;
  auto root = Json::parse(text, fileName, limits);
  if (!root)
    return root.error();
  JsonFields fields(*root);
  GenerationConfig config;
  const uint64_t lastId = vocabSize == 0 ? 0 : vocabSize - 1;
  auto number = [&](std::string_view key, double least, double most) {
    return fields.has(key) ? std::optional(fields.number(key, least, most)) : std::nullopt;
  };
  auto integer = [&](std::string_view key, uint64_t most) {
    return fields.has(key) ? std::optional(fields.unsignedInteger(key, 0, most)) : std::nullopt;
  };
  config.eosIds = fields.unsignedIntegers("eos_token_id", 0, lastId);
  config.bosId = integer("bos_token_id", lastId);
  // Some files write -1 for "no padding token".
  auto pad = root->find("pad_token_id");
  if (!(pad && pad->number(-1.0, -1.0)))
    config.padId = integer("pad_token_id", (uint64_t{1} << 31) - 1);
  if (fields.has("do_sample"))
    config.doSample = fields.booleanOr("do_sample", false);
  config.temperature = number("temperature", 0.0, 1e6);
  config.topP = number("top_p", 0.0, 1.0);
  config.topK = integer("top_k", (uint64_t{1} << 31) - 1);
  config.minP = number("min_p", 0.0, 1.0);
  config.repetitionPenalty = number("repetition_penalty", 1e-6, 1e6);
  if (fields.error())
    return *fields.error();
  return config;
}

Expected<GenerationConfig> GenerationConfig::read(const std::filesystem::path &path,
                                                  uint64_t vocabSize) {
  auto text = readText(path, longestFile);
  if (!text)
    return text.error();
  return parse(*text, path.string(), vocabSize);
}

} // namespace ingot::checkpoint
