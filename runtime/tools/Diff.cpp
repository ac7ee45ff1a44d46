// SPDX-License-Identifier: Apache-2.0
// diff: what differs between two engines, from their descriptions and stated digests.
#include "runtime/tools/Commands.h"
#include "runtime/tools/EngineSummary.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace ingot::runtime {
namespace {

using nlohmann::json;

struct Change {
  std::string category;
  std::string what; ///< "targets 'x86-64-v4' / kernels 'matmul.3' / guards"
  json before;      ///< null: added
  json after;       ///< null: removed
};

/// What names an element of a list across two engines; empty when only its place does.
std::string nameOf(const json &element) {
  if (!element.is_object())
    return {};
  for (const char *key : {"name", "dim"})
    if (element.contains(key))
      return plainText(element.at(key));
  if (element.contains("site"))
    return plainText(element.at("pass")) + " at " + plainText(element.at("site"));
  if (element.contains("instruction"))
    return plainText(element.at("program")) + ": " + plainText(element.at("instruction"));
  return {};
}

/// The category of the list or value under this key, where it opens one.
const char *categoryOf(const std::string &key) {
  static const std::map<std::string, const char *> categories = {
      {"recipe", "recipe"},       {"options", "options"},   {"inputs", "inputs"},
      {"targets", "targets"},     {"kernels", "kernels"},   {"libraries", "kernels"},
      {"weights", "weights"},     {"sections", "sections"}, {"memory", "memory"},
      {"kv_groups", "memory"},    {"notes", "fusions"},     {"programs", "programs"},
      {"buffers", "programs"},    {"coverage", "coverage"}, {"golden", "golden"},
      {"provenance", "compiler"}, {"offset", "placement"},  {"offsets", "placement"},
  };
  auto found = categories.find(key);
  return found == categories.end() ? nullptr : found->second;
}

/// Walks two descriptions side by side and collects where they part.
class Comparer {
public:
  std::vector<Change> changes;

  void compare(const std::string &what, const std::string &category, const json &before,
               const json &after) {
    if (before == after)
      return;
    if (before.is_object() && after.is_object())
      return compareObjects(what, category, before, after);
    if (before.is_array() && after.is_array() && isNamed(before) && isNamed(after))
      return compareLists(what, category, before, after);
    if (category == "recipe")
      return compareLines(what, before, after);
    changes.push_back({category, what, before, after});
  }

private:
  static bool isNamed(const json &list) {
    return std::all_of(list.begin(), list.end(),
                       [](const json &element) { return !nameOf(element).empty(); });
  }

  void compareObjects(const std::string &what, const std::string &category, const json &before,
                      const json &after) {
    std::set<std::string> keys;
    for (const json *object : {&before, &after})
      for (const auto &[key, value] : object->items())
        keys.insert(key);
    for (const std::string &key : keys) {
      const char *own = categoryOf(key);
      compare(what.empty() ? key : what + " / " + key, own ? own : category,
              before.value(key, json()), after.value(key, json()));
    }
  }

  /// Elements of the same name are compared in their order; `what` becomes "kernels 'name'".
  void compareLists(const std::string &what, const std::string &category, const json &before,
                    const json &after) {
    std::map<std::string, std::pair<std::vector<const json *>, std::vector<const json *>>> named;
    for (const json &element : before)
      named[nameOf(element)].first.push_back(&element);
    for (const json &element : after)
      named[nameOf(element)].second.push_back(&element);
    size_t found = changes.size();
    for (const auto &[name, elements] : named)
      for (size_t i = 0; i < std::max(elements.first.size(), elements.second.size()); ++i)
        compareElement(what + " '" + name + "'", category,
                       i < elements.first.size() ? elements.first[i] : nullptr,
                       i < elements.second.size() ? elements.second[i] : nullptr);
    if (changes.size() == found)
      changes.push_back({category, what + " (order)", namesIn(before), namesIn(after)});
  }

  void compareElement(const std::string &what, const std::string &category, const json *before,
                      const json *after) {
    if (before && after)
      compare(what, category, *before, *after);
    else
      changes.push_back({category, what, before ? *before : json(), after ? *after : json()});
  }

  static json namesIn(const json &list) {
    json names = json::array();
    for (const json &element : list)
      names.push_back(nameOf(element));
    return names;
  }

  static std::map<std::string, int64_t> linesOf(const json &value) {
    std::map<std::string, int64_t> lines;
    std::istringstream stream(plainText(value));
    for (std::string line; std::getline(stream, line);)
      ++lines[line];
    return lines;
  }

