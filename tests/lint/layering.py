# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: `runtime/schema` <- `runtime`, and MLIR <- `dialects` <- `passes` <-
`codegen` <- `compiler`, read from the #include lines; and how many files an operation reaches."""
import os
import re

from tree import lines

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
COMPILER_HEADERS = ("mlir/", "llvm/", "llvm-c/", "lld/", "clang/")
GENERATED = (".inc", "_generated.h", ".pb.h", "/SourceDigest.h")

RUNTIME_ORDER = ["runtime/schema", "runtime/core", "runtime/devices", "runtime/engine",
                 "runtime/serving", "runtime/jinja", "runtime/chat", "runtime/api", "runtime/tools",
                 "runtime/server"]

# Tables that everything in the compiler's half may include, and that include nothing: of element
# types, which the runtime shares, and of encodings.
TABLES = ("runtime/schema/Elements.h", "numerics")

# Folder -> folders it may include besides itself. The longest matching folder decides; a folder
# without an entry of its own takes that of the folder above.
MAY_INCLUDE = {
    "runtime/include": [],
    **{folder: RUNTIME_ORDER[:place] for place, folder in enumerate(RUNTIME_ORDER)},
    "runtime/simulator": ["runtime/devices/cuda/DriverApi.h"],
    "runtime/api": RUNTIME_ORDER[:7] + ["runtime/include"],
    "numerics": [],
    "dialects/engine": [],
    "dialects/llm": ["dialects/engine"],
    "passes": ["dialects"],
    "codegen": ["dialects", "passes"],
    "codegen/native": ["dialects", "passes", "codegen/Target.h", "codegen/BuildCache.h"],
    "codegen/native/kernels": ["runtime/schema/KernelAbi.h"],
    "codegen/cuda": ["dialects", "passes", "codegen/Target.h", "codegen/BuildCache.h",
                     "codegen/native"],
    "codegen/reference": ["dialects", "passes", "codegen/Target.h", "codegen/native"],
    "codegen/reference/kernels": ["runtime/schema/KernelAbi.h", "codegen/native/kernels"],
    "codegen/x86": ["dialects", "passes", "codegen/Target.h", "codegen/native"],
    "codegen/x86/kernels": ["runtime/schema/KernelAbi.h", "codegen/native/kernels"],
    "compiler/checkpoint": [],
    "compiler/recipe": ["compiler/checkpoint"],
    "compiler/tuning": ["compiler/checkpoint"],
    "compiler/importers": ["dialects", "passes", "compiler/checkpoint", "compiler/recipe"],
    "compiler": ["dialects", "passes", "codegen", "runtime/include"],
    "compiler/engine_file": ["dialects/engine", "compiler/checkpoint", "compiler/weights",
                             "runtime/schema"],
}
# Files that may include one thing more than their folder.
NAMED_EXCEPTIONS = [
    # `ingot` forwards the commands that only read an engine to the runtime's tools, and declares
    # its options as they do.
    (re.compile(r"compiler/tools/\w+\.(h|cpp)"), "runtime/tools/Commands.h"),
    (re.compile(r"compiler/tools/\w+\.(h|cpp)"), "runtime/tools/CommandLine.h"),
    (re.compile(r"compiler/tools/Ingot\.cpp"), "runtime/tools/Program.h"),
]
WITHOUT_MLIR = ("runtime", "numerics", "compiler/checkpoint", "compiler/recipe", "compiler/tuning",
                "codegen/native/kernels", "codegen/reference/kernels", "codegen/x86/kernels")

# Sources that a change of one operation may rebuild, by what is generated of its family (decision
# 0078).
REACH = 30
REACH_OF = {"dialects/engine/EngineOps": 45}


def _within(path, folder):
    return path == folder or path.startswith(folder + "/")


def _home(path):
    return max((folder for folder in MAY_INCLUDE if _within(path, folder)), key=len, default=None)


def _may_include(path, home, target):
    if _within(target, home):
        # What lies in a folder with rules of its own is not the folder's.
        inner = _home(target)
        return inner == home or home in ("compiler", "codegen") or inner == f"{home}/kernels"
    if not _within(path, "runtime") and any(_within(target, table) for table in TABLES):
        return True
    return (any(_within(target, allowed) for allowed in MAY_INCLUDE[home])
            or any(pattern.fullmatch(path) and _within(target, allowed)
                   for pattern, allowed in NAMED_EXCEPTIONS))


def includes(tree):
    """A folder includes only what stands below it."""
    for path, text in tree.with_suffix(".h", ".hpp", ".cpp", ".c"):
        home = _home(path)
        if home is None:
            continue
        for number, line in lines(text):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(2)
            if target.startswith(COMPILER_HEADERS):
                if any(_within(path, folder) for folder in WITHOUT_MLIR):
                    yield f"{path}:{number}: {target}: this folder knows nothing of MLIR and LLVM"
            elif target.startswith("ingot/"):
                if not _may_include(path, home, "runtime/include"):
                    yield f"{path}:{number}: {target}: the public API is for clients"
            elif match.group(1) == '"' and not _may_include(path, home, target):
                yield f"{path}:{number}: {target}: {home} may not include this"


def include_paths(tree):
    """A quoted include names a file from the root of the repository."""
    for path, text in tree.with_suffix(".h", ".hpp", ".cpp", ".c", ".td"):
        for number, line in lines(text):
            match = re.match(r'^\s*#?\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            target = match.group(1)
            if target.startswith(COMPILER_HEADERS) or target.endswith(GENERATED):
                continue
            if not (tree.exists(target) or tree.exists(target + ".in")
                    or tree.exists(os.path.join("runtime/include", target))):
                yield f"{path}:{number}: no file {target} from the root of the repository"


def reach(tree):
    """A family of operations is included, directly or not, by few sources."""
    includers = {}
    for path, text in tree.with_suffix(".h", ".cpp"):
        for _, line in lines(text):
            match = INCLUDE.match(line)
            if match and match.group(1) == '"':
                includers.setdefault(match.group(2), set()).add(path)
    families = {family.group(1) for target in includers
                if (family := re.fullmatch(r"(.*Ops)\.(h|cpp)\.inc", target))}
    for family in sorted(families):
        found, ahead = set(), [f"{family}.h.inc", f"{family}.cpp.inc"]
        while ahead:
            new = includers.get(ahead.pop(), set()) - found
            found |= new
            ahead += new
        sources = sum(path.endswith(".cpp") for path in found)
        cap = REACH_OF.get(family, REACH)
        if sources > cap:
            yield (f"{family}.h:1: {sources} sources include this, of at most {cap}: include "
                   "attributes alone, or name the class, where that is enough")


RULES = [("includes", includes), ("include-paths", include_paths), ("reach", reach)]
