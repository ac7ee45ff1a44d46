# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: `runtime/schema` <- `runtime`, and MLIR <- `dialects` <- `passes` <-
`codegen` <- `compiler`, read from the #include lines; and how many files an operation reaches."""
import os
import pathlib
import re

from tree import lines

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
COMPILER_HEADERS = ("mlir/", "llvm/", "llvm-c/", "lld/", "clang/")
GENERATED = (".inc", "_generated.h", ".pb.h", "/SourceDigest.h")

# What both halves use by name and by size.
SHARED = ["runtime/schema/Names.h", "runtime/schema/KernelAbi.h"]

RUNTIME_ORDER = ["runtime/schema", "runtime/core", "runtime/images", "runtime/guided",
                 "runtime/devices", "runtime/engine", "runtime/serving", "runtime/jinja",
                 "runtime/chat",
                 "runtime/api", "runtime/tools", "runtime/server"]

# The folders of targets, as the list of them includes them.
TARGETS = re.findall(r'^#include "(codegen/\w+)/',
                     (pathlib.Path(__file__).resolve().parents[2] / "codegen/Targets.cpp")
                     .read_text(), re.MULTILINE)

READERS = [f"compiler/checkpoint/{name}" for name in ("files", "config", "quantized", "gguf",
                                                      "tokenizer")]

# Tables that everything in the compiler's half may include, and that include nothing: of element
# types, which the runtime shares, and of encodings.
TABLES = ("runtime/schema/Elements.h", "numerics")

# Folder -> what it may include besides itself. The longest matching folder decides; a folder
# without an entry of its own takes that of the folder above. What is allowed is the whole of a
# folder, less the folders in it that have entries of their own.
MAY_INCLUDE = {
    "runtime/include": [],
    **{folder: RUNTIME_ORDER[:place] for place, folder in enumerate(RUNTIME_ORDER)},
    # File formats are the decoding process's.
    "runtime/images": ["runtime/core"],
    "runtime/images/decode": ["runtime/core", "runtime/images"],
    "runtime/simulator": ["runtime/devices/cuda/DriverApi.h"],
    "runtime/api": RUNTIME_ORDER[:RUNTIME_ORDER.index("runtime/api")] + ["runtime/include"],
    "numerics": [],
    "dialects/engine": [],
    "dialects/llm": ["dialects/engine", "runtime/schema/Names.h"],
    "passes": ["dialects", *SHARED],
    "codegen": ["dialects", "codegen/native/kernels", *SHARED],
    "codegen/native": ["dialects", "codegen", "codegen/native/kernels"],
    "codegen/native/kernels": ["runtime/schema/KernelAbi.h"],
    **{target: ["dialects", "codegen", "codegen/native", f"{target}/kernels", *SHARED]
       for target in TARGETS},
    **{f"{target}/kernels": ["runtime/schema/KernelAbi.h", "codegen/native/kernels"]
       for target in TARGETS},
    "codegen/cuda": ["dialects", "codegen", *SHARED],
    # The list of targets, above them all.
    "codegen/Targets.cpp": ["codegen", *TARGETS],
    "compiler/checkpoint/files": [],
    "compiler/checkpoint/config": ["compiler/checkpoint/files"],
    "compiler/checkpoint/quantized": ["compiler/checkpoint/files"],
    "compiler/checkpoint/gguf": ["compiler/checkpoint/files", "compiler/checkpoint/config",
                                 "compiler/checkpoint/quantized"],
    "compiler/checkpoint/tokenizer": ["compiler/checkpoint/files", "compiler/checkpoint/gguf",
                                      "runtime/schema/PatternGuard.h"],
    "compiler/checkpoint": READERS,
    "compiler/hub": ["compiler/checkpoint/files", "compiler/build/Progress.h"],
    "compiler/hub/IngotPull.cpp": ["compiler/hub", "compiler/checkpoint/files",
                                   "compiler/build/Progress.h", "runtime/tools/CommandFiles.h",
                                   "runtime/tools/CommandLine.h", "runtime/tools/Program.h"],
    "compiler/recipe": ["compiler/checkpoint/files"],
    "compiler/tuning": ["compiler/checkpoint/files"],
    "compiler/quantize/methods": ["compiler/checkpoint/files", "compiler/checkpoint/gguf"],
    "compiler/quantize/ggml": ["compiler/checkpoint/files", "compiler/checkpoint/gguf"],
    "compiler/quantize/search": [],
    "compiler/importers": ["dialects", "passes", "compiler/checkpoint", *READERS, *SHARED],
    "compiler/analysis": ["dialects", "passes", "compiler/checkpoint", *READERS, *SHARED],
    "compiler/weights": ["dialects", "compiler/checkpoint", *READERS],
    # Alone of the compiler it knows the schema.
    "compiler/engine_file": ["dialects/engine", "compiler/checkpoint/files",
                             "compiler/checkpoint/tokenizer", "runtime/schema"],
    "compiler/build": ["dialects", "passes", "codegen", "compiler/checkpoint", *READERS,
                       "compiler/recipe", "compiler/tuning", "compiler/importers",
                       "compiler/analysis", "compiler/weights", "compiler/engine_file",
                       "runtime/include", *SHARED],
    "compiler/quantize": ["dialects", "codegen/BuildCache.h", "codegen/ForEachParallel.h",
                          "compiler/checkpoint", *READERS, "compiler/recipe",
                          "compiler/importers", "compiler/analysis", "compiler/weights",
                          "compiler/build",
                          "compiler/quantize/methods", "compiler/quantize/ggml",
                          "compiler/quantize/search", "runtime/include"],
    # `ingot` forwards the commands that only read an engine to the runtime's tools, and declares
    # its options as they do.
    "compiler/tools": ["dialects", "codegen", "compiler/checkpoint", *READERS, "compiler/recipe",
                       "compiler/engine_file", "compiler/hub", "compiler/build",
                       "compiler/quantize",
                       "compiler/quantize/ggml",
                       "runtime/tools/CommandFiles.h", "runtime/tools/Commands.h",
                       "runtime/tools/CommandLine.h", "runtime/tools/Program.h"],
}
WITHOUT_MLIR = ("runtime", "numerics", "compiler/checkpoint", "compiler/hub", "compiler/recipe",
                "compiler/tuning",
                "compiler/quantize/methods", "compiler/quantize/ggml", "compiler/quantize/search",
                "codegen/native/kernels",
                *(f"{target}/kernels" for target in TARGETS))

