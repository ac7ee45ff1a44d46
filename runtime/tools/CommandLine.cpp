// SPDX-License-Identifier: Apache-2.0
// Command lines by CLI11.
#include "runtime/tools/CommandLine.h"

#include "runtime/core/NearestName.h"
#include "runtime/tools/HelpScreen.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

namespace ingot::runtime {
namespace {

/// Why a word is no number of `T` although CLI11 takes it for one, which lets negative numbers of
/// unsigned types and large ones of 64 bits become others; empty: it is one, or CLI11 says why not.
template <class T> std::string problemOfNumber(const std::string &word) {
  errno = 0;
  if constexpr (std::is_floating_point_v<T>) {
    char *end = nullptr;
    double value = std::strtod(word.c_str(), &end);
    return end != word.c_str() && !std::isfinite(value) ? word + " is no finite number" : "";
  } else if constexpr (std::is_unsigned_v<T>) {
    if (word.find('-') != word.npos)
      return word + " is negative";
    (void)std::strtoull(word.c_str(), nullptr, 10);
  } else {
    (void)std::strtoll(word.c_str(), nullptr, 10);
  }
  return errno == ERANGE ? word + " is too large" : "";
}

constexpr char notEmpty[] = "not empty";

/// Refuses texts without a character: an option that takes a value is given for it.
std::string problemOfEmpty(const std::string &word) {
  return word.empty() ? "the value is empty" : "";
}

/// Makes bytes of a number with a fraction and a unit, which `sizes` knows with whole ones alone.
std::string sizeOfFraction(std::string &word, const CLI::AsSizeValue &sizes) {
  char *unit = nullptr;
  const double number = std::strtod(word.c_str(), &unit);
  std::string one = "1" + std::string(unit);
  if (std::string problem = sizes(one); !problem.empty())
    return problem;
  const double bytes = number * std::strtod(one.c_str(), nullptr);
  if (!(bytes < 0x1p64))
    return word + " is too large";
  word = std::to_string(static_cast<uint64_t>(bytes));
  return "";
}

template <class T> struct NumberOf {
  using Type = T;
};
template <class T> struct NumberOf<std::optional<T>> {
  using Type = T;
};
template <class T> struct NumberOf<std::vector<T>> {
  using Type = T;
};

/// Numbers of at least `least`, or above it.
CLI::Validator numbersFrom(double least, bool above, const char *name) {
  auto problem = [least, above](std::string &word) -> std::string {
    char *end = nullptr;
    double value = std::strtod(word.c_str(), &end);
    if (end != word.c_str() && (above ? value > least : value >= least))
      return "";
    return word + " is no number " + (above ? "above " : "of at least ") +
           std::to_string(int(least));
  };
  return {problem, name, name};
}

} // namespace

CommandOption CommandOption::required() {
  option->required();
  return *this;
}

CommandOption CommandOption::positive() {
  option->check(numbersFrom(0, true, "POSITIVE"));
  return *this;
}

CommandOption CommandOption::notNegative() {
  option->check(numbersFrom(0, false, "NONNEGATIVE"));
  return *this;
}

CommandOption CommandOption::between(int64_t least, int64_t most) {
  option->check(CLI::Range(least, most));
  return *this;
}

CommandOption CommandOption::oneOf(std::vector<std::string> words) {
  option->check(CLI::IsMember(std::move(words)));
  return *this;
}

CommandOption CommandOption::bytes() {
  CLI::AsSizeValue sizes(false);
  CLI::Validator checked = sizes;
  checked.operation([sizes](std::string &word) {
    std::string problem = word.empty() ? problemOfEmpty(word) : problemOfNumber<uint64_t>(word);
    if (!problem.empty())
      return problem;
    return word.find('.') == word.npos ? sizes(word) : sizeOfFraction(word, sizes);
  });
  option->transform(checked);
  return *this;
}

CommandOption CommandOption::check(std::string (*problem)(const std::string &value)) {
  option->check(problem);
  return *this;
}

CommandOption CommandOption::mayBeEmpty() {
  option->get_validator(notEmpty)->active(false);
  return *this;
}

CommandOption CommandOption::file(FileUse use) {
  uses->files.push_back({option, use});
  return *this;
}

CommandOption CommandOption::wordAndFile(std::vector<std::string> words, FileUse use) {
  option->expected(2);
  option->check(CLI::IsMember(std::move(words)).application_index(0));
  uses->files.push_back({option, use, 1});
  return *this;
}

CommandOption CommandOption::separatedBy(char between) {
  option->delimiter(between);
  return *this;
}

CommandOption CommandOption::oneValueEach() {
  option->allow_extra_args(false);
  return *this;
}

CommandOption CommandOption::needs(CommandOption other) {
  option->needs(other.option);
  return *this;
}

CommandOption CommandOption::excludes(CommandOption other) {
  option->excludes(other.option);
  return *this;
}

CommandOption CommandOption::group(const char *heading) {
  option->group(heading);
  return *this;
}

CommandOption CommandOption::frequent() {
  uses->frequent.push_back(option);
  return *this;
}

CommandOption CommandOption::typeName(const char *name) {
  option->type_name(name);
  return *this;
}

CommandOption CommandOption::showDefault() {
  option->capture_default_str();
  return *this;
}

CommandOption CommandOption::showDefault(const char *text) {
  option->default_str(text);
  return *this;
}

CommandLine::CommandLine(const std::string &description, const std::string &name,
                         std::string examples)
    : app(std::make_unique<CLI::App>(description, name)) {
  for (size_t at = 0; (at = examples.find("{}", at)) != examples.npos; at += name.size())
    examples.replace(at, 2, name);
  app->footer(examples);
  app->set_help_all_flag("--help-all");
}

CommandLine::~CommandLine() = default;

template <class T>
CommandOption CommandLine::addOption(const char *name, T &value, const std::string &help) {
  CLI::Option *option = app->add_option(name, value, help);
  CLI::Validator filled;
  filled.operation([](std::string &word) { return problemOfEmpty(word); });
  option->check(filled.name(notEmpty));
  using Number = typename NumberOf<T>::Type;
  if constexpr (std::is_arithmetic_v<Number>) {
    CLI::Validator checked;
    option->check(
        checked.operation([](std::string &word) { return problemOfNumber<Number>(word); }));
  }
  return {option, uses};
}

#define INGOT_OPTION_TYPE(type)                                                                    \
  template CommandOption CommandLine::addOption(const char *, type &, const std::string &)
INGOT_OPTION_TYPE(int32_t);
INGOT_OPTION_TYPE(uint32_t);
INGOT_OPTION_TYPE(int64_t);
INGOT_OPTION_TYPE(uint64_t);
INGOT_OPTION_TYPE(std::optional<uint64_t>);
INGOT_OPTION_TYPE(float);
INGOT_OPTION_TYPE(double);
INGOT_OPTION_TYPE(std::string);
INGOT_OPTION_TYPE(std::filesystem::path);
INGOT_OPTION_TYPE(std::vector<int32_t>);
INGOT_OPTION_TYPE(std::vector<int64_t>);
INGOT_OPTION_TYPE(std::vector<std::string>);
#undef INGOT_OPTION_TYPE

CommandOption CommandLine::addFlag(const char *name, bool &value, const std::string &help) {
  return {app->add_flag(name, value, help), uses};
}

std::vector<std::string> CommandLine::names() const {
  std::vector<std::string> names;
  for (const CLI::Option *option : std::as_const(*app).get_options())
    for (const std::string &name : option->get_lnames())
      if (!name.starts_with("help"))
        names.push_back(name);
  return names;
}

size_t CommandLine::count(const char *name) const { return app->count(name); }

std::string CommandLine::name() const { return app->get_name(); }

/// The option that takes what follows `word` for its value; null: none does.
static const CLI::Option *optionBefore(const CLI::App &app, const std::string &word) {
  if (!word.starts_with('-') || word.find('=') != word.npos)
    return nullptr;
  const CLI::Option *option = app.get_option_no_throw(word);
  return option && option->get_items_expected_min() > 0 ? option : nullptr;
}

/// The words behind the program's, with `--name=` as two: CLI11 takes the word behind it for its
/// value.
std::vector<std::string> CommandLine::separateEmpty(int argc, const char *const *argv) const {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i], name = word.substr(0, word.size() - 1);
    const bool isValue = i > 1 && optionBefore(*app, argv[i - 1]);
    const bool isCut = !isValue && word.starts_with("--") && word.find('=') + 1 == word.size() &&
                       optionBefore(*app, name);
    words.push_back(isCut ? name : word);
    if (isCut)
      words.emplace_back();
  }
  return words;
}

