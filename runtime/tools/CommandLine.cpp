// SPDX-License-Identifier: Apache-2.0
// Command lines by CLI11.
#include "runtime/tools/CommandLine.h"

#include <CLI/CLI.hpp>
#include <filesystem>

namespace ingot::runtime {

CommandOption CommandOption::required() {
  option->required();
  return *this;
}

CommandOption CommandOption::positive() {
  option->check(CLI::PositiveNumber);
  return *this;
}

CommandOption CommandOption::notNegative() {
  option->check(CLI::NonNegativeNumber);
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
  option->transform(CLI::AsSizeValue(false));
  return *this;
}

CommandOption CommandOption::check(std::string (*problem)(const std::string &value)) {
  option->check(problem);
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
                         const std::string &footer)
    : app(std::make_unique<CLI::App>(description, name)) {
  app->footer(footer);
}

CommandLine::~CommandLine() = default;

template <class T>
CommandOption CommandLine::addOption(const char *name, T &value, const std::string &help) {
  return CommandOption(app->add_option(name, value, help));
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
  return CommandOption(app->add_flag(name, value, help));
}

size_t CommandLine::count(const char *name) const { return app->count(name); }

std::string CommandLine::name() const { return app->get_name(); }

CommandLine::Outcome CommandLine::parse(int argc, const char *const *argv) {
  try {
    app->parse(argc, argv);
    return {};
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return {false, error.what()};
    app->exit(error); // prints the help
    return {false, ""};
  }
}

} // namespace ingot::runtime