  void compareLines(const std::string &what, const json &before, const json &after) {
    std::map<std::string, int64_t> counts = linesOf(after);
    for (const auto &[line, times] : linesOf(before))
      counts[line] -= times;
    size_t found = changes.size();
    for (const auto &[line, times] : counts)
      for (int64_t i = 0; i < std::abs(times); ++i)
        changes.push_back({"recipe", what + " (line)", times < 0 ? json(line) : json(),
                           times < 0 ? json() : json(line)});
    if (changes.size() == found)
      changes.push_back({"recipe", what + " (order of lines)", before, after});
  }
};

/// Every category in the order in which it is shown; "engine" holds what has no other.
constexpr const char *categories[] = {"engine",   "recipe",  "options",  "inputs", "compiler",
                                      "targets",  "kernels", "weights",  "memory", "fusions",
                                      "programs", "coverage", "sections", "golden", "placement"};

void printChange(const Change &change) {
  constexpr size_t limit = 96;
  auto value = [](const json &given) { return printable(shortened(plainText(given), limit)); };
  std::string what = printable(change.what);
  bool whole = change.before.is_object() || change.after.is_object();
  if (change.before.is_null())
    std::printf("  + %s%s\n", what.c_str(), whole ? "" : (": " + value(change.after)).c_str());
  else if (change.after.is_null())
    std::printf("  - %s%s\n", what.c_str(), whole ? "" : (": " + value(change.before)).c_str());
  else
    std::printf("  ~ %s: %s -> %s\n", what.c_str(), value(change.before).c_str(),
                value(change.after).c_str());
}

void printChanges(const std::vector<Change> &changes) {
  for (const char *category : categories) {
    size_t total = size_t(std::count_if(changes.begin(), changes.end(), [&](const Change &change) {
      return change.category == category;
    }));
    if (total == 0)
      continue;
    std::printf("%s: %zu\n", category, total);
    // Offsets follow from everything else; JSON lists them.
    if (std::string_view(category) == "placement")
      continue;
    for (const Change &change : changes)
      if (change.category == category)
        printChange(change);
  }
}

json toJson(const std::vector<Change> &changes, const EngineFile &before, const EngineFile &after) {
  json out = {{"equal", changes.empty()},
              {"before", toHex(before.digest())},
              {"after", toHex(after.digest())},
              {"changes", json::array()}};
  for (const Change &change : changes)
    out["changes"].push_back({{"category", change.category},
                              {"what", change.what},
                              {"before", change.before},
                              {"after", change.after}});
  return out;
}

std::vector<Change> findChanges(const EngineFile &before, const EngineFile &after) {
  if (before.digest() == after.digest())
    return {};
  Comparer comparer;
  comparer.compare("", "engine", describeEngine(before.metadata()), describeEngine(after.metadata()));
  if (comparer.changes.empty())
    comparer.changes.push_back({"engine", "encoding of the metadata", toHex(before.digest()),
                                toHex(after.digest())});
  return std::move(comparer.changes);
}

} // namespace

int runDiff(int argc, char **argv) {
  CLI::App app("Compares two engines by what they say and by their digests; the data of weights is "
               "not read.\nExit status: 0 equal, 1 different, 2 an error.\n\nexamples:\n"
               "  diff old.ingot new.ingot\n"
               "  diff old.ingot new.ingot --json | jq '.changes[].category'",
               argv[0]);
  std::string paths[2];
  bool asJson = false;
  app.add_option("before", paths[0], "engine file")->required();
  app.add_option("after", paths[1], "engine file")->required();
  app.add_flag("--json", asJson, "print JSON");
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  constexpr int failed = 2;
  std::shared_ptr<const EngineFile> files[2];
  for (int i = 0; i < 2; ++i) {
    Result<std::shared_ptr<const EngineFile>> file = EngineFile::open(paths[i]);
    if (!file.ok()) {
      reportError(file.status());
      return failed;
    }
    files[i] = std::move(*file);
  }
  std::vector<Change> changes = findChanges(*files[0], *files[1]);
  if (asJson)
    std::printf("%s\n", jsonText(toJson(changes, *files[0], *files[1])).c_str());
  else if (changes.empty())
    std::printf("equal: digest %s\n", toHex(files[0]->digest()).c_str());
  else
    printChanges(changes);
  if (Status written = flushOutput(); !written.ok()) {
    reportError(written);
    return failed;
  }
  return changes.empty() ? 0 : 1;
}

} // namespace ingot::runtime
