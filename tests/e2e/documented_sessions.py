# SPDX-License-Identifier: Apache-2.0
"""Types the sessions of the documents and compares what is printed.

A session is what follows a line `$ COMMAND` of an indented or fenced block, up to the next such
line or the end of the block. A command goes on in the next line while a quote is open. All share a
folder that has the repository's examples, and a command that stands on two pages is typed once.
Not compared:
  - numbers before a unit that says they are of this run or machine: seconds, bytes, rates, kernels,
    what was in the cache; numbers with commas, and the rules of tables;
  - the name of an x86-64 target, which is this machine's;
  - lines of progress, which stages have that take 20 seconds on a slow machine;
  - how much white space there is, so long lines may be broken;
  - what stands where the page has `...`.
A command `ingot-server ... &` is left running for the ones after it, on a port that is free, which
takes the place of 8000 in all of them.
The manual of ingot-run is also held to the program's options and to the keys of a request."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

UNITS = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)? "
                   r"(s|[KMG]iB|bytes|tokens/s|kernels|hits|misses)(?![\w/])")
LARGE = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])|-{3,}")
PROGRESS = re.compile(r"^(?:\S.*  (?:\d+ % )?after \d+ s|checking(?: takes|:) .*)\n", re.MULTILINE)
TARGET = re.compile(r"x86-64-v\d[+\w]*")
ELLIPSIS = "..."


def sessions(page):
    """The (command, shown output) of a page, in its order."""
    found, open_block, fenced = [], False, False
    for line in (harness.ROOT / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced, open_block = not fenced, False
            continue
        if fenced:
            line = f"    {line}"
        if line.startswith("    $ "):
            found.append((line[6:], []))
            open_block = True
        elif open_block and found[-1][0].count("'") % 2:
            found[-1] = (f"{found[-1][0]}\n{line[4:]}", [])
        elif open_block and (line.startswith("    ") or not line.strip()):
            found[-1][1].append(line.strip())
        else:
            open_block = False
    return [(command, "\n".join(shown)) for command, shown in found]


def settled(text):
    """`text` without what differs from run to run."""
    return " ".join(TARGET.sub("TARGET", LARGE.sub("", UNITS.sub(r"N \1", text))).split())


def agrees(shown, printed):
    """Whether a page shows what was printed."""
    parts = [re.escape(part.strip()) for part in settled(shown).split(ELLIPSIS)]
    printed = settled(PROGRESS.sub("", printed))
    return re.fullmatch(r"\s*.*\s*".join(parts), printed) is not None


class DocumentedSessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.symlink(harness.ROOT / "examples", cls.folder / "examples")
        cls.printed = {}
        cls.port = "8000"

    def output(self, command):
        """What a terminal shows of a command."""
        if command not in self.printed:
            path = f"{harness.programs}:{os.environ['PATH']}"
            run = self.serve if command.startswith("ingot-server ") else self.run_to_its_end
            self.printed[command] = run(command, {**os.environ, "PATH": path})
        return self.printed[command].replace(f":{self.port}", ":8000")

    def run_to_its_end(self, command, environment):
        return subprocess.run(
            ["bash", "-c", command.replace(":8000", f":{self.port}")], cwd=self.folder,
            env=environment, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=harness.LIMIT).stdout

    def serve(self, command, environment):
        """Leaves a server running; what it printed until it serves."""
        server = subprocess.Popen(
            [*command.removesuffix("&").split(), "--port", "0"], cwd=self.folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addClassCleanup(server.stdout.close)
        self.addClassCleanup(server.wait)
        self.addClassCleanup(server.kill)
        printed = ""
        for line in server.stdout:
            printed += line
            if line.startswith("serving "):
                break
        type(self).port = re.search(r"^serving .* at http://\S+:(\d+): ", printed,
                                   re.MULTILINE).group(1)
        return printed

    def compare(self, page):
        found = sessions(page)
        self.assertTrue(found, page)
        for command, shown in found:
            with self.subTest(page=page, command=command):
                printed = self.output(command)
                self.assertTrue(agrees(shown, printed), f"\nshown:\n{shown}\nprinted:\n{printed}")

    def test_readme(self):
        self.compare("README.md")

    def test_chat(self):
        self.compare("docs/chat.md")

    def test_running(self):
        self.compare("docs/running.md")

    def test_commands(self):
        self.compare("docs/commands.md")


class Comparison(unittest.TestCase):
    """What the comparison above takes as equal, and what it does not."""

    def test_equal(self):
        for shown, printed in [
                ("took 1.5 s,\n2,048 bytes", "took 20.25 s, 3 bytes"),
                ("target x86-64-v3 runs", "target x86-64-v4+vnni runs"),
                ("plan\ncompile", "plan\ncompile sm_90a     43 % after 20 s\ncompile"),
                ("one ... three", "one two three"), ("one\n...", "one"), ("...", "")]:
            self.assertTrue(agrees(shown, printed), shown)

    def test_unequal(self):
        for shown, printed in [
                ("31 tokens equal", "30 tokens equal"), ("one", "one two"), ("one", ""),
                ("one ... three", "one two"), ("1.5 s", "1.5 ms"), ("sm_90a", "sm_80")]:
            self.assertFalse(agrees(shown, printed), shown)


class Manual(unittest.TestCase):
    """docs/running.md and docs/conversations.md have every option of ingot-run, and every key of a
    request."""

    def setUp(self):
        self.text = "".join((harness.ROOT / "docs" / page).read_text(encoding="utf-8")
                            for page in ("running.md", "conversations.md"))

    def named(self, pattern):
        return set(re.findall(pattern, self.text))

    def test_options(self):
        printed = subprocess.run([harness.programs / "ingot-run", "--help-all"], check=True,
                                 text=True, stdout=subprocess.PIPE, timeout=harness.LIMIT).stdout
        told = set(re.findall(r"(?<!\w)--[a-z][\w-]*", printed))
        self.assertIn("--prompts", told)
        self.assertEqual(sorted(told - {"--help"} - self.named(r"--[a-z][\w-]*")), [])

    def test_keys(self):
        source = (harness.ROOT / "runtime/tools/RequestJson.cpp").read_text(encoding="utf-8")
        keys = set(re.findall(r'^ +\{"(\w+)", ', source, re.MULTILINE))
        self.assertIn("temperature", keys)
        self.assertEqual(sorted(keys - self.named(r"`(\w+)`")), [])


class Options(unittest.TestCase):
    """Commands of the documents have options that their programs know."""

    COMMAND = re.compile(r"(?:^ {4}|^|`|\$ )((?:ingot|ingot-run|ingot-server) [^`\n#|]+)",
                         re.MULTILINE)
    LOADS = {"serve", "throughput", "latency"}

    def words_of(self, command):
        """The program and the command whose options follow."""
        words = command.split()
        if words[0] == "ingot-server" or not re.fullmatch("[a-z]+", words[1]):
            return words[:1]
        return words[:3 if words[1] == "bench" and words[2:] and words[2] in self.LOADS else 2]

    def test_options(self):
        pages = [harness.ROOT / "README.md", *(harness.ROOT / "docs").glob("*.md"),
                 *(harness.ROOT / "docs/errors").glob("*.md"),
                 *(harness.ROOT / "examples").glob("*/README.md")]
        seen = 0
        for page in pages:
            for command in self.COMMAND.findall(page.read_text(encoding="utf-8")):
                words = self.words_of(command)
                known = harness.options_of(*words) | {"--help-all", "--list-commands"}
                if words[1:] == ["plan"]: # of a checkpoint too
                    known |= harness.options_of("ingot", "build")
                named = set(harness.OPTION.findall(command))
                seen += len(named)
                with self.subTest(page=page.name, command=command):
                    self.assertEqual(named - known, set())
        self.assertGreater(seen, 50)


class Reports(harness.BuildTest):
    """docs/commands.md has every key of the report of a build, and no other."""

    def keys(self, value):
        if isinstance(value, dict):
            return set(value).union(*map(self.keys, value.values()))
        return set().union(*map(self.keys, value)) if isinstance(value, list) else set()

    def test_keys(self):
        written = set()
        for cache in (["--no-cache"], ["--cache", self.folder / "cache"]):
            path = self.folder / "report.json"
            result = self.ingot("build", harness.FABLES, "-o", self.folder / "fables.ingot",
                                "--target", "reference", "--report", path, *cache)
            self.assertEqual(result.returncode, 0, result.stdout)
            written |= self.keys(json.loads(path.read_text(encoding="utf-8")))
        page = (harness.ROOT / "docs/commands.md").read_text(encoding="utf-8")
        section = page.split("\n## build\n", 1)[1].split("\n## ", 1)[0]
        told = set(re.findall(r"`([a-z][a-z_0-9]*)`", section.split("|---|---|\n", 1)[1]))
        self.assertEqual(told, written)


if __name__ == "__main__":
    harness.main()
