// SPDX-License-Identifier: Apache-2.0
// Names of models and files, addresses, and digests.
#include "compiler/hub/BlobHash.h"
#include "compiler/hub/ModelName.h"
#include "compiler/hub/Url.h"

#include <gtest/gtest.h>

#include <array>

namespace ingot::hub {
namespace {

TEST(ModelNames, HaveRevisionsAndParts) {
  auto name = ModelName::parse("org/model-7B.v1");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->repositoryName(), "org/model-7B.v1");
  EXPECT_EQ(name->revision, "main");
  EXPECT_EQ(name->part, "");
  name = ModelName::parse("o/m@refs/pr/1:sub/m-Q4_K_M.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->revision, "refs/pr/1");
  EXPECT_EQ(name->part, "sub/m-Q4_K_M.gguf");
}

TEST(ModelNames, AreRefusedWhereTheyCouldBeSomethingElse) {
  for (const char *text : {"",       "/",      "model",    "a/",    "/b",       "a/b/c",
                           "../b",   "a/..",   ".a/b",     "-a/b",  "a--b/c",   "a/b@",
                           "a/b@..", "a/b@/x", "a/b@x//y", "a/b:",  "a/b:../x", "a/b:/x",
                           "a/b\n",  "a b/c",  "a/b?x",    "a/b#x", "a%2fb/c"}) {
    auto name = ModelName::parse(text);
    ASSERT_FALSE(name) << text;
    EXPECT_EQ(name.error().code, "INGOT-E7301") << text;
  }
  EXPECT_FALSE(ModelName::parse(std::string(97, 'a') + "/b"));
}

TEST(ModelNames, MayBePagesOfTheHub) {
  const Url hub = *Url::parse("https://example.com");
  auto page = [&](const std::string &path) {
    return ModelName::parse("https://example.com" + path, hub);
  };
  auto name = page("/org/model/resolve/refs%2Fpr%2F1/sub/m%20Q4_0.gguf?download=true");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->revision, "refs/pr/1");
  name = page("/org/model/blob/v1/sub/m%20Q4_0.gguf?download=true");
  ASSERT_TRUE(name) << name.error().str();
  EXPECT_EQ(name->repositoryName(), "org/model");
  EXPECT_EQ(name->revision, "v1");
  EXPECT_EQ(name->part, "sub/m Q4_0.gguf");
  EXPECT_TRUE(page("/org/model") && page("/org/model/") && page("/org/model/tree/main"));
  for (const char *path : {"/", "/org", "/org/model/tree", "/org/model/blob/main", "/a/b/raw/x/y",
                           "/org/model/resolve/main/..%2Fx", "/org/model/resolve/main/%", "/a%/b",
                           "/org/model/resolve/main/%2"})
    EXPECT_FALSE(page(path)) << path;
  EXPECT_FALSE(ModelName::parse("https://example.org/org/model", hub));
  EXPECT_FALSE(ModelName::parse("http://example.com/org/model", hub));
  EXPECT_TRUE(ModelName::parse("org/model:x", hub));
  EXPECT_TRUE(isModelName("https://example.com/org/model"));
}

TEST(ModelNames, ArePathsWhereSomethingIsThere) {
  EXPECT_TRUE(isModelName("no-such-folder/model"));
  EXPECT_FALSE(isModelName("no-such-folder/model.gguf"));
  EXPECT_FALSE(isModelName("no-such-folder/model.ingot"));
  EXPECT_FALSE(isModelName("model"));
  EXPECT_FALSE(isModelName("/tmp/model"));
}

TEST(FileNames, StayBelowTheirFolder) {
  for (const char *name : {"a", "a/b", "a b", "..a", "a..", "...", "\xc3\xbc", "-a"})
    EXPECT_TRUE(isSafeFileName(name)) << name;
  for (const char *name : {"", ".", "..", "/", "/a", "a/", "a//b", "./a", "a/.", "../a", "a/../b",
                           "a\\b", "a\nb", "a\x7f", "\x01", "a\xc2\x85"})
    EXPECT_FALSE(isSafeFileName(name)) << name;
  EXPECT_FALSE(isSafeFileName(std::string_view("a\0b", 3)));
  EXPECT_TRUE(isSafeFileName(std::string(255, 'a')));
  EXPECT_FALSE(isSafeFileName(std::string(256, 'a')));
}

TEST(Urls, AreOfHttpsOrOfThisMachine) {
  auto url = Url::parse("HTTPS:"
                        "//Hub.Example.com:8443/a%20b?c=d&e=f#part");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->text(), "https:"
                         "//hub.example.com:8443/a%20b?c=d&e=f");
  for (const char *text : {"http://127.0.0.1:1/",
                           "http:"
                           "//127.9.8.7/",
                           "http://localhost/", "http://[::1]:80/", "https://example.com?x"})
    EXPECT_TRUE(Url::parse(text)) << text;
  for (const char *text : {"",
                           "example.com",
                           "//example.com",
                           "http://example.com/",
                           "ftp://127.0.0.1/",
                           "file:///etc/passwd",
                           "https://",
                           "https:///a",
                           "https:"
                           "//a:0/",
                           "https:"
                           "//a:65536/",
                           "https:"
                           "//a:1x/",
                           "https:"
                           "//u@a/",
                           "https:"
                           "//u:p@a/",
                           "https:"
                           "//a\\b/",
                           "https:"
                           "//a/ b",
                           "https:"
                           "//a/\n",
                           "https:"
                           "//a/\xc3\xbc",
                           "https:"
                           "//a b/",
                           "https:"
                           "//-a/",
                           "http:"
                           "//0x7f.0.0.1/",
                           "http:"
                           "//127.1/",
                           "http:"
                           "//0177.0.0.1/",
                           "http://127.0.0.1./",
                           "http:"
                           "//127.0.0.256/",
                           "http:"
                           "//127.0.0.1.example.com/",
                           "http:"
                           "//localhost.example.com/",
                           "http://[::2]/",
                           "http://127.0.0.1@example.com/",
                           "https://[a/"}) {
    auto refused = Url::parse(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, "INGOT-E7303") << text;
  }
}

