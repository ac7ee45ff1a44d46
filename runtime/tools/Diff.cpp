// SPDX-License-Identifier: Apache-2.0
// diff: what differs between two engines, from their descriptions and stated digests: a line for
// each thing that people ask of an engine, and on request every value.
#include "runtime/tools/Commands.h"
#include "runtime/tools/EngineOverview.h"
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
  std::string what;  ///< "targets 'x86-64-v4' / kernels 'matmul.3'"; empty: the engine
  std::string field; ///< of it: "facts / object_bytes"; empty: it is there in one only
  json before;       ///< null: added
  json after;        ///< null: removed
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
      {"tuning", "tuning"},
  };
  auto found = categories.find(key);
  return found == categories.end() ? nullptr : found->second;
}

/// Walks two descriptions side by side and collects where they part.
class Comparer {
public:
  std::vector<Change> changes;

  void compare(const Change &place, const json &before, const json &after) {
    if (before == after)
      return;
    if (before.is_object() && after.is_object())
      return compareObjects(place, before, after);
    if (before.is_array() && after.is_array() && isNamed(before) && isNamed(after))
      return compareLists(place, before, after);
    if (place.category == "recipe" || place.category == "tuning")
      return compareLines(place, before, after);
    add(place, before, after);
  }

private:
  static bool isNamed(const json &list) {
    return std::all_of(list.begin(), list.end(),
                       [](const json &element) { return !nameOf(element).empty(); });
  }

  static std::string join(const std::string &left, const std::string &right) {
    return left.empty() ? right : left + " / " + right;
  }

  void add(const Change &place, const json &before, const json &after, const char *remark = "") {
    changes.push_back({place.category, place.what, place.field + remark, before, after});
  }

  void compareObjects(const Change &place, const json &before, const json &after) {
    std::set<std::string> keys;
    for (const json *object : {&before, &after})
      for (const auto &[key, value] : object->items())
        keys.insert(key);
    for (const std::string &key : keys) {
      const char *own = categoryOf(key);
      compare({own ? own : place.category, place.what, join(place.field, key), {}, {}},
              before.value(key, json()), after.value(key, json()));
    }
  }

  /// Elements of the same name are compared in their order; the field becomes part of `what`.
  void compareLists(const Change &place, const json &before, const json &after) {
    std::map<std::string, std::pair<std::vector<const json *>, std::vector<const json *>>> named;
    for (const json &element : before)
      named[nameOf(element)].first.push_back(&element);
    for (const json &element : after)
      named[nameOf(element)].second.push_back(&element);
    size_t found = changes.size();
    for (const auto &[name, elements] : named) {
      const auto &[left, right] = elements;
      Change at = {place.category, join(place.what, place.field + " '" + name + "'"), "", {}, {}};
      for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        if (i < left.size() && i < right.size())
          compare(at, *left[i], *right[i]);
        else
          add(at, i < left.size() ? *left[i] : json(), i < right.size() ? *right[i] : json());
      }
    }
    if (changes.size() == found)
      add(place, namesIn(before), namesIn(after), " (order)");
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

  void compareLines(const Change &place, const json &before, const json &after) {
    std::map<std::string, int64_t> counts = linesOf(after);
    for (const auto &[line, times] : linesOf(before))
      counts[line] -= times;
    size_t found = changes.size();
    for (const auto &[line, times] : counts)
      for (int64_t i = 0; i < std::abs(times); ++i)
        add(place, times < 0 ? json(line) : json(), times < 0 ? json() : json(line), " (line)");
    if (changes.size() == found)
      add(place, before, after, " (order of lines)");
  }
};

/// Every category in the order in which it is shown; "engine" holds what has no other.
constexpr const char *categories[] = {
    "engine",  "recipe", "tuning",  "options",  "inputs",   "compiler", "targets", "kernels",
    "weights", "memory", "fusions", "programs", "coverage", "sections", "golden",  "placement"};

std::string valueText(const json &value) {
  constexpr size_t limit = 40, digestDigits = 64, shownDigits = 12;
  std::string text = plainText(value);
  bool digest = text.size() == digestDigits &&
                text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return printable(shortened(std::move(text), digest ? shownDigits : limit));
}

/// "bytes 1 -> 2", or one side alone.
std::string fieldText(const Change &change) {
  std::string text = printable(change.field) + " ";
  if (change.before.is_null())
    return text + "+ " + valueText(change.after);
  if (change.after.is_null())
    return text + "- " + valueText(change.before);
  return text + valueText(change.before) + " -> " + valueText(change.after);
}

