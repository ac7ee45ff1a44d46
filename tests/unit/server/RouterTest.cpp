// SPDX-License-Identifier: Apache-2.0
// Paths, methods, keys and origins, and what is answered without a completion.
#include "runtime/server/Router.h"
#include "runtime/core/Sha256.h"
#include "runtime/server/Page.h"
#include "tests/unit/server/RecordedExchange.h"
#include "tests/unit/server/ToyModel.h"

#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>

using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class RouterTest : public testing::Test {
protected:
  RouterTest() : toy(openToyModel()) { router.emplace(options, ApiKeys(), metrics); }

  std::shared_ptr<RecordedExchange> ask(HttpRequest request) {
    auto exchange = std::make_shared<RecordedExchange>(std::move(request));
    router->handle(exchange);
    exchange->wait();
    return exchange;
  }
  std::shared_ptr<RecordedExchange> get(const std::string &path) {
    return ask({.method = "GET", .path = path});
  }
  std::shared_ptr<RecordedExchange> post(const std::string &path, const std::string &body) {
    return ask({.method = "POST",
                .path = path,
                .headers = {{"content-type", "application/json; charset=utf-8"}},
                .body = body});
  }
  Json json(const std::string &path, const std::string &body) { return post(path, body)->json(); }
  void serve() { router->serve(*toy.model); }

  ServerOptions options;
  Metrics metrics;
  std::optional<Router> router;
  ToyModel toy;
};

TEST_F(RouterTest, WhileTheEngineIsBeingLoaded) {
  EXPECT_EQ(get("/health")->wait().status, 503);
  EXPECT_EQ(get("/ready")->json()["status"], "loading");
  EXPECT_EQ(get("/version")->wait().status, 200);
  EXPECT_EQ(get("/metrics")->wait().status, 200);
  for (const char *path : {"/v1/completions", "/tokenize", "/detokenize"}) {
    auto exchange = post(path, "{}");
    EXPECT_EQ(exchange->wait().status, 503);
    EXPECT_EQ(exchange->json()["error"]["ingot_code"], "INGOT-E7214");
  }
  serve();
  EXPECT_EQ(get("/health")->wait().status, 200);
}

TEST_F(RouterTest, PicturesAreForEnginesThatTakeThem) {
  EXPECT_EQ(router->mostBody(), uint64_t(4) << 20);
  serve();
  EXPECT_EQ(router->mostBody(), uint64_t(4) << 20);
  EXPECT_FALSE(router->takesPictures());
  EXPECT_EQ(get("/v1/models")->json()["data"][0]["meta"]["images"], false);
  Result<Dialogue> dialogue =
      Dialogue::make(toy.model->loop->tokenizer(),
                     {.templateName = "t", .templateText = "{{ messages[0].content }}"});
  ASSERT_TRUE(dialogue.ok()) << dialogue.status().toString();
  toy.model->dialogue = *std::move(dialogue);
  auto exchange = post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": [
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]}]})");
  EXPECT_EQ(exchange->wait().status, 400);
  EXPECT_EQ(exchange->json()["error"]["ingot_code"], "INGOT-E6814");
  EXPECT_EQ(exchange->json()["error"]["param"], "messages");
}

TEST_F(RouterTest, HealthIsThatOfTheLoop) {
  serve();
  toy.model->loop->drain();
  EXPECT_EQ(get("/health")->wait().status, 503);
  EXPECT_EQ(get("/ready")->json()["status"], "draining");
  auto exchange = post("/v1/completions", R"({"prompt": "abc"})");
  EXPECT_EQ(exchange->wait().status, 503);
  EXPECT_EQ(exchange->json()["error"]["ingot_code"], "INGOT-E6031");
}

const std::string &headerOf(const HttpResponse &response, std::string_view name) {
  for (const HttpHeader &header : response.headers)
    if (header.name == name)
      return header.value;
  static const std::string none;
  return none;
}