/// The first list of `words` between whose separators nothing stands, which CLI11 leaves out; empty
/// if there is none.
std::string CommandLine::emptyElement(const std::vector<std::string> &words) const {
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const CLI::Option *option = optionBefore(*app, words[i].substr(0, equals));
    if (!option || !option->get_delimiter() || (equals == words[i].npos && i + 1 == words.size()))
      continue;
    const std::string list = equals == words[i].npos ? words[i + 1] : words[i].substr(equals + 1);
    const std::string between(1, option->get_delimiter());
    if (!list.empty() && (between + list + between).find(between + between) != list.npos)
      return option->get_name() + ": a value of " + list + " is empty";
  }
  return "";
}

CommandFiles CommandLine::files() const {
  CommandFiles files;
  for (const auto &[option, use, first] : uses.files)
    for (size_t i = first; i < option->results().size(); ++i)
      files.add(use, option->get_name(), option->results()[i]);
  return files;
}

/// "--a, --b" of options that go with another, or against it.
static std::string listOf(const char *lead, const std::set<CLI::Option *> &options) {
  std::vector<std::string> names;
  for (const CLI::Option *option : options)
    names.push_back(option->get_lnames().empty() ? option->get_name()
                                                 : "--" + option->get_lnames().front());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? lead : ", ") + name;
  return text;
}

