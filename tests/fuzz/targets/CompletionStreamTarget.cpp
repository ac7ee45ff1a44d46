// SPDX-License-Identifier: Apache-2.0
// What a server sends to `bench serve`: events of a stream, the chunks in them, lists of models.
#include "runtime/tools/load/CompletionChunk.h"
#include "runtime/tools/load/SseReader.h"
#include "tests/fuzz/targets/Target.h"

using namespace ingot;
using namespace ingot::fuzz;
using runtime::CompletionChunk;
using runtime::ListedModel;
using runtime::Result;
using runtime::SseReader;
using runtime::Status;

std::vector<std::string> fuzz::seeds() {
  return {"data: {\"choices\":[{\"index\":0,\"text\":\"Hi\",\"finish_reason\":null}]}\n\n"
          "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\n"
          "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n"
          "data: [DONE]\n\n",
          "\xEF\xBB\xBF: comment\r\n\r\nevent: x\rid: 1\rdata\rdata:two\r\r",
          "data: {\"error\":{\"message\":\"busy\",\"code\":429}}\n\n",
          "data: {\"error\":\"x\"}\n\n",
          "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"meta\":{\"n_vocab\":100}}]}",
          "{\"message\":\"no\"}"};
}

std::vector<std::string> fuzz::words() {
  return {"data:",
          "\"choices\"",
          "\"text\"",
          "\"finish_reason\"",
          "\"usage\"",
          "\"prompt_tokens\"",
          "\"completion_tokens\"",
          "\"error\"",
          "\"message\"",
          "[DONE]",
          "\"data\"",
          "\"id\"",
          "\"meta\"",
          "\"n_vocab\"",
          "\xEF\xBB\xBF",
          "\r\n\r\n"};
}

/// Checks what a chunk that was accepted promises.
static void readChunk(const std::string &data) {
  Result<CompletionChunk> chunk = CompletionChunk::read(data);
  expectCode(chunk.status().code());
  if (!chunk.ok())
    return;
  EXPECT_TRUE(!chunk->isLast || !chunk->hasTokens);
  EXPECT_GE(chunk->promptTokens.value_or(0), 0);
  EXPECT_GE(chunk->outputTokens.value_or(0), 0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string bytes(reinterpret_cast<const char *>(data), size);
  SseReader whole, pieces;
  std::vector<std::string> events, again;
  const Status status = whole.push(bytes, events);
  expectCode(status.code());
  for (const char &byte : bytes)
    expectCode(pieces.push(std::string_view(&byte, 1), again).code());
  EXPECT_EQ(events, again);
  for (const std::string &event : events)
    readChunk(event);
  const Result<ListedModel> model = ListedModel::read(bytes, "");
  expectCode(model.status().code());
  EXPECT_EQ(model.ok() && model->name.empty(), false);
  const std::string message = runtime::errorMessage(bytes);
  EXPECT_LT(message.size(), 300u);
  for (const unsigned char byte : message)
    EXPECT_GE(byte, 0x20);
  return 0;
}
