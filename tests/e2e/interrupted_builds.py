# SPDX-License-Identifier: Apache-2.0
"""Killing `ingot build` at any moment leaves no file under the final name."""
import os
import random
import signal
import subprocess
import time

import harness

KILLS = 40


class InterruptedBuilds(harness.BuildTest):
    def setUp(self):
        super().setUp()
        # What a shell starts in the background ignores interrupts, and so would the builds.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.model = self.checkpoint("--shape", "tiny")

    def start(self, output):
        return subprocess.Popen(
            [harness.programs / "ingot", "build", self.model, "-o", output,
             "--target", "reference", "--no-cache"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def interrupted(self, signal_number, kills):
        """Ends builds at random moments of their run; returns how many were ended in time."""
        seeded = random.Random(signal_number)
        begin = time.monotonic()
        output = self.fresh("whole") / "m.ingot"
        self.assertEqual(self.start(output).wait(harness.LIMIT), 0)
        duration = time.monotonic() - begin
        size, ended = output.stat().st_size, 0
        for number in range(kills):
            output = self.fresh(f"{signal_number}-{number}") / "m.ingot"
            process = self.start(output)
            time.sleep(seeded.uniform(0, duration))
            process.send_signal(signal_number)
            status = process.wait(harness.LIMIT)
            names = os.listdir(output.parent)
            if status == 0:
                self.assertEqual(names, ["m.ingot"])
            if "m.ingot" in names:
                # The file was complete when the signal came.
                self.assertEqual(output.stat().st_size, size)
                continue
            ended += 1
            self.assertNotEqual(status, 0)
            # Where the file system has no nameless files, a temporary name may stay behind.
            for name in names:
                self.assertRegex(name, r"^\.?m\.ingot\.[^.]+$|\.tmp")
        return ended

    def test_kill(self):
        self.assertGreater(self.interrupted(signal.SIGKILL, KILLS), KILLS // 4)

    def test_interrupt(self):
        self.assertGreater(self.interrupted(signal.SIGINT, 8), 2)


if __name__ == "__main__":
    harness.main()
