// SPDX-License-Identifier: Apache-2.0
// A record for tests that need no compiler: a kernel that doubles floats.
#pragma once

#include "tests/gpu/LaunchRecord.h"

namespace ingot::test {

/// One launch of a kernel called Twice for sm_80 over buffers of `kSmallCount` f32, its output
/// exact; the tests change what they are about.
record::RecordT smallRecord();
constexpr size_t kSmallCount = 100;

/// Adds a kernel of three 8-byte parameters, p_0 to p_2, with this body in PTX; its index.
uint32_t addKernel(record::RecordT &record, const std::string &source, const std::string &body);

/// Adds content; its index.
template <class T> uint32_t addBlob(record::RecordT &record, const std::vector<T> &values) {
  auto blob = std::make_unique<record::BlobT>();
  const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  blob->bytes.assign(bytes, bytes + values.size() * sizeof(T));
  record.blobs.push_back(std::move(blob));
  return uint32_t(record.blobs.size() - 1);
}

} // namespace ingot::test
