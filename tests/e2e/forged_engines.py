#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Engines whose metadata was changed and whose digest was made right again: `ingot-run` refuses
them with a code or runs them, and `verify` says the same of their structure."""
import hashlib
import random
import re
import struct
import subprocess

import harness

CASES = 250
OFFSET_AT, DIGEST_AT = 16, 32  # Of runtime/schema/FileHeader.h.
HOSTILE = [0, 1, 2, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff]


def forged(engine, choice):
    """A copy of the engine's bytes with one word of the metadata changed."""
    offset, size = struct.unpack_from("<QQ", engine, OFFSET_AT)
    changed = bytearray(engine)
    at = offset + choice.randrange(size // 4) * 4
    word, = struct.unpack_from("<I", changed, at)
    near = (word + choice.randrange(-4, 5)) & 0xffffffff
    struct.pack_into("<I", changed, at, choice.choice([near, near, choice.choice(HOSTILE)]))
    digest = hashlib.sha256(changed[offset:offset + size]).digest()
    changed[DIGEST_AT:DIGEST_AT + len(digest)] = digest
    return bytes(changed)


class ForgedEngines(harness.BuildTest):
    def outcome(self, *arguments):
        """Exit status, and the code of the error."""
        result = subprocess.run(
            [harness.programs / "ingot-run", *map(str, arguments)], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=harness.LIMIT, check=False)
        found = re.search(r"INGOT-E\d{4}", result.stderr)
        return result.returncode, found and found[0]

    def test_words(self):
        path = self.folder / "fables.ingot"
        self.assert_built(self.build(harness.FABLES, path), path)
        engine = path.read_bytes()
        choice = random.Random(3)
        seen = set()
        for case in range(CASES):
            path.write_bytes(forged(engine, choice))
            status, code = self.outcome(path, "--prompt-ids", "5,9,3", "-n", "2", "--greedy",
                                        "--threads", "1")
            with self.subTest(case=case):
                self.assertIn(status, (0, 1))
                self.assertEqual(status == 1, code is not None)
                if code in ("INGOT-E5010", "INGOT-E5024"):
                    self.assertEqual(self.outcome("verify", path), (1, code))
            seen.add(code)
        self.assertLessEqual({None, "INGOT-E5005", "INGOT-E5006", "INGOT-E5024"}, seen)


if __name__ == "__main__":
    harness.main()
