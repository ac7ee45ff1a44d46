// SPDX-License-Identifier: Apache-2.0
// The decoder: finds the function and the operands of every instruction of a kernel.
#pragma once

#include "runtime/simulator/Program.h"

#include <map>
#include <string_view>
#include <unordered_map>

namespace ingot::simulator {

class Decoder;
/// Decodes the instruction that the decoder stands at; the opcode's first part is consumed.
using DecodeFunction = void (*)(Decoder &);
using InstructionTable = std::unordered_map<std::string_view, DecodeFunction>;

// Each family of instructions puts its own into the table.
void addIntegerInstructions(InstructionTable &table);
void addLogicInstructions(InstructionTable &table);
void addFloatInstructions(InstructionTable &table);
void addConversionInstructions(InstructionTable &table);
void addCompareInstructions(InstructionTable &table);
void addMoveInstructions(InstructionTable &table);
void addMemoryInstructions(InstructionTable &table);
void addAtomicInstructions(InstructionTable &table);
void addControlInstructions(InstructionTable &table);
void addBarrierInstructions(InstructionTable &table);
void addWarpInstructions(InstructionTable &table);
void addMatrixInstructions(InstructionTable &table);
void addTensorInstructions(InstructionTable &table);
void addAsyncInstructions(InstructionTable &table);
void addMessageBarrierInstructions(InstructionTable &table);
void addWarpGroupInstructions(InstructionTable &table);

class Decoder {
public:
  Decoder(const ModuleImage &image, const KernelText &kernel);
  std::unique_ptr<Program> decode();

  /// The instruction being decoded, and what it becomes: `emit` appends it.
  const Instruction &in() const { return *instruction; }
  Op op;

  // The opcode's parts, in order.
  /// Consumes the next part if it is this one.
  bool take(std::string_view part);
  /// Consumes the next part if it is one of these; the index of it, else -1.
  int takeOneOf(std::initializer_list<std::string_view> names);
  void expect(std::string_view part);
  /// Consumes a type; fails where there is none.
  Type takeType();
  bool atEnd() const { return part >= instruction->parts.size(); }
  std::string_view peek() const {
    return atEnd() ? std::string_view() : std::string_view(instruction->parts[part]);
  }
  void skip() { ++part; }
  [[noreturn]] void fail(const std::string &message) const;
  /// "f32" and the like are not executed for this instruction.
  [[noreturn]] void failType() const { fail("this type is not supported here"); }

  // Operands. `field` says which slot of the op is meant.
  const Operand &operand(size_t index) const;
  size_t operandCount() const { return instruction->operands.size(); }
  void expectOperands(size_t least, size_t most);
  /// A register that the instruction writes. `exact`: its width must be that of the type;
  /// otherwise it may be wider. `_` becomes a slot that nobody reads.
  void target(uint32_t field, const Operand &operand, Type type, bool exact = true);
  void source(uint32_t field, const Operand &operand, Type type, bool exact = true);
  void targetToList(const Operand &operand, Type type);
  void sourceToList(const Operand &operand, Type type);
  /// Both read and written.
  void updateToList(const Operand &operand, Type type);
  void constantTo(uint32_t field, uint64_t value, Type type);
  /// The bits of the register behind an operand; of `type` for constants.
  uint32_t widthOf(const Operand &operand, Type type) const;
  Type registerType(const Operand &operand) const;
  /// A constant operand's value.
  int64_t constant(const Operand &operand, const char *what) const;
  /// Base register and offset of an address; sets op.slot[field], op.immediate; returns whether
  /// the base is 64 bits wide.
  bool address(uint32_t field, const Operand &operand, Space &space);
  uint64_t symbolAddress(const Operand &operand, Space &space) const;
  /// Sources may not share registers with targets.
  void keepSources() { keepsSources = true; }

  void emit();
  /// Appends an op whose label is resolved when all ops are known.
  void emitBranch(uint32_t label);
  const std::vector<uint32_t> &branchTable(size_t index) const;
  Program &result() { return *program; }
  const KernelText &text() const { return kernel; }

private:
  static constexpr uint32_t noField = ~0u;
  struct Access {
    uint32_t op, reg, field; // fields above 6 are entries of the lists, noField is none
    bool writes, keeps;
  };
  struct BranchFix {
    uint32_t op, label;
  };
  friend class RegisterAllocator;
  friend class GroupFollower;

  void decodeInstruction(const Instruction &next);
  void layOutVariables();
  void findJoins();
  void resolveBranches();
  uint32_t temporary(Type type);
  Slot slotOf(uint32_t field, const Operand &operand, Type type, bool exact, bool writes);
  Slot constantSlotOf(uint64_t value, bool wide);
  Slot specialSlot(const std::string &name, Type type);
  void record(uint32_t field, uint32_t reg, bool writes);

  const ModuleImage &image;
  const KernelText &kernel;
  const InstructionTable &table;
  std::unique_ptr<Program> program;
  const Instruction *instruction = nullptr;
  size_t part = 0;
  bool keepsSources = false;
  std::vector<Type> registerTypes;
  std::vector<Access> accesses, pending;
  std::vector<bool> isMove; // per op
  std::vector<BranchFix> branches;
  std::vector<bool> joinBefore; // per instruction
  std::vector<uint32_t> opOfInstruction;
  std::map<std::pair<uint64_t, bool>, Slot> constants;
  std::map<std::string, uint32_t> specialRegisters; // name -> register number
  std::vector<uint64_t> sharedOffsets, moduleSharedOffsets, localOffsets;
};

/// Replaces the virtual registers of a decoded program by slots that live ranges share.
class RegisterAllocator {
public:
  RegisterAllocator(Decoder &decoder) : decoder(decoder) {}
  void run();
  /// Where a virtual register has come to lie.
  Slot slotOf(uint32_t reg) const { return slots[reg]; }

private:
  struct Range {
    uint32_t begin = ~0u, end = 0;
  };
  void findBlocks();
  void findLiveness();
  void findRanges();
  void assign();
  void patch();

  Decoder &decoder;
  std::vector<uint32_t> blockBegin; // first op of each block, and the end
  std::vector<std::vector<uint32_t>> successors;
  std::vector<std::vector<uint64_t>> liveIn;
  std::vector<Range> ranges;
  std::vector<Slot> slots;
};

/// Finds what other instructions do to the registers of wgmma, which products use between issue and
/// wait.
class GroupFollower {
public:
  GroupFollower(Decoder &decoder) : decoder(decoder) {}
  /// Keeps the registers in their places up to every wait; before registers get places.
  void keepUntilWaits();
  /// Puts a watch over instructions that touch them; after that.
  void follow(const RegisterAllocator &places);

private:
  bool isProduct(uint32_t op) const;

  Decoder &decoder;
};

} // namespace ingot::simulator
