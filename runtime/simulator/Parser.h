// SPDX-License-Identifier: Apache-2.0
// The parser of PTX: recursive descent over the lexer's tokens, names resolved while reading.
#pragma once

#include "runtime/simulator/Lexer.h"

#include <map>
#include <unordered_map>

namespace ingot::simulator {

/// Reads one module. Every limit that a hostile text could exceed is checked.
class Parser {
public:
  explicit Parser(std::string_view text) : lexer(text), text(text) { advance(); }
  ModuleText parse();

private:
  /// Names visible between a pair of braces.
  struct Scope {
    int32_t parent = -1;
    std::unordered_map<std::string, uint32_t> registers;
    std::map<std::string, std::pair<Type, uint64_t>> families; // %r<12>
    std::unordered_map<std::string, uint32_t> labels;
    std::unordered_map<std::string, uint32_t> variables;
  };
  /// A label used before its scope was complete.
  struct PendingLabel {
    std::string name;
    uint32_t scope, line, number;
  };

  void advance() { token = lexer.next(); }
  bool isSymbol(char c) const { return token.kind == Token::Kind::Symbol && token.text[0] == c; }
  bool isWord(std::string_view word) const {
    return token.kind == Token::Kind::Word && token.text == word;
  }
  bool acceptSymbol(char c);
  bool acceptWord(std::string_view word);
  void expectSymbol(char c);
  std::string expectWord(const char *what);
  uint64_t expectInteger(const char *what);
  [[noreturn]] void fail(const std::string &message) const;
  void skipTo(char c);

  void parseTop();
  void parseKernel();
  void parseParameters(KernelText &kernel);
  void parseKernelDirectives(KernelText &kernel);
  void readTriple(uint32_t (&triple)[3]);
  void parseBody(KernelText &kernel);
  void parseStatement(KernelText &kernel);
  void parseRegisters(KernelText &kernel);
  void parseInstruction(KernelText &kernel);
  bool parseBodyDirective(KernelText &kernel);
  void parseBranchTable(KernelText &kernel, const std::string &name);
  Variable parseVariable(Space space);
  void parseInitialValue(Variable &variable, Type type);
  void parseAddress(KernelText &kernel, Operand &operand);
  Operand parseOperand(KernelText &kernel, bool labelExpected);
  Operand parseName(KernelText &kernel, const std::string &name, bool labelExpected);
  int64_t parseOffset();
  int32_t findRegister(KernelText &kernel, const std::string &name);
  bool findVariable(const KernelText &kernel, const std::string &name, Operand &operand) const;
  uint32_t labelNumber(KernelText &kernel, const std::string &name);
  void resolveLabels(KernelText &kernel);

  Lexer lexer;
  std::string_view text;
  Token token;
  ModuleText module;
  std::vector<Scope> scopes;
  uint32_t scope = 0;
  std::vector<PendingLabel> pendingLabels;
  std::vector<int64_t> labelPlaces; // instruction number of each label, -1 while not defined
  std::unordered_map<std::string, uint32_t> branchTableNames;
  uint32_t depth = 0;
  uint64_t variableBytes = 0; // of all variables so far
};

} // namespace ingot::simulator
