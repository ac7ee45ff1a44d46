# SPDX-License-Identifier: Apache-2.0
"""Names and sizes of files and folders, their first lines, and the README of each source folder."""
import pathlib
import re

from tree import lines

CODE = (".h", ".hpp", ".cpp", ".c", ".td", ".fbs", ".proto", ".py", ".cmake", "CMakeLists.txt",
        ".html", ".css", ".js")
LINE_CAP = 800
TABLEGEN_LINE_CAP = 400
COLUMN_CAP = 100
README_CAP = 10
# Lists rather than descriptions, and what examples say to users.
LONG_READMES = ("docs/README.md", "examples/", "tests/README.md")
# Headers that C programs and foreign build trees include keep a classic guard.
GUARDED_HEADERS = ("runtime/schema/KernelAbi.h", "runtime/include/ingot/ingot.h")
NAMES = [
    # The public headers are named as their users write them.
    (r"runtime/include/ingot/.*", r"ingot\.(h|hpp)"),
    (r".*\.(cpp|h|hpp|c|td|fbs|proto)", r"[A-Z][A-Za-z0-9]*\.\w+"),
    (r".*\.(html|css|js)", r"[a-z]+\.\w+"),
    (r".*\.(mlir|test|py)", r"[a-z0-9_]+(\.\w+)*"),
    (r".*\.md", r"([A-Z]+|E[1-9]|[a-z0-9-]+)\.md"),
]
FORBIDDEN_NAMES = re.compile(
    r"(Utils?|Utilities|Commons?|Managers?|Impl|Helpers?|Misc)(?=[A-Z.]|$)")
CLASS = re.compile(r"^\s*(?:class|struct|enum class|namespace)\s+(\w+)")

TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?: final)?(?:\s*:[^;{]*)?\s*\{",
                  re.MULTILINE)


def is_script(path, text):
    return "." not in pathlib.PurePosixPath(path).name and text.startswith("#!")


def first_lines(tree):
    """The first line of a source names the licence, the next says what the file is for."""
    for path, text in tree.texts.items():
        script = is_script(path, text)
        if not script and not path.endswith((*CODE, ".in")):
            continue
        first = text.splitlines()[1 if text.startswith("#!") else 0:][:2] + ["", ""]
        if not re.fullmatch(r"(//|#|/\*|<!--) SPDX-License-Identifier: Apache-2\.0", first[0]):
            yield f"{path}:1: the first line is not `SPDX-License-Identifier: Apache-2.0`"
        elif (script or path.endswith((".h", ".hpp", ".cpp", ".c", ".td", ".py", ".html", ".css",
                                       ".js"))) \
                and not re.match(r'// ?\S|# \S|/\*| \* \S|"""\S| {5}\S', first[1]):
            yield f"{path}:2: no comment says what this file is for"


def sizes(tree):
    """Files stay short enough to be read whole, and lines to be read side by side."""
    for path, text in tree.texts.items():
        if not path.endswith(CODE) and not is_script(path, text):
            continue
        cap = TABLEGEN_LINE_CAP if path.endswith(".td") else LINE_CAP
        count = text.count("\n")
        if count > cap:
            yield f"{path}: {count} lines, {cap} is the cap"
        for number, line in lines(text):
            # The example model's grammar is text in the form of a program.
            if len(line) > COLUMN_CAP and not path.startswith("examples/fables/"):
                yield f"{path}:{number}: {len(line)} columns, {COLUMN_CAP} is the cap"


def names(tree):
    """PascalCase sources, snake_case tests of lit and scripts, lower-case folders."""
    for path in tree.paths:
        name = pathlib.PurePosixPath(path).name
        for where, form in NAMES:
            if re.fullmatch(where, path):
                if not re.fullmatch(form, name):
                    yield f"{path}: the name is not of the form {form}"
                break
    for folder in sorted(tree.folders):
        name = pathlib.PurePosixPath(folder).name
        if not re.fullmatch(r"\.?[a-z0-9][a-z0-9_-]*", name):
            yield f"{folder}: folders are lower-case"


def forbidden_names(tree):
    """A name says what a thing does; these say nothing."""
    for path, text in tree.texts.items():
        stem = pathlib.PurePosixPath(path).stem
        if FORBIDDEN_NAMES.search(stem):
            yield f"{path}: the name says nothing about the content"
        if not path.endswith((".h", ".hpp", ".cpp", ".td")):
            continue
        for number, line in lines(text):
            match = CLASS.match(line)
            if match and FORBIDDEN_NAMES.search(match.group(1)):
                yield f"{path}:{number}: {match.group(1)}: the name says nothing about the content"


def readmes(tree):
    """A folder with sources has a README of a few lines."""
    sources = {str(pathlib.PurePosixPath(path).parent) for path in tree.paths
               if path.endswith((".cpp", ".h", ".td", ".fbs", ".js"))}
    for folder in sorted(sources):
        # The kernels of a target are described by the target's README.
        if not folder.endswith("/kernels") and folder != "runtime/include/ingot" \
                and f"{folder}/README.md" not in tree.texts:
            yield f"{folder}: no README.md"
    for path, text in tree.with_suffix("/README.md"):
        if not path.startswith(LONG_READMES) and text.count("\n") > README_CAP:
            yield f"{path}: {text.count(chr(10))} lines, {README_CAP} is the cap"


def include_guards(tree):
    """Headers are guarded by #pragma once, the two that C programs include by a macro."""
    for path, text in tree.with_suffix(".h", ".hpp"):
        guarded = "#pragma once" in text.splitlines()
        if path in GUARDED_HEADERS:
            if guarded:
                yield f"{path}: this header is also C; it keeps its macro guard"
        elif not guarded:
            yield f"{path}: no line #pragma once"


def unique_types(tree):
    """A type of a namespace is defined in one header: where two of a name meet in a program, the
    linker takes either's functions for both."""
    first = {}
    for path, text in sorted(tree.texts.items()):
        if not path.endswith(".h") or path.startswith("tests/"):
            continue
        namespace = re.search(r"^namespace ([\w:]+) \{", text, re.MULTILINE)
        for match in TYPE.finditer(text):
            name = (namespace.group(1) if namespace else "", match.group(1))
            other = first.setdefault(name, path)
            if other != path:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: {match.group(1)} is a type of {other} too"


RULES = [("first-lines", first_lines), ("sizes", sizes), ("names", names),
         ("forbidden-names", forbidden_names), ("readmes", readmes),
         ("include-guards", include_guards), ("unique-types", unique_types)]
