// SPDX-License-Identifier: Apache-2.0
// The module level of PTX: directives, variables, kernels and their parameters.
#include "runtime/simulator/Parser.h"

#include <algorithm>
#include <cstring>

namespace ingot::simulator {

namespace {

constexpr uint64_t maximumVariableBytes = uint64_t(1) << 28;

const std::pair<std::string_view, Type> typeNames[] = {
    {"pred", Type::Pred},   {"b8", Type::B8},         {"b16", Type::B16},
    {"b32", Type::B32},     {"b64", Type::B64},       {"b128", Type::B128},
    {"u8", Type::U8},       {"u16", Type::U16},       {"u32", Type::U32},
    {"u64", Type::U64},     {"s8", Type::S8},         {"s16", Type::S16},
    {"s32", Type::S32},     {"s64", Type::S64},       {"f16", Type::F16},
    {"f16x2", Type::F16x2}, {"bf16", Type::Bf16},     {"bf16x2", Type::Bf16x2},
    {"f32", Type::F32},     {"f64", Type::F64},       {"e4m3", Type::E4m3},
    {"e5m2", Type::E5m2},   {"e4m3x2", Type::E4m3x2}, {"e5m2x2", Type::E5m2x2},
    {"tf32", Type::Tf32}};

} // namespace

Type typeNamed(std::string_view name) {
  for (const auto &[spelling, type] : typeNames)
    if (spelling == name)
      return type;
  return Type::None;
}

uint32_t bitsOf(Type type) {
  switch (type) {
  case Type::Pred:
    return 1;
  case Type::B8:
  case Type::U8:
  case Type::S8:
  case Type::E4m3:
  case Type::E5m2:
    return 8;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::Bf16:
  case Type::E4m3x2:
  case Type::E5m2x2:
    return 16;
  case Type::B64:
  case Type::U64:
  case Type::S64:
  case Type::F64:
    return 64;
  case Type::B128:
    return 128;
  case Type::None:
    return 0;
  default:
    return 32;
  }
}

void Parser::fail(const std::string &message) const {
  std::string near(token.text.substr(0, 40));
  throw PtxError(token.line, message + (near.empty() ? " at the end" : " at `" + near + "`"));
}

bool Parser::acceptSymbol(char c) {
  if (!isSymbol(c))
    return false;
  advance();
  return true;
}

bool Parser::acceptWord(std::string_view word) {
  if (!isWord(word))
    return false;
  advance();
  return true;
}

void Parser::expectSymbol(char c) {
  if (!acceptSymbol(c))
    fail(std::string("expected `") + c + "`");
}

std::string Parser::expectWord(const char *what) {
  if (token.kind != Token::Kind::Word)
    fail(std::string("expected ") + what);
  std::string word(token.text);
  advance();
  return word;
}

uint64_t Parser::expectInteger(const char *what) {
  if (token.kind != Token::Kind::Integer)
    fail(std::string("expected ") + what);
  uint64_t value = token.value;
  advance();
  return value;
}

void Parser::skipTo(char c) {
  while (!isSymbol(c)) {
    if (token.kind == Token::Kind::End)
      fail(std::string("expected `") + c + "`");
    advance();
  }
  advance();
}

ModuleText Parser::parse() {
  if (!acceptWord(".version"))
    fail("a PTX module begins with .version");
  std::string version(token.text);
  if (token.kind != Token::Kind::Float64 || version.find('.') == std::string::npos)
    fail("expected a version");
  module.versionMajor = uint32_t(strtoul(version.c_str(), nullptr, 10));
  module.versionMinor = uint32_t(strtoul(version.c_str() + version.find('.') + 1, nullptr, 10));
  advance();
  if (!acceptWord(".target"))
    fail("expected .target");
  module.target = expectWord("an architecture");
  while (acceptSymbol(','))
    expectWord("a target option");
  if (acceptWord(".address_size") && expectInteger("32 or 64") != 64)
    fail("only .address_size 64 is supported");
  scopes.emplace_back();
  while (token.kind != Token::Kind::End)
    parseTop();
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    module.lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return std::move(module);
}

void Parser::parseTop() {
  while (acceptWord(".visible") || acceptWord(".weak") || acceptWord(".extern")) {
  }
  if (isWord(".entry"))
    return parseKernel();
  if (acceptWord(".file") || acceptWord(".loc")) {
    uint32_t line = token.line;
    while (token.kind != Token::Kind::End && token.line == line)
      advance();
    return;
  }
  if (acceptWord(".section")) {
    skipTo('{');
    return skipTo('}');
  }
  if (acceptWord(".pragma"))
    return skipTo(';');
  Space space = isWord(".global")   ? Space::Global
                : isWord(".const")  ? Space::Const
                : isWord(".shared") ? Space::Shared
                                    : Space::Generic;
  if (space == Space::Generic)
    fail(isWord(".func") ? "functions other than kernels are not supported"
                         : "an unknown directive");
  advance();
  Variable variable = parseVariable(space);
  expectSymbol(';');
  if (!scopes[0].variables.emplace(variable.name, uint32_t(module.variables.size())).second)
    fail("variable " + variable.name + " is declared twice");
  module.variables.push_back(std::move(variable));
}

Variable Parser::parseVariable(Space space) {
  Variable variable;
  variable.space = space;
  Type type = Type::None;
  uint64_t elements = 1;
  while (token.kind == Token::Kind::Word && token.text[0] == '.') {
    std::string word = expectWord("a type").substr(1);
    if (word == "align") {
      variable.alignment = expectInteger("an alignment");
      if (variable.alignment == 0 || (variable.alignment & (variable.alignment - 1)) ||
          variable.alignment > 4096)
        fail("an alignment is a power of two up to 4096");
    } else if (word == "v2" || word == "v4") {
      elements = uint64_t(word[1] - '0');
    } else if (word == "ptr") {
      space = Space::Generic;
    } else if (typeNamed(word) != Type::None) {
      type = typeNamed(word);
    } else if (word != "global" && word != "shared" && word != "const" && word != "local") {
      fail("an unknown type ." + word);
    }
  }
  if (type == Type::None || type == Type::Pred)
    fail("a variable needs a type");
  variable.name = expectWord("a name");
  variable.bytes = elements * bitsOf(type) / 8;
  variable.alignment = std::max<uint64_t>(variable.alignment, variable.bytes);
  if (type == Type::B8 && variable.bytes == 1)
    variable.alignment = std::max<uint64_t>(1, variable.alignment);
  while (acceptSymbol('[')) {
    if (acceptSymbol(']')) {
      variable.bytes = 0;
      variable.dynamic = space == Space::Shared;
      continue;
    }
    uint64_t count = expectInteger("a size");
    if (count > maximumVariableBytes || variable.bytes * count > maximumVariableBytes)
      fail("a variable of more than 256 MiB");
    variable.bytes *= count;
    expectSymbol(']');
  }
  if (variableBytes += variable.bytes; variableBytes > maximumVariableBytes)
    fail("variables of more than 256 MiB");
  if (acceptSymbol('='))
    parseInitialValue(variable, type);
  return variable;
}

void Parser::parseInitialValue(Variable &variable, Type type) {
  size_t width = bitsOf(type) / 8;
  bool braces = acceptSymbol('{');
  uint32_t nested = 0;
  while (true) {
    while (braces && acceptSymbol('{'))
      ++nested;
    bool minus = acceptSymbol('-');
    if (token.kind == Token::Kind::Word)
      fail("initial values that are addresses are not supported");
    uint64_t value = minus ? -token.value : token.value;
    if (token.kind == Token::Kind::Float64 && type == Type::F32) {
      double wide;
      std::memcpy(&wide, &token.value, sizeof wide);
      float narrow = float(minus ? -wide : wide);
      value = 0;
      std::memcpy(&value, &narrow, sizeof narrow);
    } else if (token.kind == Token::Kind::Float64 || token.kind == Token::Kind::Float32) {
      value = token.value;
    } else if (token.kind != Token::Kind::Integer) {
      fail("expected a number");
    }
    advance();
    for (size_t byte = 0; byte < width; ++byte)
      variable.content.push_back(uint8_t(value >> 8 * std::min<size_t>(byte, 7)));
    if (variable.bytes == 0 && variable.content.size() > maximumVariableBytes)
      fail("a variable of more than 256 MiB");
    while (nested && acceptSymbol('}'))
      --nested;
    if (!braces || !acceptSymbol(','))
      break;
  }
  if (braces)
    expectSymbol('}');
  variable.bytes = std::max<uint64_t>(variable.bytes, variable.content.size());
  variable.content.resize(variable.bytes);
}

void Parser::readTriple(uint32_t (&triple)[3]) {
  triple[0] = uint32_t(expectInteger("a number"));
  triple[1] = triple[2] = 1;
  for (uint32_t i = 1; i < 3 && acceptSymbol(','); ++i)
    triple[i] = uint32_t(expectInteger("a number"));
}

void Parser::parseParameters(KernelText &kernel) {
  if (!acceptSymbol('('))
    return;
  uint64_t offset = 0;
  while (!acceptSymbol(')')) {
    if (!acceptWord(".param"))
      fail("expected .param");
    Variable variable = parseVariable(Space::Param);
    offset = (offset + variable.alignment - 1) & ~(variable.alignment - 1);
    variable.offset = offset;
    offset += variable.bytes;
    if (offset > 32764)
      fail("more than 32764 bytes of parameters");
    kernel.parameters.push_back(std::move(variable));
    if (!isSymbol(')'))
      expectSymbol(',');
  }
}

void Parser::parseKernelDirectives(KernelText &kernel) {
  while (true) {
    if (acceptWord(".maxntid"))
      readTriple(kernel.maxThreads);
    else if (acceptWord(".reqntid"))
      readTriple(kernel.requiredThreads);
    else if (acceptWord(".reqnctapercluster"))
      readTriple(kernel.clusterSize);
    else if (acceptWord(".maxnreg"))
      kernel.maxRegisters = uint32_t(expectInteger("a number"));
    else if (acceptWord(".minnctapersm") || acceptWord(".maxnctapersm") ||
             acceptWord(".maxclusterrank"))
      expectInteger("a number");
    else if (acceptWord(".pragma"))
      skipTo(';');
    else if (!acceptWord(".explicitcluster") && !acceptWord(".blocksareclusters"))
      return;
  }
}

void Parser::parseKernel() {
  KernelText kernel;
  kernel.line = token.line;
  advance();
  kernel.name = expectWord("a kernel's name");
  parseParameters(kernel);
  parseKernelDirectives(kernel);
  if (acceptSymbol(';'))
    return; // a declaration
  scopes.resize(1);
  pendingLabels.clear();
  labelPlaces.clear();
  branchTableNames.clear();
  scope = 0;
  expectSymbol('{');
  parseBody(kernel);
  resolveLabels(kernel);
  module.kernels.push_back(std::move(kernel));
}

ModuleText parsePtx(std::string_view text) { return Parser(text).parse(); }

} // namespace ingot::simulator
