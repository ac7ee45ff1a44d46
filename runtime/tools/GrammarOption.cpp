// SPDX-License-Identifier: Apache-2.0
// The notation is said, not guessed.
#include "runtime/tools/GrammarOption.h"

#include "runtime/tools/SessionArguments.h"

namespace ingot::runtime {

CommandOption addGrammarOption(CommandLine &app, std::vector<std::string> &words) {
  return app
      .addOption("--grammar", words,
                 "a notation and a file with a grammar of whole answers; -: standard input")
      .wordAndFile({"gbnf", "lark"}, FileUse::Reads)
      .typeName("KIND FILE");
}

Result<AnswerForm> readGrammarForm(const std::vector<std::string> &words) {
  const std::string &path = words.at(1);
  Result<std::string> text = readTextFile(path == "-" ? "/dev/stdin" : path, AnswerForm::mostBytes);
  if (!text.ok())
    return std::move(text).status();
  return AnswerForm{words.front() == "gbnf" ? AnswerForm::Kind::Gbnf : AnswerForm::Kind::Lark,
                    *std::move(text),
                    {}};
}

} // namespace ingot::runtime
