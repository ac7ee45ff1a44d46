# SPDX-License-Identifier: Apache-2.0
"""For each rule a tree that keeps it and files that break it."""
import binaries
import formatting
from tree import Tree

# Split so that the rules do not find them in this file.
LICENCE = "// SPDX-License-" "Identifier: Apache-2.0\n"
MARK = "TO" "DO"
ERROR = "INGOT" "-E"

KEPT = {
    "runtime/core/Status.h": LICENCE + "// What a call may answer.\n#pragma once\n",
    "runtime/core/README.md": "Start at `Status.h`; see [the licence](../../LICENSE).\n",
    "runtime/engine/Load.cpp":
        LICENCE + '// Loads.\n#include "runtime/core/Status.h"\n' f'fail("{ERROR}5001");\n',
    "runtime/engine/README.md": "See `runtime/core/Status.h`.\n",
    "dialects/llm/Ops.h": LICENCE + '// Ops.\n#pragma once\n#include "mlir/IR/Op.h"\n',
    "runtime/core/page.html": "<!-- SPDX-License-" "Identifier: Apache-2.0\n     A page. -->\n",
    "dialects/llm/README.md": "Ops.\n",
    "passes/fuse/Passes.td":
        LICENCE + '// Passes.\ndef FusePairsPass : Pass<"ingot-fuse-pairs"> {}\n',
    "passes/fuse/README.md": "Passes.\n",
    "tests/lit/fuse_pairs.mlir": LICENCE + "// RUN: ingot-opt --ingot-fuse-pairs %s\n",
    "docs/errors/E5.md": f"| {ERROR}5001 | What | Change |\n",
    "docs/README.md": "# Documents\n\nWho reads what: [running](running.md#a-session).\n",
    "docs/running.md": "# Running\n\nHow to run.\n\n## A `session`\n\n```\n# no title\n```\n\n"
                       f"| a | {'[x](running.md) ' * 40}|\n"
                       f"<!-- results begin: x -->\n{'word ' * 1500}<!-- results end: x -->\n",
    "LICENSE": "The licence.\n",
}

