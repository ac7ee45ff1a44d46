// SPDX-License-Identifier: Apache-2.0
// ELF checks after the System V gABI, and loading through an anonymous file.
#include "runtime/devices/host/SharedObject.h"

#include "runtime/devices/host/HostCpu.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace ingot::runtime {
namespace {

/// Reads structures out of the bytes of an ELF file, by file offset or by virtual address.
class ElfImage {
public:
  ElfImage(std::span<const uint8_t> code, const std::string &name) : code(code), name(name) {}

  Status verify();

private:
  Status refuse(const std::string &what) const {
    return Status::error("INGOT-E5015", "kernel library '" + name + "': " + what,
                         "rebuild the engine; its code section is damaged or not made by Ingot");
  }

  template <class T> bool read(uint64_t offset, T &value) const {
    if (offset > code.size() || code.size() - offset < sizeof(T))
      return false;
    std::memcpy(&value, code.data() + offset, sizeof(T));
    return true;
  }

  /// Reads at a virtual address, which must lie in the file part of a loaded segment.
  template <class T> bool readAt(uint64_t address, T &value) const {
    for (const Elf64_Phdr &segment : loaded)
      if (address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz &&
          segment.p_filesz - (address - segment.p_vaddr) >= sizeof(T))
        return read(segment.p_offset + (address - segment.p_vaddr), value);
    return false;
  }

  Status verifyHeader(Elf64_Ehdr &header) const;
  Status verifySegments(const Elf64_Ehdr &header);
  Status verifyDynamic();
  Status verifySymbols() const;
  bool countGnuHashSymbols(uint64_t &count) const;

  std::span<const uint8_t> code;
  const std::string &name;
  std::vector<Elf64_Phdr> loaded;
  Elf64_Phdr dynamic = {};
  uint64_t symbolTable = 0, hashTable = 0, gnuHashTable = 0;
};

Status ElfImage::verify() {
  Elf64_Ehdr header;
  if (Status status = verifyHeader(header); !status.ok())
    return status;
  if (Status status = verifySegments(header); !status.ok())
    return status;
  if (Status status = verifyDynamic(); !status.ok())
    return status;
  return verifySymbols();
}

Status ElfImage::verifyHeader(Elf64_Ehdr &header) const {
  if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return refuse("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kHostArchitecture.elfMachine || header.e_type != ET_DYN)
    return refuse("not a shared object for this CPU, " + std::string(kHostArchitecture.name));
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > 64)
    return refuse("program headers of an unexpected size or number");
  return {};
}

Status ElfImage::verifySegments(const Elf64_Ehdr &header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (header.e_phoff > code.size() || !read(header.e_phoff + i * sizeof(Elf64_Phdr), segment))
      return refuse("program headers outside the section");
    if ((segment.p_flags & PF_W) && (segment.p_flags & PF_X))
      return refuse("a segment is writable and executable");
    if (segment.p_offset > code.size() || code.size() - segment.p_offset < segment.p_filesz ||
        segment.p_memsz < segment.p_filesz || segment.p_memsz > (uint64_t(1) << 32) ||
        segment.p_vaddr > (uint64_t(1) << 32))
      return refuse("a segment lies outside the section");
    if (segment.p_type == PT_INTERP || segment.p_type == PT_TLS)
      return refuse("has an interpreter or thread-local storage");
    if (segment.p_type == PT_LOAD) {
      if (segment.p_align > 1 && ((segment.p_align & (segment.p_align - 1)) ||
                                  (segment.p_vaddr - segment.p_offset) % segment.p_align))
        return refuse("a segment is misaligned");
      if (!loaded.empty() && segment.p_vaddr < loaded.back().p_vaddr + loaded.back().p_memsz)
        return refuse("loaded segments overlap or are out of order");
      loaded.push_back(segment);
    }
    if (segment.p_type == PT_DYNAMIC)
      dynamic = segment;
  }
  if (loaded.empty() || dynamic.p_type != PT_DYNAMIC)
    return refuse("nothing to load, or no dynamic section");
  return {};
}

