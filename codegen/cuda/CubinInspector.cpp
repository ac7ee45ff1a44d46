// SPDX-License-Identifier: Apache-2.0
// Walks the sections of the ELF file. Instructions are 16 bytes; their opcodes are the low 12 bits.
#include "codegen/cuda/CubinInspector.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"

using namespace ingot::codegen;
using llvm::StringRef;

namespace {

constexpr uint16_t kMachineCuda = 190;
constexpr uint8_t kAbiVersion = 8;
constexpr uint64_t kInstructionBytes = 16;
constexpr uint16_t kOpcodeMask = 0xfff;
/// From sm_90 on, shared memory starts with what the driver reserves.
constexpr int64_t kReservedShared = 1024;
constexpr int kFirstReserved = 90;

/// Attributes of .nv.info: records of a symbol and a value.
constexpr uint16_t kRegisterCount = 0x2f04, kFrameSize = 0x1104, kStackSize = 0x1204;
/// In .nv.compat: whether the code is for one architecture alone.
constexpr uint16_t kSpecific = 0x0902;

struct Opcode {
  uint16_t code;
  const char *name;
};
/// The opcodes that evidence asks for; forms of one instruction bear one name.
constexpr Opcode kOpcodes[] = {
    {0x23c, "HMMA"},   {0x237, "IMMA"},    {0x27a, "QMMA"},  {0x47a, "QMMA"},  {0x9f0, "HGMMA"},
    {0xdf0, "HGMMA"},  {0x9f1, "IGMMA"},   {0x9f3, "QGMMA"}, {0xdf3, "QGMMA"}, {0x83b, "LDSM"},
    {0xfae, "LDGSTS"}, {0x5b4, "UTMALDG"}, {0x984, "LDS"},   {0x388, "STS"},   {0x981, "LDG"},
    {0x986, "STG"},    {0x983, "LDL"},     {0x387, "STL"},   {0xb1d, "BAR"},   {0x947, "BRA"},
    {0x94d, "EXIT"},   {0x918, "NOP"},     {0x223, "FFMA"},  {0x423, "FFMA"},  {0x823, "FFMA"},
    {0x226, "IDP"},    {0x944, "CALL"},    {0x943, "CALL"},  {0x3c6, "FENCE"},
};

std::string nameOf(uint16_t code) {
  for (const Opcode &opcode : kOpcodes)
    if (opcode.code == code)
      return opcode.name;
  return "0x" + llvm::utohexstr(code, /*LowerCase=*/true);
}

struct Section {
  StringRef name;
  uint32_t type;
  uint64_t size;
  StringRef bytes; ///< empty where the file holds none
};

llvm::Error damaged(const llvm::Twine &what) {
  return llvm::createStringError("the cubin is damaged: " + what);
}

/// Bounds-checked little-endian reading.
template <class Number> std::optional<Number> numberAt(StringRef bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Number))
    return std::nullopt;
  return llvm::support::endian::read<Number, llvm::endianness::little>(bytes.data() + offset);
}

/// The sections of the file.
llvm::Expected<std::vector<Section>> sectionsOf(StringRef bytes) {
  using Header = llvm::ELF::Elf64_Shdr;
  auto offset = numberAt<uint64_t>(bytes, offsetof(llvm::ELF::Elf64_Ehdr, e_shoff));
  auto count = numberAt<uint16_t>(bytes, offsetof(llvm::ELF::Elf64_Ehdr, e_shnum));
  auto names = numberAt<uint16_t>(bytes, offsetof(llvm::ELF::Elf64_Ehdr, e_shstrndx));
  if (!offset || !count || !names || *names >= *count || *offset > bytes.size() ||
      (bytes.size() - *offset) / sizeof(Header) < *count)
    return damaged("its section table lies outside of it");
  auto header = [&](size_t index) {
    Header result;
    memcpy(&result, bytes.data() + *offset + index * sizeof(Header), sizeof(Header));
    return result;
  };
  auto contents = [&](const Header &section) -> std::optional<StringRef> {
    if (section.sh_type == llvm::ELF::SHT_NOBITS || section.sh_type == llvm::ELF::SHT_NULL)
      return StringRef();
    if (section.sh_offset > bytes.size() || bytes.size() - section.sh_offset < section.sh_size)
      return std::nullopt;
    return bytes.substr(section.sh_offset, section.sh_size);
  };
  std::optional<StringRef> strings = contents(header(*names));
  std::vector<Section> sections;
  for (size_t i = 0; i < *count; ++i) {
    Header section = header(i);
    std::optional<StringRef> held = contents(section);
    if (!strings || !held || section.sh_name >= strings->size())
      return damaged("a section lies outside of it");
    StringRef name = strings->substr(section.sh_name);
    sections.push_back({name.take_until([](char c) { return c == '\0'; }), section.sh_type,
                        section.sh_size, *held});
  }
  return sections;
}