/// What help tells of an option. The type that CLI11 names is followed by what is checked of it, as
/// in "INT:{a,b}" and "INT:INT in [0 - 9]".
static HelpOption helpOf(const CLI::Option &option) {
  const bool isArgument = option.get_positional();
  HelpOption out = {option.get_name(isArgument, !isArgument), "", option.get_description(), "",
                    option.get_group()};
  if (out.group == "Options")
    out.group.clear();
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    const size_t words = type.find('{'), range = type.find('[');
    out.value = type.find("SIZE") == type.npos ? type.substr(0, type.find(':')) : "SIZE";
    if (words != type.npos)
      for (char c : " " + type.substr(words, type.find('}') + 1 - words))
        out.text += c == ',' ? ", " : std::string(1, c);
    else if (range != type.npos && out.value != "SIZE")
      out.text += " " + type.substr(range, type.find(']') + 1 - range);
    if (!option.get_default_str().empty())
      out.text += " (default: " + option.get_default_str() + ")";
  }
  const std::string needs = listOf("with ", option.get_needs());
  const std::string excludes = listOf("not with ", option.get_excludes());
  out.condition = needs + (needs.empty() || excludes.empty() ? "" : "; ") + excludes;
  return out;
}

void CommandLine::setDetails(const std::string &text) { details = text; }

std::string CommandLine::help(bool whole) const {
  HelpScreen screen;
  screen.description = app->get_description();
  screen.usage = app->get_name();
  screen.details = details;
  screen.examples = app->get_footer();
  for (const CLI::Option *option : std::as_const(*app).get_options()) {
    if (option == app->get_help_ptr() || option == app->get_help_all_ptr())
      continue;
    HelpOption here = helpOf(*option);
    if (option->get_positional()) {
      screen.usage += option->get_required() ? " " + here.name : " [" + here.name + "]";
      here.value.clear();
    } else if (option->get_required()) {
      screen.usage += " " + here.name.substr(0, here.name.find(',')) + " " + here.value;
    }
    here.isFrequent =
        std::find(uses.frequent.begin(), uses.frequent.end(), option) != uses.frequent.end();
    (option->get_positional() ? screen.arguments : screen.options).push_back(std::move(here));
  }
  screen.usage += " [OPTIONS]";
  return whole ? screen.whole() : screen.brief();
}

/// What is wrong with the first word that looks like an option and is none; empty: all are.
std::string CommandLine::unknownOption(int argc, const char *const *argv) const {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = std::string_view(argv[i]).substr(0, std::strcspn(argv[i], "="));
    if (!word.starts_with("--") || app->get_option_no_throw(std::string(word)))
      continue;
    std::vector<std::string> known = names();
    for (std::string &name : known)
      name.insert(0, "--");
    return "there is no option " + std::string(word) + didYouMean(word, known);
  }
  return "";
}

CommandLine::Outcome CommandLine::parse(int argc, const char *const *argv) {
  std::vector<std::string> words = separateEmpty(argc, argv);
  if (std::string problem = emptyElement(words); !problem.empty())
    return {false, problem};
  try {
    std::reverse(words.begin(), words.end()); // as CLI11 takes them
    app->parse(std::move(words));
    return {};
  } catch (const CLI::ExtrasError &error) {
    const std::string unknown = unknownOption(argc, argv);
    return {false, unknown.empty() ? error.what() : unknown};
  } catch (const CLI::RequiresError &error) {
    return {false, error.what(), true};
  } catch (const CLI::ExcludesError &error) {
    return {false, error.what(), true};
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return {false, error.what()};
    std::fputs(help(error.get_name() == "CallForAllHelp").c_str(), stdout);
    return {false, ""};
  }
}

} // namespace ingot::runtime
