// SPDX-License-Identifier: Apache-2.0
// One answer in the forms of chat completions, messages and responses, whole and streamed.
#include "runtime/server/AnswerStream.h"
#include "runtime/server/ChatWriter.h"
#include "runtime/server/MessagesWriter.h"
#include "runtime/server/ResponsesWriter.h"
#include "tests/unit/server/RecordedExchange.h"
#include "tests/unit/server/ToyModel.h"

#include <gtest/gtest.h>
#include <map>

using namespace ingot::runtime;
using namespace ingot::test;

namespace {

constexpr std::string_view thoughtful =
    "<think>\nLet me see.\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": "
    "{\"at\": \"a \\\"b\\\"\", \"n\": [1, {}]}}\n</tool_call>\n<tool_call>\n{\"name\": \"go\", "
    "\"arguments\": {}}\n</tool_call>";
const std::string lookArguments = R"({"at": "a \"b\"", "n": [1, {}]})";

class AnswerWriterTest : public testing::Test {
protected:
  AnswerWriterTest() : toy(openToyModel()) {}

  AnswerFamilies families() const { return {reasoningFamily("think"), toolFamily("hermes")}; }
  AnswerSettings settings(bool streamed) const {
    AnswerSettings settings;
    settings.tools = {{"look", {}}, {"go", {}}};
    settings.streamed = streamed;
    return settings;
  }

  /// Everything that a writer gives for an answer in pieces of `size` bytes.
  std::string write(AnswerWriter &writer, std::string_view answer, size_t size,
                    FinishReason finish = FinishReason::EndToken) const {
    Usage usage = {40, 0, 32};
    std::string out = streamed ? writer.begin(usage) : std::string();
    for (size_t at = 0; at < answer.size(); at += size) {
      Event event;
      event.token = 5;
      event.logprob = -0.5;
      event.text = answer.substr(at, size);
      if (at + size >= answer.size()) {
        event.finish = finish;
        event.stop = finish == FinishReason::StopString ? "END" : "";
      }
      ++usage.completionTokens;
      out += writer.take(0, event);
    }
    return out + writer.finish(usage);
  }

  std::string chat(std::string_view answer, size_t size, bool stream,
                   FinishReason finish = FinishReason::EndToken, bool logprobs = false) {
    ChatRequest request;
    request.stream = streamed = stream;
    request.includeUsage = stream;
    request.logprobs = logprobs;
    ChatWriter writer(*toy.model, request, families(), settings(stream), "x");
    return write(writer, answer, size, finish);
  }
  std::string messages(std::string_view answer, size_t size, bool stream,
                       FinishReason finish = FinishReason::EndToken) {
    MessagesRequest request;
    request.chat.stream = streamed = stream;
    MessagesWriter writer(*toy.model, request, families(), settings(stream), "x");
    return write(writer, answer, size, finish);
  }
  std::string responses(std::string_view answer, size_t size, bool stream,
                        FinishReason finish = FinishReason::EndToken) {
    ResponsesRequest request;
    request.chat.stream = streamed = stream;
    ResponsesWriter writer(*toy.model, request, families(), settings(stream), "x");
    return write(writer, answer, size, finish);
  }

  ToyModel toy;
  bool streamed = false;
};

/// The JSON of each event; a name before it must be its type.
std::vector<Json> eventsOf(const std::string &stream) {
  std::vector<Json> events;
  size_t at = 0;
  while (at < stream.size()) {
    size_t end = stream.find("\n\n", at);
    std::string event = stream.substr(at, end - at);
    at = end + 2;
    std::string type;
    if (event.starts_with("event: ")) {
      type = event.substr(7, event.find('\n') - 7);
      event.erase(0, event.find('\n') + 1);
    }
    EXPECT_TRUE(event.starts_with("data: ")) << event;
    if (event == "data: [DONE]")
      continue;
    events.push_back(Json::parse(event.substr(6)));
    if (!type.empty())
      EXPECT_EQ(events.back()["type"], type);
  }
  return events;
}