COMPILER_HALF = ("numerics/", "dialects/", "passes/", "codegen/", "compiler/")
# The longest chain of its folders that include each other; quantizing stands between building and
# the commands.
FLOORS = 8

ALL_SOURCES = (*COMPILER_HALF, "runtime/", "tests/", "examples/")
# Units that are one in several files: a language's values hold values, and its interpreter what it
# calls; what is in parts because of its size. No ring is added.
RINGS = [frozenset(f"runtime/{folder}/{name}" for name in names.split()) for folder, names in (
    ("jinja", "Arguments Comparison Value"),
    ("jinja", "Globals Interpreter Loop Macro Operators"),
    ("jinja", "InputValue Template"),
    ("engine", "Lifetimes Parameters Verify WeightFill"),
    ("serving", "Detokenizer Tokenizer"),
    ("simulator", "Addressing GlobalTracker RaceDetector"),
    ("tools", "Program SessionArguments"))]

# Lines of code in a row that no file of one half shares with one of the other.
COPIED = 8

# Sources that a change of one operation may rebuild, by what is generated of its family (decision
# 0078).
REACH = 30
REACH_OF = {"dialects/engine/EngineOps": 45}


def _within(path, folder):
    return path == folder or path.startswith(folder + "/")


def _home(path):
    return max((folder for folder in MAY_INCLUDE if _within(path, folder)), key=len, default=None)


def _may_include(home, target):
    if not _within(home, "runtime") and any(_within(target, table) for table in TABLES):
        return True
    return any(_within(target, allowed) and (allowed not in MAY_INCLUDE or _home(target) == allowed)
               for allowed in [home, *MAY_INCLUDE[home]])


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
                if not _may_include(home, "runtime/include"):
                    yield f"{path}:{number}: {target}: the public API is for clients"
            elif match.group(1) == '"' and not _may_include(home, target):
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


def _floors(tree, sources, node_of, rings=()):
    """The floor of each node, from 1, and what stands on itself but within one of `rings`."""
    below, floors, loops, closed = {}, {}, [], set()
    for path, text in tree.with_suffix(".h", ".cpp"):
        if path.startswith(sources):
            found = below.setdefault(node_of(path), {})
            for number, line in lines(text):
                match = INCLUDE.match(line)
                if match and match.group(2).startswith(sources) and tree.exists(match.group(2)):
                    found.setdefault(node_of(match.group(2)), f"{path}:{number}")

    def stand(node, above):
        if node in above:
            loop = [*above[above.index(node):], node]
            known = {ring for ring in rings if ring.issuperset(loop)}
            closed.update(known)
            if not known:
                loops.append(f"{below[above[-1]][node]}: this leads up: {' -> '.join(loop)}")
            return 0
        if node not in floors:
            floors[node] = 1 + max((stand(lower, [*above, node]) for lower in below[node]
                                    if lower != node), default=0)
        return floors[node]

    for node in sorted(below):
        stand(node, [])
    loops += [f"{min(ring)}.h:1: no ring leads through {', '.join(sorted(ring))} any more"
              for ring in rings if ring <= below.keys() and ring not in closed]
    return floors, loops


def folder_floors(tree):
    """The folders of the compiler half stand on few floors; no include leads up."""
    def folder_of(path):
        home = _home(path)
        # Stages of passes have floors of their own.
        return os.path.dirname(path) if home in ("passes", None) else home
    floors, loops = _floors(tree, COMPILER_HALF, folder_of)
    yield from loops
    for folder, floor in floors.items():
        if floor > FLOORS:
            yield f"{folder}:1: stands on floor {floor}, of at most {FLOORS}"


def unit_floors(tree):
    """A unit (a header and its source) includes none that stands on it."""
    yield from _floors(tree, ALL_SOURCES, lambda path: os.path.splitext(path)[0], RINGS)[1]


def copies(tree):
    """What both halves do the same way, line by line, stands once, in runtime/schema."""
    seen = {}
    for path, text in sorted(tree.with_suffix(".h", ".cpp")):  # the compiler's half comes first
        if not path.startswith((*COMPILER_HALF, "runtime/")):
            continue
        code = [(number, line.strip()) for number, line in lines(text)
                if line.strip() and not line.strip().startswith(("//", "#"))]
        for start in range(len(code) - COPIED + 1):
            run = tuple(line for _, line in code[start:start + COPIED])
            number = code[start][0]
            if not path.startswith("runtime/"):
                seen.setdefault(run, f"{path}:{number}")
            elif run in seen:
                yield f"{path}:{number}: {COPIED} lines that also stand at {seen[run]}"
                break


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


RULES = [("includes", includes), ("include-paths", include_paths), ("floors", folder_floors),
         ("units", unit_floors), ("copies", copies), ("reach", reach)]
