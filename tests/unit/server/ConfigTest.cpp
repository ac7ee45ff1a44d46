// SPDX-License-Identifier: Apache-2.0
// Files of options: what is read, and what is refused rather than guessed.
#include "runtime/server/ApiKeys.h"
#include "runtime/server/ConfigFile.h"
#include "runtime/server/Options.h"

#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>

using namespace ingot::runtime;

namespace {

std::string fileOf(const std::string &name, const std::string &text) {
  std::string path = testing::TempDir() + "ingot-server-" + name;
  std::ofstream(path) << text;
  return path;
}

using Values = std::vector<std::string>;

TEST(ConfigTest, ReadsFlatYaml) {
  auto entries = readConfig("# comment\n"
                            "engine: my model.ingot   # behind a value\n"
                            "port: 8080\r\n"
                            "\n"
                            "cors-origins:\n"
                            "  - http://localhost:3000\n"
                            "  - \"*\"\n"
                            "served-model-name: [one, 'it''s, two', \"th\\\"ree\"]\n"
                            "api-keys: []\n"
                            "host: \"::1\"");
  ASSERT_TRUE(entries.ok()) << entries.status().toString();
  ASSERT_EQ(entries->size(), 6u);
  EXPECT_EQ((*entries)[0].name, "engine");
  EXPECT_EQ((*entries)[0].values, Values{"my model.ingot"});
  EXPECT_EQ((*entries)[1].values, Values{"8080"});
  EXPECT_EQ((*entries)[2].values, (Values{"http://localhost:3000", "*"}));
  EXPECT_EQ((*entries)[3].values, (Values{"one", "it's, two", "th\"ree"}));
  EXPECT_EQ((*entries)[4].values, Values{});
  EXPECT_EQ((*entries)[5].values, Values{"::1"});
  EXPECT_EQ((*entries)[5].line, 10u);
}

TEST(ConfigTest, RefusesOtherYaml) {
  const char *wrong[] = {"port",     "port 8000", "port:8000", "port:\n",      "a:\n  b: 1",
                         "- 1",      "a: 1\n- 2", "a: {b: 1}", "a: |\n  text", "a: &x 1",
                         "a: [1, 2", "a: [1] 2",  "a: 'x",     "a: \"\\n\"",   "a: 1\na: 2",
                         "A: 1",     "a: b: c",   "a: [[1]]",  "a: []\n- 1",   "a: 1\n  b: 2"};
  for (const char *text : wrong)
    EXPECT_EQ(readConfig(text).status().code(), "INGOT-E7217") << text;
  EXPECT_NE(readConfig("a: 1\nb").status().message().find("line 2"), std::string::npos);
}

TEST(ConfigTest, TheCommandLineWins) {
  std::string path = fileOf("options.yaml", "port: 1\nno-log: true\nserved-model-name: [a, b]\n");
  std::string words[] = {"ingot-server", "--config", path, "--port", "2", "engine.ingot"};
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  auto all = withConfigFile(int(argv.size()), argv.data());
  ASSERT_TRUE(all.ok()) << all.status().toString();
  EXPECT_EQ(all->words,
            (Values{"ingot-server", "--no-log=true", "--served-model-name=a",
                    "--served-model-name=b", "--config", path, "--port", "2", "engine.ingot"}));
  ServerOptions options;
  CommandLine app("", "ingot-server");
  addServerOptions(app, options);
  std::vector<const char *> parsed;
  for (const std::string &word : all->words)
    parsed.push_back(word.c_str());
  EXPECT_EQ(app.parse(int(parsed.size()), parsed.data()).error, "");
  EXPECT_EQ(options.port, 2);
  EXPECT_EQ(options.engine, "engine.ingot");
  EXPECT_EQ(options.modelNames, (Values{"a", "b"}));
  EXPECT_TRUE(options.noLog);
  std::string missing[] = {"ingot-server", "--config=/nowhere/at/all"};
  char *two[] = {missing[0].data(), missing[1].data()};
  EXPECT_EQ(withConfigFile(2, two).status().code(), "INGOT-E7101");
}

TEST(ConfigTest, AWrongLineIsNamed) {
  auto messageOf = [](const std::string &text) {
    std::string path = fileOf("wrong.yaml", text), config = "--config=" + path;
    char program[] = "ingot-server";
    char *argv[] = {program, config.data()};
    auto all = withConfigFile(2, argv);
    EXPECT_EQ(all.status().code(), "INGOT-E7217") << text;
    return std::string(all.status().message());
  };
  using testing::HasSubstr;
  EXPECT_THAT(messageOf("# of a test\nport: 1\n\nmax-conections: 2\n"),
              HasSubstr("line 4: there is no option 'max-conections' (did you mean "
                        "'max-connections'?)"));
  EXPECT_THAT(messageOf("served_model_name: a\n"), HasSubstr("'served-model-name'"));
  EXPECT_THAT(messageOf("host: a\nport: 70000\n"), HasSubstr("line 2: --port"));
  EXPECT_THAT(messageOf("port: [1, 2]\n"), HasSubstr("line 1: "));
  EXPECT_THAT(messageOf("help: true\n"), HasSubstr("line 1: there is no option"));
  EXPECT_THAT(messageOf("config: a\n"), HasSubstr("line 1: a file of options"));
  // What a line needs may stand in another one, or on the command line.
  std::string config = "--config=" + fileOf("two.yaml", "strict: true\nsimulate: sm_90a\n");
  char program[] = "ingot-server";
  char *argv[] = {program, config.data()};
  EXPECT_TRUE(withConfigFile(2, argv).ok());
}

TEST(ConfigTest, ALaterErrorNamesItsLine) {
  const std::vector<ConfigEntry> entries = {
      {"host", {"some-host"}, 2}, {"max-context", {"7"}, 3}, {"max-body", {"9"}, 5}};
  auto places = [&](const char *message) { return placesOf(message, "a.yaml", entries); };
  EXPECT_EQ(places("--max-context 7 is too small"), "a.yaml, line 3 (--max-context)");
  EXPECT_EQ(places("at some-host: no; another --host, or --max-body"),
            "a.yaml, line 2 (--host), line 5 (--max-body)");
  // Longer names are other options, and short values are in many texts.
  EXPECT_EQ(places("--max-body-seconds 7 of 9"), "");
  ServerArguments arguments{{}, "a.yaml", entries};
  EXPECT_EQ(arguments.locate(Status::error("INGOT-E6001", "--max-context 7", "no")).toString(),
            "INGOT-E6001: --max-context 7; no; see a.yaml, line 3 (--max-context)");
  EXPECT_TRUE(arguments.locate({}).ok());
}

TEST(ConfigTest, Keys) {
  auto keys = ApiKeys::load(fileOf("keys", "# of the tests\nfirst\r\n\nsecond\n"));
  ASSERT_TRUE(keys.ok()) << keys.status().toString();
  EXPECT_TRUE(keys->admits("Bearer first"));
  EXPECT_TRUE(keys->admits("bearer second"));
  for (const char *wrong : {"", "Bearer ", "Bearer firs", "Bearer first ", "first", "Basic first",
                            "Bearer # of the tests"})
    EXPECT_FALSE(keys->admits(wrong)) << wrong;
  EXPECT_TRUE(ApiKeys().admits(""));
  EXPECT_EQ(ApiKeys::load(fileOf("no-keys", "# none\n")).status().code(), "INGOT-E7218");
  EXPECT_EQ(ApiKeys::load(fileOf("bad-keys", "a b\n")).status().code(), "INGOT-E7218");
  EXPECT_EQ(ApiKeys::load("/nowhere/at/all").status().code(), "INGOT-E7101");
}

} // namespace
