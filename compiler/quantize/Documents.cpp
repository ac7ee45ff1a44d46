// SPDX-License-Identifier: Apache-2.0
// Lines are checked here; what a message is, the chat template decides.
#include "compiler/quantize/Documents.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::message;
namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

/// Levels of a line's JSON; as many as conversations may have.
static constexpr int kLevels = 64;

Expected<std::vector<fs::path>> quantize::textFiles(std::span<const fs::path> paths) {
  std::vector<fs::path> files;
  for (const fs::path &path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const auto first = static_cast<std::ptrdiff_t>(files.size());
    for (const fs::directory_entry &entry : fs::directory_iterator(path, error)) {
      const std::string ending = entry.path().extension().string();
      std::error_code ignored;
      if (entry.is_regular_file(ignored) &&
          (ending == ".txt" || ending == ".md" || ending == ".jsonl"))
        files.push_back(entry.path());
    }
    if (error)
      return Error{"INGOT-E7001", message("the folder cannot be read: ", error.message()),
                   path.string(), ""};
    if (files.size() == static_cast<size_t>(first))
      return Error{"INGOT-E2142", "the folder has no text", path.string(),
                   "put files into it that end in .txt, .md or .jsonl"};
    std::sort(files.begin() + first, files.end());
  }
  return files;
}

/// What a conversation without "now" tells a template that asks for the date: the same text is the
/// same ids on every day.
static constexpr char kDay[] = "2024-07-26";

static Expected<Document> documentOf(std::string_view line, std::string where) {
  bool isDeep = false;
  auto value = json::parse(
      line,
      [&](int depth, json::parse_event_t, json &) {
        isDeep |= depth > kLevels;
        return !isDeep;
      },
      /*allow_exceptions=*/false);
  if (isDeep || !value.is_object())
    return Error{"INGOT-E2143",
                 isDeep ? "the line's JSON is too deep" : "the line is no JSON object",
                 std::move(where), "write one object a line, in UTF-8"};
  if (auto text = value.find("text"); text != value.end() && text->is_string())
    return Document{text->get<std::string>(), false, std::move(where)};
  if (auto messages = value.find("messages"); messages != value.end() && messages->is_array()) {
    value["add_generation_prompt"] = false;
    if (!value.contains("now"))
      value["now"] = kDay;
    return Document{value.dump(), true, std::move(where)};
  }
  return Error{"INGOT-E2144", "the line has neither a list of messages nor a text",
               std::move(where),
               "write {\"messages\": [{\"role\": ..., \"content\": ...}, ...]} or {\"text\": ...}"};
}

Expected<std::vector<Document>> quantize::documentsOf(const fs::path &file, std::string text) {
  std::vector<Document> documents;
  if (file.extension() != ".jsonl") {
    documents.push_back({std::move(text), false, file.string()});
    return documents;
  }
  size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    auto document = documentOf(line, message(file.string(), ":", number));
    if (!document)
      return document.error();
    documents.push_back(*std::move(document));
  }
  return documents;
}
