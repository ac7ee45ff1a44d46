// SPDX-License-Identifier: Apache-2.0
// Everything that is read from outside, mutated: what is accepted stays within its bounds.
#include "compiler/hub/ModelName.h"
#include "compiler/hub/RepositoryListing.h"
#include "compiler/hub/Selection.h"
#include "compiler/hub/Url.h"
#include "tests/fuzz/FuzzSession.h"

#include <filesystem>

using namespace ingot::fuzz;
using namespace ingot::hub;
namespace fs = std::filesystem;

/// That `name`, appended to a folder, is below it.
static void expectBelow(const std::string &name) {
  const fs::path folder = "/folder", joined = (folder / name).lexically_normal();
  EXPECT_TRUE(joined.string().starts_with("/folder/")) << name;
  EXPECT_EQ(name.find('\0'), name.npos);
}

static std::string codeOfName(const ingot::checkpoint::Expected<ModelName> &name) {
  if (!name)
    return name.error().code;
  expectBelow("models--" + name->organisation + "--" + name->repository);
  expectBelow(name->revision);
  if (!name->part.empty())
    expectBelow(name->part);
  EXPECT_EQ(name->repositoryName().find('/'), name->organisation.size());
  EXPECT_EQ(name->repository.find('/'), std::string::npos);
  return "";
}

TEST(HubFuzz, Pages) {
  FuzzSession session("pages", 4);
  const Url hub = *Url::parse("https://example.com/hub");
  session.mutator.setWords({"..", "/", "@", ":", "%2f", "%00", "%", "blob"});
  session.run(20000,
              {"https://example.com/hub/org/model", "https://example.com/hub/o/m/tree/v1",
               "https://example.com/hub/o/m/resolve/main/a/b%20c.gguf?download=true"},
              [&](const std::string &text) { return codeOfName(ModelName::parse(text, hub)); });
  session.check();
}

TEST(HubFuzz, ModelNames) {
  FuzzSession session("model_names", 1);
  session.mutator.setWords({"..", "/", "@", ":", "--", "%2e", std::string(1, '\0')});
  session.run(20000, {"org/model", "o/m@v1.2", "o/m@refs/pr/1:a/b-Q4_K_M.gguf"},
              [](const std::string &text) { return codeOfName(ModelName::parse(text)); });
  session.check();
}

TEST(HubFuzz, Redirects) {
  FuzzSession session("redirects", 2);
  session.mutator.setWords({"http://", "https://", "//", "@", ":", "\\", "127.0.0.1", "[::1]",
                            "\r\n", "localhost", "#", "?"});
  const Url bases[] = {*Url::parse("https://example.com/a/b?c"),
                       *Url::parse("http://127.0.0.1:8/")};
  session.run(20000,
              {"https:"
               "//cdn.example.com/x?Signature=a~b",
               "/api/resolve/x", "//example.org/x", "http://127.0.0.1:80/x", "a/b"},
              [&](const std::string &location) -> std::string {
                std::string code;
                for (const Url &base : bases) {
                  auto url = base.redirectedTo(location);
                  if (!url) {
                    code = url.error().code;
                    continue;
                  }
                  EXPECT_TRUE(url->isSecure || (url->isLoopback() && !base.isSecure)) << location;
                  // What is asked is what was checked.
                  auto again = Url::parse(url->text());
                  EXPECT_TRUE(again && again->text() == url->text() && again->sameOrigin(*url))
                      << location;
                  EXPECT_EQ(url->host.find_first_of("@/\\?# "), std::string::npos);
                }
                return code;
              });
  session.check();
}

TEST(HubFuzz, Listings) {
  const std::string commit(40, 'a'), digest(64, 'b');
  FuzzSession session("listings", 3);
  session.mutator.setWords({"../", "\\u0000", "\\n", "null", "-1", "1e99", "{}", "[]"});
  session.run(6000,
              {R"({"sha": ")" + commit +
                   R"(", "siblings": [{"rfilename": "config.json", "size": 3, "blobId": ")" +
                   commit + R"("}, {"rfilename": "a/m-Q4_0.gguf", "size": 9, "lfs": {"sha256": ")" +
                   digest + R"(", "size": 9}}]})",
               R"({"sha": ")" + commit + R"(", "siblings": []})"},
              [](const std::string &text) -> std::string {
                auto listing = RepositoryListing::parse(text, "org/model");
                if (!listing)
                  return listing.error().code;
                std::vector<NamedSize> sizes;
                EXPECT_TRUE(isHex(listing->commit, 40));
                for (const RemoteFile &file : listing->files) {
                  expectBelow(file.name);
                  EXPECT_TRUE(isHex(file.digest.hex, 40) || isHex(file.digest.hex, 64));
                  sizes.push_back({file.name, file.bytes});
                }
                (void)selectFiles(sizes, "", ~uint64_t{0}, "org/model");
                return "";
              });
  session.check();
}
