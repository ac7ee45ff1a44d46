// SPDX-License-Identifier: Apache-2.0
// Bodies of completions, and the small texts of a request's head.
#include "runtime/server/CompletionRequest.h"
#include "runtime/server/ConfigFile.h"
#include "runtime/server/RequestLog.h"
#include "runtime/server/ResponseText.h"
#include "runtime/server/UnservedFields.h"
#include "tests/fuzz/targets/Target.h"

using namespace ingot;
using namespace ingot::fuzz;

std::vector<std::string> fuzz::seeds() {
  return {
      R"({"prompt": "Once", "max_tokens": 5, "temperature": 0.5, "stop": ["a", "b"]})",
      R"({"prompt": [[1, 2], "x"], "n": 2, "best_of": 3, "logit_bias": {"4": -100, "17": 2.5}})",
      R"({"prompt": [1, 2], "stream": true, "stream_options": {"include_usage": true}})",
      R"({"prompt": ["a"], "seed": -3, "logprobs": 20, "top_k": -1, "user": {"a": [null]}})",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "/v1/models/a%2Fb?x=1",
      "# options\nport: 1\ncors-origins:\n  - \"*\"\nserved-model-name: [a, 'b''c']\n",
  };
}

std::vector<std::string> fuzz::words() {
  std::vector<std::string> words = {
      "true", "false", "null", "1e300", "-1", "18446744073709551615", "\\ud800", "%2F", "- ", ": "};
  for (const char *name : {"prompt", "max_tokens", "n", "best_of", "stream", "stream_options",
                           "include_usage", "echo", "logprobs", "temperature", "top_p", "top_k",
                           "seed", "logit_bias", "stop", "stop_token_ids", "priority"})
    words.push_back('"' + std::string(name) + '"');
  for (const runtime::UnservedField &field : runtime::unservedFields())
    words.push_back('"' + std::string(field.name) + '"');
  return words;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  runtime::OrError<runtime::Json> body = runtime::parseBody(text);
  if (const auto *error = std::get_if<runtime::ApiError>(&body)) {
    EXPECT_EQ(error->code, "INGOT-E7201");
  } else {
    auto request = runtime::readCompletionRequest(std::get<runtime::Json>(body), {});
    if (const auto *refused = std::get_if<runtime::ApiError>(&request)) {
      EXPECT_FALSE(refused->field.empty() && refused->code != "INGOT-E7202") << refused->message;
      EXPECT_TRUE(nlohmann::json::accept(runtime::errorJson(*refused)));
    } else {
      const auto &accepted = std::get<runtime::CompletionRequest>(request);
      EXPECT_GE(accepted.requests().size(), 1u);
      EXPECT_LE(accepted.requests().size(), 1024u);
      EXPECT_LE(accepted.bestOf, 128);
      (void)accepted.each.sampling.validate(1000);
    }
  }
  EXPECT_LE(runtime::requestIdOf(text).size(), 128u);
  EXPECT_LE(runtime::traceParentOf(text).size(), 55u);
  EXPECT_LE(runtime::pathOf(text).size(), size);
  auto config = runtime::readConfig(text);
  EXPECT_TRUE(config.ok() || config.status().code() == "INGOT-E7217");
  return 0;
}
