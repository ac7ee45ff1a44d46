// SPDX-License-Identifier: Apache-2.0
// guided-bench TOKENS: reads the bytes of a vocabulary's tokens, a line of hexadecimal digits each,
// and prints the seconds that their tree takes. Then, for each line "SCHEMA <tab> token ids" that
// comes in: microseconds of CPU time of compiling, then of each mask along the tokens; or "refused"
// and a code. One thread.
#include "runtime/guided/json/JsonConstraint.h"
#include "runtime/guided/json/SchemaGrammar.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace ingot::runtime;
using namespace ingot::runtime::guided;

static double microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e6 + double(now.tv_nsec) / 1e3;
}

static std::vector<std::string> readTokens(const char *path) {
  std::ifstream file(path);
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) {
    std::string text;
    for (size_t i = 0; i + 1 < line.size(); i += 2)
      text += char(std::stoi(line.substr(i, 2), nullptr, 16));
    texts.push_back(std::move(text));
  }
  return texts;
}

struct Tokens {
  std::shared_ptr<const TokenVocabulary> vocabulary;
  std::shared_ptr<const std::vector<uint32_t>> quoted;
};

static std::string measure(const Tokens &tokens, const std::string &schema, std::istream &ids) {
  std::ostringstream times;
  double start = microseconds();
  auto grammar = schemaGrammar(schema, {.uniqueNames = true});
  if (!grammar.ok())
    return "refused " + std::string(grammar.status().code());
  auto masks = std::make_shared<GrammarMasks>(*grammar, tokens.vocabulary,
                                              RecognizerLimits{.bytes = size_t(64) << 20});
  JsonConstraint constraint(masks, tokens.quoted, {});
  times << microseconds() - start;
  std::vector<uint32_t> words(tokens.vocabulary->words());
  for (int32_t token = 0; ids >> token;) {
    start = microseconds();
    const Status status = constraint.mask(words);
    times << ' ' << microseconds() - start;
    if (!status.ok())
      return "refused " + std::string(status.code());
    if (!(words[size_t(token) / 32] >> (token % 32) & 1) || !constraint.accept(token))
      return "refused token " + std::to_string(token);
  }
  return times.str();
}

int main(int count, char **arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: guided-bench TOKENS\n");
    return 1;
  }
  std::vector<std::string> texts = readTokens(arguments[1]);
  const double start = microseconds();
  Tokens tokens;
  tokens.vocabulary = std::make_shared<const TokenVocabulary>(std::move(texts));
  tokens.quoted =
      std::make_shared<const std::vector<uint32_t>>(tokensWithQuotes(*tokens.vocabulary));
  std::printf("%.6f\n", (microseconds() - start) / 1e6);
  for (std::string line; std::getline(std::cin, line);) {
    const size_t tab = line.find('\t');
    std::istringstream ids(tab == std::string::npos ? "" : line.substr(tab + 1));
    std::puts(measure(tokens, line.substr(0, tab), ids).c_str());
  }
}
