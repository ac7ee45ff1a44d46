// SPDX-License-Identifier: Apache-2.0
// Reads the ELF header.
#include "runtime/devices/cuda/Cubin.h"

#include <cstring>
#include <elf.h>

namespace ingot::runtime {

/// ELF's number for CUDA code.
static constexpr uint16_t kCudaMachine = 190;

Status verifyCubin(std::span<const uint8_t> code, std::string_view architecture,
                   const std::string &name) {
  auto refuse = [&](const std::string &what) {
    return Status::error("INGOT-E5023", "kernel library '" + name + "' " + what,
                         "rebuild the engine");
  };
  Elf64_Ehdr header;
  if (code.size() < sizeof header)
    return refuse("is too short for a cubin");
  std::memcpy(&header, code.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != kCudaMachine)
    return refuse("is no cubin");
  uint64_t bytes = uint64_t(header.e_shnum) * header.e_shentsize;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > code.size() ||
      bytes > code.size() - header.e_shoff)
    return refuse("has section headers outside its " + std::to_string(code.size()) + " bytes");
  // Toolkits from 13 on write the architecture's number into the second byte of the flags.
  std::string number = std::to_string(header.e_flags >> 8 & 0xff);
  std::string_view wanted = architecture.substr(std::min<size_t>(architecture.size(), 3));
  if (!wanted.empty() && wanted.back() == 'a')
    wanted.remove_suffix(1);
  if (number != wanted)
    return refuse("is for sm_" + number + " in a target of " + std::string(architecture));
  return {};
}

} // namespace ingot::runtime
