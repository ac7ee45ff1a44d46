// SPDX-License-Identifier: Apache-2.0
// Rows from the description of an engine, and what of them two engines do not share.
#include "runtime/tools/EngineOverview.h"

#include "runtime/tools/EngineSummary.h"
#include "runtime/tools/Table.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

namespace ingot::runtime {
namespace {

using nlohmann::json;

std::string textAt(const json &object, const char *key) { return plainText(object.at(key)); }
uint64_t numberAt(const json &object, const char *key) { return object.at(key).get<uint64_t>(); }

/// "4.5 million", "1.2 billion"
std::string roundCount(uint64_t count) {
  if (count >= 1'000'000'000)
    return fixedPoint(double(count) * 1e-9, 1) + " billion";
  return count >= 1'000'000 ? fixedPoint(double(count) * 1e-6, 1) + " million" : grouped(count);
}

std::string replaced(std::string text, const std::string &what, const std::string &by) {
  if (size_t at = text.find(what); at != text.npos)
    text.replace(at, what.size(), by);
  return text;
}

/// What an engine says of matrices under the names that models give them.
class Matrices {
public:
  explicit Matrices(const json &weights) {
    for (const json &weight : weights)
      add(weight);
  }

  uint64_t parameters() const { return elements; }

  /// "int4 in groups of 32; int8 by row: embed_tokens": the format of most elements, then others.
  std::string text() const { return textOf(held); }
  /// Likewise of the encoder of pictures; empty: there is none.
  std::string visionText() const { return heldOfVision.empty() ? "" : textOf(heldOfVision); }

private:
  struct Held {
    uint64_t elements = 0;
    std::set<std::string> names;
  };
  using Formats = std::map<std::string, Held>;

  static std::string textOf(const Formats &held) {
    std::vector<const std::pair<const std::string, Held> *> formats;
    for (const auto &format : held)
      formats.push_back(&format);
    std::sort(formats.begin(), formats.end(), [](const auto *one, const auto *other) {
      return std::pair(other->second.elements, one->first) <
             std::pair(one->second.elements, other->first);
    });
    std::string out;
    for (const auto *format : formats)
      out += out.empty() ? format->first : "; " + format->first + ": " + names(format->second);
    return out.empty() ? "none" : out;
  }

  /// Whether a tensor has numbers of another one: its scales or zero points.
  static bool isBeside(const std::string &name) {
    const std::string last = name.substr(name.rfind('.', name.rfind('.') - 1) + 1);
    return last.find("scale") != last.npos || last.find("zero") != last.npos;
  }

  static std::string names(const Held &format) {
    constexpr size_t most = 2;
    if (format.names.size() > most)
      return grouped(format.names.size()) + " matrices";
    std::string out;
    for (const std::string &name : format.names)
      out += (out.empty() ? "" : ", ") + name;
    return out;
  }

  void add(const json &weight) {
    std::string name = textAt(weight, "name");
    name.resize(std::min(name.size(), name.find('@'))); // targets that pack it otherwise
    if (isBeside(name) || !known.insert(name).second)
      return;
    uint64_t count = 1;
    for (const json &extent : weight.at("shape"))
      count *= extent.get<uint64_t>();
    elements += count;
    if (weight.at("shape").size() < 2)
      return;
    Held &format = (name.starts_with("vision.")
                        ? heldOfVision
                        : held)[words(textAt(weight, "format"), textAt(weight, "dtype"))];
    format.elements += count;
    format.names.insert(replaced(name, ".weight", ""));
  }

  /// "int4 group=32 zero_points" in words; `dtype`: of a weight without a format.
  static std::string words(const std::string &format, std::string dtype) {
    if (format.empty()) {
      std::transform(dtype.begin(), dtype.end(), dtype.begin(), tolower);
      return dtype;
    }
    const bool isInteger = format.starts_with("int") || format.starts_with("affine");
    std::string text =
        format + (isInteger && format.find("group=") == format.npos ? " by row" : "");
    return replaced(replaced(text, " group=", " in groups of "), " zero_points", ", zero points");
  }

  std::set<std::string> known;
  Formats held, heldOfVision;
  uint64_t elements = 0;
};

/// What the recipe says of `key`, in one line; empty: nothing.
std::string recipeValue(const json &engine, const std::string &key) {
  std::istringstream lines(textAt(engine.at("provenance"), "recipe"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key + ": "))
      return line.substr(key.size() + 2);
  return "";
}

/// "int8-dynamic in groups of 32, results bf16" of "{compute: int8-dynamic, group: 32, ...}"
std::string activationsText(const json &engine) {
  const std::string text = recipeValue(engine, "activations");
  const auto valueOf = [&](const std::string &key) -> std::string {
    const size_t at = text.find(key + ": ");
    if (at == text.npos)
      return "";
    const size_t begin = at + key.size() + 2;
    return text.substr(begin, text.find_first_of(",}", begin) - begin);
  };
  const std::string compute = valueOf("compute"), group = valueOf("group"),
                    store = valueOf("store");
  return compute.empty() ? text
                         : compute + (group.empty() ? "" : " in groups of " + group) +
                               (store.empty() ? "" : ", results " + store);
}

/// A row whose parts are its text: "context 2,048, tokens a step 512".
OverviewRow rowOf(const std::string &title,
                  const std::vector<std::pair<std::string, std::string>> &parts) {
  OverviewRow row = {title, "", {parts.begin(), parts.end()}};
  for (const auto &[name, value] : parts)
    row.text += (row.text.empty() ? "" : ", ") + name + " " + value;
  return row;
}

OverviewRow limitsRow(const json &engine) {
  std::vector<std::pair<std::string, std::string>> parts = {
      {"context", grouped(numberAt(engine.at("serving"), "max_context"))}};
  for (auto [name, what] : {std::pair("T", "tokens of a step"), {"S", "sequences of a step"}})
    for (const json &dim : engine.at("dims"))
      if (textAt(dim, "name") == name)
        parts.emplace_back(what, grouped(numberAt(dim, "max")));
  return rowOf("limits", parts);
}

std::string samplingText(const json &serving) {
  const double temperature = serving.at("temperature").get<double>();
  if (temperature == 0)
    return "greedy";
  std::string text = "temperature " + fixedPoint(temperature, 2);
  if (numberAt(serving, "top_k"))
    text += ", top-k " + textAt(serving, "top_k");
  for (auto [key, what, off] : {std::tuple("top_p", "top-p", 1.0),
                                {"min_p", "min-p", 0.0},
                                {"repetition_penalty", "repetition penalty", 1.0}})
    if (const double value = serving.at(key).get<double>(); value != off)
      text += std::string(", ") + what + " " + fixedPoint(value, 2);
  return text;
}

OverviewRow goldenRow(const json &golden) {
  OverviewRow row = {"golden tokens", "none", {}};
  size_t tokens = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    tokens += golden[i].at("tokens").size();
    row.parts["prompt " + std::to_string(i + 1)] = golden[i].at("tokens").dump();
  }
  if (tokens)
    row.text = counted(tokens, "token") + " of " + counted(golden.size(), "prompt");
  return row;
}

OverviewRow inputsRow(const json &inputs) {
  OverviewRow row = {"made from", "", {}};
  uint64_t bytes = 0;
  for (const json &input : inputs) {
    bytes += numberAt(input, "bytes");
    row.parts[textAt(input, "name")] = textAt(input, "digest");
  }
  row.text = counted(inputs.size(), "file") + ", " + roundly(bytes);
  return row;
}

/// What was asked of the build.
OverviewRow optionsRow(const json &options) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (const json &option : options) {
    const std::string asked = textAt(option, "asked"), effective = textAt(option, "effective");
    if (!asked.empty())
      parts.emplace_back(textAt(option, "name"),
                         asked == effective ? asked : asked + " (" + effective + ")");
  }
  return rowOf("options", parts);
}

std::string tokenizerText(const json &engine) {
  if (engine.contains("tokenizer_fault"))
    return textAt(engine, "tokenizer_fault");
  for (const json &section : engine.at("sections"))
    if (textAt(section, "kind") == "Tokenizer")
      return grouped(numberAt(engine.at("serving"), "vocabulary")) + " tokens";
  return "none";
}

/// "yes", with the names of those beside the usual one.
std::string chatTemplateText(const json &names) {
  std::string text = names.empty() ? "no" : "yes";
  for (const json &name : names)
    if (name != "default")
      text += ", " + plainText(name);
  return text;
}

OverviewRow targetRow(const json &target) {
  const json &memory = target.at("memory");
  double bytes = 0;
  for (const json &group : target.at("kv_groups"))
    bytes += group.at("bytes_per_token").get<double>();
  size_t applied = 0;
  for (const json &note : target.at("notes"))
    applied += note.at("applied").get<bool>();
  std::string title = "target " + textAt(target, "name");
  if (numberAt(target, "ranks") > 1)
    title += ", rank " + textAt(target, "rank");
  return rowOf(title,
               {{"weights", roundly(numberAt(memory, "weight_bytes"))},
                {"KV cache", grouped(uint64_t(bytes)) + " bytes a token"},
                {"kernels", grouped(target.at("kernels").size())},
                {"fusions", grouped(applied) + " of " + grouped(target.at("notes").size())}});
}

uint64_t randomBytes(const json &weights) {
  uint64_t made = 0;
  for (const json &weight : weights)
    made += weight.contains("fill") ? numberAt(weight, "bytes") : 0;
  return made;
}

/// A part that differs: both values where a person reads them, of digests and the like neither.
std::string partChange(const std::string &name, const std::string &before,
                       const std::string &after) {
  constexpr size_t readable = 24;
  if (before.size() > readable || after.size() > readable)
    return name + " differs";
  return name + " " + before + " -> " + after;
}

std::string partsChange(const OverviewRow &before, const OverviewRow &after) {
  constexpr size_t most = 3;
  std::vector<std::string> changes;
  for (const auto &[name, value] : before.parts)
    if (auto found = after.parts.find(name); found == after.parts.end())
      changes.push_back("- " + name);
    else if (found->second != value)
      changes.push_back(partChange(name, value, found->second));
  for (const auto &[name, value] : after.parts)
    if (!before.parts.count(name))
      changes.push_back("+ " + name);
  std::string text;
  for (size_t i = 0; i < std::min(most, changes.size()); ++i)
    text += (i ? ", " : "") + changes[i];
  return text + (changes.size() > most ? " and " + grouped(changes.size() - most) + " more" : "");
}

} // namespace

