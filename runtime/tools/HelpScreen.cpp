// SPDX-License-Identifier: Apache-2.0
// Two columns, broken at words.
#include "runtime/tools/HelpScreen.h"

#include <algorithm>
#include <sstream>

namespace ingot::runtime {
namespace {

constexpr size_t nameColumns = 28;

/// Words of `text` behind `lead`, broken before `mostColumns`; later lines begin at `indent`.
std::string broken(std::string lead, const std::string &text, size_t indent) {
  std::string out, line = std::move(lead);
  bool isEmpty = true; // no word of this line yet
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!isEmpty && line.size() + 1 + word.size() > HelpScreen::mostColumns) {
      out += line + '\n';
      line.assign(indent, ' ');
      isEmpty = true;
    }
    line += (isEmpty ? "" : " ") + word;
    isEmpty = false;
  }
  return out + line + '\n';
}

std::string explained(const HelpOption &option, bool withCondition) {
  std::string name = "  " + option.name + (option.value.empty() ? "" : " " + option.value);
  std::string out;
  if (name.size() + 2 > nameColumns) {
    out = name + '\n';
    name.clear();
  }
  name.resize(nameColumns, ' ');
  const std::string condition =
      withCondition && !option.condition.empty() ? " (" + option.condition + ")" : "";
  return out + broken(name, option.text + condition, nameColumns);
}

std::string explained(const char *title, const std::vector<HelpOption> &options,
                      bool withConditions) {
  std::string out;
  for (const HelpOption &option : options)
    out += explained(option, withConditions);
  return out.empty() ? out : '\n' + std::string(title) + ":\n" + out;
}

/// The groups of `options`, in the order of their first ones.
std::vector<std::string> groupsOf(const std::vector<HelpOption> &options) {
  std::vector<std::string> groups;
  for (const HelpOption &option : options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  return groups;
}

/// Lines of `text`, the long ones broken.
std::string lines(const std::string &text) {
  std::string out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t indent = line.find_first_not_of(' ');
    out += line.size() > HelpScreen::mostColumns ? broken(line.substr(0, indent), line, indent)
                                                 : line + '\n';
  }
  return out;
}

std::string paragraph(const std::string &text) { return text.empty() ? "" : '\n' + lines(text); }

} // namespace

std::string HelpScreen::begin() const { return lines(description) + "\nusage: " + usage + '\n'; }

std::string HelpScreen::whole() const {
  std::string out = begin() + explained("arguments", arguments, true);
  for (const std::string &group : groupsOf(options)) {
    std::vector<HelpOption> here;
    std::copy_if(options.begin(), options.end(), std::back_inserter(here),
                 [&](const HelpOption &option) { return option.group == group; });
    out += explained(group.empty() ? "options" : group.c_str(), here, true);
  }
  return out + paragraph(details) + paragraph(examples);
}

std::string HelpScreen::brief() const {
  std::string all = whole();
  if (size_t(std::count(all.begin(), all.end(), '\n')) <= mostLines)
    return all;
  auto isExplained = [](const HelpOption &option) {
    return option.group.empty() || option.isFrequent;
  };
  std::vector<HelpOption> frequent = arguments;
  std::copy_if(options.begin(), options.end(), std::back_inserter(frequent), isExplained);
  std::string out = begin() + explained("options", frequent, false) +
                    "\nmore options, which --help-all explains:\n";
  for (const std::string &group : groupsOf(options)) {
    std::string names;
    for (const HelpOption &option : options)
      if (option.group == group && !isExplained(option))
        names += (names.empty() ? "" : ", ") + option.name.substr(option.name.find("--"));
    if (!names.empty())
      out += broken("  " + group + ": ", names, 4);
  }
  return out + paragraph(examples);
}

} // namespace ingot::runtime
