// SPDX-License-Identifier: Apache-2.0
// Damaged launch records, as whole files and, behind the digest, as FlatBuffers.
#include "tests/fuzz/FuzzSession.h"
#include "tests/gpu/SmallRecord.h"

using namespace ingot;
using namespace ingot::record;

namespace {

std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

/// A record that has every kind of table.
RecordT corpusRecord() {
  RecordT record = test::smallRecord();
  BufferT &result = *record.launches[0]->buffers[1];
  auto values = std::make_unique<ValuesT>();
  values->count = 96;
  values->element = Element::I8;
  values->scales = 96;
  values->scale_columns = 32;
  result.values.push_back(std::move(values));
  result.tolerances = test::addBlob(record, std::vector<float>(96, 1.0f));
  return record;
}

/// Looks at every index of what was accepted.
std::string codeOf(const runtime::Result<std::unique_ptr<RecordT>> &read) {
  if (!read.ok())
    return std::string(read.status().code());
  const RecordT &record = **read;
  for (const auto &launch : record.launches) {
    EXPECT_FALSE(record.blobs.at(record.kernels.at(launch->kernel)->ptx)->bytes.empty());
    for (const auto &buffer : launch->buffers) {
      uint32_t content = buffer->output != kNone ? buffer->output : buffer->input;
      uint64_t bytes = record.blobs.at(content)->bytes.size();
      uint64_t compared = 0;
      for (const auto &values : buffer->values) {
        EXPECT_LE(values->offset + values->count * elementBytes(values->element), bytes);
        compared += values->count;
      }
      if (compared)
        EXPECT_EQ(compared * sizeof(float), record.blobs.at(buffer->tolerances)->bytes.size());
    }
  }
  return {};
}

TEST(RecordFuzz, FlatBuffers) {
  flatbuffers::FlatBufferBuilder builder;
  RecordT record = corpusRecord();
  builder.Finish(Record::Pack(builder, &record));
  const std::string good(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                         builder.GetSize());
  fuzz::FuzzSession session("flatbuffers", 1);
  session.run(20000, {good}, [](const std::string &bytes) {
    // A FlatBuffer is aligned, as memory of its own is.
    std::vector<uint8_t> copy(bytes.begin(), bytes.end());
    return codeOf(parseRecord(copy));
  });
  session.check();
}

TEST(RecordFuzz, Files) {
  std::vector<uint8_t> packed = packRecord(corpusRecord());
  const std::string good(packed.begin(), packed.end());
  fuzz::FuzzSession session("files", 2);
  session.run(2000, {good}, [&](const std::string &bytes) {
    return codeOf(unpackRecord(bytesOf(session.mutator.below(20) ? bytes : good)));
  });
  session.check();
}

} // namespace
