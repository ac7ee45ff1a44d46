// SPDX-License-Identifier: Apache-2.0
// Kernel code of an engine: an ELF shared object without imports, checked and loaded from memory.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <string>

namespace ingot::runtime {

/// Checks without loading that `code` is an ET_DYN for this CPU that needs no library, has no
/// undefined symbol, no initialisers, no thread-local storage, no text relocations, and no segment
/// that is writable and executable. INGOT-E5015 otherwise; `name` is for the message.
Status verifySharedObject(std::span<const uint8_t> code, const std::string &name);

/// Move-only owner of a loaded library.
class SharedObject {
public:
  SharedObject(SharedObject &&other) noexcept { *this = std::move(other); }
  SharedObject &operator=(SharedObject &&other) noexcept;
  ~SharedObject();

  /// Verifies, then loads. INGOT-E5015 or, when the system refuses, INGOT-E5021.
  static Result<SharedObject> load(std::span<const uint8_t> code, const std::string &name);

  /// Address of a defined symbol; null when there is none.
  void *symbol(const std::string &symbol) const;

private:
  SharedObject() = default;
  void *handle = nullptr;
  int descriptor = -1;
};

} // namespace ingot::runtime
