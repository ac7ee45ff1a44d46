// SPDX-License-Identifier: Apache-2.0
// Bodies of completions: every field, and the error of every wrong one.
#include "runtime/server/BodyFields.h"
#include "runtime/server/CompletionRequest.h"
#include "runtime/server/MessagesRequest.h"
#include "runtime/server/RequestLog.h"
#include "runtime/server/ResponseText.h"
#include "runtime/server/ResponsesRequest.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

OrError<CompletionRequest> read(const std::string &body) {
  OrError<Json> parsed = parseBody(body);
  if (ApiError *error = std::get_if<ApiError>(&parsed))
    return *error;
  SamplingParameters defaults;
  defaults.temperature = 0.5f;
  defaults.topK = 7;
  return readCompletionRequest(std::get<Json>(parsed), defaults);
}

CompletionRequest accepted(const std::string &body) {
  OrError<CompletionRequest> request = read(body);
  if (ApiError *error = std::get_if<ApiError>(&request)) {
    ADD_FAILURE() << body << ": " << error->message;
    return {};
  }
  return std::get<CompletionRequest>(request);
}

ApiError refused(const std::string &body) {
  OrError<CompletionRequest> request = read(body);
  if (ApiError *error = std::get_if<ApiError>(&request))
    return *error;
  ADD_FAILURE() << body << " is accepted";
  return {};
}

TEST(RequestTest, Defaults) {
  CompletionRequest request = accepted(R"({"prompt": "Once"})");
  ASSERT_EQ(request.prompts.size(), 1u);
  EXPECT_EQ(request.prompts[0].text, "Once");
  EXPECT_EQ(request.each.sampling.maxTokens, 16);
  EXPECT_EQ(request.each.sampling.temperature, 0.5f);
  EXPECT_EQ(request.each.sampling.topK, 7);
  EXPECT_EQ(request.each.sampling.logprobs, -1);
  EXPECT_EQ(request.n, 1);
  EXPECT_FALSE(request.stream || request.echo || request.includeUsage);
  EXPECT_TRUE(request.each.addSpecial && request.each.parseSpecial);
  EXPECT_NE(request.each.sampling.seed, accepted(R"({"prompt": "Once"})").each.sampling.seed);
}

TEST(RequestTest, WhatAsksForNothing) {
  CompletionRequest request = accepted(R"({"prompt": "a", "stop": "", "cache_salt": "",
    "logprobs": false, "stream_options": {}, "logit_bias": {}, "bad_words": [], "model": "",
    "stop_token_ids": [], "sampling_seed": 4, "max_tokens": 0, "echo": true})");
  EXPECT_TRUE(request.each.sampling.stopStrings.empty());
  EXPECT_EQ(request.each.sampling.logprobs, -1);
  EXPECT_EQ(request.each.sampling.seed, 4u);
  EXPECT_TRUE(request.each.promptOnly);
}

