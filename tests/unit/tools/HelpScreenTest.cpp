// SPDX-License-Identifier: Apache-2.0
// Help: everything where that is a screen; otherwise what is frequent, and the names of the rest.
#include "runtime/tools/HelpScreen.h"
#include "runtime/tools/CommandLine.h"

#include <gmock/gmock.h>

using namespace ingot::runtime;
using testing::HasSubstr;
using testing::Not;

TEST(HelpScreenTest, FewOptionsAreAllExplained) {
  CommandLine app("Does it.", "program", "examples:\n  program file");
  std::string file, form;
  int64_t port = 80;
  bool flag = false;
  app.addOption("file", file, "what to read").required();
  app.addOption("-o,--output", form, "what to write").required();
  app.addOption("--port", port, "where to listen").between(0, 99).group("Address").showDefault();
  CommandOption form1 = app.addOption("--form", form, "how").oneOf({"one", "two"});
  app.addFlag("--flag", flag, "yes").needs(form1);
  EXPECT_EQ(app.help(false), app.help(true));
  EXPECT_EQ(app.help(true), "Does it.\n"
                            "\n"
                            "usage: program file -o TEXT [OPTIONS]\n"
                            "\n"
                            "arguments:\n"
                            "  file                      what to read\n"
                            "\n"
                            "options:\n"
                            "  -o,--output TEXT          what to write\n"
                            "  --form TEXT               how {one, two}\n"
                            "  --flag                    yes (with --form)\n"
                            "\n"
                            "Address:\n"
                            "  --port INT                where to listen [0 - 99] (default: 80)\n"
                            "\n"
                            "examples:\n"
                            "  program file\n");
}

TEST(HelpScreenTest, ManyAreNamed) {
  const std::string words = " some words" + std::string(90, 'c') + " more";
  HelpScreen screen = {"Does it.", "program [OPTIONS]",    {},
                       {},         "details\n  a" + words, "examples:\n  program"};
  screen.options.push_back({"--own", "INT", "one of the command's own", "", "", false});
  for (int i = 0; i < 50; ++i)
    screen.options.push_back({"-x,--x" + std::to_string(i), "TEXT",
                              std::string(60, 'a') + " " + std::string(60, 'b'), "", "Group",
                              i == 7});
  const std::string brief = screen.brief(), whole = screen.whole();
  for (const char *text : {"--own INT", "-x,--x7 TEXT", "--help-all", "  Group: --x0, --x1,"})
    EXPECT_THAT(brief, HasSubstr(text));
  EXPECT_THAT(brief, Not(HasSubstr("--x8 TEXT")));
  EXPECT_THAT(brief, Not(HasSubstr("details")));
  EXPECT_THAT(whole, HasSubstr("-x,--x49 TEXT"));
  EXPECT_THAT(whole, HasSubstr("\ndetails\n  a some\n  words"));
  for (const std::string *text : {&brief, &whole})
    for (size_t at = 0, end; (end = text->find('\n', at)) != text->npos; at = end + 1)
      EXPECT_LE(end - at, HelpScreen::mostColumns) << text->substr(at, end - at);
}