TEST(Urls, FollowRedirects) {
  auto base = Url::parse("https://example.com/a/b?q=/x/y");
  ASSERT_TRUE(base);
  const std::array<std::pair<const char *, const char *>, 6> cases = {{
      {"/c", "https://example.com/c"},
      {"c?d", "https://example.com/a/c?d"},
      {"c?u=http:"
       "//x/",
       "https://example.com/a/c?u=http://x/"},
      {"//example.org/c", "https://example.org/c"},
      {"https://example.org:444", "https://example.org:444/"},
      {"", "https://example.com/a/"},
  }};
  for (const auto &[location, expected] : cases) {
    auto next = base->redirectedTo(location);
    ASSERT_TRUE(next) << location;
    EXPECT_EQ(next->text(), expected);
  }
  // Never from https to http, also on this machine.
  for (const char *location : {"http://127.0.0.1/", "http://example.com/", "//u@example.org/"})
    EXPECT_FALSE(base->redirectedTo(location)) << location;
}

TEST(Urls, KnowTheirOrigin) {
  auto base = Url::parse("https://example.com/a");
  ASSERT_TRUE(base);
  EXPECT_TRUE(base->sameOrigin(*Url::parse("https://EXAMPLE.com:443/b")));
  for (const char *other : {"https://example.com:444/a",
                            "https:"
                            "//www.example.com/a",
                            "https:"
                            "//example.com.example.org/a"})
    EXPECT_FALSE(base->sameOrigin(*Url::parse(other))) << other;
  EXPECT_FALSE(Url::parse("http://localhost/")->sameOrigin(*Url::parse("https://localhost:80/")));
}

TEST(Urls, EscapePaths) { EXPECT_EQ(escapedPath("/a b%/\xc3\xbc?#"), "/a%20b%25/%C3%BC%3F%23"); }

TEST(BlobHashes, AreThoseOfGitAndOfFips180) {
  auto digest = [](PublishedDigest::Kind kind, std::string_view text) {
    BlobHash hash(kind, text.size());
    for (char c : text)
      hash.update(std::as_bytes(std::span(&c, 1)));
    auto hex = hash.finish();
    return hex ? *hex : hex.error().str();
  };
  // `git hash-object` of an empty file; "abc" is of the standard.
  EXPECT_EQ(digest(PublishedDigest::Kind::GitBlob, ""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(digest(PublishedDigest::Kind::GitBlob, "hello\n"),
            "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(digest(PublishedDigest::Kind::Sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

} // namespace
} // namespace ingot::hub
