# SPDX-License-Identifier: Apache-2.0
# lit tests mirror the source folders; each .mlir file states its own commands.
import os
import sys

import lit.formats

config.name = "Ingot"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.ingot_lit_output

config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%ingot_opt", os.path.join(config.ingot_programs, "ingot-opt")))
config.environment["PATH"] = os.pathsep.join(
    [config.llvm_tools, config.ingot_programs, config.environment.get("PATH", "")]
)
# `ingot build` finds the kernels that earlier runs compiled.
for name in ("HOME", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
