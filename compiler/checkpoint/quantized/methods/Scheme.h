// SPDX-License-Identifier: Apache-2.0
// How compressed-tensors, and ModelOpt after it, describe the quantization of values of one kind.
#pragma once

#include "compiler/checkpoint/quantized/methods/Method.h"

namespace ingot::checkpoint {

struct Scheme {
  uint64_t bits = 8;
  bool isFloat = false, dynamic = false, symmetric = true;
  std::string strategy;

  /// One scale for all values, of the checkpoint.
  bool hasStaticScale() const { return bits == 8 && !dynamic && symmetric && strategy == "tensor"; }
  std::string str() const;

  /// `object` is the value of `key`, or below it.
  static Scheme read(MethodReader &reader, std::string_view key, const Json &object);
  /// Sets what the KV cache holds by `kv_cache_scheme`, if that is an object; whether it is.
  static bool readCache(MethodReader &reader);
};

} // namespace ingot::checkpoint
