# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of gigabytes, built inside a memory cgroup that is far smaller than they are."""
import contextlib
import os
import pathlib
import re
import subprocess

import harness

MIB = 1 << 20
# The promise: 400 MB, and two tiles (tileTarget of compiler/weights/TilePlan.cpp).
BUILD_MEMORY = 256 * MIB
LIMIT = 400 * 10**6 + 2 * 8 * MIB
RECIPE = "version: 1\nweights:\n  - {match: '*', format: int4, group: 64}\nkv_cache: int8\n"


class Cgroup:
    """A new memory cgroup of either version; its pages of files count, but can be dropped."""

    def __init__(self):
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        v2 = pathlib.Path("/sys/fs/cgroup")
        name = f"ingot-e2e-{os.getpid()}"
        self.is_v2 = (v2 / "cgroup.controllers").exists()
        self.folder = (v2 if self.is_v2 else v1) / name
        if self.is_v2 and "memory" not in (v2 / "cgroup.subtree_control").read_text():
            raise OSError("the memory controller is not given to groups")
        self.folder.mkdir()
        limit = "memory.max" if self.is_v2 else "memory.limit_in_bytes"
        (self.folder / limit).write_text(str(LIMIT))

    def join(self):
        """Puts the calling process into the group."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def killed(self):
        """How many processes the limit has ended."""
        file = "memory.events" if self.is_v2 else "memory.oom_control"
        found = re.search(r"^oom_kill (\d+)$", (self.folder / file).read_text(), re.MULTILINE)
        return int(found.group(1)) if found else 0

    def remove(self):
        self.folder.rmdir()


class LargeBuilds(harness.BuildTest):
    def peak_of_build(self, *options):
        model = self.checkpoint(*options)
        recipe = self.folder / "int4.yaml"
        recipe.write_text(RECIPE)
        try:
            group = Cgroup()
        except OSError as reason:
            self.skipTest(f"no memory cgroup can be made here: {reason}")
        output = self.fresh("out") / "m.ingot"
        with contextlib.closing(contextlib.ExitStack()) as stack:
            stack.callback(group.remove)
            process = subprocess.Popen(
                [harness.programs / "ingot", "build", model, "-o", output, "--target", "x86-64-v3",
                 "--recipe", recipe, "--max-context", "4096", "--max-build-memory",
                 str(BUILD_MEMORY), "--no-cache"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, preexec_fn=group.join)
            text = process.stdout.read()
            process.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
            self.assertEqual(status, 0, text)
            self.assertEqual(group.killed(), 0)
        self.assertTrue(output.is_file())
        # The largest resident set, in KiB; pages of mapped files are part of it.
        return usage.ru_maxrss * 1024

    def test_llama_3_2_1b(self):
        self.assertLess(self.peak_of_build("--shape", "llama-3.2-1b", "--dtype", "f32"), LIMIT)

    def test_two_layers_of_70b(self):
        self.assertLess(
            self.peak_of_build("--shape", "llama-70b", "--layers", "2", "--dtype", "bf16"), LIMIT)


if __name__ == "__main__":
    harness.main()
