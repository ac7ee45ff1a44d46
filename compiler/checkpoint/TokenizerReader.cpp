// SPDX-License-Identifier: Apache-2.0
// Reads the tokenizer of a checkpoint from whichever of its files are there.
#include "compiler/checkpoint/TokenizerReader.h"

#include "compiler/checkpoint/File.h"
#include "compiler/checkpoint/Gguf.h"
#include "compiler/checkpoint/TokenizerVocabulary.h"

#include <algorithm>

namespace ingot::checkpoint {

namespace {

constexpr uint64_t maxTokenizerBytes = uint64_t{64} << 20;
constexpr uint64_t maxTemplateBytes = uint64_t{1} << 20;

bool isThere(const std::filesystem::path &path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Outcome setChatTemplate(const std::string &name, const std::filesystem::path &path,
                        TokenizerSpec &spec) {
  Expected<std::string> text = readText(path, maxTemplateBytes);
  if (!text)
    return text.error();
  if (!isUtf8(*text))
    return Error{"INGOT-E1405", "the chat template is not UTF-8", path.string(),
                 "convert it to UTF-8"};
  std::erase_if(spec.chatTemplates,
                [&](const TokenizerChatTemplate &chat) { return chat.name == name; });
  spec.chatTemplates.push_back({name, *std::move(text)});
  return {};
}

/// The files additional_chat_templates/NAME.jinja.
std::vector<std::filesystem::path> additionalTemplates(const std::filesystem::path &directory) {
  std::error_code missing;
  std::vector<std::filesystem::path> others;
  for (std::filesystem::directory_iterator entry(directory / "additional_chat_templates", missing),
       end;
       !missing && entry != end; entry.increment(missing))
    if (entry->path().extension() == ".jinja")
      others.push_back(entry->path());
  std::sort(others.begin(), others.end()); // the order on disk must not show in the engine
  return others;
}

/// chat_template.jinja is the default one, beside the additional ones.
Outcome readTemplateFiles(const std::filesystem::path &directory, TokenizerSpec &spec) {
  if (const auto path = directory / "chat_template.jinja"; isThere(path))
    if (Outcome done = setChatTemplate("default", path, spec); !done)
      return done;
  for (const auto &path : additionalTemplates(directory))
    if (Outcome done = setChatTemplate(path.stem().string(), path, spec); !done)
      return done;
  return {};
}

Expected<TokenizerSpec> readModel(const std::filesystem::path &directory) {
  const std::filesystem::path json = directory / "tokenizer.json";
  const std::filesystem::path model = directory / "tokenizer.model";
  const bool isJson = isThere(json);
  if (!isJson && !isThere(model))
    return Error{"INGOT-E1401", "there is no tokenizer.json and no tokenizer.model",
                 directory.string(), "put the checkpoint's tokenizer beside its weights"};
  Expected<std::string> text = readText(isJson ? json : model, maxTokenizerBytes);
  if (!text)
    return text.error();
  return isJson ? parseTokenizerJson(*text, json.string())
                : parseSentencePiece(*text, model.string());
}

} // namespace

Expected<TokenizerSpec> readTokenizer(const std::filesystem::path &directory) {
  if (isGguf(directory)) {
    Expected<GgufModel> model = openGguf(directory);
    if (!model)
      return model.error();
    return parseGgufTokenizer(model->metadata);
  }
  Expected<TokenizerSpec> spec = readModel(directory);
  if (!spec)
    return spec;
  if (const auto path = directory / "tokenizer_config.json"; isThere(path)) {
    Expected<Json> config = Json::readFile(path);
    if (!config)
      return config.error();
    if (Outcome done = applyTokenizerConfig(*spec, *config); !done)
      return done.error();
  }
  if (const auto path = directory / "special_tokens_map.json"; isThere(path)) {
    Expected<Json> map = Json::readFile(path);
    if (!map)
      return map.error();
    if (Outcome done = applySpecialTokensMap(*spec, *map); !done)
      return done.error();
  }
  if (Outcome done = readTemplateFiles(directory, *spec); !done)
    return done.error();
  return spec;
}

std::vector<std::filesystem::path> tokenizerFiles(const std::filesystem::path &directory) {
  std::vector<std::filesystem::path> files;
  if (isGguf(directory))
    return files;
  const bool isJson = isThere(directory / "tokenizer.json");
  for (const char *name : {isJson ? "tokenizer.json" : "tokenizer.model", "tokenizer_config.json",
                           "special_tokens_map.json", "chat_template.jinja"})
    if (isThere(directory / name))
      files.push_back(directory / name);
  for (const auto &path : additionalTemplates(directory))
    files.push_back(path);
  return files;
}

} // namespace ingot::checkpoint
