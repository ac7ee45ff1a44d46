// SPDX-License-Identifier: Apache-2.0
// Reading generation_config.json.
#include "compiler/checkpoint/config/GenerationConfig.h"

#include "compiler/checkpoint/config/ForcedTokens.h"
#include "compiler/checkpoint/files/File.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

constexpr uint64_t longestFile = uint64_t{1} << 20;
constexpr std::string_view generationFile = "generation_config.json";
constexpr double mostInteger = double(uint64_t{1} << 31) - 1;

Deviation notRead(const Json &value, std::string_view file, std::string_view key, std::string why) {
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  return {message(file, " ", key), printable(value.raw().dump(-1, ' ', false, replace)), "not read",
          std::move(why), /*isTold=*/true};
}

/// An integer, also one that is written as 20.0.
Expected<uint64_t> integer(const Json &value, double most) {
  auto number = value.number(0, most);
  if (!number)
    return number.error();
  if (*number != std::floor(*number))
    return value.wrongType("an integer");
  return static_cast<uint64_t>(*number);
}

/// Reads members of one object, each by itself.
class Lenient {
public:
  Lenient(const Json &root, std::vector<Deviation> &deviations)
      : root(root), deviations(deviations) {}

  /// Nothing for a member that is absent or null, and for one that `read` refuses.
  template <class Read> auto take(std::string_view key, Read read) {
    std::optional<std::decay_t<decltype(*read(root))>> taken;
    const auto member = root.find(key);
    if (!member || member->isNull())
      return taken;
    if (auto value = read(*member))
      taken = *value;
    else
      deviations.push_back(notRead(*member, generationFile, key, value.error().what));
    return taken;
  }

  std::optional<double> number(std::string_view key, double least, double most) {
    return take(key, [&](const Json &value) { return value.number(least, most); });
  }

private:
  const Json &root;
  std::vector<Deviation> &deviations;
};

/// Whether the member `key` is -1, which stands for "none".
bool isMinusOne(const Json &root, std::string_view key) {
  const auto member = root.find(key);
  return member && member->number(-1, -1);
}

} // namespace

std::optional<std::vector<uint64_t>> readTokenIds(const Json &root, std::string_view key,
                                                  std::string_view file, uint64_t vocabSize,
                                                  std::vector<Deviation> &deviations) {
  const auto member = root.find(key);
  if (!member || member->isNull())
    return std::nullopt;
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < (member->isArray() ? member->size() : 1); ++i) {
    const Json value = member->isArray() ? member->element(i) : *member;
    auto id = integer(value, static_cast<double>(vocabSize) - 1);
    if (id)
      ids.push_back(*id);
    else
      deviations.push_back(
          notRead(value, file, key, "no token of the vocabulary: " + id.error().what));
  }
  return ids.empty() ? std::nullopt : std::optional(std::move(ids));
}

Expected<GenerationConfig>
GenerationConfig::parse(std::string_view text, const std::string &fileName, uint64_t vocabSize) {
  JsonLimits limits = JsonLimits::ofPython();
  limits.maxBytes = longestFile;
  auto root = Json::parse(text, fileName, limits);
  if (!root)
    return root.error();
  if (!root->isObject())
    return root->wrongType("an object");
  GenerationConfig config;
  Lenient fields(*root, config.deviations);
  auto ids = [&](std::string_view key) {
    return readTokenIds(*root, key, generationFile, vocabSize, config.deviations);
  };
  config.eosIds = ids("eos_token_id");
  if (const auto first = ids("bos_token_id"))
    config.bosId = first->front();
  auto whole = [](const Json &value) { return integer(value, mostInteger); };
  if (!isMinusOne(*root, "pad_token_id"))
    config.padId = fields.take("pad_token_id", whole);
  config.doSample = fields.take("do_sample", [](const Json &value) { return value.boolean(); });
  config.temperature = fields.number("temperature", 0.0, 1e6);
  config.topP = fields.number("top_p", 0.0, 1.0);
  // Some programs write -1 for "no limit".
  config.topK = isMinusOne(*root, "top_k") ? 0 : fields.take("top_k", whole);
  config.minP = fields.number("min_p", 0.0, 1.0);
  for (std::string_view key : forcingKeys)
    tellForcedTokens(*root, key, generationFile, config.deviations);
  config.repetitionPenalty = fields.number("repetition_penalty", 1e-6, 1e6);
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
