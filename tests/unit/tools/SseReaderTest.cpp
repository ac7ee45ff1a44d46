// SPDX-License-Identifier: Apache-2.0
// What a server sends: events cut anywhere, chunks of completions, lists of models.
#include "runtime/tools/load/SseReader.h"
#include "runtime/tools/load/CompletionChunk.h"
#include "runtime/tools/load/ServerAddress.h"
#include "runtime/tools/load/StreamedAnswer.h"

#include <gmock/gmock.h>

using namespace ingot::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<std::string> eventsOf(const std::vector<std::string_view> &pieces) {
  SseReader reader;
  std::vector<std::string> events;
  for (std::string_view piece : pieces)
    EXPECT_TRUE(reader.push(piece, events).ok());
  return events;
}

TEST(SseReaderTest, ReadsTheSameWhereverItIsCut) {
  const std::string_view stream =
      "\xEF\xBB\xBF: a comment\n\ndata: one\r\ndata:two\r\n\r\nevent: x\n"
      "id: 7\ndata\n\n\rdata:  three\r\rretry: 5\ndata: four\n\n"
      "data: never ended\n";
  const std::vector<std::string> expected = {"one\ntwo", "", " three", "four"};
  EXPECT_EQ(eventsOf({stream}), expected);
  for (size_t i = 0; i <= stream.size(); ++i)
    for (size_t j = i; j <= stream.size(); ++j)
      ASSERT_EQ(eventsOf({stream.substr(0, i), stream.substr(i, j - i), stream.substr(j)}),
                expected)
          << "cut at " << i << " and " << j;
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < stream.size(); ++i)
    bytes.push_back(stream.substr(i, 1));
  EXPECT_EQ(eventsOf(bytes), expected);
}

TEST(SseReaderTest, AnEventWithoutEndIsRefused) {
  for (const char *line :
       {"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "x"}) {
    SseReader reader;
    std::vector<std::string> events;
    Status status;
    std::string piece;
    for (int i = 0; i < 1024; ++i)
      piece += line;
    size_t given = 0;
    while (status.ok() && given < 2 * SseReader::longest) {
      status = reader.push(piece, events);
      given += piece.size();
    }
    EXPECT_EQ(status.code(), "INGOT-E7254");
    EXPECT_TRUE(events.empty());
  }
}

TEST(CompletionChunkTest, ReadsWhatServersStream) {
  Result<CompletionChunk> chunk =
      CompletionChunk::read(R"({"choices":[{"index":0,"text":"Hi","finish_reason":null}]})");
  ASSERT_TRUE(chunk.ok());
  EXPECT_TRUE(chunk->hasTokens);
  EXPECT_EQ(chunk->text, "Hi");
  EXPECT_EQ(chunk->finish, "");

  // A token whose text is not complete yet, and the reason alone.
  EXPECT_TRUE(CompletionChunk::read(R"({"choices":[{"text":""}]})")->hasTokens);
  chunk = CompletionChunk::read(R"({"choices":[{"text":"","finish_reason":"length"}]})");
  EXPECT_FALSE(chunk->hasTokens);
  EXPECT_EQ(chunk->finish, "length");

  chunk = CompletionChunk::read(
      R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,
          "prompt_tokens_details":{"cached_tokens":5}}})");
  ASSERT_TRUE(chunk.ok());
  EXPECT_FALSE(chunk->hasTokens);
  EXPECT_EQ(chunk->promptTokens, 7);
  EXPECT_EQ(chunk->outputTokens, 3);
  EXPECT_EQ(chunk->cachedTokens, 5);
  EXPECT_TRUE(CompletionChunk::read("[DONE]")->isLast);
}

TEST(CompletionChunkTest, RefusesWhatIsNoChunk) {
  for (const char *data : {"", "[]", "null", "{", "{}", R"({"choices":3})", R"({"choices":[3]})",
                           R"({"choices":[{"text":3}]})", "[done]", "\xFF"}) {
    Result<CompletionChunk> chunk = CompletionChunk::read(data);
    ASSERT_FALSE(chunk.ok()) << data;
    EXPECT_EQ(chunk.status().code(), "INGOT-E7254") << data;
  }
  // Numbers that are no counts are not taken.
  Result<CompletionChunk> chunk = CompletionChunk::read(
      R"({"choices":[],"usage":{"prompt_tokens":-7,"completion_tokens":99999999999}})");
  ASSERT_TRUE(chunk.ok());
  EXPECT_FALSE(chunk->promptTokens);
  EXPECT_FALSE(chunk->outputTokens);
}

TEST(CompletionChunkTest, QuotesTheServersErrors) {
  Result<CompletionChunk> chunk =
      CompletionChunk::read(R"({"error":{"message":"out of\nblocks","code":500}})");
  ASSERT_FALSE(chunk.ok());
  EXPECT_EQ(chunk.status().code(), "INGOT-E7255");
  EXPECT_THAT(std::string(chunk.status().message()), HasSubstr("out of?blocks"));
  EXPECT_EQ(errorMessage(R"({"error":"busy"})"), "busy");
  EXPECT_EQ(errorMessage(R"({"message":"gone"})"), "gone");
  EXPECT_EQ(errorMessage("<html>\x1b"), "<html>?");
  EXPECT_LT(errorMessage(std::string(100000, 'x')).size(), 300u);
}