/// One line per thing that differs, with all its fields; the engine's own take one each.
void printChanges(const std::vector<const Change *> &changes) {
  for (size_t i = 0; i < changes.size();) {
    const Change &first = *changes[i];
    if (first.field.empty()) {
      std::printf("  %s %s\n", first.before.is_null() ? "+" : "-", printable(first.what).c_str());
      ++i;
      continue;
    }
    std::string fields = fieldText(first);
    for (++i; !first.what.empty() && i < changes.size() && changes[i]->what == first.what &&
              !changes[i]->field.empty();
         ++i)
      fields += ", " + fieldText(*changes[i]);
    std::printf("  ~ %s%s%s\n", printable(first.what).c_str(), first.what.empty() ? "" : ": ",
                fields.c_str());
  }
}

std::vector<const Change *> ofCategory(const std::vector<Change> &changes, const char *category) {
  std::vector<const Change *> chosen;
  for (const Change &change : changes)
    if (change.category == category)
      chosen.push_back(&change);
  return chosen;
}

/// Those of `chosen` categories, or all but offsets, which follow from everything else.
void printCategories(const std::vector<Change> &changes, const std::vector<std::string> &chosen) {
  const bool all = std::count(chosen.begin(), chosen.end(), "all");
  for (const char *category : categories) {
    const bool named = std::count(chosen.begin(), chosen.end(), category);
    std::vector<const Change *> here = ofCategory(changes, category);
    if (here.empty() || !(all || named))
      continue;
    std::printf("%s: %s\n", category, counted(here.size(), "difference").c_str());
    if (named || std::string_view(category) != "placement")
      printChanges(here);
  }
}

void printBriefly(const std::vector<Change> &changes, const std::vector<OverviewRow> &rows) {
  printOverview(rows);
  std::string counts;
  for (const char *category : categories)
    if (size_t count = ofCategory(changes, category).size())
      counts += (counts.empty() ? "" : ", ") + std::string(category) + " " + grouped(count);
  std::printf("%sall differences: %s; --section lists them\n", rows.empty() ? "" : "\n",
              counts.c_str());
}

json toJson(const std::vector<Change> &changes, const std::vector<OverviewRow> &overview,
            const EngineFile &before, const EngineFile &after) {
  json out = {{"equal", changes.empty()},
              {"before", toHex(before.digest())},
              {"after", toHex(after.digest())},
              {"overview", json::object()},
              {"changes", json::array()}};
  for (const OverviewRow &row : overview)
    out["overview"][row.title] = row.text;
  for (const Change &change : changes)
    out["changes"].push_back({{"category", change.category},
                              {"what", change.what},
                              {"field", change.field},
                              {"before", change.before},
                              {"after", change.after}});
  return out;
}

std::vector<Change> findChanges(const EngineFile &before, const EngineFile &after) {
  if (before.digest() == after.digest())
    return {};
  Comparer comparer;
  comparer.compare({"engine", "", "", {}, {}}, describeEngine(before.metadata()),
                   describeEngine(after.metadata()));
  if (comparer.changes.empty())
    comparer.changes.push_back(
        {"engine", "", "encoding of the metadata", toHex(before.digest()), toHex(after.digest())});
  return std::move(comparer.changes);
}

} // namespace

int runDiff(int argc, char **argv) {
  CommandLine app("Compares two engines by what they say and by their digests; the data of weights "
                  "is not read.\nExit status: 0 equal, 1 different, 2 an error.",
                  argv[0],
                  "examples:\n"
                  "  {} old.ingot new.ingot\n"
                  "  {} old.ingot new.ingot --section kernels --section weights\n"
                  "  {} old.ingot new.ingot --json | jq '.changes[].category'");
  std::string paths[2];
  std::vector<std::string> sections;
  bool asJson = false;
  app.addOption("before", paths[0], "engine file").required();
  app.addOption("after", paths[1], "engine file").required();
  std::vector<std::string> names = {"all"};
  names.insert(names.end(), std::begin(categories), std::end(categories));
  app.addOption("--section", sections,
                "list every difference of this kind; may be repeated; default: a line for each "
                "thing that people ask of an engine")
      .oneOf(names)
      .oneValueEach();
  app.addFlag("--json", asJson, "print JSON, everything");
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
  std::vector<OverviewRow> overview =
      changesOf(overviewOf(describeFile(*files[0])), overviewOf(describeFile(*files[1])));
  if (asJson)
    std::printf("%s\n", jsonText(toJson(changes, overview, *files[0], *files[1])).c_str());
  else if (changes.empty())
    std::printf("equal: digest %s\n", toHex(files[0]->digest()).c_str());
  else if (sections.empty())
    printBriefly(changes, overview);
  else
    printCategories(changes, sections);
  if (Status written = flushOutput(); !written.ok()) {
    reportError(written);
    return failed;
  }
  return changes.empty() ? 0 : 1;
}

} // namespace ingot::runtime
