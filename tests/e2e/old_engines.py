#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Engines that earlier releases wrote load, and give their golden tokens."""
import lzma
import subprocess

import harness
from server_process import LIMIT, ServerTest

CORPUS = harness.ROOT / "tests" / "corpus"
# The simulator is slow; what loads and computes shows in a few tokens.
SIMULATED = {"sm_90a": ("--simulate", "sm_90a", "--tokens", "4")}


class OldEngines(ServerTest):
    def check(self, packed):
        engine = self.folder / packed.stem
        engine.write_bytes(lzma.decompress(packed.read_bytes()))
        result = subprocess.run(
            [harness.programs / "ingot-run", "selftest", engine, *SIMULATED.get(engine.stem, ())],
            capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"golden +passed +\d\d tokens of 3 cases equal, 0 cases")


def named(packed):
    return f"test_{packed.parent.name}_{packed.name.split('.')[0]}".replace("-", "_")


for found in sorted(CORPUS.glob("*/*.xz")):
    setattr(OldEngines, named(found), lambda self, packed=found: self.check(packed))

if __name__ == "__main__":
    harness.main()