/// The record of an answer whose bytes come so; `cancelAfter`: chunks.
LoadRecord recordOf(std::string_view bytes, std::optional<int64_t> cancelAfter = {},
                    LoadFailure connection = {}) {
  LoadClock clock;
  LoadProgress progress;
  LoadRequest request;
  request.cancelAfter = cancelAfter;
  LoadRecord record;
  StreamedAnswer answer(clock, request, record, progress);
  if (answer.wantsAnswer())
    for (size_t i = 0; i < bytes.size() && answer.take(bytes.substr(i, 1)); ++i)
      continue;
  answer.finish(std::move(connection));
  return record;
}

TEST(StreamedAnswerTest, AnswersAndWhatIsNone) {
  const std::string a = "data: {\"choices\":[{\"text\":\"a\"}]}\n\n";
  const std::string end = "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\n";
  const std::string usage = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":9}}\n\n";
  const std::string done = "data: [DONE]\n\n";
  const LoadFailure cut = {"connection cut", Status::error("INGOT-E7253", "cut")};

  LoadRecord record = recordOf(a + a + end + usage + done + "data: {nonsense\n\n");
  EXPECT_TRUE(record.answered());
  EXPECT_EQ(record.text, "aa");
  EXPECT_EQ(record.outputTokens, 9);
  EXPECT_FALSE(record.counted);
  EXPECT_EQ(record.gaps.size(), 1u);
  EXPECT_GT(record.end, 0);
  // After [DONE] nothing can go wrong; before, everything can.
  EXPECT_TRUE(recordOf(a + done, {}, cut).answered());
  EXPECT_TRUE(recordOf(a + end).answered());
  EXPECT_EQ(recordOf(a + end, {}, cut).failure.kind, "connection cut");
  EXPECT_EQ(recordOf(a).failure.error.code(), "INGOT-E7253");
  EXPECT_EQ(recordOf("").failure.kind, "malformed answer");
  EXPECT_EQ(recordOf("{\"choices\":[]}").failure.kind, "malformed answer");
  EXPECT_EQ(recordOf(a + "data: x\n\n" + done).failure.kind, "malformed answer");
  EXPECT_EQ(recordOf(a + "data: {\"error\":\"busy\"}\n\n").failure.kind, "error in the stream");
}

TEST(StreamedAnswerTest, CancelsAfterSoManyArrivals) {
  std::string bytes;
  for (int i = 0; i < 5; ++i)
    bytes += "data: {\"choices\":[{\"text\":\"a\"}]}\n\n";
  for (int64_t after = 0; after < 5; ++after) {
    LoadRecord record = recordOf(bytes, after, {"connection cut", Status::error("x", "y")});
    EXPECT_TRUE(record.cancelled);
    EXPECT_TRUE(record.failure.kind.empty());
    EXPECT_EQ(record.outputTokens, after);
  }
}

TEST(ListedModelTest, ChoosesByName) {
  const char *list = R"({"object":"list","data":[{"id":"a","meta":{"n_vocab":49152,"n_ctx":7}},
      {"id":"b","max_model_len":2048}]})";
  EXPECT_EQ(ListedModel::read(list, "")->name, "a");
  EXPECT_EQ(ListedModel::read(list, "")->vocabulary, 49152);
  EXPECT_EQ(ListedModel::read(list, "b")->name, "b");
  EXPECT_EQ(ListedModel::read(list, "b")->vocabulary, 0);
  EXPECT_EQ(ListedModel::read(list, "")->context, 7);
  EXPECT_EQ(ListedModel::read(list, "b")->context, 2048);
  for (const char *body : {list, R"({"data":[]})", R"({"data":3})", "[]", "", R"({"data":[[]]})"})
    EXPECT_EQ(ListedModel::read(body, "c").status().code(), "INGOT-E7243") << body;
}

TEST(ServerAddressTest, TakesAnAddressApart) {
  Result<ServerAddress> address = ServerAddress::parse("http://example.com:8000/llm/v1/");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->host, "example.com");
  EXPECT_EQ(address->port, "8000");
  EXPECT_EQ(address->path, "/llm");
  EXPECT_EQ(address->authority, "example.com:8000");
  address = ServerAddress::parse("http://[::1]:9");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->host, "::1");
  EXPECT_EQ(address->port, "9");
  EXPECT_EQ(ServerAddress::parse("http://localhost")->port, "80");
}

TEST(ServerAddressTest, RefusesOthers) {
  for (const char *url :
       {"", "localhost:8000", "https://localhost", "ftp://localhost", "http://", "http://:80",
        "http://localhost:", "http://localhost:0", "http://localhost:65536", "http://localhost:8x",
        "http://localhost:80:80", "http://[::1", "http://[::1]x:80", "http://[]",
        "http://localhost b", "http://localhost\r\nHost: b", "http://localhost@b",
        "http://localhost/?q"}) {
    Result<ServerAddress> address = ServerAddress::parse(url);
    ASSERT_FALSE(address.ok()) << url;
    EXPECT_EQ(address.status().code(), "INGOT-E7240") << url;
  }
}

} // namespace