TEST(RequestTest, EveryField) {
  CompletionRequest request = accepted(R"({
    "model": "m", "prompt": [[1, 2], [3]], "max_tokens": 5, "n": 2, "best_of": 3,
    "echo": true, "temperature": 1, "top_p": 0.5, "min_p": 0.25, "typical_p": 0.75, "top_k": -1,
    "repetition_penalty": 1.5, "presence_penalty": -1, "frequency_penalty": 2, "seed": -3,
    "logit_bias": {"4": -100, "17": 2.5}, "stop": ["x", "yz"], "stop_token_ids": [9],
    "ignore_eos": true, "skip_special_tokens": false, "add_special_tokens": false, "priority": -2,
    "parse_special": false, "return_tokens_as_token_ids": true, "user": "somebody",
    "metadata": {"a": [1]},
    "suffix": null, "response_format": null, "use_beam_search": false})");
  EXPECT_EQ(request.model, "m");
  ASSERT_EQ(request.prompts.size(), 2u);
  EXPECT_EQ(request.prompts[0].tokens, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(request.requests().size(), 2u);
  EXPECT_EQ(request.each.choices, 3);
  EXPECT_EQ(request.n, 2);
  EXPECT_TRUE(request.echo && request.tokensAsIds);
  EXPECT_FALSE(request.each.skipSpecial || request.each.addSpecial || request.each.parseSpecial);
  EXPECT_EQ(request.each.priority, -2);
  const SamplingParameters &sampling = request.each.sampling;
  EXPECT_EQ(sampling.maxTokens, 5);
  EXPECT_EQ(sampling.temperature, 1);
  EXPECT_EQ(sampling.topP, 0.5f);
  EXPECT_EQ(sampling.minP, 0.25f);
  EXPECT_EQ(sampling.typicalP, 0.75f);
  EXPECT_EQ(sampling.topK, 0);
  EXPECT_EQ(sampling.repetitionPenalty, 1.5f);
  EXPECT_EQ(sampling.presencePenalty, -1);
  EXPECT_EQ(sampling.frequencyPenalty, 2);
  EXPECT_EQ(sampling.seed, uint64_t(-3));
  EXPECT_EQ(sampling.bias, (std::vector<std::pair<int32_t, float>>{{4, -100}, {17, 2.5f}}));
  EXPECT_EQ(sampling.stopStrings, (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(sampling.stopTokens, std::vector<int32_t>{9});
  EXPECT_TRUE(sampling.ignoreEos);
}

TEST(RequestTest, PromptsOfEachKind) {
  EXPECT_EQ(accepted(R"({"prompt": ["a", "b"]})").prompts[1].text, "b");
  EXPECT_EQ(accepted(R"({"prompt": [5, 6]})").prompts[0].tokens, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(accepted(R"({"prompt": ["a", [7]]})").prompts[1].tokens, std::vector<int32_t>{7});
}

TEST(RequestTest, WhatIsWrongIsNamed) {
  const char *wrong[][2] = {
      {"prompt", R"({})"},
      {"prompt", R"({"prompt": null})"},
      {"prompt", R"({"prompt": 5})"},
      {"prompt", R"({"prompt": []})"},
      {"prompt", R"({"prompt": [[]]})"},
      {"prompt", R"({"prompt": [1, "a"]})"},
      {"prompt", R"({"prompt": [3000000000]})"},
      {"prompt", R"({"prompt": [1.5]})"},
      {"max_tokens", R"({"prompt": "a", "max_tokens": 0})"},
      {"max_tokens", R"({"prompt": "a", "max_tokens": "5"})"},
      {"max_tokens", R"({"prompt": "a", "max_tokens": 18446744073709551615})"},
      {"n", R"({"prompt": "a", "n": 0})"},
      {"n", R"({"prompt": "a", "n": 129})"},
      {"best_of", R"({"prompt": "a", "n": 2, "best_of": 1})"},
      {"best_of", R"({"prompt": "a", "best_of": 2, "stream": true})"},
      {"stream", R"({"prompt": "a", "stream": 1})"},
      {"stream_options", R"({"prompt": "a", "stream": true, "stream_options": {"x": true}})"},
      {"logprobs", R"({"prompt": "a", "logprobs": true})"},
      {"logprobs", R"({"prompt": "a", "logprobs": 21})"},
      {"temperature", R"({"prompt": "a", "temperature": "hot"})"},
      {"temperature", R"({"prompt": "a", "temperature": 1e300})"},
      {"seed", R"({"prompt": "a", "seed": 1.5})"},
      {"logit_bias", R"({"prompt": "a", "logit_bias": {"x": 1}})"},
      {"logit_bias", R"({"prompt": "a", "logit_bias": {"1": 101}})"},
      {"logit_bias", R"({"prompt": "a", "logit_bias": [1]})"},
      {"stop", R"({"prompt": "a", "stop": [1]})"},
      {"model", R"({"prompt": "a", "model": 1})"},
      {"min_tokens", R"({"prompt": "a", "min_tokens": -1})"},
      {"bad_words", R"({"prompt": "a", "bad_words": "x"})"},
      {"allowed_token_ids", R"({"prompt": "a", "allowed_token_ids": []})"},
      {"prompt_logprobs", R"({"prompt": "a", "prompt_logprobs": 21})"},
      {"cache_salt", R"({"prompt": "a", "cache_salt": 1})"},
      {"max_tokens", R"({"prompt": "a", "max_tokens": 0})"},
      {"stream_options", R"({"prompt": "a", "stream_options": {"include_usage": true}})"},
      {"no_repeat_ngram_size", R"({"prompt": "a", "no_repeat_ngram_size": -1})"},
  };
  for (auto [field, body] : wrong) {
    ApiError error = refused(body);
    EXPECT_EQ(error.field, field) << body;
    EXPECT_EQ(error.code, "INGOT-E7203") << body;
    EXPECT_EQ(error.status, 400);
    EXPECT_NE(error.message.find(field), std::string::npos) << error.message;
  }
}

TEST(RequestTest, WhatMayNotBeDrawn) {
  CompletionRequest request = accepted(
      R"({"prompt": "a", "min_tokens": 3, "bad_words": ["b", "c"], "allowed_token_ids": [1, 2],
          "no_repeat_ngram_size": 4, "include_stop_str_in_output": true, "cache_salt": "s",
          "echo": true, "logprobs": 2, "prompt_logprobs": 1})");
  const SamplingParameters &sampling = request.each.sampling;
  EXPECT_EQ(sampling.minTokens, 3);
  EXPECT_EQ(sampling.badWords, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(sampling.allowed, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(sampling.noRepeatNgramSize, 4);
  EXPECT_TRUE(sampling.includeStop);
  EXPECT_EQ(request.each.cacheSalt, "s");
  EXPECT_EQ(sampling.promptLogprobs, 2); // those of the echo are more
  EXPECT_EQ(request.promptLogprobs, 1);
}

TEST(RequestTest, WhatIsNotServedIsNamed) {
  EXPECT_EQ(refused(R"({"prompt": "a", "suffix": "b"})").field, "suffix");
  EXPECT_EQ(refused(R"({"prompt": "a", "suffix": "b"})").code, "INGOT-E7202");
  EXPECT_EQ(refused(R"({"prompt": "a", "unheard_of": 1})").field, "unheard_of");
  EXPECT_EQ(refused(R"({"prompt": "a", "unheard_of": 1})").message,
            "unheard_of is no field of this request; leave it out");
  EXPECT_EQ(refused(R"({"prompt": "a", "max_token": 1})").message,
            "max_token is no field of this request (did you mean 'max_tokens'?); leave it out");
  EXPECT_EQ(refused(R"({"prompt": "a", "top-k": 1})").message,
            "top-k is no field of this request (did you mean 'top_k'?); leave it out");
  EXPECT_EQ(refused(R"({"prompt": "a", "unheard_of": false})").code, "INGOT-E7202");
  accepted(R"({"prompt": "a", "suffix": "", "ebnf": {}, "lora": [], "custom_params": false,
               "length_penalty": 1.0, "metadata": {"any": ["thing"]}})");
}

/// What a body of each form cannot do without.
std::string least(Form form) {
  return form == Completions ? R"("prompt": "a")"
         : form == Responses ? R"("input": "a")"
                             : R"("max_tokens": 1, "messages": [{"role": "user", "content": "a"}])";
}

std::optional<ApiError> errorOf(Form form, const std::string &field, const std::string &value) {
  std::string body = "{" + least(form) + ", \"" + field + "\": " + value + "}";
  const Json parsed = Json::parse(body);
  auto errorIn = [](const auto &read) -> std::optional<ApiError> {
    const ApiError *error = std::get_if<ApiError>(&read);
    return error ? std::optional(*error) : std::nullopt;
  };
  switch (form) {
  case Completions:
    return errorIn(readCompletionRequest(parsed, {}));
  case Chats:
    return errorIn(readChatRequest(parsed, {}));
  case Responses:
    return errorIn(readResponsesRequest(parsed, {}));
  case Messages:
    return errorIn(readMessagesRequest(parsed, {}, {}));
  }
  return std::nullopt;
}

TEST(RequestTest, UnservedFieldsOfEveryForm) {
  std::ifstream file(INGOT_SOURCE_DIR "/docs/serving.md");
  std::string text(std::istreambuf_iterator<char>(file), {});
  for (Form form : {Completions, Chats, Responses, Messages})
    for (const UnservedField &field : unservedFields()) {
      std::string name(field.name);
      // Those that are refused name themselves.
      EXPECT_TRUE(!field.isIgnored() || text.find("`" + name + "`") != text.npos)
          << name << " is not in the document";
      if (!(field.forms & form) || unservedField(name, form) != &field)
        continue;
      std::optional<ApiError> error = errorOf(form, name, R"(["something"])");
      EXPECT_EQ(error.has_value(), !field.isIgnored()) << name;
      if (error) {
        EXPECT_EQ(error->field, name);
        EXPECT_EQ(error->code, "INGOT-E7202");
      }
      std::vector<std::string> neutral = {"null", "false", "\"\"", "[]", "{}"};
      if (!field.isIgnored() && !field.neutral.empty()) {
        neutral.resize(1);
        for (const Json &value : Json::parse(field.neutral))
          neutral.push_back(value.dump());
      }
      for (const std::string &value : neutral)
        EXPECT_FALSE(errorOf(form, name, value)) << name << ' ' << value << ' ' << form;
    }
  // The default of these is to do it.
  EXPECT_TRUE(errorOf(Chats, "separate_reasoning", "false"));
  EXPECT_TRUE(errorOf(Chats, "stream_reasoning", "false"));
}

TEST(RequestTest, BodiesThatAreNoObjects) {
  for (std::string body : {std::string(""), std::string("[]"), std::string("{"),
                           std::string("{\"a\": 1} x"), std::string("\xff"), std::string("5"),
                           std::string(1000, '['), std::string("{\"a\":") + std::string(40, '[')})
    EXPECT_EQ(refused(body).code, "INGOT-E7201") << body;
  // Names are looked up one after the other: many of them would take for ever.
  std::string many = "{";
  for (int i = 0; i < 200000; ++i)
    many += '"' + std::to_string(i) + "\":1,";
  many.back() = '}';
  EXPECT_EQ(refused(many).code, "INGOT-E7201");
}

TEST(RequestTest, AnObjectMayHaveThousandsOfNames) {
  const auto body = [](int names) {
    std::string text = R"({"prompt": "a", "metadata": {)";
    for (int i = 0; i < names; ++i)
      text += "\"" + std::to_string(i) + "\":0,";
    text.back() = '}';
    return text + "}";
  };
  accepted(body(5000));
  EXPECT_EQ(refused(body(5001)).code, "INGOT-E7201");
}

TEST(RequestTest, ErrorsHaveTheFormOfOpenAi) {
  Json body = Json::parse(errorJson({404, "INGOT-E7204", "no \"x\"", "model"}));
  EXPECT_EQ(body["error"]["message"], "no \"x\"");
  EXPECT_EQ(body["error"]["param"], "model");
  EXPECT_EQ(body["error"]["code"], "model_not_found");
  EXPECT_EQ(body["error"]["ingot_code"], "INGOT-E7204");
  ApiError context = apiError(Status::error("INGOT-E6004", "long"));
  EXPECT_EQ(context.status, 400);
  EXPECT_EQ(context.field, "prompt");
  EXPECT_EQ(Json::parse(errorJson(context))["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(apiError(Status::error("INGOT-E6506", "lost")).status, 500);
  ApiError full = apiError(Status::error("INGOT-E6030", "full"));
  HttpResponse response = errorResponse(full);
  EXPECT_EQ(response.status, 429);
  ASSERT_EQ(response.headers.size(), 1u);
  EXPECT_EQ(response.headers[0].name, "Retry-After");
  EXPECT_EQ(apiError(Status::error("INGOT-E6006", "sampling parameter top_p is wrong")).field,
            "top_p");
}

TEST(RequestTest, NamesOfRequests) {
  EXPECT_EQ(requestIdOf("abc-1.2:x_Y"), "abc-1.2:x_Y");
  for (std::string wrong : {std::string(), std::string("a b"), std::string("a\"b"),
                            std::string(129, 'a'), std::string("\xc3\xa4")})
    EXPECT_EQ(requestIdOf(wrong).size(), 32u) << wrong;
  EXPECT_NE(requestIdOf(""), requestIdOf(""));
  std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_EQ(traceParentOf(trace), trace);
  EXPECT_EQ(traceParentOf(trace + "0"), "");
  trace[2] = '0';
  EXPECT_EQ(traceParentOf(trace), "");
}

TEST(RequestTest, LinesOfTheLog) {
  RequestRecord record;
  record.id = "i";
  record.method = "POST";
  record.path = "/\n\xff";
  record.status = 200;
  record.promptTokens = 3;
  record.completionTokens = 4;
  record.traceParent = "t";
  std::string line = RequestLog::lineOf(record, 1500, 0.25);
  EXPECT_EQ(line.find('\n'), line.npos);
  Json read = Json::parse(line);
  EXPECT_EQ(read["time"], 1.5);
  EXPECT_EQ(read["status"], 200);
  EXPECT_EQ(read["prompt_tokens"], 3);
  EXPECT_EQ(read["completion_tokens"], 4);
  EXPECT_EQ(read["traceparent"], "t");
  EXPECT_FALSE(read.contains("first_token_seconds"));
}

TEST(RequestTest, HeadsAndParts) {
  HttpResponse response{.status = 200, .headers = {{"A", "b"}}, .body = "four"};
  ResponseFrame frame;
  frame.headers = {{"x-request-id", "1"}};
  EXPECT_EQ(responseHead(response, frame),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
            "Connection: keep-alive\r\nx-request-id: 1\r\nA: b\r\n\r\n");
  frame.end = BodyEnd::Chunks;
  frame.keepAlive = false;
  EXPECT_NE(responseHead(response, frame).find("Transfer-Encoding: chunked\r\nConnection: close"),
            std::string::npos);
  EXPECT_EQ(bodyPart("0123456789abcdef0", BodyEnd::Chunks), "11\r\n0123456789abcdef0\r\n");
  EXPECT_EQ(bodyPart("", BodyEnd::Chunks), "");
  EXPECT_EQ(bodyPart("x", BodyEnd::Closing), "x");
  EXPECT_EQ(dateText(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(pathOf("/v1/models/a%2Fb?x=%"), "/v1/models/a/b");
  EXPECT_EQ(pathOf("/%4"), "");
  EXPECT_EQ(pathOf("/%zz"), "");
}

} // namespace