/// The largest value of `attribute` in .nv.info, whose records are a form, an attribute, a size
/// and so many bytes; forms other than 4 carry their value in place of the size.
int64_t attributeOf(StringRef info, uint16_t attribute) {
  int64_t value = 0;
  uint64_t at = 0;
  while (auto tag = numberAt<uint16_t>(info, at)) {
    bool sized = (*tag & 0xff) == 4;
    uint64_t size = sized ? numberAt<uint16_t>(info, at + 2).value_or(0) : 0;
    if (*tag == attribute && size >= 8)
      value = std::max<int64_t>(value, numberAt<uint32_t>(info, at + 8).value_or(0));
    at += 4 + size;
  }
  return value;
}

/// Whether .nv.compat holds `attribute` with the value 1.
bool hasFlag(StringRef compat, uint16_t attribute) {
  for (uint64_t at = 0; auto tag = numberAt<uint16_t>(compat, at);) {
    bool sized = (*tag & 0xff) == 4;
    if (*tag == attribute && numberAt<uint8_t>(compat, at + 2).value_or(0) == 1)
      return true;
    at += 4 + (sized ? numberAt<uint16_t>(compat, at + 2).value_or(0) : 0);
  }
  return false;
}

/// The code as opcodes and branches.
class Code {
public:
  Code(StringRef bytes, int architecture) : bytes(bytes), architecture(architecture) {}

  size_t size() const { return bytes.size() / kInstructionBytes; }
  uint16_t opcode(size_t i) const {
    return *numberAt<uint16_t>(bytes, i * kInstructionBytes) & kOpcodeMask;
  }
  std::string name(size_t i) const { return nameOf(opcode(i)); }

  /// Where the branch `i` goes to. From sm_90 on its offset counts words, the low eight bits apart.
  std::optional<size_t> target(size_t i) const {
    if (opcode(i) != kBranch && opcode(i) != kUniformBranch)
      return std::nullopt;
    auto low = int64_t(*numberAt<uint8_t>(bytes, i * kInstructionBytes + 2));
    auto high = int64_t(*numberAt<int32_t>(bytes, i * kInstructionBytes + 4));
    int64_t offset = architecture < kFirstWords ? high : ((high >> 2) * 256 + low) * 4;
    int64_t to = int64_t((i + 1) * kInstructionBytes) + offset;
    if (to < 0 || to >= int64_t(bytes.size()) || to % int64_t(kInstructionBytes) != 0)
      return std::nullopt;
    return size_t(to) / kInstructionBytes;
  }

  /// Instructions of [begin, end) that `counts` takes.
  template <class Counts> int64_t count(size_t begin, size_t end, Counts counts) const {
    int64_t sum = 0;
    for (size_t i = begin; i < end; ++i)
      sum += counts(i) ? 1 : 0;
    return sum;
  }
  int64_t products(size_t begin, size_t end) const {
    return count(begin, end, [&](size_t i) { return name(i).ends_with("MMA"); });
  }

