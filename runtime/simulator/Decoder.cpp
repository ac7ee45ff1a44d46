// SPDX-License-Identifier: Apache-2.0
// Decoding of instructions: opcode parts, operands, constants and variables.
#include "runtime/simulator/Decoder.h"
#include "runtime/simulator/Machine.h"

#include <algorithm>
#include <cstring>

namespace ingot::simulator {

// Fields above the six slots of an op.
constexpr uint32_t guardField = 6;
constexpr uint32_t listField = 7;

void executeJoin(Warp &warp, const Op &op);
void executeReturn(Warp &warp, const Op &op);
void executeNotPredicate(Warp &warp, const Op &op);

namespace {

const InstructionTable &instructionTable() {
  static const InstructionTable table = [] {
    InstructionTable all;
    addIntegerInstructions(all);
    addLogicInstructions(all);
    addFloatInstructions(all);
    addConversionInstructions(all);
    addCompareInstructions(all);
    addMoveInstructions(all);
    addMemoryInstructions(all);
    addAtomicInstructions(all);
    addControlInstructions(all);
    addBarrierInstructions(all);
    addWarpInstructions(all);
    addMatrixInstructions(all);
    addTensorInstructions(all);
    addAsyncInstructions(all);
    addMessageBarrierInstructions(all);
    addWarpGroupInstructions(all);
    return all;
  }();
  return table;
}

bool isFloat(Type type) { return type == Type::F32 || type == Type::F64; }

} // namespace

Decoder::Decoder(const ModuleImage &image, const KernelText &kernel)
    : image(image), kernel(kernel), table(instructionTable()),
      program(std::make_unique<Program>()) {
  for (const Register &reg : kernel.registers)
    registerTypes.push_back(reg.type);
}

void Decoder::fail(const std::string &message) const {
  throw PtxError(instruction->line, "`" + instruction->opcode + "`: " + message);
}

bool Decoder::take(std::string_view name) {
  if (peek() != name || atEnd())
    return false;
  ++part;
  return true;
}

int Decoder::takeOneOf(std::initializer_list<std::string_view> names) {
  int index = 0;
  for (std::string_view name : names) {
    if (take(name))
      return index;
    ++index;
  }
  return -1;
}

void Decoder::expect(std::string_view name) {
  if (!take(name))
    fail("expected ." + std::string(name));
}

Type Decoder::takeType() {
  Type type = typeNamed(peek());
  if (type == Type::None)
    fail(atEnd() ? "a type is missing" : "modifier ." + std::string(peek()) + " is not supported");
  ++part;
  return type;
}

const Operand &Decoder::operand(size_t index) const {
  if (index >= instruction->operands.size())
    fail("an operand is missing");
  return instruction->operands[index];
}

void Decoder::expectOperands(size_t least, size_t most) {
  if (operandCount() < least || operandCount() > most)
    fail("the number of operands is wrong");
}

uint32_t Decoder::temporary(Type type) {
  registerTypes.push_back(type);
  return uint32_t(registerTypes.size() - 1);
}

void Decoder::record(uint32_t field, uint32_t reg, bool writes) {
  pending.push_back({0, reg, field, writes, false});
}

Type Decoder::registerType(const Operand &operand) const {
  return operand.kind == Operand::Kind::Register ? registerTypes[operand.index] : Type::None;
}

uint32_t Decoder::widthOf(const Operand &operand, Type type) const {
  return operand.kind == Operand::Kind::Register ? bitsOf(registerTypes[operand.index])
                                                 : bitsOf(type);
}

int64_t Decoder::constant(const Operand &operand, const char *what) const {
  if (operand.kind != Operand::Kind::Integer)
    fail(std::string(what) + " must be a constant");
  return operand.integer;
}

Slot Decoder::constantSlotOf(uint64_t value, bool wide) {
  if (!wide)
    value &= 0xffffffffu;
  auto [entry, fresh] = constants.try_emplace({value, wide}, 0);
  if (fresh) {
    size_t width = wide ? 8 : 4;
    entry->second = Slot(program->constants.size()) | constantSlot;
    for (uint32_t lane = 0; lane < warpSize; ++lane)
      for (size_t byte = 0; byte < width; ++byte)
        program->constants.push_back(uint8_t(value >> 8 * byte));
  }
  return entry->second;
}

Slot Decoder::slotOf(uint32_t field, const Operand &operand, Type type, bool exact, bool writes) {
  if (operand.kind == Operand::Kind::Register || operand.kind == Operand::Kind::Special) {
    uint32_t reg = operand.index;
    if (operand.kind == Operand::Kind::Special) {
      if (writes)
        fail(operand.name + " cannot be written");
      reg = uint32_t(specialSlot(operand.name, type));
    }
    uint32_t have = bitsOf(registerTypes[reg]), want = bitsOf(type);
    if (have != want && (exact || have < want || want == 1 || have == 1))
      fail("operand " + (operand.name.empty() ? kernel.registers[reg].name : operand.name) +
           " has " + std::to_string(have) + " bits where " + std::to_string(want) + " are needed");
    if (operand.negated && !writes) {
      uint32_t inverse = temporary(Type::Pred);
      Op saved = op;
      std::vector<Access> held;
      held.swap(pending);
      op = Op();
      op.run = executeNotPredicate;
      record(0, inverse, true);
      record(1, reg, false);
      emit();
      op = saved;
      pending.swap(held);
      reg = inverse;
    }
    record(field, reg, writes);
    return 0;
  }
  if (writes) {
    if (operand.kind != Operand::Kind::Sink)
      fail("a register is needed as the target");
    record(field, temporary(type), true);
    return 0;
  }
  bool wide = bitsOf(type) > 32;
  switch (operand.kind) {
  case Operand::Kind::Integer: {
    if (type == Type::Pred)
      return constantSlotOf(operand.integer ? ~uint64_t(0) : 0, false);
    if (isFloat(type))
      fail("an integer where a floating-point constant is needed");
    uint64_t value = uint64_t(operand.integer);
    if (bitsOf(type) < 32)
      value &= (uint64_t(1) << bitsOf(type)) - 1;
    return constantSlotOf(value, wide);
  }
  case Operand::Kind::Float: {
    uint64_t bits = operand.bits;
    if (operand.isDouble && !wide) {
      double value;
      std::memcpy(&value, &bits, sizeof value);
      float narrow = float(value);
      bits = 0;
      std::memcpy(&bits, &narrow, sizeof narrow);
    } else if (!operand.isDouble && wide) {
      uint32_t low = uint32_t(bits);
      float value;
      std::memcpy(&value, &low, sizeof value);
      double wider = value;
      std::memcpy(&bits, &wider, sizeof wider);
    }
    return constantSlotOf(bits, wide);
  }
  case Operand::Kind::Symbol: {
    Space space;
    return constantSlotOf(symbolAddress(operand, space), wide);
  }
  default:
    fail("this operand is not supported here");
  }
}

void Decoder::target(uint32_t field, const Operand &operand, Type type, bool exact) {
  op.slot[field] = slotOf(field, operand, type, exact, true);
}

void Decoder::source(uint32_t field, const Operand &operand, Type type, bool exact) {
  op.slot[field] = slotOf(field, operand, type, exact, false);
}

void Decoder::constantTo(uint32_t field, uint64_t value, Type type) {
  op.slot[field] = constantSlotOf(value, bitsOf(type) > 32);
}

void Decoder::targetToList(const Operand &operand, Type type) {
  if (op.count++ == 0)
    op.list = uint32_t(program->lists.size());
  uint32_t field = listField + uint32_t(program->lists.size());
  program->lists.push_back(slotOf(field, operand, type, true, true));
}

void Decoder::sourceToList(const Operand &operand, Type type) {
  if (op.count++ == 0)
    op.list = uint32_t(program->lists.size());
  uint32_t field = listField + uint32_t(program->lists.size());
  Slot slot = slotOf(field, operand, type, true, false);
  program->lists.push_back(slot);
}

void Decoder::updateToList(const Operand &operand, Type type) {
  if (operand.kind != Operand::Kind::Register)
    fail("a register is needed here");
  targetToList(operand, type);
  record(listField + uint32_t(program->lists.size()) - 1, operand.index, false);
}

uint64_t Decoder::symbolAddress(const Operand &operand, Space &space) const {
  uint64_t offset = uint64_t(operand.integer);
  if (operand.index & parameterSymbol) {
    space = Space::Param;
    return kernel.parameters[operand.index & ~parameterSymbol].offset + offset;
  }
  const Variable &variable = operand.isModuleVariable ? image.text->variables[operand.index]
                                                      : kernel.variables[operand.index];
  space = variable.space;
  if (space == Space::Shared)
    return offset + sharedBase +
           (operand.isModuleVariable ? moduleSharedOffsets : sharedOffsets)[operand.index];
  if (space == Space::Local)
    return offset + localOffsets[operand.index];
  return offset + image.addresses[operand.index];
}

bool Decoder::address(uint32_t field, const Operand &operand, Space &space) {
  if (operand.kind != Operand::Kind::Address)
    fail("an address is needed");
  const Operand &base = operand.elements[0];
  op.immediate = operand.integer;
  if (base.kind == Operand::Kind::Symbol) {
    Space found;
    uint64_t address = symbolAddress(base, found);
    if (space == Space::Generic && found == Space::Shared)
      address |= sharedWindow;
    else if (space == Space::Generic && found == Space::Local)
      address |= localWindow;
    else if (space == Space::Generic && found == Space::Param)
      address |= parameterWindow;
    else if (space != Space::Generic && found != space)
      fail("the variable is not in the instruction's state space");
    constantTo(field, address, Type::U64);
    return true;
  }
  if (base.kind == Operand::Kind::Integer) {
    constantTo(field, uint64_t(base.integer), Type::U64);
    return true;
  }
  if (base.kind != Operand::Kind::Register)
    fail("an address needs a register");
  bool wide = bitsOf(registerTypes[base.index]) == 64;
  source(field, base, wide ? Type::U64 : Type::U32);
  if (!wide && space != Space::Shared && space != Space::Local && space != Space::Param)
    fail("an address in this state space has 64 bits");
  return wide;
}

void Decoder::emit() {
  for (Access &access : pending) {
    access.op = uint32_t(program->ops.size());
    access.keeps = keepsSources;
    accesses.push_back(access);
  }
  pending.clear();
  program->ops.push_back(op);
  program->lines.push_back(instruction ? instruction->line : kernel.line);
  isMove.push_back(instruction && instruction->parts[0] == "mov");
}

void Decoder::emitBranch(uint32_t label) {
  branches.push_back({uint32_t(program->ops.size()), label});
  emit();
}

const std::vector<uint32_t> &Decoder::branchTable(size_t index) const {
  return kernel.branchTables[index];
}

void Decoder::layOutVariables() {
  uint64_t shared = 0;
  uint64_t local = 0;
  auto place = [](uint64_t &end, const Variable &variable) {
    end = (end + variable.alignment - 1) & ~(variable.alignment - 1);
    uint64_t at = end;
    end += variable.bytes;
    return at;
  };
  uint64_t dynamicAlignment = 16;
  for (const Variable &variable : image.text->variables) {
    bool fixed = variable.space == Space::Shared && !variable.dynamic;
    moduleSharedOffsets.push_back(fixed ? place(shared, variable) : 0);
    if (variable.dynamic)
      dynamicAlignment = std::max(dynamicAlignment, variable.alignment);
  }
  for (const Variable &variable : kernel.variables) {
    bool fixed = variable.space == Space::Shared && !variable.dynamic;
    sharedOffsets.push_back(fixed ? place(shared, variable) : 0);
    localOffsets.push_back(variable.space == Space::Local ? place(local, variable) : 0);
    if (variable.dynamic)
      dynamicAlignment = std::max(dynamicAlignment, variable.alignment);
  }
  if (shared > 0)
    shared = (shared + dynamicAlignment - 1) & ~(dynamicAlignment - 1);
  for (size_t i = 0; i < image.text->variables.size(); ++i)
    if (image.text->variables[i].dynamic)
      moduleSharedOffsets[i] = shared;
  for (size_t i = 0; i < kernel.variables.size(); ++i)
    if (kernel.variables[i].dynamic)
      sharedOffsets[i] = shared;
  program->staticSharedBytes = shared;
  program->localBytes = (local + 15) & ~uint64_t(15);
  if (program->localBytes > (1 << 19) || shared > (1 << 22))
    throw PtxError(kernel.line, "too much local or shared memory");
}

void Decoder::findJoins() {
  joinBefore.assign(kernel.instructions.size() + 1, false);
  for (uint32_t place : kernel.labels)
    joinBefore[place] = true;
  for (size_t i = 0; i < kernel.instructions.size(); ++i)
    if (kernel.instructions[i].parts[0] == "bra" || kernel.instructions[i].parts[0] == "brx")
      joinBefore[i + 1] = true;
}

void Decoder::decodeInstruction(const Instruction &next) {
  instruction = &next;
  part = 1;
  op = Op();
  pending.clear();
  keepsSources = false;
  auto found = table.find(next.parts[0]);
  if (found == table.end())
    fail("this instruction is not supported");
  if (next.guard >= 0 && next.parts[0] != "bra") {
    op.guard = 0;
    op.guardNegated = next.guardNegated;
    record(guardField, uint32_t(next.guard), false);
  }
  found->second(*this);
}

void Decoder::resolveBranches() {
  for (const BranchFix &fix : branches)
    program->ops[fix.op].immediate = opOfInstruction[kernel.labels[fix.label]];
  for (const std::vector<uint32_t> &labels : kernel.branchTables) {
    std::vector<uint32_t> places;
    for (uint32_t label : labels)
      places.push_back(opOfInstruction[kernel.labels[label]]);
    program->branchTables.push_back(std::move(places));
  }
}

std::unique_ptr<Program> Decoder::decode() {
  program->name = kernel.name;
  program->text = image.text;
  program->target = image.text->target;
  program->parameters = kernel.parameters;
  for (const Variable &parameter : kernel.parameters)
    program->parameterBytes = parameter.offset + parameter.bytes;
  std::copy_n(kernel.maxThreads, 3, program->maxThreads);
  std::copy_n(kernel.requiredThreads, 3, program->requiredThreads);
  std::copy_n(kernel.clusterSize, 3, program->clusterSize);
  layOutVariables();
  findJoins();
  for (size_t i = 0; i <= kernel.instructions.size(); ++i) {
    opOfInstruction.push_back(uint32_t(program->ops.size()));
    if (joinBefore[i]) {
      op = Op();
      pending.clear();
      op.run = executeJoin;
      emit();
    }
    if (i < kernel.instructions.size()) {
      decodeInstruction(kernel.instructions[i]);
      if (part < instruction->parts.size())
        fail("modifier ." + instruction->parts[part] + " is not supported");
    }
  }
  op = Op();
  pending.clear();
  op.run = executeReturn;
  emit();
  resolveBranches();
  GroupFollower groups(*this);
  groups.keepUntilWaits();
  RegisterAllocator places(*this);
  places.run();
  groups.follow(places);
  return std::move(program);
}

std::unique_ptr<Program> decodeKernel(const ModuleImage &image, const KernelText &kernel) {
  return Decoder(image, kernel).decode();
}

} // namespace ingot::simulator
