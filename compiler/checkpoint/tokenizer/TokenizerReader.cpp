// SPDX-License-Identifier: Apache-2.0
// Reads the tokenizer of a checkpoint from whichever of its files are there.
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"

#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/checkpoint/tokenizer/TekkenReader.h"
#include "compiler/checkpoint/tokenizer/TiktokenReader.h"
#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

#include <algorithm>

namespace ingot::checkpoint {

namespace {

constexpr uint64_t maxTokenizerBytes = uint64_t{64} << 20;
constexpr uint64_t maxTemplateBytes = uint64_t{1} << 20;
constexpr const char *tekkenFile = "tekken.json", *processorTemplate = "chat_template.json";

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

/// The files of `directory` with that extension; none if there is no such directory.
std::vector<std::filesystem::path> filesWith(const std::filesystem::path &directory,
                                             std::string_view extension) {
  std::error_code missing;
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator entry(directory, missing), end; !missing && entry != end;
       entry.increment(missing))
    if (entry->path().extension() == extension)
      found.push_back(entry->path());
  std::sort(found.begin(), found.end()); // the order on disk must not show in the engine
  return found;
}

/// The files additional_chat_templates/NAME.jinja.
std::vector<std::filesystem::path> additionalTemplates(const std::filesystem::path &directory) {
  return filesWith(directory / "additional_chat_templates", ".jinja");
}

/// chat_template.jinja is the default one, beside the additional ones, before chat_template.json.
Outcome readTemplateFiles(const std::filesystem::path &directory, TokenizerSpec &spec) {
  if (const auto path = directory / "chat_template.jinja"; isThere(path))
    if (Outcome done = setChatTemplate("default", path, spec); !done)
      return done;
  for (const auto &path : additionalTemplates(directory))
    if (Outcome done = setChatTemplate(path.stem().string(), path, spec); !done)
      return done;
  const auto path = directory / processorTemplate;
  if (!isThere(path))
    return {};
  const Expected<Json> file = Json::readFile(path, JsonLimits::ofPython());
  return file ? applyProcessorTemplate(spec, *file) : Outcome(file.error());
}

/// The file with the vocabulary: tokenizer.json before tokenizer.model, which Mistral publishes
/// with a version, before tekken.json and the one tiktoken file.
std::optional<std::filesystem::path> modelFile(const std::filesystem::path &directory) {
  for (const char *name :
       {"tokenizer.json", "tokenizer.model", "tokenizer.model.v7", "tokenizer.model.v3",
        "tokenizer.model.v2", "tokenizer.model.v1", tekkenFile, "tiktoken.model"})
    if (isThere(directory / name))
      return directory / name;
  std::vector<std::filesystem::path> others = filesWith(directory, ".tiktoken");
  return others.size() == 1 ? std::optional(std::move(others[0])) : std::nullopt;
}

/// `config` is tokenizer_config.json, if there is one.
Expected<TokenizerSpec> readModel(const std::filesystem::path &directory,
                                  const std::optional<Json> &config) {
  const std::optional<std::filesystem::path> path = modelFile(directory);
  if (!path)
    return Error{"INGOT-E1401",
                 "there is no tokenizer.json, no tokenizer.model, no tekken.json and no single "
                 "tiktoken file",
                 directory.string(),
                 isThere(directory / "vocab.json") && isThere(directory / "merges.txt")
                     ? "vocab.json and merges.txt do not say how a text is cut into words; write a "
                       "tokenizer.json: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR), "
                       "of transformers"
                     : "put the checkpoint's tokenizer beside its weights"};
  Expected<std::string> text = readText(*path, maxTokenizerBytes);
  if (!text)
    return text.error();
  if (path->filename() == tekkenFile)
    return parseTekken(*text, path->string());
  if (path->extension() == ".json")
    return parseTokenizerJson(*text, path->string());
  if (path->extension() == ".tiktoken" || isTiktoken(*text)) {
    const std::optional<Json> listed = config ? config->find("added_tokens_decoder") : std::nullopt;
    return parseTiktoken(*text, path->string(), /*allTokens=*/!listed || listed->size() == 0);
  }
  return parseSentencePiece(*text, path->string());
}

} // namespace

Expected<TokenizerSpec> readTokenizer(const std::filesystem::path &directory) {
  if (isModelFile(directory)) {
    Expected<GgufModel> model = openModelFile(directory);
    if (!model)
      return model.error();
    return parseGgufTokenizer(model->metadata);
  }
  std::optional<Json> config;
  if (const auto path = directory / "tokenizer_config.json"; isThere(path)) {
    Expected<Json> parsed = Json::readFile(path, JsonLimits::ofPython());
    if (!parsed)
      return parsed.error();
    config = *std::move(parsed);
  }
  Expected<TokenizerSpec> spec = readModel(directory, config);
  if (!spec)
    return spec;
  if (config)
    if (Outcome done = applyTokenizerConfig(*spec, *config); !done)
      return done.error();
  if (const auto path = directory / "special_tokens_map.json"; isThere(path)) {
    Expected<Json> map = Json::readFile(path, JsonLimits::ofPython());
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
  if (isModelFile(directory)) {
    if (const auto path = tokenizerOfModelFile(directory))
      files.push_back(*path);
    return files;
  }
  if (const auto path = modelFile(directory))
    files.push_back(*path);
  for (const char *name : {"tokenizer_config.json", "special_tokens_map.json",
                           "chat_template.jinja", processorTemplate})
    if (isThere(directory / name))
      files.push_back(directory / name);
  for (const auto &path : additionalTemplates(directory))
    files.push_back(path);
  return files;
}

} // namespace ingot::checkpoint
