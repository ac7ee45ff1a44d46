// SPDX-License-Identifier: Apache-2.0
// The client of bench serve against a socket that sends what a test says, so that the sanitizers
// see it.
#include "runtime/tools/load/HttpLoad.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <mutex>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace ingot::runtime;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// Answers each connection, one after the other, with the same bytes in pieces, then closes it.
class CannedServer {
public:
  CannedServer(std::string answer, size_t piece) : answer(std::move(answer)), piece(piece) {
    listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto *plain = reinterpret_cast<sockaddr *>(&address);
    EXPECT_EQ(::bind(listener, plain, size), 0);
    EXPECT_EQ(::listen(listener, 64), 0);
    EXPECT_EQ(::getsockname(listener, plain, &size), 0);
    port = ntohs(address.sin_port);
    thread = std::thread([this] { serve(); });
  }
  ~CannedServer() {
    ::shutdown(listener, SHUT_RDWR); // ends accept
    thread.join();
    ::close(listener);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port); }
  std::string lastRequest() {
    std::lock_guard lock(mutex);
    return request;
  }

private:
  void serve() {
    for (int client; (client = ::accept(listener, nullptr, nullptr)) >= 0; ::close(client)) {
      readRequest(client);
      for (size_t at = 0; at < answer.size(); at += piece) {
        std::string_view part = std::string_view(answer).substr(at, piece);
        if (::send(client, part.data(), part.size(), MSG_NOSIGNAL) < 0)
          break;
      }
      ::shutdown(client, SHUT_WR);
      char rest[256];
      while (::read(client, rest, sizeof rest) > 0)
        continue;
    }
  }
  /// The header, and a body of the length it states.
  void readRequest(int client) {
    std::string text;
    char block[4096];
    size_t wanted = SIZE_MAX;
    while (text.size() < wanted) {
      ssize_t count = ::read(client, block, sizeof block);
      if (count <= 0)
        break;
      text.append(block, size_t(count));
      size_t end = text.find("\r\n\r\n");
      size_t length = text.find("Content-Length: ");
      if (end != text.npos)
        wanted = end + 4 + (length < end ? std::stoul(text.substr(length + 16)) : 0);
    }
    std::lock_guard lock(mutex);
    request = std::move(text);
  }

  std::string answer;
  size_t piece;
  int listener;
  uint16_t port = 0;
  std::mutex mutex;
  std::string request;
  std::thread thread;
};

const std::string events = "data: {\"choices\":[{\"text\":\"a\"}]}\n\n"
                           "data: {\"choices\":[{\"text\":\"b\",\"finish_reason\":\"stop\"}]}\n\n"
                           "data: [DONE]\n\n";

std::string chunked(const std::string &body) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", body.size());
  return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + (size + body) + "\r\n0\r\n\r\n";
}

std::string sized(const std::string &status, const std::string &body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

HttpOptions optionsFor(const CannedServer &server) {
  HttpOptions options;
  options.address = *ServerAddress::parse(server.url());
  options.model = "m";
  options.timeout = 20;
  return options;
}

/// The records of three requests, answered so.
std::vector<LoadRecord> load(const std::string &answer, size_t piece = 1000) {
  CannedServer server(answer, piece);
  WorkloadOptions work;
  work.requests = 3;
  work.prompt = {2, 2};
  Result<Workload> workload = Workload::create(work);
  LoadProgress progress;
  double seconds = 0;
  Result<std::vector<LoadRecord>> records =
      runHttpLoad(optionsFor(server), *workload, {2}, progress, seconds);
  EXPECT_TRUE(records.ok());
  EXPECT_EQ(records->size(), 3u);
  EXPECT_GT(seconds, 0);
  EXPECT_THAT(server.lastRequest(),
              StartsWith("POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_THAT(server.lastRequest(), HasSubstr("\"max_tokens\":64"));
  return std::move(*records);
}

TEST(HttpLoadTest, ReadsAnswersInAnyPieces) {
  for (size_t piece : {1, 2, 7, 1000})
    for (const std::string &answer :
         {chunked(events), sized("200 OK", events), "HTTP/1.0 200 OK\r\n\r\n" + events})
      for (const LoadRecord &record : load(answer, piece)) {
        EXPECT_TRUE(record.answered()) << record.failure.error.toString();
        EXPECT_EQ(record.text, "ab");
        EXPECT_EQ(record.finish, "stop");
      }
}

TEST(HttpLoadTest, NamesWhatIsWrong) {
  const std::string half = chunked(events).substr(0, 110);
  for (const auto &[answer, kind] : std::vector<std::pair<std::string, std::string>>{
           {"", "connection cut"},
           {"HTTP/1.1 200 OK\r\nTransfer-", "connection cut"},
           {half, "connection cut"},
           {"no HTTP\r\n\r\n", "malformed answer"},
           {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "malformed answer"},
           {"HTTP/1.1 200 OK\r\nX: " + std::string(70000, 'x') + "\r\n\r\n", "malformed answer"},
           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "malformed answer"},
           {sized("200 OK", "{}"), "malformed answer"},
           {sized("503 Busy", "{\"error\":{\"message\":\"later\"}}"), "HTTP 503"},
           {sized("500 No", std::string(300000, 'x')), "HTTP 500"},
           {"HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\nab", "HTTP 404"}})
    for (const LoadRecord &record : load(answer, 4096)) {
      EXPECT_EQ(record.failure.kind, kind) << answer.substr(0, 100);
      EXPECT_LT(record.failure.error.message().size(), 600u);
    }
}

TEST(HttpLoadTest, AsksForTheModel) {
  CannedServer server(sized("200 OK", R"({"data":[{"id":"m"},{"id":"n"}]})"), 5);
  HttpOptions options = optionsFor(server);
  options.model = "n";
  options.apiKey = "secret";
  Result<ListedModel> model = askForModel(options);
  ASSERT_TRUE(model.ok()) << model.status().toString();
  EXPECT_EQ(model->name, "n");
  EXPECT_THAT(server.lastRequest(), StartsWith("GET /v1/models HTTP/1.1\r\n"));
  EXPECT_THAT(server.lastRequest(), HasSubstr("Authorization: Bearer secret\r\n"));
  CannedServer locked(sized("401 No", R"({"error":{"message":"no key"}})"), 1000);
  Status refused = askForModel(optionsFor(locked)).status();
  EXPECT_EQ(refused.code(), "INGOT-E7243");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no key"));
}

} // namespace
