# SPDX-License-Identifier: Apache-2.0
"""Documents against the tree: paths they name, error codes, passes and their tests."""
import fnmatch
import os
import pathlib
import re

from tree import lines

TOP = ("runtime", "dialects", "passes", "codegen", "compiler", "tests", "examples", "docs",
       "scripts", "cmake", "python")
PATH = re.compile(r"(?<![\w./<-])(?:%s)/[\w./{},*<>-]+" % "|".join(TOP))
FILE = re.compile(r"`([\w./{},*<>-]*[\w}]\.(?:cpp|h|hpp|td|fbs|proto|py|mlir|cmake))`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"INGOT-E(\d{4})")
PASS = re.compile(r'^def \w+\s*:\s*\w+<"ingot-([a-z0-9-]+)"')


def _alternatives(path):
    """`a.{h,cpp}` -> a.h, a.cpp; a placeholder `<name>` stands for any name."""
    match = re.search(r"\{([^}]*)\}", path)
    if not match:
        return [re.sub(r"<[^>]*>", "*", path)]
    return [alternative for part in match.group(1).split(",")
            for alternative in _alternatives(path[:match.start()] + part + path[match.end():])]


def _exists(tree, path):
    path = os.path.normpath(path)
    if "*" in path:
        return any(fnmatch.fnmatch(known, path) for known in [*tree.paths, *tree.folders])
    # A unit may be named without its suffix.
    return any(tree.exists(path + suffix) for suffix in ("", ".h", ".td"))


def paths(tree):
    """A path named in a document exists."""
    for path, text in tree.with_suffix(".md"):
        folder = os.path.dirname(path)
        for number, line in lines(text):
            for match in PATH.finditer(line):
                for name in _alternatives(match.group(0).rstrip(".,")):
                    if not name.endswith("_generated.h") and not (
                            _exists(tree, name) or _exists(tree, os.path.join(folder, name))):
                        yield f"{path}:{number}: there is no {name}"
            for match in FILE.finditer(line):
                name = match.group(1)
                if name.startswith(TOP) and "/" in name:
                    continue
                for known in _alternatives(name):
                    base = pathlib.PurePosixPath(known).name
                    if base.startswith("_"):  # the end of a name
                        base = "*" + base
                    if not any(fnmatch.fnmatch(pathlib.PurePosixPath(file).name, base)
                               for file in tree.paths) and not base.endswith("_generated.h"):
                        yield f"{path}:{number}: there is no file {known}"
            for match in LINK.finditer(line):
                if "://" not in match.group(1) and not _exists(
                        tree, os.path.join(folder, match.group(1))):
                    yield f"{path}:{number}: the link {match.group(1)} leads nowhere"


def errors(tree):
    """Every error code of the sources is documented, once, and every documented one is used."""
    used, documented = {}, {}
    for path, text in tree.with_suffix(".h", ".hpp", ".cpp", ".td", ".py"):
        if path.startswith("tests/") and not path.startswith("tests/gpu/"):
            continue
        for number, line in lines(text):
            if not line.lstrip().startswith(("//", "#")):
                for code in CODE.findall(line):
                    used.setdefault(code, f"{path}:{number}")
    used.pop("0000", None)  # The form of a code, not one of them.
    for path, text in tree.with_suffix(".md"):
        if not path.startswith("docs/errors/"):
            continue
        for number, line in lines(text):
            match = re.match(r"\| INGOT-E(\d{4}) \|", line)
            if not match:
                continue
            code = match.group(1)
            if code in documented:
                yield f"{path}:{number}: INGOT-E{code} is documented twice"
            if pathlib.PurePosixPath(path).name != f"E{code[0]}.md":
                yield f"{path}:{number}: INGOT-E{code} belongs in docs/errors/E{code[0]}.md"
            documented[code] = f"{path}:{number}"
    for code in sorted(used.keys() - documented.keys()):
        yield f"{used[code]}: INGOT-E{code} is not in docs/errors/E{code[0]}.md"
    for code in sorted(documented.keys() - used.keys()):
        yield f"{documented[code]}: INGOT-E{code} is in no source"


def pass_tests(tree):
    """A pass called --ingot-fuse-norm has a test fuse_norm.mlir that runs it."""
    tests = {pathlib.PurePosixPath(path).name: text for path, text in tree.with_suffix(".mlir")
             if path.startswith("tests/lit/")}
    for path, text in tree.with_suffix("Passes.td"):
        for number, line in lines(text):
            match = PASS.match(line)
            if not match:
                continue
            flag = match.group(1)
            test = tests.get(flag.replace("-", "_") + ".mlir")
            if test is None:
                yield f"{path}:{number}: --ingot-{flag} has no {flag.replace('-', '_')}.mlir"
            elif f"ingot-{flag}" not in test:
                yield f"{path}:{number}: the test of --ingot-{flag} does not run it"


RULES = [("document-paths", paths), ("error-codes", errors), ("pass-tests", pass_tests)]
