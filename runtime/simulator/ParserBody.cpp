// SPDX-License-Identifier: Apache-2.0
// The body of a PTX kernel: registers, labels, instructions and their operands.
#include "runtime/simulator/Parser.h"

#include <algorithm>
#include <cstring>

namespace ingot::simulator {

namespace {

constexpr uint32_t maximumDepth = 64;
constexpr size_t maximumInstructions = 4'000'000;
constexpr size_t maximumRegisters = 1'000'000;

std::vector<std::string> splitAtDots(std::string_view word) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= word.size();) {
    size_t end = std::min(word.find('.', begin), word.size());
    parts.emplace_back(word.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

} // namespace

void Parser::parseBody(KernelText &kernel) {
  if (++depth > maximumDepth)
    fail("braces nested too deeply");
  Scope inner;
  inner.parent = int32_t(scope);
  uint32_t outer = scope;
  scope = uint32_t(scopes.size());
  scopes.push_back(std::move(inner));
  while (!acceptSymbol('}')) {
    if (token.kind == Token::Kind::End)
      fail("a kernel that does not end");
    parseStatement(kernel);
  }
  scope = outer;
  --depth;
}

void Parser::parseStatement(KernelText &kernel) {
  if (acceptSymbol(';'))
    return;
  if (acceptSymbol('{'))
    return parseBody(kernel);
  if (isSymbol('@'))
    return parseInstruction(kernel);
  if (token.kind != Token::Kind::Word)
    fail("expected an instruction");
  if (token.text[0] == '.') {
    if (!parseBodyDirective(kernel))
      fail("an unknown directive");
    return;
  }
  parseInstruction(kernel);
}

bool Parser::parseBodyDirective(KernelText &kernel) {
  if (acceptWord(".reg")) {
    parseRegisters(kernel);
    return true;
  }
  if (acceptWord(".pragma")) {
    skipTo(';');
    return true;
  }
  if (acceptWord(".loc") || acceptWord(".file")) {
    uint32_t line = token.line;
    while (token.kind != Token::Kind::End && token.line == line)
      advance();
    return true;
  }
  Space space = isWord(".shared")  ? Space::Shared
                : isWord(".local") ? Space::Local
                                   : Space::Generic;
  if (space == Space::Generic)
    return false;
  advance();
  Variable variable = parseVariable(space);
  expectSymbol(';');
  if (!scopes[scope].variables.emplace(variable.name, uint32_t(kernel.variables.size())).second)
    fail("variable " + variable.name + " is declared twice");
  kernel.variables.push_back(std::move(variable));
  return true;
}

void Parser::parseRegisters(KernelText &kernel) {
  std::string word = expectWord("a type");
  if (word == ".v2" || word == ".v4")
    fail("vector registers are not supported");
  Type type = typeNamed(std::string_view(word).substr(1));
  if (type == Type::None || type == Type::B128)
    fail("unknown register type " + word);
  do {
    std::string name = expectWord("a register's name");
    if (acceptSymbol('<')) {
      uint64_t count = expectInteger("a count");
      expectSymbol('>');
      scopes[scope].families[name] = {type, count};
    } else {
      scopes[scope].registers[name] = uint32_t(kernel.registers.size());
      kernel.registers.push_back({name, type});
    }
  } while (acceptSymbol(','));
  expectSymbol(';');
}

int32_t Parser::findRegister(KernelText &kernel, const std::string &name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  for (int32_t at = int32_t(scope); at >= 0; at = scopes[size_t(at)].parent) {
    Scope &here = scopes[size_t(at)];
    if (auto found = here.registers.find(name); found != here.registers.end())
      return int32_t(found->second);
    if (digits == name.size() || name.size() - digits > 9)
      continue;
    auto family = here.families.find(name.substr(0, digits));
    if (family == here.families.end() ||
        strtoull(name.c_str() + digits, nullptr, 10) >= family->second.second)
      continue;
    if (kernel.registers.size() >= maximumRegisters)
      fail("too many registers");
    uint32_t number = uint32_t(kernel.registers.size());
    here.registers[name] = number;
    kernel.registers.push_back({name, family->second.first});
    return int32_t(number);
  }
  return -1;
}

bool Parser::findVariable(const KernelText &kernel, const std::string &name,
                          Operand &operand) const {
  for (int32_t at = int32_t(scope); at >= 0; at = scopes[size_t(at)].parent) {
    auto found = scopes[size_t(at)].variables.find(name);
    if (found != scopes[size_t(at)].variables.end()) {
      operand.kind = Operand::Kind::Symbol;
      operand.index = found->second;
      operand.isModuleVariable = at == 0;
      return true;
    }
  }
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    if (kernel.parameters[i].name == name) {
      operand.kind = Operand::Kind::Symbol;
      operand.index = uint32_t(i) | parameterSymbol;
      return true;
    }
  return false;
}

uint32_t Parser::labelNumber(KernelText &kernel, const std::string &name) {
  uint32_t number = uint32_t(kernel.labels.size());
  kernel.labels.push_back(0);
  pendingLabels.push_back({name, scope, token.line, number});
  return number;
}

void Parser::resolveLabels(KernelText &kernel) {
  for (const PendingLabel &pending : pendingLabels) {
    bool found = false;
    for (int32_t at = int32_t(pending.scope); at >= 0 && !found; at = scopes[size_t(at)].parent) {
      auto place = scopes[size_t(at)].labels.find(pending.name);
      if (place == scopes[size_t(at)].labels.end())
        continue;
      kernel.labels[pending.number] = place->second;
      found = true;
    }
    if (!found)
      throw PtxError(pending.line, "label " + pending.name + " is not defined");
  }
}

void Parser::parseBranchTable(KernelText &kernel, const std::string &name) {
  std::vector<uint32_t> table;
  do
    table.push_back(labelNumber(kernel, expectWord("a label")));
  while (acceptSymbol(','));
  expectSymbol(';');
  branchTableNames[name] = uint32_t(kernel.branchTables.size());
  kernel.branchTables.push_back(std::move(table));
}

void Parser::parseInstruction(KernelText &kernel) {
  Instruction instruction;
  instruction.line = token.line;
  if (acceptSymbol('@')) {
    instruction.guardNegated = acceptSymbol('!');
    std::string name = expectWord("a predicate");
    instruction.guard = findRegister(kernel, name);
    if (instruction.guard < 0 || kernel.registers[size_t(instruction.guard)].type != Type::Pred)
      fail(name + " is not a predicate");
  }
  instruction.line = token.line;
  instruction.opcode = expectWord("an instruction");
  if (instruction.guard < 0 && acceptSymbol(':')) {
    if (acceptWord(".branchtargets"))
      return parseBranchTable(kernel, instruction.opcode);
    if (!scopes[scope]
             .labels.emplace(instruction.opcode, uint32_t(kernel.instructions.size()))
             .second)
      fail("label " + instruction.opcode + " is defined twice");
    return;
  }
  if (kernel.instructions.size() >= maximumInstructions)
    fail("too many instructions");
  instruction.parts = splitAtDots(instruction.opcode);
  bool branches = instruction.parts[0] == "bra";
  bool indirect = instruction.parts[0] == "brx";
  while (!isSymbol(';')) {
    if (indirect && instruction.operands.size() == 1) {
      std::string name = expectWord("a branch table");
      auto table = branchTableNames.find(name);
      if (table == branchTableNames.end())
        fail("branch table " + name + " is not defined");
      Operand operand;
      operand.kind = Operand::Kind::Integer;
      operand.integer = table->second;
      instruction.operands.push_back(operand);
    } else {
      instruction.operands.push_back(parseOperand(kernel, branches));
    }
    if (instruction.operands.size() > 24)
      fail("too many operands");
    if (!isSymbol(';'))
      expectSymbol(',');
  }
  advance();
  kernel.instructions.push_back(std::move(instruction));
}

int64_t Parser::parseOffset() {
  int64_t offset = 0;
  while (isSymbol('+') || isSymbol('-')) {
    bool minus = isSymbol('-');
    advance();
    if (acceptSymbol('-'))
      minus = !minus;
    uint64_t value = expectInteger("an offset");
    offset = int64_t(uint64_t(offset) + (minus ? -value : value));
  }
  return offset;
}

Operand Parser::parseName(KernelText &kernel, const std::string &name, bool labelExpected) {
  Operand operand;
  if (labelExpected) {
    operand.kind = Operand::Kind::Label;
    operand.index = labelNumber(kernel, name);
    return operand;
  }
  if (name == "_")
    return operand;
  int32_t number = findRegister(kernel, name);
  if (number >= 0) {
    operand.kind = Operand::Kind::Register;
    operand.index = uint32_t(number);
    return operand;
  }
  if (name[0] == '%') {
    operand.kind = Operand::Kind::Special;
    operand.name = name;
    return operand;
  }
  if (name == "WARP_SZ") {
    operand.kind = Operand::Kind::Integer;
    operand.integer = 32;
    return operand;
  }
  if (!findVariable(kernel, name, operand))
    fail("unknown name " + name);
  operand.name = name;
  return operand;
}

void Parser::parseAddress(KernelText &kernel, Operand &operand) {
  operand.kind = Operand::Kind::Address;
  bool minus = acceptSymbol('-');
  if (token.kind == Token::Kind::Integer) {
    Operand base;
    base.kind = Operand::Kind::Integer;
    base.integer = int64_t(minus ? -token.value : token.value);
    advance();
    operand.elements.push_back(base);
  } else {
    operand.elements.push_back(parseName(kernel, expectWord("an address"), false));
  }
  operand.integer = parseOffset();
  while (acceptSymbol(',')) {
    if (operand.elements.size() > 4)
      fail("an address of too many parts");
    operand.elements.push_back(parseOperand(kernel, false));
  }
  expectSymbol(']');
}

Operand Parser::parseOperand(KernelText &kernel, bool labelExpected) {
  if (++depth > maximumDepth)
    fail("operands nested too deeply");
  Operand operand;
  if (acceptSymbol('[')) {
    parseAddress(kernel, operand);
  } else if (acceptSymbol('{')) {
    operand.kind = Operand::Kind::Vector;
    while (!acceptSymbol('}')) {
      if (operand.elements.size() >= 512)
        fail("a vector of too many elements");
      operand.elements.push_back(parseOperand(kernel, false));
      if (!isSymbol('}'))
        expectSymbol(',');
    }
  } else if (acceptSymbol('!')) {
    operand = parseName(kernel, expectWord("a predicate"), false);
    operand.negated = true;
  } else if (token.kind == Token::Kind::Word) {
    operand = parseName(kernel, expectWord("an operand"), labelExpected);
    if (operand.kind == Operand::Kind::Symbol)
      operand.integer = parseOffset();
    if (acceptSymbol('|'))
      operand.pair.push_back(parseName(kernel, expectWord("a register"), false));
  } else {
    bool minus = acceptSymbol('-');
    bool inverted = !minus && acceptSymbol('~');
    if (token.kind == Token::Kind::Integer) {
      operand.kind = Operand::Kind::Integer;
      operand.integer = int64_t(minus ? -token.value : inverted ? ~token.value : token.value);
    } else if (token.kind == Token::Kind::Float32 || token.kind == Token::Kind::Float64) {
      operand.kind = Operand::Kind::Float;
      operand.isDouble = token.kind == Token::Kind::Float64;
      uint64_t sign = operand.isDouble ? uint64_t(1) << 63 : uint64_t(1) << 31;
      operand.bits = token.value ^ (minus ? sign : 0);
    } else {
      fail("expected an operand");
    }
    advance();
  }
  --depth;
  return operand;
}

} // namespace ingot::simulator
