# SPDX-License-Identifier: Apache-2.0
"""`--help` of every program and command is a screen that names every option, commands first and
examples last, which can be typed as they stand; `--help-all` explains them."""
import re
import subprocess
import unittest

import harness

MOST_LINES, MOST_COLUMNS = 40, 100
PROGRAMS = ("ingot", "ingot-run", "ingot-server")
# Those of `ingot-run` are found in what it lists, and so are those of `bench`.
LISTED = re.compile(r"^  (?:bench )?([a-z]+):? +[a-z]", re.MULTILINE)


def printed(*words):
    run = subprocess.run([harness.programs / words[0], *words[1:]], capture_output=True, text=True,
                         timeout=harness.LIMIT, check=False)
    return run.returncode, run.stdout


def commands_of(*words):
    """The commands that help lists before any option."""
    text = printed(*words, "--help")[1]
    return LISTED.findall(re.split("\n(?:arguments|options|examples):", text)[0])


class Screens(unittest.TestCase):
    def screens(self):
        yield ("ingot",)
        yield ("ingot-server",)
        yield ("ingot-run",)
        for program in ("ingot", "ingot-run"):
            for command in commands_of(program):
                yield program, command
                if command == "bench":
                    for load in commands_of(program, command):
                        yield program, command, load

    def test_each_is_a_screen(self):
        seen = 0
        for words in self.screens():
            with self.subTest(command=" ".join(words)):
                status, text = printed(*words, "--help")
                seen += 1
                self.assertEqual(status, 0)
                lines = text.splitlines()
                self.assertLessEqual(len(lines), MOST_LINES, text)
                self.assertLessEqual(max(map(len, lines)), MOST_COLUMNS, text)
                self.assertRegex(text, "(?m)^usage: ")
                before, _, examples = text.partition("\nexamples:\n")
                self.assertIn("\nusage: ", before)
                typed = re.findall("(?m)^  (?! )(.*)", examples)
                self.assertTrue(typed, text)
                self.assertEqual([line for line in typed if line.split()[0] not in PROGRAMS], [])
        self.assertGreater(seen, 25)

    def test_all_options_are_named_and_explained(self):
        for words in self.screens():
            if words == ("ingot",) or words[1:] in (("run",), ("serve",), ("keep",)):
                continue  # They tell which other help explains theirs.
            with self.subTest(command=" ".join(words)):
                status, everything = printed(*words, "--help-all")
                self.assertEqual(status, 0)
                brief = printed(*words, "--help")[1]
                explained = set(re.findall(r"^  (?:-\w,)?(--[a-z][\w-]*)", everything,
                                           re.MULTILINE))
                self.assertEqual(
                    {name for name in explained if not re.search(rf"{name}(?![\w-])", brief)},
                    set())

    def test_commands_come_first(self):
        self.assertEqual(commands_of("ingot")[:3], ["build", "run", "serve"])
        listed = [line.split()[0] for line in
                  printed("ingot-run", "--list-commands")[1].splitlines()]
        self.assertEqual(commands_of("ingot-run"), listed)
        self.assertEqual(commands_of("ingot-run", "bench"), ["serve", "throughput", "latency"])
        self.assertLessEqual(set(listed) - {"generate"}, set(commands_of("ingot")))


if __name__ == "__main__":
    harness.main()
