// SPDX-License-Identifier: Apache-2.0
// The options of a command. A layer over CLI11, which CommandLine.cpp alone includes: its classes
// are all in headers, and each file that used them compiled them again.
#pragma once

#include "runtime/tools/CommandFiles.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace ingot::runtime {

/// An option or argument of a command line, to say more about. A reference: it ends with its
/// CommandLine. Each function returns the same option.
class CommandOption {
public:
  /// What is said of options that the library does not keep.
  struct Uses {
    struct Files {
      const CLI::Option *option;
      FileUse use;
      size_t first = 0; ///< values before it name none
    };
    std::vector<Files> files;
    std::vector<const CLI::Option *> frequent;
  };
  CommandOption(CLI::Option *option, Uses &uses) : option(option), uses(&uses) {}

  CommandOption required();
  CommandOption positive();    ///< numbers above 0 only
  CommandOption notNegative(); ///< numbers from 0 up only
  CommandOption between(int64_t least, int64_t most);
  CommandOption oneOf(std::vector<std::string> words);
  CommandOption bytes(); ///< a number of bytes, or with a unit as in 16GiB
  /// `problem` says what is wrong with a value, or nothing.
  CommandOption check(std::string (*problem)(const std::string &value));
  CommandOption mayBeEmpty();      ///< a text that is empty says something
  CommandOption file(FileUse use); ///< its values name files
  /// Takes two values: one of `words`, and a file.
  CommandOption wordAndFile(std::vector<std::string> words, FileUse use);
  CommandOption separatedBy(char between); ///< one word may hold several values
  CommandOption oneValueEach();            ///< to have several values it is given several times
  CommandOption needs(CommandOption other);
  CommandOption excludes(CommandOption other);
  CommandOption group(const char *heading);    ///< where help lists it, and --help names it alone
  CommandOption frequent();                    ///< one of a group that --help explains
  CommandOption typeName(const char *name);    ///< what help calls its value
  CommandOption showDefault();                 ///< help tells the value that the variable has now
  CommandOption showDefault(const char *text); ///< help tells this value

private:
  CLI::Option *option;
  Uses *uses;
};

/// A command's options: they are added, each with the variable that parsing fills, which must
/// outlive this; then `parse` is called once. A value that is empty, as of a variable that is not
/// set, is refused, unless its option `mayBeEmpty`.
class CommandLine {
public:
  /// `name`: what help and errors call the program. `examples`: the end of the help, in which `{}`
  /// stands for that name.
  CommandLine(const std::string &description, const std::string &name, std::string examples = "");
  ~CommandLine();

  /// Adds "-x,--long-name", or an argument where the name begins with a letter. CommandLine.cpp
  /// lists the types there are.
  template <class T> CommandOption addOption(const char *name, T &value, const std::string &help);
  CommandOption addFlag(const char *name, bool &value, const std::string &help);

  /// Lets --help-all say more than options.
  void setDetails(const std::string &text);
  /// What --help prints, at most a screen; `whole`: what --help-all does.
  std::string help(bool whole) const;

  /// The long names of all options but those of help, without dashes.
  std::vector<std::string> names() const;
  /// How often an option was given.
  size_t count(const char *name) const;
  std::string name() const;

  struct Outcome {
    bool goesOn = true;       ///< false: help was printed, or there is an error
    std::string error;        ///< what is wrong with the arguments; empty: nothing
    bool isOfSeveral = false; ///< an option needs another, or excludes it
  };
  Outcome parse(int argc, const char *const *argv);

  /// The files that the options name which were given.
  CommandFiles files() const;

private:
  std::vector<std::string> separateEmpty(int argc, const char *const *argv) const;
  std::string emptyElement(const std::vector<std::string> &words) const;
  std::string unknownOption(int argc, const char *const *argv) const;

  std::unique_ptr<CLI::App> app;
  std::string details;
  CommandOption::Uses uses;
};

} // namespace ingot::runtime