std::string between(const std::string &text, const std::string &from, const std::string &to) {
  size_t begin = text.find(from) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

/// The 32 bytes of a text in base64, in hexadecimal digits.
std::string decoded(const std::string &text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() != 44)
    return text;
  Digest digest = {};
  for (size_t bit = 0; bit < 8 * digest.size(); ++bit)
    if (letters.find(text[bit / 6]) >> (5 - bit % 6) & 1)
      digest[bit / 8] |= 0x80 >> bit % 8;
  return toHex(digest);
}

TEST_F(RouterTest, ThePage) {
  auto exchange = get("/"); // also without an engine
  const HttpResponse &page = exchange->wait();
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.contentType, "text/html; charset=utf-8");
  EXPECT_EQ(headerOf(page, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(headerOf(page, "Cache-Control"), "no-cache");
  std::string policy = headerOf(page, "Content-Security-Policy");
  EXPECT_THAT(policy, testing::StartsWith("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, testing::HasSubstr("connect-src 'self'"));
  EXPECT_THAT(policy, testing::Not(testing::HasSubstr("unsafe")));
  for (const PageSource &source : pageSources())
    if (!source.name.ends_with(".html"))
      EXPECT_NE(page.body.find(source.text), std::string::npos) << source.name;
  // A browser runs what has the digest that the policy names, and there is no other element.
  for (const auto &[directive, open, close] :
       {std::tuple<const char *, std::string, const char *>{"style-src", "<style>", "</style>"},
        {"script-src", "<script type=\"module\">", "</script>"}}) {
    std::string content = between(page.body, open, close);
    EXPECT_EQ(decoded(between(policy, std::string(directive) + " 'sha256-", "'")),
              toHex(sha256(content.data(), content.size())));
    EXPECT_EQ(page.body.find(open.substr(0, 6)), page.body.rfind(open.substr(0, 6))) << open;
  }
}

TEST_F(RouterTest, ThePageNamesNoOtherOrigin) {
  for (const PageSource &source : pageSources()) {
    std::string text(source.text);
    for (const char *name : {"http://www.w3.org/2000/svg"}) // of a language, not a place
      for (size_t at; (at = text.find(name)) != std::string::npos;)
        text.erase(at, std::string_view(name).size());
    for (const char *part : {"://", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval(",
                             "document.write", "new Function", "localStorage", "src=\"", "@import"})
      EXPECT_EQ(text.find(part), std::string::npos) << source.name << " has " << part;
  }
}

TEST_F(RouterTest, TheEngine) {
  EXPECT_EQ(get("/engine")->wait().status, 503);
  serve();
  Json report = get("/engine")->json();
  EXPECT_EQ(report["name"], "toy");
  EXPECT_EQ(report["target"], report["targets"][0]["name"]);
  EXPECT_GT(report["targets"][0]["kernel_count"], 0);
  EXPECT_TRUE(report["targets"][0]["fusions"].is_array());
  EXPECT_EQ(report["memory_plan"]["max_context"], 96);
  EXPECT_EQ(report["memory_plan"]["kv_groups"].size(), toy.model->loop->memoryPlan().groups.size());
  EXPECT_EQ(report["weight_formats"],
            Json::parse(R"([{"bytes": 256, "count": 1, "format": "u32"}])"));
  EXPECT_GT(report["targets"][0]["memory"]["tiers"][0]["bytes"], 0);
  EXPECT_FALSE(report.contains("weights"));
}

TEST_F(RouterTest, Models) {
  serve();
  Json list = get("/v1/models")->json();
  EXPECT_EQ(list["object"], "list");
  ASSERT_EQ(list["data"].size(), 2u);
  EXPECT_EQ(list["data"][1]["id"], "other");
  EXPECT_EQ(list["data"][1]["root"], "toy");
  EXPECT_EQ(list["data"][0]["max_model_len"], 96);
  EXPECT_EQ(list["data"][0]["meta"], Json({{"images", false}, {"n_vocab", 64}, {"n_ctx", 96}}));
  EXPECT_EQ(get("/v1/models/other")->json()["id"], "other");
  for (const char *path : {"/v1/models/none", "/v1/models/"})
    EXPECT_EQ(get(path)->json()["error"]["code"], "model_not_found");
  EXPECT_EQ(json("/v1/completions", R"({"prompt": "a", "model": "none"})")["error"]["param"],
            "model");
  EXPECT_EQ(json("/v1/completions", R"({"prompt": "a", "model": "other"})")["model"], "other");
}

TEST_F(RouterTest, Tokens) {
  serve();
  Json tokens = json("/tokenize", R"({"prompt": "abc", "return_token_strs": true})");
  EXPECT_EQ(tokens["tokens"], Json({0, 1, 2}));
  EXPECT_EQ(tokens["count"], 3);
  EXPECT_EQ(tokens["token_strs"], Json({"a", "b", "c"}));
  EXPECT_EQ(json("/detokenize", R"({"tokens": [0, 1, 2]})")["prompt"], "abc");
  EXPECT_EQ(get("/tokenizer_info")->json(), Json({{"bos_token", nullptr}, {"eos_token", "."}}));
  EXPECT_EQ(json("/tokenize", R"({"messages": []})")["error"]["param"], "messages");
  EXPECT_EQ(json("/tokenize", R"({})")["error"]["param"], "prompt");
  EXPECT_EQ(json("/detokenize", R"({"tokens": "a"})")["error"]["param"], "tokens");
  EXPECT_EQ(json("/detokenize", R"({})")["error"]["param"], "tokens");
  EXPECT_EQ(json("/tokenize", R"({"prompt": "a", "model": "x"})")["error"]["param"], "model");
}

/// A client to whom the first response cannot be given.
class ThrowingExchange final : public Exchange {
public:
  ThrowingExchange(HttpRequest request, std::function<void()> fail)
      : Exchange(std::move(request)), fail(std::move(fail)) {}
  void respond(HttpResponse whole) override {
    if (auto now = std::exchange(fail, nullptr))
      now();
    response = std::move(whole);
  }
  void begin(HttpResponse) override {}
  size_t send(std::string_view) override { return 0; }
  void finish() override {}
  void listen(std::shared_ptr<ExchangeListener>) override {}

  HttpResponse response;

private:
  std::function<void()> fail;
};

TEST_F(RouterTest, ExceptionsAreAnswered) {
  for (const auto &[fail, status, code] :
       {std::tuple<std::function<void()>, int, const char *>{
            [] { throw std::runtime_error("unforeseen"); }, 500, "INGOT-E7220"},
        {[] { throw std::bad_alloc(); }, 503, "INGOT-E6010"}}) {
    auto exchange =
        std::make_shared<ThrowingExchange>(HttpRequest{.method = "GET", .path = "/version"}, fail);
    router->handle(exchange);
    EXPECT_EQ(exchange->response.status, status);
    EXPECT_EQ(Json::parse(exchange->response.body)["error"]["ingot_code"], code);
    EXPECT_EQ(exchange->record.error, code);
  }
}

TEST_F(RouterTest, PathsAndMethods) {
  serve();
  EXPECT_EQ(get("/nothing")->json()["error"]["ingot_code"], "INGOT-E7206");
  EXPECT_EQ(get("/v1/completions")->wait().status, 405);
  EXPECT_EQ(get("/v1/completions")->wait().headers.at(0).value, "POST, OPTIONS");
  EXPECT_EQ(post("/health", "{}")->json()["error"]["ingot_code"], "INGOT-E7207");
  EXPECT_EQ(ask({.method = "HEAD", .path = "/health"})->wait().status, 200);
  for (const char *path : {"/v1/embeddings", "/rerank", "/v1/rerank"}) {
    auto exchange = post(path, "{}");
    EXPECT_EQ(exchange->wait().status, 501) << path;
    EXPECT_EQ(exchange->json()["error"]["ingot_code"], "INGOT-E7208");
  }
  auto plain = ask({.method = "POST",
                    .path = "/v1/completions",
                    .headers = {{"content-type", "text/plain"}},
                    .body = R"({"prompt": "abc"})"});
  EXPECT_EQ(plain->wait().status, 415);
  EXPECT_EQ(json("/v1/completions", "{")["error"]["ingot_code"], "INGOT-E7201");
}

TEST_F(RouterTest, IdsWithoutTextAreNamed) {
  serve();
  for (const auto &[ids, place] :
       {std::pair{"[1, 64]", "64 at position 1"}, {"[-1]", "-1 at position 0"}}) {
    Json error = json("/detokenize", std::string(R"({"tokens": )") + ids + "}")["error"];
    EXPECT_EQ(error["ingot_code"], "INGOT-E6007");
    EXPECT_EQ(error["param"], "tokens");
    EXPECT_THAT(error["message"].get<std::string>(), testing::HasSubstr(place));
  }
  EXPECT_EQ(json("/detokenize", R"({"tokens": [1, 2]})")["prompt"], "bc");
}

TEST_F(RouterTest, Keys) {
  serve();
  std::string path = testing::TempDir() + "ingot-router-keys";
  std::ofstream(path) << "secret\n";
  auto keys = ApiKeys::load(path);
  ASSERT_TRUE(keys.ok());
  router.emplace(options, std::move(*keys), metrics);
  serve();
  for (const char *open : {"/", "/health"})
    EXPECT_EQ(get(open)->wait().status, 200);
  EXPECT_EQ(get("/engine")->wait().status, 401);
  auto exchange = get("/v1/models");
  EXPECT_EQ(exchange->wait().status, 401);
  EXPECT_EQ(exchange->json()["error"]["code"], "invalid_api_key");
  EXPECT_EQ(
      ask({.method = "GET", .path = "/v1/models", .headers = {{"authorization", "Bearer secret"}}})
          ->wait()
          .status,
      200);
  // Anthropic's clients have a header of their own; some send both.
  for (const auto &[headers, status] :
       {std::pair{std::vector<HttpHeader>{{"x-api-key", "secret"}}, 200},
        {{{"x-api-key", "secret"}, {"authorization", "Bearer other"}}, 200},
        {{{"x-api-key", "other"}, {"authorization", "Bearer secret"}}, 200},
        {{{"x-api-key", "other"}}, 401},
        {{{"x-api-key", ""}}, 401},
        {{{"x-api-key", "Bearer secret"}}, 401}})
    EXPECT_EQ(ask({.method = "GET", .path = "/v1/models", .headers = headers})->wait().status,
              status);
}

TEST_F(RouterTest, Origins) {
  EXPECT_TRUE(router->originHeaders("http://localhost").empty());
  options.corsOrigins = {"http://localhost"};
  EXPECT_EQ(router->originHeaders("http://localhost").at(0).value, "http://localhost");
  EXPECT_TRUE(router->originHeaders("http://example.com").empty());
  EXPECT_TRUE(router->originHeaders("").empty());
  HttpRequest asked = {
      .method = "OPTIONS", .path = "/v1/completions", .headers = {{"origin", "http://localhost"}}};
  EXPECT_EQ(ask(asked)->wait().status, 204);
  EXPECT_EQ(ask(asked)->wait().headers.at(0).name, "Access-Control-Allow-Methods");
  // A page may send what it asks for, whatever its client is called.
  auto allowed = [&] { return headerOf(ask(asked)->wait(), "Access-Control-Allow-Headers"); };
  EXPECT_EQ(allowed(), "");
  const std::string names = "anthropic-dangerous-direct-browser-access,anthropic-version,"
                            "content-type,openai-organization,x-api-key,x-stainless-lang";
  asked.headers.push_back({"access-control-request-headers", names});
  asked.headers.push_back({"access-control-request-private-network", "true"});
  EXPECT_EQ(allowed(), names);
  EXPECT_EQ(headerOf(ask(asked)->wait(), "Access-Control-Allow-Private-Network"), "true");
  asked.headers[0].value = "http://example.com";
  EXPECT_EQ(ask(asked)->wait().headers.at(0).name, "Allow");
  options.corsOrigins = {"*"};
  EXPECT_EQ(router->originHeaders("http://example.com").at(0).value, "*");
}

} // namespace
