// SPDX-License-Identifier: Apache-2.0
// A PTX module as the parser leaves it: names resolved, nothing yet known about instructions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::simulator {

/// What is wrong with a PTX text and where. Thrown within the simulator only; the driver facade
/// turns it into a result and a message.
class PtxError : public std::runtime_error {
public:
  PtxError(uint32_t line, const std::string &message)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + message), line(line) {}
  uint32_t line;
};

/// Types of registers, variables and instructions, as PTX spells them.
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  Bf16,
  Bf16x2,
  F32,
  F64,
  E4m3,
  E5m2,
  E4m3x2,
  E5m2x2,
  Tf32
};

/// The type of a spelling without its dot ("u32"), or None.
Type typeNamed(std::string_view name);
/// Bits of a value of the type; 1 for predicates.
uint32_t bitsOf(Type type);

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

/// A variable of the module or of a kernel.
struct Variable {
  std::string name;
  Space space = Space::Global;
  uint64_t bytes = 0; // 0 for `extern .shared x[]`
  uint64_t alignment = 1;
  bool dynamic = false;         // extern shared memory: its size comes with the launch
  std::vector<uint8_t> content; // initial value, empty for zeros
  uint64_t offset = 0;          // within its space
};

/// A virtual register of a kernel.
struct Register {
  std::string name;
  Type type = Type::None;
};

/// Set in `Operand::index` of a symbol that is a parameter of the kernel.
constexpr uint32_t parameterSymbol = 0x80000000u;

struct Operand {
  enum class Kind : uint8_t {
    Register,
    Integer,
    Float,
    Special,
    Symbol,
    Label,
    Vector,
    Address,
    Sink
  };
  Kind kind = Kind::Sink;
  bool negated = false;  // `!%p`
  uint32_t index = 0;    // register, variable or label number
  int64_t integer = 0;   // also the offset of an address or symbol
  uint64_t bits = 0;     // of a floating-point constant
  bool isDouble = false; // a floating-point constant of 64 bits
  bool isModuleVariable = false;
  std::string name;              // special registers
  std::vector<Operand> elements; // a vector; an address: base, then further parts
  std::vector<Operand> pair;     // the second destination of `a|b`, empty or one
};

/// One instruction. `parts` is the opcode split at its dots: {"ld", "global", "v2", "u32"}.
struct Instruction {
  uint32_t line = 0;
  int32_t guard = -1; // register number of the guard
  bool guardNegated = false;
  std::string opcode;
  std::vector<std::string> parts;
  std::vector<Operand> operands;
};

struct KernelText {
  std::string name;
  uint32_t line = 0;
  std::vector<Variable> parameters; // offsets laid out
  std::vector<Variable> variables;  // shared and local
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<uint32_t> labels;                    // label number -> instruction number
  std::vector<std::vector<uint32_t>> branchTables; // of brx.idx: label numbers
  uint32_t maxThreads[3] = {0, 0, 0};
  uint32_t requiredThreads[3] = {0, 0, 0};
  uint32_t maxRegisters = 0;
  uint32_t clusterSize[3] = {0, 0, 0};
};

struct ModuleText {
  uint32_t versionMajor = 0, versionMinor = 0;
  std::string target; // "sm_90a"
  std::vector<Variable> variables;
  std::vector<KernelText> kernels;
  std::vector<std::string> lines; // the text, for reports
};

/// Parses a whole PTX text. Throws PtxError.
ModuleText parsePtx(std::string_view text);

} // namespace ingot::simulator