/// The message that a client makes of a chat's chunks.
Json assembled(const std::vector<Json> &chunks, Json &finish) {
  Json message = Json::object();
  for (const Json &chunk : chunks) {
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    if (chunk["choices"].empty())
      continue;
    const Json &choice = chunk["choices"][0];
    if (!choice["finish_reason"].is_null())
      finish = choice["finish_reason"];
    for (const auto &[name, value] : choice["delta"].items()) {
      if (name != "tool_calls") {
        message[name] = message.value(name, "") + value.get<std::string>();
        continue;
      }
      const Json &call = value[0];
      Json &calls = message["tool_calls"];
      if (call.contains("id")) {
        EXPECT_EQ(call["index"], calls.size());
        calls.push_back({{"id", call["id"]},
                         {"type", call["type"]},
                         {"function", {{"name", call["function"]["name"]}, {"arguments", ""}}}});
      }
      Json &function = calls[call["index"].get<size_t>()]["function"];
      function["arguments"] = function["arguments"].get<std::string>() +
                              call["function"]["arguments"].get<std::string>();
    }
  }
  return message;
}

TEST_F(AnswerWriterTest, AChatIsTheSameInPieces) {
  Json whole = Json::parse(chat(thoughtful, 1000, false));
  const Json &choice = whole["choices"][0];
  const Json &message = choice["message"];
  EXPECT_EQ(whole["object"], "chat.completion");
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(message["content"], "I look.");
  EXPECT_EQ(message["reasoning"], "Let me see.");
  EXPECT_EQ(message["reasoning_content"], "Let me see.");
  ASSERT_EQ(message["tool_calls"].size(), 2u);
  EXPECT_EQ(message["tool_calls"][0]["function"]["name"], "look");
  EXPECT_EQ(message["tool_calls"][0]["function"]["arguments"], lookArguments);
  EXPECT_EQ(message["tool_calls"][1]["function"]["arguments"], "{}");
  EXPECT_EQ(message["tool_calls"][0]["id"].get<std::string>().size(), 9u);
  EXPECT_NE(message["tool_calls"][0]["id"], message["tool_calls"][1]["id"]);
  EXPECT_EQ(whole["usage"]["prompt_tokens_details"]["cached_tokens"], 32);
  for (size_t size : {1, 2, 3, 7, 1000}) {
    Json finish;
    std::vector<Json> chunks = eventsOf(chat(thoughtful, size, true));
    Json streamed = assembled(chunks, finish);
    EXPECT_EQ(finish, "tool_calls");
    for (const char *name : {"role", "content", "reasoning", "reasoning_content"})
      EXPECT_EQ(streamed[name], message[name]) << size;
    ASSERT_EQ(streamed["tool_calls"].size(), 2u);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(streamed["tool_calls"][i]["function"], message["tool_calls"][i]["function"]);
    EXPECT_EQ(chunks.back()["usage"]["prompt_tokens"], 40);
  }
}

TEST_F(AnswerWriterTest, ACallThatIsCutIsNoReasonToCall) {
  const std::string_view within[] = {thoughtful.substr(0, thoughtful.find("\\\"b")),
                                     thoughtful.substr(0, thoughtful.rfind("{\"name") + 1)};
  // Whatever ends it there: a model that stops within a call has not said what it meant to.
  for (std::string_view cut : within)
    for (FinishReason reason : {FinishReason::Length, FinishReason::EndToken}) {
      Json choice = Json::parse(chat(cut, 1000, false, reason))["choices"][0];
      EXPECT_EQ(choice["finish_reason"], "length") << cut;
      Json finish;
      assembled(eventsOf(chat(cut, 1, true, reason)), finish);
      EXPECT_EQ(finish, "length") << cut;
      EXPECT_EQ(Json::parse(messages(cut, 1000, false, reason))["stop_reason"], "max_tokens");
      std::vector<Json> events = eventsOf(messages(cut, 1, true, reason));
      EXPECT_EQ(events[events.size() - 2]["delta"]["stop_reason"], "max_tokens");
      EXPECT_EQ(Json::parse(responses(cut, 1000, false, reason))["status"], "incomplete");
      EXPECT_EQ(eventsOf(responses(cut, 1, true, reason)).back()["type"], "response.incomplete");
    }
}