  int64_t loopInstructions() const;

private:
  static constexpr uint16_t kBranch = 0x947, kUniformBranch = 0x547;
  static constexpr int kFirstWords = 90;

  bool copiesOrMultiplies(size_t begin, size_t end) const {
    return count(begin, end, [&](size_t i) {
             std::string called = name(i);
             return called.ends_with("MMA") || called == "LDGSTS" || called == "UTMALDG";
           }) > 0;
  }

  StringRef bytes;
  int architecture;
};

int64_t Code::loopInstructions() const {
  size_t begin = 0, end = 0;
  int64_t most = 0;
  for (size_t i = 0; i < size(); ++i) {
    std::optional<size_t> to = target(i);
    if (!to || *to >= i)
      continue;
    int64_t held = products(*to, i + 1);
    if (held > most || (held == most && held > 0 && i + 1 - *to < end - begin)) {
      most = held;
      begin = *to;
      end = i + 1;
    }
  }
  int64_t issued = 0;
  for (size_t i = begin; i < end; ++i) {
    issued += name(i) == "NOP" ? 0 : 1;
    std::optional<size_t> to = target(i);
    if (to && *to > i + 1 && *to < end && !copiesOrMultiplies(i + 1, *to))
      i = *to - 1;
  }
  return issued;
}

} // namespace

int64_t CubinFacts::count(StringRef name) const {
  auto found = instructions.find(name.str());
  return found == instructions.end() ? 0 : found->second;
}

llvm::Expected<CubinFacts> ingot::codegen::inspectCubin(StringRef bytes) {
  using namespace llvm::ELF;
  if (bytes.size() < sizeof(Elf64_Ehdr) || !bytes.starts_with(StringRef(ElfMagic, 4)) ||
      bytes[EI_CLASS] != ELFCLASS64)
    return damaged("it is no ELF file of 64 bits");
  if (numberAt<uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine)) != kMachineCuda)
    return damaged("it is for another kind of machine");
  if (uint8_t(bytes[EI_ABIVERSION]) != kAbiVersion)
    return llvm::createStringError("the cubin has an unknown form (ABI version " +
                                   llvm::Twine(unsigned(uint8_t(bytes[EI_ABIVERSION]))) + ")");
  llvm::Expected<std::vector<Section>> sections = sectionsOf(bytes);
  if (!sections)
    return sections.takeError();
  CubinFacts facts;
  facts.architecture = int(*numberAt<uint32_t>(bytes, offsetof(Elf64_Ehdr, e_flags)) >> 8 & 0xff);
  constexpr StringRef codePrefix = ".text.", sharedPrefix = ".nv.shared.";
  StringRef code, info;
  int64_t shared = 0;
  for (const Section &section : *sections) {
    if (section.name.starts_with(codePrefix)) {
      if (!facts.kernel.empty())
        return damaged("it holds more than one kernel");
      facts.kernel = section.name.drop_front(codePrefix.size()).str();
      code = section.bytes;
    } else if (section.name == ".nv.info") {
      info = section.bytes;
    } else if (section.name == ".nv.compat") {
      facts.architectureSpecific = hasFlag(section.bytes, kSpecific);
    }
  }
  for (const Section &section : *sections)
    if (section.name == (sharedPrefix + facts.kernel).str())
      shared = int64_t(section.size);
  if (facts.kernel.empty() || code.empty() || code.size() % kInstructionBytes != 0)
    return damaged("it holds no kernel");
  facts.registers = attributeOf(info, kRegisterCount);
  facts.stackBytes = std::max(attributeOf(info, kFrameSize), attributeOf(info, kStackSize));
  bool reserves = facts.architecture >= kFirstReserved && shared >= kReservedShared;
  facts.staticShared = reserves ? shared - kReservedShared : shared;
  facts.codeBytes = int64_t(code.size());
  Code instructions(code, facts.architecture);
  for (size_t i = 0; i < instructions.size(); ++i)
    ++facts.instructions[instructions.name(i)];
  facts.loopInstructions = instructions.loopInstructions();
  return facts;
}
