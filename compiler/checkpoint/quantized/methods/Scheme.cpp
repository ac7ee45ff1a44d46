// SPDX-License-Identifier: Apache-2.0
// Reads schemes.
#include "compiler/checkpoint/quantized/methods/Scheme.h"

namespace ingot::checkpoint {

std::string Scheme::str() const {
  return message(dynamic     ? "dynamic "
                 : symmetric ? "static "
                             : "static, asymmetric, ",
                 bits, "-bit ", isFloat ? "float" : "int", " by ", strategy);
}

Scheme Scheme::read(MethodReader &reader, std::string_view key, const Json &object) {
  JsonFields own(object);
  Scheme scheme;
  scheme.bits = own.unsignedIntegerOr("num_bits", 8, 1, 16);
  scheme.isFloat = own.stringOr("type", "int") == "float";
  scheme.symmetric = own.booleanOr("symmetric", true);
  scheme.strategy = own.stringOr("strategy", own.has("group_size") ? "group" : "tensor");
  // "local": scales of groups are found at run time, under one of the tensor.
  auto member = object.find("dynamic");
  bool isLocal = member && member->isString();
  scheme.dynamic = isLocal || own.booleanOr("dynamic", false);
  reader.take(key, own.error());
  return scheme;
}

bool Scheme::readCache(MethodReader &reader) {
  constexpr std::string_view key = "kv_cache_scheme";
  auto object = reader.object.find(key);
  if (!object || !object->isObject())
    return false;
  Scheme scheme = read(reader, key, *object);
  if (scheme.hasStaticScale())
    reader.config.kvCache =
        scheme.isFloat ? MethodReader::KvCache::Float8 : MethodReader::KvCache::Int8;
  else
    reader.declineCache(scheme.str());
  return true;
}

} // namespace ingot::checkpoint
