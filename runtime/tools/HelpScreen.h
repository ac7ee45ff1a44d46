// SPDX-License-Identifier: Apache-2.0
// What --help and --help-all print of a command: a screen, and everything.
#pragma once

#include <string>
#include <vector>

namespace ingot::runtime {

/// An option or argument as help shows it.
struct HelpOption {
  std::string name;      ///< "-n,--max-tokens"
  std::string value;     ///< "INT"; empty: takes none
  std::string text;      ///< what it does
  std::string condition; ///< "with --gate"; may be empty
  std::string group;     ///< heading; empty: one of the command's own, which are all frequent
  bool isFrequent = false;
};

struct HelpScreen {
  /// What a terminal shows without scrolling, and a line that needs no breaking.
  static constexpr size_t mostLines = 40, mostColumns = 100;

  std::string description;
  std::string usage; ///< "ingot-run plan ENGINE [OPTIONS]"
  std::vector<HelpOption> arguments, options;
  std::string details;  ///< of the whole text alone
  std::string examples; ///< behind the options

  /// Every option explained.
  std::string whole() const;
  /// The same where it is at most `mostLines`; otherwise frequent options are explained, and the
  /// others named by group.
  std::string brief() const;

private:
  std::string begin() const;
};

} // namespace ingot::runtime
