// SPDX-License-Identifier: Apache-2.0
// Digests of templates.
#include "codegen/native/KernelTemplate.h"

#include "codegen/BuildCache.h"
#include <map>
#include <mutex>

using namespace ingot;
using namespace ingot::codegen;

llvm::StringRef codegen::digestOf(const KernelTemplate &which) {
  static std::mutex mutex;
  static std::map<const char *, std::string> known;
  std::lock_guard lock(mutex);
  std::string &digest = known[which.bitcode.begin];
  if (digest.empty())
    digest = CacheKey()
                 .add({which.bitcode.begin, size_t(which.bitcode.end - which.bitcode.begin)})
                 .text();
  return digest;
}
