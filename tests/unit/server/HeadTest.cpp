// SPDX-License-Identifier: Apache-2.0
// Values of headers, hosts that are answered, and room for bodies. server_http.py sends whole
// requests.
#include "runtime/server/AllowedHosts.h"
#include "runtime/server/BodyRooms.h"
#include "runtime/server/HeaderValues.h"

#include <gmock/gmock.h>

using namespace ingot::runtime;
using testing::ElementsAre;

namespace {

TEST(HeadTest, Lists) {
  HttpRequest request;
  request.headers = {{"a", "B, \"c, d\" ,,"}, {"b", "x"}, {"a", " \te\t"}, {"a", ""}};
  EXPECT_THAT(elementsOf(request, "a"), ElementsAre("b", "\"c, d\"", "e"));
  EXPECT_THAT(elementsOf(request, "c"), ElementsAre());
}

TEST(HeadTest, MediaTypes) {
  for (const auto &[text, name, charset] : std::initializer_list<std::array<const char *, 3>>{
           {"Application/JSON", "application/json", ""},
           {"application/json;charset=UTF-8", "application/json", "utf-8"},
           {" a/b ; x=\"; charset=no\" ; Charset=\"Latin-1\";", "a/b", "latin-1"},
           {"a/b; charset", "a/b", ""},
           {"\"a", "\"a", ""},
           {"", "", ""}}) {
    MediaType type = mediaTypeOf(text);
    EXPECT_EQ(type.name, name) << text;
    EXPECT_EQ(type.charset, charset) << text;
  }
}

TEST(HeadTest, HostNames) {
  for (const auto &[text, host] :
       std::initializer_list<std::array<const char *, 2>>{{"Example.COM:80", "example.com"},
                                                          {"a.", "a"},
                                                          {"", ""},
                                                          {":80", ""},
                                                          {"[0:0::1]:1", "::1"},
                                                          {"[::FFFF:1.2.3.4]", "::ffff:1.2.3.4"},
                                                          {"127.0.0.1", "127.0.0.1"}})
    EXPECT_EQ(hostOf(text), host) << text;
  for (const char *text : {"a b", "a:b", "a:1:2", "::1", "[::1", "[::1]a", "[::1%eth0]", "a@b",
                           "a/b", "a,b", "a\x7f", "a:000080"})
    EXPECT_EQ(hostOf(text), std::nullopt) << text;
}

TEST(HeadTest, AllowedHostsAreChecked) {
  EXPECT_TRUE(
      AllowedHosts::check({"a.example", "*.b.example", "*", "::1", "[::1]", "1.2.3.4"}).ok());
  for (const char *word : {"", "http://localhost", "a:80", "[::1]:80", "*.", "a.*", "a b", "a/"})
    EXPECT_EQ(AllowedHosts::check({word}).code(), "INGOT-E2103") << word;
}

/// Of a server that listens there and was given `hosts`.
AllowedHosts hostsOf(const char *address, std::vector<std::string> hosts = {}) {
  ServerOptions options;
  (address[0] == '/' ? options.unixSocket : options.host) = address;
  options.allowedHosts = std::move(hosts);
  return AllowedHosts(options);
}

TEST(HeadTest, HostsOfAddresses) {
  for (const char *address : {"127.0.0.1", "localhost", "::1", "127.3.0.1"}) {
    EXPECT_FALSE(hostsOf(address).refuse("localhost")) << address;
    EXPECT_TRUE(hostsOf(address).refuse("example.com")) << address;
  }
  EXPECT_FALSE(hostsOf("0.0.0.0").refuse("example.com"));
  EXPECT_FALSE(hostsOf("/tmp/a").refuse("example.com"));
  AllowedHosts some = hostsOf("10.1.1.1", {"A.example", "::2"});
  for (const char *host : {"a.example", "10.1.1.1", "::2", "::1", "::ffff:127.0.0.1", ""})
    EXPECT_FALSE(some.refuse(host)) << host;
  for (const char *host : {"10.1.1.2", "127.0.0.1.example", "localhost.example", "1127.0.0.1"})
    EXPECT_TRUE(some.refuse(host)) << host;
  EXPECT_THAT(some.refuse("b")->message, testing::HasSubstr("--allowed-hosts b"));
}

TEST(BodyRoomsTest, TheOldestGiveWay) {
  BodyRooms rooms(100);
  BodyRooms::Clock::time_point start;
  std::string gone;
  auto open = [&](const char *name, int seconds) {
    return rooms.open([&gone, name] { gone += name; }, start + std::chrono::seconds(seconds));
  };
  BodyRooms::Room a = open("a", 0), b = open("b", 1), c = open("c", 2), kept = open("k", 0);
  EXPECT_TRUE(kept.grow(10, start));
  kept.keep();
  EXPECT_TRUE(a.grow(40, start));
  EXPECT_TRUE(b.grow(40, start + std::chrono::seconds(1)));
  // They are young, or would not bring enough.
  EXPECT_FALSE(c.grow(20, start + std::chrono::seconds(1)));
  EXPECT_FALSE(c.grow(95, start + std::chrono::seconds(9)));
  EXPECT_EQ(gone, "");
  EXPECT_TRUE(c.grow(20, start + BodyRooms::patience));
  EXPECT_EQ(gone, "a");
  EXPECT_EQ(rooms.bytes(), 70u);
  EXPECT_FALSE(a.grow(1, start));
  // Nobody gives way to itself.
  EXPECT_FALSE(c.grow(80, start + std::chrono::seconds(9)));
  EXPECT_TRUE(c.grow(60, start + std::chrono::seconds(9)));
  EXPECT_EQ(gone, "ab");
  {
    BodyRooms::Room moved = std::move(c);
    EXPECT_EQ(rooms.bytes(), 90u);
  }
  EXPECT_EQ(rooms.bytes(), 10u);
  kept.close();
  EXPECT_EQ(rooms.bytes(), 0u);
}

} // namespace