TEST_F(AnswerWriterTest, LogprobsOfAChatGoWithItsText) {
  for (bool stream : {false, true}) {
    std::string text = chat("ab", 1, stream, FinishReason::Length, true);
    Json tokens = Json::array();
    if (stream) {
      for (const Json &chunk : eventsOf(text))
        if (!chunk["choices"].empty() && !chunk["choices"][0]["logprobs"].is_null())
          for (const Json &token : chunk["choices"][0]["logprobs"]["content"])
            tokens.push_back(token);
    } else {
      tokens = Json::parse(text)["choices"][0]["logprobs"]["content"];
    }
    ASSERT_EQ(tokens.size(), 2u) << text;
    EXPECT_EQ(tokens[0]["token"], "f");
    EXPECT_EQ(tokens[0]["bytes"], Json::array({102}));
    EXPECT_EQ(tokens[0]["logprob"], -0.5);
  }
}

TEST_F(AnswerWriterTest, MessagesInBlocks) {
  Json whole = Json::parse(messages(thoughtful, 1000, false));
  EXPECT_EQ(whole["stop_reason"], "tool_use");
  EXPECT_EQ(whole["usage"]["input_tokens"], 8);
  EXPECT_EQ(whole["usage"]["cache_read_input_tokens"], 32);
  ASSERT_EQ(whole["content"].size(), 4u) << whole.dump();
  EXPECT_EQ(whole["content"][0]["thinking"], "Let me see.");
  EXPECT_EQ(whole["content"][1]["text"], "I look.");
  EXPECT_EQ(whole["content"][2]["input"], Json::parse(lookArguments));
  for (size_t size : {1, 5, 1000}) {
    std::vector<Json> events = eventsOf(messages(thoughtful, size, true));
    EXPECT_EQ(events.front()["type"], "message_start");
    EXPECT_EQ(events.back()["type"], "message_stop");
    EXPECT_EQ(events[events.size() - 2]["delta"]["stop_reason"], "tool_use");
    std::vector<std::string> texts;
    for (const Json &event : events) {
      if (event["type"] == "content_block_start") {
        EXPECT_EQ(event["index"], texts.size());
        texts.emplace_back();
      }
      if (event["type"] == "content_block_delta")
        for (const char *name : {"text", "thinking", "partial_json"})
          texts.back() += event["delta"].value(name, "");
    }
    EXPECT_EQ(texts, (std::vector<std::string>{"Let me see.", "I look.", lookArguments, "{}"}));
  }
  Json stopped = Json::parse(messages("word", 1, false, FinishReason::StopString));
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], "END");
}

TEST_F(AnswerWriterTest, ResponsesInItems) {
  Json whole = Json::parse(responses(thoughtful, 1000, false));
  EXPECT_EQ(whole["status"], "completed");
  ASSERT_EQ(whole["output"].size(), 4u) << whole.dump();
  EXPECT_EQ(whole["output"][0]["content"][0]["text"], "Let me see.");
  EXPECT_EQ(whole["output"][1]["content"][0]["text"], "I look.");
  EXPECT_EQ(whole["output"][2]["arguments"], lookArguments);
  EXPECT_EQ(whole["usage"]["input_tokens_details"]["cached_tokens"], 32);
  for (size_t size : {1, 5, 1000}) {
    std::vector<Json> events = eventsOf(responses(thoughtful, size, true));
    std::vector<std::string> texts(4);
    int64_t number = 0;
    for (const Json &event : events) {
      EXPECT_EQ(event["sequence_number"], number++);
      if (event.contains("delta"))
        texts[event["output_index"].get<size_t>()] += event["delta"].get<std::string>();
    }
    EXPECT_EQ(texts, (std::vector<std::string>{"Let me see.", "I look.", lookArguments, "{}"}));
    EXPECT_EQ(events[0]["type"], "response.created");
    ASSERT_EQ(events.back()["type"], "response.completed");
    const Json &output = events.back()["response"]["output"];
    for (size_t i : {0, 1})
      EXPECT_EQ(output[i], whole["output"][i]);
    EXPECT_EQ(output[3]["arguments"], "{}");
  }
  Json cut = Json::parse(responses("word", 1, false, FinishReason::Length));
  EXPECT_EQ(cut["status"], "incomplete");
  EXPECT_EQ(cut["incomplete_details"]["reason"], "max_output_tokens");
}

/// A writer that fails at its second event.
struct FailingWriter : AnswerWriter {
  std::string take(size_t, const Event &) override {
    if (taken++)
      throw std::runtime_error("as the test wants");
    return "data: {}\n\n";
  }
  std::string finish(const Usage &) override { return {}; }
  std::string fail(const ApiError &error) override { return "data: " + error.code + "\n\n"; }
  int taken = 0;
};

