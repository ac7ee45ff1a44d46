# SPDX-License-Identifier: Apache-2.0
"""mypy (build/mypy, from scripts/setup --full) reads the Python package, and the program of
docs/python.md as one that uses it."""
import subprocess
import sys

import harness
import python_tree
from documented_code import blocks

MYPY = harness.ROOT / "build" / "mypy" / "bin" / "mypy"


class Types(harness.BuildTest):
    def mypy(self, code):
        """What it says of a program that finds the package, as users' checkers do."""
        folder = self.fresh("checked")
        python_tree.install(folder)
        (folder / "example.py").write_text(code, encoding="utf-8")
        run = subprocess.run(
            [MYPY, "--strict", "--python-version", "3.10", "--cache-dir", self.folder / "kept",
             "--ignore-missing-imports", "-p", "ingot_llm", "-m", "example"],
            cwd=folder, capture_output=True, text=True, timeout=harness.LIMIT, check=False)
        return run.returncode, run.stdout

    def test_package_and_example(self):
        code, = blocks("docs/python.md", "python")
        # The page is for people, who do not write what a function returns.
        status, said = self.mypy(code.replace("async def tell():", "async def tell() -> None:"))
        self.assertEqual(status, 0, said)

    def test_a_wrong_use_is_found(self):
        status, said = self.mypy("from ingot_llm import LLM\nLLM(1, memory='a').generate(2)\n")
        self.assertEqual((status, said.count("error: ")), (1, 3), said)


if __name__ == "__main__":
    if not MYPY.exists():
        print("SKIP python_types: scripts/setup --full installs mypy")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    harness.main()
