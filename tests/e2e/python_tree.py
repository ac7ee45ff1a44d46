# SPDX-License-Identifier: Apache-2.0
"""The Python package as a wheel has it, beside the library that was built."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

PACKAGE = harness.ROOT / "python" / "ingot_llm"


def install(folder):
    """The package, its library and what decodes pictures in a folder, which is to be on the path of
    modules."""
    shutil.copytree(PACKAGE, folder / "ingot_llm",
                    ignore=shutil.ignore_patterns("__pycache__", "lib"))
    (folder / "ingot_llm" / "lib").mkdir()
    (folder / "ingot_llm" / "lib" / "libingot.so").symlink_to(
        harness.programs.parent / "lib" / "libingot.so")
    (folder / "ingot_llm" / "lib" / "ingot-images").symlink_to(harness.programs / "ingot-images")


class PackageTest(unittest.TestCase):
    """Tests with the package and a toy engine: 64 tokens, the first of which are a to z."""

    CONTEXT, SEQUENCES = 4096, 64

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-python-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        install(cls.folder)
        sys.path.insert(0, str(cls.folder))
        cls.addClassCleanup(sys.path.remove, str(cls.folder))
        cls.engine = cls.folder / "toy.ingot"
        subprocess.run([harness.tools / "make-toy-engine", cls.engine, str(cls.CONTEXT),
                        str(cls.SEQUENCES)], check=True, timeout=harness.LIMIT)

    def open(self, **options):
        """An LLM that is closed at the end of the test."""
        import ingot_llm
        llm = ingot_llm.LLM(self.engine, threads=2, **options)
        self.addCleanup(llm.close)
        return llm

    def python(self, code, *arguments, limit=60):
        """A program that has imported the package, in a process of its own, run to its end."""
        return subprocess.run(
            [sys.executable, "-c", "from ingot_llm import *\n" + code, self.engine,
             *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=limit, check=False)