TEST_F(AnswerWriterTest, AnExceptionEndsTheResponse) {
  Metrics metrics;
  ToyModel toy = openToyModel();
  for (bool stream : {false, true}) {
    auto exchange = std::make_shared<RecordedExchange>(HttpRequest{});
    Request request;
    request.text = "abc";
    request.sampling.maxTokens = 9;
    request.sampling.ignoreEos = true;
    OrError<std::vector<Request>> prepared =
        prepareAll(*toy.model->loop, {request}, exchange->record.start, 0);
    std::make_shared<AnswerStream>(exchange, *toy.model->loop, metrics,
                                   std::make_unique<FailingWriter>(), stream)
        ->start(std::get<std::vector<Request>>(prepared));
    const HttpResponse &response = exchange->wait();
    EXPECT_NE(response.body.find("INGOT-E7220"), response.body.npos) << response.body;
    EXPECT_TRUE(
        toy.model->loop->waitIdle(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  }
}

TEST_F(AnswerWriterTest, CallsComeBackAsTheirToolsWereOffered) {
  const std::string calls = "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": 1}}\n"
                            "</tool_call>\n<tool_call>\n{\"name\": \"go\", \"arguments\": "
                            "{\"input\": \"a \\\"b\\\"\"}}\n</tool_call>";
  ResponsesRequest request;
  request.chat.stream = streamed = true;
  request.offered = {{"look", {false, "files", "see"}}, {"go", {true, "", "go"}}};
  ResponsesWriter writer(*toy.model, request, families(), settings(true), "x");
  std::map<std::string, Json> last;
  std::string input;
  for (const Json &event : eventsOf(write(writer, calls, 3))) {
    last[event["type"]] = event;
    if (event["type"] == "response.custom_tool_call_input.delta")
      input += event["delta"].get<std::string>();
  }
  const Json &output = last["response.completed"]["response"]["output"];
  ASSERT_EQ(output.size(), 2u);
  EXPECT_EQ(output[0]["type"], "function_call");
  EXPECT_EQ(output[0]["name"], "see");
  EXPECT_EQ(output[0]["namespace"], "files");
  EXPECT_EQ(output[1]["type"], "custom_tool_call");
  EXPECT_EQ(output[1]["input"], "a \"b\"");
  EXPECT_EQ(input, "a \"b\"");
  EXPECT_EQ(last["response.custom_tool_call_input.done"]["input"], "a \"b\"");
}

TEST_F(AnswerWriterTest, ErrorsInsideStreams) {
  ApiError error = {504, "INGOT-E7215", "too late", {}};
  ChatRequest request;
  request.stream = true;
  ChatWriter chatWriter(*toy.model, request, families(), settings(true), "x");
  EXPECT_EQ(eventsOf(chatWriter.fail(error))[0]["error"]["ingot_code"], "INGOT-E7215");
  MessagesWriter messagesWriter(*toy.model, MessagesRequest{request, {}}, families(),
                                settings(true), "x");
  Json event = eventsOf(messagesWriter.fail(error))[0];
  EXPECT_EQ(event["error"]["type"], "api_error");
  ResponsesRequest asked;
  ResponsesWriter responsesWriter(*toy.model, asked, families(), settings(true), "x");
  EXPECT_EQ(eventsOf(responsesWriter.fail(error))[0]["response"]["error"]["message"], "too late");
}

TEST(LogprobTest, BytesArePartsOfCharactersToo) {
  ToyOptions options;
  options.bytePieces = {{5, "<0xC3>"}};
  ToyModel toy = openToyModel(options);
  Event event;
  event.token = 5;
  event.top = {{5, -1}, {1, -2}};
  Json entry = chatLogprobJson(event, toy.model->tokenNames);
  EXPECT_EQ(entry["token"], "token_id:5");
  EXPECT_EQ(entry["bytes"], Json::array({0xC3}));
  EXPECT_EQ(entry["top_logprobs"][0]["bytes"], Json::array({0xC3}));
  EXPECT_EQ(entry["top_logprobs"][1]["bytes"], Json::array({'b'}));
  options.tokenizer = false;
  ToyModel plain = openToyModel(options);
  EXPECT_EQ(chatLogprobJson(event, plain.model->tokenNames)["bytes"], nullptr);
}

} // namespace