# Rule -> files that, each added to the tree above, make it complain. None removes a file.
BROKEN = {
    "includes": [
        {"runtime/core/A.cpp": '#include "mlir/IR/Op.h"\n'},
        {"runtime/core/A.cpp": '#include "runtime/engine/Load.h"\n'},
        {"runtime/engine/A.cpp": '#include "dialects/llm/Ops.h"\n'},
        {"dialects/llm/A.cpp": '#include "passes/fuse/Pairs.h"\n'},
        {"passes/fuse/A.cpp": '#include "codegen/x86/X86Target.h"\n'},
        {"codegen/reference/A.cpp": '#include "codegen/x86/X86Target.h"\n'},
        {"codegen/x86/kernels/A.cpp": "#include <llvm/ADT/ArrayRef.h>\n"},
        {"compiler/checkpoint/A.cpp": '#include "llvm/ADT/ArrayRef.h"\n'},
        {"compiler/build/Build.cpp": '#include "runtime/schema/Engine_generated.h"\n'},
        {"compiler/build/Build.cpp": '#include "runtime/engine/Load.h"\n'},
        {"compiler/tools/A.cpp": '#include "runtime/tools/Generate.h"\n'},
        {"passes/fuse/A.cpp": "#include <ingot/ingot.h>\n"},
    ],
    "floors": [
        {"compiler/a/A.h": '#include "compiler/b/B.h"\n',
         "compiler/b/B.h": '#include "compiler/a/C.h"\n', "compiler/a/C.h": ""},
        {f"compiler/f{i}/A.h": f'#include "compiler/f{i + 1}/A.h"\n' for i in range(8)}
        | {"compiler/f8/A.h": ""},
    ],
    "units": [{"compiler/build/A.cpp": '#include "compiler/build/B.h"\n',
               "compiler/build/A.h": "", "compiler/build/B.h": "",
               "compiler/build/B.cpp": '#include "compiler/build/A.h"\n'},
              {"codegen/native/A.cpp": '#include "codegen/native/B.h"\n',
               "codegen/native/A.h": "",
               "codegen/native/B.h": '#include "codegen/native/A.h"\n'},
              # A ring that is listed, and is none.
              {"runtime/jinja/InputValue.h": "", "runtime/jinja/Template.h": ""}],
    "copies": [{"runtime/core/A.h": "".join(f"int a{i};\n" for i in range(9)),
                "compiler/build/B.h": "".join(f"// One.\n  int a{i};\n" for i in range(8))}],
    "include-paths": [{"runtime/core/A.cpp": '#include "Status.h"\n'}],
    "reach": [{"dialects/llm/Ops.h": '#include "dialects/llm/SumOps.h.inc"\n',
               "passes/fuse/Sums.h": '#include "dialects/llm/Ops.h"\n',
               **{f"passes/fuse/A{i}.cpp": '#include "passes/fuse/Sums.h"\n' for i in range(31)}}],
    "first-lines": [
        {"runtime/core/A.cpp": "int a;\n"},
        {"scripts/go": "#!/bin/sh\necho\n"},
        {"runtime/core/A.cpp": LICENCE + "int a;\n"},
        {"runtime/core/a.js": LICENCE + "const a = 1;\n"},
    ],
    "sizes": [
        {"runtime/core/A.cpp": "\n" * 801},
        {"dialects/llm/A.td": "\n" * 401},
        {"runtime/core/A.cpp": "x" * 101 + "\n"},
        {"runtime/core/a.css": "x" * 101 + "\n"},
    ],
    "names": [
        {"runtime/core/a_file.cpp": ""},
        {"tests/lit/FusePairs.mlir": ""},
        {"runtime/core/Page.html": ""},
        {"runtime/Core/A.cpp": ""},
        {"docs/Errors.md": ""},
    ],
    "forbidden-names": [
        {"runtime/core/StringUtils.cpp": ""},
        {"runtime/core/A.h": "class EngineManager {\n"},
    ],
    "readmes": [{"runtime/core/README.md": None}, {"runtime/core/README.md": "\n" * 11},
                {"runtime/page/a.js": ""}],
    "include-guards": [
        {"runtime/core/A.h": "#ifndef A\n#define A\n#endif\n"},
        {"runtime/schema/KernelAbi.h": "#pragma once\n"},
    ],
    "unique-types": [
        {"runtime/core/A.h": "#pragma once\nnamespace a {\nstruct One {\n};\n}\n",
         "runtime/engine/B.h": "#pragma once\nnamespace a {\nclass One final : Two {\n};\n}\n"},
    ],
    "unfinished": [{"docs/errors/E5.md": f"{MARK}: write this\n"}],
    "environment": [{"runtime/core/A.cpp": 'std::getenv("INGOT_FAST");\n'}],
    "global-state": [
        {"passes/fuse/A.cpp": 'static llvm::cl::opt<bool> fast("fast");\n'},
        {"passes/fuse/A.cpp": "static PassRegistration<FusePairs> registration;\n"},
    ],
    "places": [
        {"scripts/go": "fetch https:" "//packages.example.net/simple\n"},
        {"scripts/go": "cd /ho" "me/someone/ingot\n"},
    ],
    "document-paths": [
        {"README.md": "See `runtime/core/Missing.h`.\n"},
        {"README.md": "See runtime/cores/ for this.\n"},
        {"README.md": "See `Missing.cpp`.\n"},
        {"README.md": "See [this](docs/missing.md).\n"},
        {"README.md": "See `runtime/core/Status.{h,cpp}`.\n"},
    ],
    "error-codes": [
        {"runtime/engine/B.cpp": f'fail("{ERROR}5002");\n'},
        {"runtime/engine/Load.cpp": None},
        {"docs/errors/E6.md": f"| {ERROR}6001 | What | Change |\n"},
        {"docs/errors/E6.md": f"| {ERROR}5001 | What | Change |\n"},
    ],
    "table-cells": [{"docs/running.md": "# Running\n\nHow.\n\n| a | " + "x" * 161 + " |\n"}],
    "page-length": [
        {"docs/running.md": "# Running\n\n" + "word " * 1500},
        {"docs/running.md": "# Running\n\n<!-- results begin: x -->\n" + "word " * 1500},
    ],
    "all-words": [{f"docs/page{i}.md": "# Page\n\nText.\n" + "word " * 1400
                   for i in range(31)},
                  {"docs/glossary.md": "# Glossary\n\nWords.\n\n|a|\n|---|\n" + "|b|\n" * 21}],
    "page-openings": [
        {"docs/running.md": "How to run.\n"},
        {"docs/running.md": "# Running\n\n| a | b |\n"},
        {"docs/running.md": "# Running\n"},
    ],
    "docs-index": [{"docs/tuning.md": "# Tuning\n\nHow.\n"}],
    "anchors": [
        {"README.md": "See [this](docs/running.md#no-title).\n"},
        {"README.md": "# Here\n\nSee [above](#there).\n"},
    ],
    "pass-tests": [
        {"tests/lit/fuse_pairs.mlir": None},
        {"tests/lit/fuse_pairs.mlir": "// RUN: ingot-opt %s\n"},
    ],
}


def _binaries():
    """The rule of the binaries, on what readelf prints."""
    line = " 0x1 (NEEDED) Shared library: [{}]\n"
    kept = "".join(map(line.format, sorted(binaries.LIBRARIES)))
    if list(binaries.judge("bin/ingot-run", kept, ".text", 1)):
        yield "runtime-binaries: complains about a good program"
    broken = [(kept + line.format("libstdc++.so.6"), ".text", 1), (kept, ".text .symtab", 1),
              (kept, ".text", binaries.CAPS["ingot-run"] + 1)]
    for dynamic, sections, size in broken:
        if not list(binaries.judge("bin/ingot-run", dynamic, sections, size)):
            yield f"runtime-binaries: finds nothing in {dynamic!r}, {sections}, {size} bytes"


def _formatting():
    """The rule of the layout, on what clang-format prints."""
    message = "runtime/core/A.cpp:3:7: warning: code should be clang-formatted\n"
    if list(formatting.judge("")) or len(list(formatting.judge(message * 2))) != 1:
        yield "formatted: misreads the messages of clang-format"


def run(rules):
    """Problems as `rule: what`."""
    for name, rule in rules:
        for problem in rule(Tree(KEPT)):
            yield f"{name}: complains about a good tree: {problem}"
        if name not in BROKEN:
            yield f"{name}: has no failing example"
        for change in BROKEN.get(name, []):
            files = {path: text for path, text in {**KEPT, **change}.items() if text is not None}
            if not list(rule(Tree(files))):
                yield f"{name}: finds nothing wrong with {change}"
    yield from _binaries()
    yield from _formatting()
