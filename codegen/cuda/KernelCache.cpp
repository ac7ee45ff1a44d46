// SPDX-License-Identifier: Apache-2.0
// One file a kernel, named after the SHA-256 of what it is made from; written aside and renamed.
#include "codegen/cuda/KernelCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace ingot::codegen;

namespace {

/// A file: magic, bytes of the cubin (u64), SHA-256 of the rest, cubin, PTX.
constexpr llvm::StringLiteral kMagic = "INGOTK01";
constexpr size_t kDigestBytes = 32;
constexpr size_t kHeaderBytes = kMagic.size() + sizeof(uint64_t) + kDigestBytes;

std::string digestOf(llvm::StringRef text) {
  auto digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return std::string(digest.begin(), digest.end());
}

/// A name that differs whenever the compiler might be asked for something else.
std::string keyOf(const Nvrtc &nvrtc, const KernelSource &source) {
  std::string all = source.digest() + nvrtc.toolkit() + '\0' + source.name;
  return llvm::toHex(digestOf(all), /*LowerCase=*/true);
}

} // namespace

llvm::Expected<CompiledKernel> KernelCache::get(const Nvrtc &nvrtc, const KernelSource &source) {
  std::string key = keyOf(nvrtc, source);
  {
    std::lock_guard lock(mutex);
    if (auto found = known.find(key); found != known.end())
      return found->second;
  }
  std::optional<CompiledKernel> stored = read(key);
  if (!stored) {
    llvm::Expected<CompiledKernel> compiled = nvrtc.compile(source);
    if (!compiled)
      return compiled.takeError();
    stored = std::move(*compiled);
    write(key, *stored);
  }
  std::lock_guard lock(mutex);
  return known.emplace(key, std::move(*stored)).first->second;
}

std::optional<CompiledKernel> KernelCache::read(const std::string &key) const {
  if (folder.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(folder + "/" + key, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return std::nullopt;
  llvm::StringRef bytes = (*file)->getBuffer();
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic))
    return std::nullopt;
  uint64_t cubinBytes = llvm::support::endian::read64le(bytes.data() + kMagic.size());
  llvm::StringRef digest = bytes.substr(kMagic.size() + sizeof(uint64_t), kDigestBytes);
  llvm::StringRef rest = bytes.drop_front(kHeaderBytes);
  if (cubinBytes > rest.size() || digest != digestOf(rest))
    return std::nullopt;
  return CompiledKernel{rest.take_front(cubinBytes).str(), rest.drop_front(cubinBytes).str()};
}

void KernelCache::write(const std::string &key, const CompiledKernel &kernel) const {
  if (folder.empty() || llvm::sys::fs::create_directories(folder))
    return;
  llvm::SmallString<128> aside;
  int descriptor = -1;
  if (llvm::sys::fs::createUniqueFile(folder + "/." + key + ".%%%%%%", descriptor, aside))
    return;
  std::string rest = kernel.cubin + kernel.ptx;
  char size[sizeof(uint64_t)];
  llvm::support::endian::write64le(size, kernel.cubin.size());
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << kMagic << llvm::StringRef(size, sizeof(size)) << digestOf(rest) << rest;
  stream.close();
  bool whole = !stream.has_error();
  stream.clear_error();
  if (!whole || llvm::sys::fs::rename(aside, folder + "/" + key))
    llvm::sys::fs::remove(aside);
}