void printOverview(const std::vector<OverviewRow> &rows) {
  size_t width = 0;
  for (const OverviewRow &row : rows)
    width = std::max(width, row.title.size());
  for (const OverviewRow &row : rows)
    std::printf("%-*s  %s\n", int(width), printable(row.title).c_str(),
                printable(row.text).c_str());
}

std::string encoderFormats(const json &weights) { return Matrices(weights).visionText(); }

std::vector<OverviewRow> overviewOf(const json &engine) {
  const json &provenance = engine.at("provenance"), &serving = engine.at("serving");
  const Matrices matrices(engine.at("weights"));
  std::vector<OverviewRow> rows;
  auto add = [&](const char *title, const std::string &text) {
    if (!text.empty())
      rows.push_back({title, text, {}});
  };
  add("model", textAt(engine, "name") + " (" + textAt(engine, "architecture") + "), " +
                   roundCount(matrices.parameters()) + " parameters");
  add("weights", matrices.text());
  add("picture encoder", matrices.visionText());
  add("activations", activationsText(engine));
  add("KV cache", recipeValue(engine, "kv_cache"));
  for (const char *key : {"attention", "method", "rotation"})
    add(key, recipeValue(engine, key));
  if (uint64_t made = randomBytes(engine.at("weights")))
    add("random weights", roundly(made) + ", made at load");
  rows.push_back(limitsRow(engine));
  add("sampling", samplingText(serving));
  add("tokenizer", tokenizerText(engine));
  add("chat template", chatTemplateText(engine.at("chat_templates")));
  rows.push_back(goldenRow(engine.at("golden")));
  for (const json &target : engine.at("targets"))
    rows.push_back(targetRow(target));
  rows.push_back(inputsRow(provenance.at("inputs")));
  rows.push_back(optionsRow(provenance.at("options")));
  std::string revision = textAt(provenance, "revision").substr(0, 12),
              toolchain = textAt(provenance, "toolchain");
  add("built by", textAt(provenance, "compiler") + (revision.empty() ? "" : " " + revision) +
                      (toolchain.empty() ? "" : ", " + toolchain));
  std::erase_if(rows, [](const OverviewRow &row) { return row.text.empty(); });
  return rows;
}

std::vector<OverviewRow> changesOf(const std::vector<OverviewRow> &before,
                                   const std::vector<OverviewRow> &after) {
  auto find = [](const std::vector<OverviewRow> &rows, const std::string &title) {
    auto found = std::find_if(rows.begin(), rows.end(),
                              [&](const OverviewRow &row) { return row.title == title; });
    return found == rows.end() ? nullptr : &*found;
  };
  std::vector<OverviewRow> changes;
  for (const OverviewRow &row : before) {
    const OverviewRow *other = find(after, row.title);
    if (!other) {
      changes.push_back({row.title, "- " + row.text, {}});
      continue;
    }
    std::string parts = partsChange(row, *other);
    if (!parts.empty())
      changes.push_back({row.title, parts, {}});
    else if (row.text != other->text)
      changes.push_back({row.title, row.text + " -> " + other->text, {}});
  }
  for (const OverviewRow &row : after)
    if (!find(before, row.title))
      changes.push_back({row.title, "+ " + row.text, {}});
  return changes;
}

} // namespace ingot::runtime
