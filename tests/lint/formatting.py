# SPDX-License-Identifier: Apache-2.0
"""Sources are as .clang-format lays them out."""
import re
import shutil
import subprocess

PROGRAM = "clang-format-22"
SUFFIXES = (".h", ".hpp", ".cpp", ".c")
FILES_AT_A_TIME = 50
NEEDS = f"install {PROGRAM}"


def available(tree):
    """Whether the program is installed and the tree is a checkout."""
    return tree.root is not None and shutil.which(PROGRAM) is not None


def judge(messages):
    """The first place of each file that clang-format would change, from its messages."""
    first = {}
    for path, number in re.findall(r"^(.+?):(\d+):\d+: (?:warning|error)", messages, re.MULTILINE):
        first.setdefault(path, number)
    for path, number in first.items():
        yield f"{path}:{number}: run {PROGRAM} -i"


def formatted(tree):
    """clang-format changes nothing."""
    paths = [path for path, _ in tree.with_suffix(*SUFFIXES)]
    for start in range(0, len(paths), FILES_AT_A_TIME):
        result = subprocess.run(
            [PROGRAM, "--dry-run", "--style=file", *paths[start:start + FILES_AT_A_TIME]],
            cwd=tree.root, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        yield from judge(result.stderr)


RULES = [("formatted", formatted)]
