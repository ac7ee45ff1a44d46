# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the code of the documents as it stands, against an installed runtime, with the
compiler that `cc` and `c++` are here.

Fenced blocks of a kind that nothing checks are refused. Recipes are read by RecipeTest."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
import python_tree

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Kinds of blocks, and the pages that may have them; the empty kind is what a program prints.
CHECKED = {"c": ["docs/embedding.md"], "cpp": ["docs/embedding.md"], "cmake": ["docs/embedding.md"],
           "yaml": ["docs/recipes.md", "docs/gguf.md"],
           "python": ["docs/conversations.md", "docs/python.md"],
           "mermaid": ["docs/architecture.md"], "": []}
PAGE = "docs/embedding.md"


def text_of(page):
    return (harness.ROOT / page).read_text(encoding="utf-8")


def blocks(page, kind):
    return [code for name, code in BLOCK.findall(text_of(page)) if name == kind]


def commands(page, heading):
    """The indented lines below a heading, up to the next."""
    section = text_of(page).split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    outside = BLOCK.sub("", section)
    return [line.strip() for line in outside.splitlines() if line.startswith("    ")]


class Kinds(unittest.TestCase):
    def test_every_block_is_checked(self):
        for path in [harness.ROOT / "README.md", *(harness.ROOT / "docs").glob("*.md")]:
            page = str(path.relative_to(harness.ROOT))
            for kind, code in BLOCK.findall(path.read_text(encoding="utf-8")):
                with self.subTest(page=page, kind=kind):
                    self.assertIn(kind, CHECKED, code)
                    self.assertTrue(not kind or page in CHECKED[kind], code)

    def test_python(self):
        """That it runs is shown where its library is there: openai_client.py."""
        for code in blocks("docs/conversations.md", "python"):
            compile(code, "conversations.md", "exec")


class Embedding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = cls.folder / "prefix"
        for component in ("library", "development", "runtime"):
            subprocess.run(["cmake", "--install", harness.programs.parent, "--component", component,
                            "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL,
                           timeout=harness.LIMIT)
        cls.engine = cls.folder / "fables.ingot"
        subprocess.run([harness.programs / "ingot", "build", harness.FABLES, "-o", cls.engine,
                        "--target", "reference"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=harness.LIMIT)

    def fresh(self, files):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for name, code in files.items():
            (folder / name).write_text(code, encoding="utf-8")
        (folder / "fables.ingot").symlink_to(self.engine)
        return folder

    def type(self, folder, *lines):
        """Runs lines of the page, whose prefix is another one here; what the last one prints."""
        script = "set -e\n" + "\n".join(lines).replace("/opt/ingot", str(self.prefix))
        run = subprocess.run(["bash", "-c", script], cwd=folder, check=False, text=True,
                             env={**os.environ, "CMAKE_GENERATOR": "Ninja"},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=harness.LIMIT)
        self.assertEqual(run.returncode, 0, f"{script}\n{run.stdout}")
        return run.stdout

    def test_c_by_pkg_config(self):
        code, = blocks(PAGE, "c")
        lines = commands(PAGE, "With pkg-config: C")
        self.assertIn("pkg-config --cflags --libs ingot", " ".join(lines))
        folder = self.fresh({"Story.c": code})
        self.assertIn(" named ", self.type(folder, *lines))
        self.assertIn("; check the path",
                      self.type(folder, "./story none.ingot x 2>&1 || [[ $? == 1 ]]"))

    def test_python(self):
        code, = blocks("docs/python.md", "python")
        folder = self.fresh({"story.py": code})
        python_tree.install(folder)
        self.assertIn(" named ", self.type(folder, f"PATH={harness.programs}:$PATH",
                                            f"{sys.executable} story.py"))

    def test_cpp_by_cmake(self):
        project, = blocks(PAGE, "cmake")
        batch, _ = blocks(PAGE, "cpp")
        folder = self.fresh({"CMakeLists.txt": project, "Batch.cpp": batch})
        printed = self.type(folder, *commands(PAGE, "With CMake: C++"))
        for number in (1, 2):
            self.assertRegex(printed, rf"(?m)^{number}: \w+")

    def test_cpp_by_pkg_config(self):
        folder = self.fresh({f"Code{i}.cpp": code for i, code in enumerate(blocks(PAGE, "cpp"))})
        self.assertIn("`-std=c++20`", text_of(PAGE))
        export, *_ = commands(PAGE, "With pkg-config: C")
        for name in ("Code0", "Code1"):
            printed = self.type(
                folder, export, f"c++ -std=c++20 {name}.cpp -o {name} "
                "$(pkg-config --cflags --libs ingot) "
                "-Wl,-rpath,$(pkg-config --variable=libdir ingot)",
                f'./{name} fables.ingot "Once upon a time"')
            self.assertIn(" named ", printed)

    def test_quickstart_builds_what_it_runs(self):
        """And no library that is installed."""
        build = harness.programs.parent
        script = text_of("scripts/quickstart")
        line, = [line.split() for line in script.splitlines() if line.startswith("scripts/build ")]
        graph = subprocess.run(["ninja", "-C", build, "-t", "graph", *line[2:]], check=True,
                               text=True, stdout=subprocess.PIPE, timeout=harness.LIMIT).stdout
        made = {pathlib.Path(label).name for label in re.findall('label="([^"]*)', graph)}
        libraries = {path.name for path in self.prefix.glob("lib*/**/lib*")
                     if path.is_file() and not path.is_symlink()}
        self.assertIn("libingot-cuda-sim.so", libraries)
        self.assertEqual(libraries & made, set())
        programs = set(re.findall(r"(?:\$bin|build/release/bin)/([\w-]+)", script))
        self.assertIn("ingot-run", programs)
        self.assertEqual(programs - made, set())

    def test_the_runtime_is_built_without_llvm(self):
        """What its script installs where nothing is installed."""
        tools, asked = self.fresh({}), self.folder / "asked"
        for name, line in (("dpkg-query", "exit 1"), ("apt-get", f'echo "$@" >>{asked}')):
            (tools / name).write_text(f"#!/bin/sh\n{line}\n", encoding="ascii")
            (tools / name).chmod(0o755)
        (tools / "sudo").write_text('#!/bin/sh\nexec "$@"\n', encoding="ascii")
        (tools / "sudo").chmod(0o755)
        subprocess.run([harness.ROOT / "scripts/setup", "--runtime"], check=True,
                       env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
                       stdout=subprocess.DEVNULL, timeout=harness.LIMIT)
        packages = asked.read_text(encoding="ascii")
        self.assertIn(" ninja-build ", packages)
        self.assertNotRegex(packages, "llvm|mlir|clang|python")
        self.assertIn("scripts/setup --runtime", text_of("scripts/build"))

    def test_static(self):
        """The archive too asks for C++20 by itself."""
        project, = blocks(PAGE, "cmake")
        self.assertIn("Ingot::ingot_static", text_of(PAGE))
        folder = self.fresh({"CMakeLists.txt": project.replace("::ingot)", "::ingot_static)"),
                             "Batch.cpp": blocks(PAGE, "cpp")[0]})
        self.assertIn("1: ", self.type(folder, *commands(PAGE, "With CMake: C++")))


if __name__ == "__main__":
    harness.main()
