// SPDX-License-Identifier: Apache-2.0
// `--grammar gbnf|lark FILE`: the answer's grammar.
#pragma once

#include "runtime/serving/AnswerForm.h"
#include "runtime/tools/CommandLine.h"

namespace ingot::runtime {

/// `words`: the notation and the file, once the option was given.
CommandOption addGrammarOption(CommandLine &app, std::vector<std::string> &words);

/// What the two say; a file "-" is standard input.
Result<AnswerForm> readGrammarForm(const std::vector<std::string> &words);

} // namespace ingot::runtime
