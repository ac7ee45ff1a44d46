// SPDX-License-Identifier: Apache-2.0
// Reads the suite's files and tries every order of members.
#include "tests/unit/guided_json/SchemaSuite.h"

#include "runtime/guided/Recognizer.h"
#include "runtime/guided/json/SchemaGrammar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>

namespace ingot::runtime::guided {

using Json = nlohmann::ordered_json;

constexpr size_t mostTexts = 5000;

static std::string scalarText(const Json &value) {
  double number = value.is_number_float() ? value.get<double>() : 0.5;
  if (number == std::floor(number) && std::fabs(number) < 1e60) {
    char digits[80];
    std::snprintf(digits, sizeof digits, "%.0f", number);
    return digits;
  }
  return value.dump();
}

/// The concatenations of one text out of each list, commas between.
static std::vector<std::string> joined(const std::vector<std::vector<std::string>> &lists) {
  std::vector<std::string> result{""};
  for (size_t i = 0; i < lists.size(); ++i) {
    std::vector<std::string> longer;
    for (const std::string &head : result)
      for (const std::string &tail : lists[i])
        if (longer.size() < mostTexts)
          longer.push_back(head + (i ? "," : "") + tail);
    result = std::move(longer);
  }
  return result;
}

std::vector<std::string> textsOf(const Json &value) {
  if (!value.is_structured())
    return {scalarText(value)};
  std::vector<std::vector<std::string>> parts;
  for (const auto &[name, item] : value.items()) {
    std::vector<std::string> texts = textsOf(item);
    if (value.is_object())
      for (std::string &text : texts)
        text = Json(name).dump() + ":" + text;
    parts.push_back(std::move(texts));
  }
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::string> result;
  do {
    std::vector<std::vector<std::string>> ordered;
    for (size_t i : order)
      ordered.push_back(parts[i]);
    for (const std::string &text : joined(ordered))
      result.push_back(value.is_object() ? "{" + text + "}" : "[" + text + "]");
  } while (result.size() < mostTexts && value.is_object() &&
           std::next_permutation(order.begin(), order.end()));
  return result;
}

static bool accepts(const std::shared_ptr<const Grammar> &grammar, const std::string &text) {
  Recognizer recognizer(grammar);
  return recognizer.mayEnd(recognizer.run(recognizer.start(), text));
}

/// A message without its place and without what it quotes.
static std::string kindOf(std::string_view message) {
  size_t colon = message.starts_with('#') ? message.find(": ") + 2 : 0;
  return std::string(message.substr(colon, 60));
}

static void runGroup(const std::string &file, const Json &group, SuiteCounts &counts) {
  std::string name = file + ": " + group["description"].get<std::string>();
  auto grammar = schemaGrammar(group["schema"].dump());
  bool isUnsatisfiable = !grammar.ok() && grammar.status().code() == "INGOT-E6613";
  if (!grammar.ok() && !isUnsatisfiable) {
    ++counts.refused;
    ++counts.refusals[kindOf(grammar.status().message())];
    return;
  }
  ++counts.enforced;
  for (const Json &test : group["tests"]) {
    bool isAccepted = false;
    if (grammar.ok())
      for (const std::string &text : textsOf(test["data"]))
        isAccepted = isAccepted || accepts(*grammar, text);
    if (isAccepted != test["valid"].get<bool>())
      counts.wrong.push_back(name + ": " + test["description"].get<std::string>() +
                             (isAccepted ? " (accepted)" : " (refused)"));
  }
}

SuiteCounts runSuite(const std::filesystem::path &folder) {
  SuiteCounts counts;
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path &file : files) {
    Json groups = Json::parse(std::ifstream(file));
    for (const Json &group : groups)
      runGroup(std::filesystem::relative(file, folder).string(), group, counts);
  }
  return counts;
}

} // namespace ingot::runtime::guided