Status ElfImage::verifyDynamic() {
  for (uint64_t i = 0; i < dynamic.p_filesz / sizeof(Elf64_Dyn); ++i) {
    Elf64_Dyn entry;
    if (!readAt(dynamic.p_vaddr + i * sizeof(Elf64_Dyn), entry))
      return refuse("the dynamic section is not loaded");
    switch (entry.d_tag) {
    case DT_NULL:
      return symbolTable ? Status() : refuse("no symbol table");
    case DT_NEEDED:
      return refuse("needs another library");
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_PREINIT_ARRAY:
    case DT_FINI:
    case DT_FINI_ARRAY:
      return refuse("runs code when it is loaded or unloaded");
    case DT_TEXTREL:
    case DT_RPATH:
    case DT_RUNPATH:
    case DT_AUXILIARY:
    case DT_FILTER:
    case DT_AUDIT:
      return refuse("has a dynamic entry that kernels do not need: tag " +
                    std::to_string(entry.d_tag));
    case DT_FLAGS:
      if (entry.d_un.d_val & DF_TEXTREL)
        return refuse("has text relocations");
      break;
    case DT_SYMTAB:
      symbolTable = entry.d_un.d_ptr;
      break;
    case DT_HASH:
      hashTable = entry.d_un.d_ptr;
      break;
    case DT_GNU_HASH:
      gnuHashTable = entry.d_un.d_ptr;
      break;
    }
  }
  return refuse("the dynamic section has no end");
}

/// The table has no count; it ends with the longest chain (GNU hash section format).
bool ElfImage::countGnuHashSymbols(uint64_t &count) const {
  struct {
    uint32_t buckets, firstHashed, bloomWords, shift;
  } table;
  if (!readAt(gnuHashTable, table) || table.buckets > code.size() / 4 ||
      table.bloomWords > code.size() / 8)
    return false;
  uint64_t bucketsAt = gnuHashTable + sizeof table + uint64_t(table.bloomWords) * 8;
  uint64_t chainsAt = bucketsAt + uint64_t(table.buckets) * 4;
  uint32_t last = 0;
  for (uint32_t i = 0; i < table.buckets; ++i) {
    uint32_t first;
    if (!readAt(bucketsAt + uint64_t(i) * 4, first))
      return false;
    last = std::max(last, first);
  }
  count = table.firstHashed;
  if (last < table.firstHashed)
    return last == 0;
  for (uint32_t hash = 0; !(hash & 1); ++last)
    if (!readAt(chainsAt + uint64_t(last - table.firstHashed) * 4, hash))
      return false;
  count = last;
  return true;
}

Status ElfImage::verifySymbols() const {
  uint64_t count = 0;
  if (hashTable) {
    uint32_t words[2];
    if (!readAt(hashTable, words))
      return refuse("the hash table is not loaded");
    count = words[1];
  } else if (!gnuHashTable || !countGnuHashSymbols(count)) {
    return refuse("no usable symbol hash table");
  }
  for (uint64_t i = 1; i < count; ++i) {
    Elf64_Sym symbol;
    if (!readAt(symbolTable + i * sizeof(Elf64_Sym), symbol))
      return refuse("the symbol table is not loaded");
    if (symbol.st_shndx == SHN_UNDEF)
      return refuse("symbol " + std::to_string(i) + " is undefined");
  }
  return {};
}

} // namespace

Status verifySharedObject(std::span<const uint8_t> code, const std::string &name) {
  return ElfImage(code, name).verify();
}

SharedObject &SharedObject::operator=(SharedObject &&other) noexcept {
  std::swap(handle, other.handle);
  std::swap(descriptor, other.descriptor);
  return *this;
}

SharedObject::~SharedObject() {
  if (handle)
    dlclose(handle);
  if (descriptor >= 0)
    close(descriptor);
}

Result<SharedObject> SharedObject::load(std::span<const uint8_t> code, const std::string &name) {
  if (Status status = verifySharedObject(code, name); !status.ok())
    return status;
  auto failed = [&](const std::string &what) {
    return Status::error("INGOT-E5021", "kernel library '" + name + "': " + what,
                         "check that /proc is mounted and that the system lets programs run code "
                         "from anonymous files");
  };
  SharedObject library;
  library.descriptor = memfd_create("ingot-kernels", MFD_CLOEXEC);
  if (library.descriptor < 0)
    return failed(std::string("memfd_create: ") + std::strerror(errno));
  for (size_t done = 0; done < code.size();) {
    ssize_t written = write(library.descriptor, code.data() + done, code.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return failed(std::string("write: ") + std::strerror(errno));
    done += size_t(written);
  }
  // The descriptor stays open: the loader tells libraries apart by this path.
  std::string path = "/proc/self/fd/" + std::to_string(library.descriptor);
  library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.handle) {
    const char *reason = dlerror();
    return failed(reason ? reason : "dlopen failed");
  }
  return library;
}

void *SharedObject::symbol(const std::string &symbol) const {
  return dlsym(handle, symbol.c_str());
}

} // namespace ingot::runtime
