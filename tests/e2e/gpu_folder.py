# SPDX-License-Identifier: Apache-2.0
"""The folder for machines with a GPU (tests/gpu), made here and run in the simulator."""
import gzip
import json
import subprocess
import sys

import harness

PREPARE = harness.ROOT / "tests" / "gpu" / "prepare"


class GpuFolder(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.prepared = self.folder / "prepared"
        result = subprocess.run(
            [sys.executable, PREPARE, self.prepared, "--programs", harness.programs,
             "--architecture", "sm_80", "--models", "", "--recipes", "w4a16", "--keep-ptx",
             "--cases", "rms_norm_bf16,sample"],
            capture_output=True, text=True, timeout=harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def run_folder(self, *arguments):
        return subprocess.run([self.prepared / "run", "--simulate", "sm_80", *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=harness.LIMIT, check=False)

    def test_one_table_and_one_json(self):
        output = self.fresh("output")
        result = self.run_folder("--output", output)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        report = json.loads((output / "result.json").read_text())
        self.assertEqual({check["outcome"] for check in report["checks"]}, {"passed"})
        self.assertEqual(report["conformance"][0]["all"]["failed"], 0)
        self.assertIn("llm.sample", json.dumps(report["conformance"][0]))
        measured, = report["kernels"]
        self.assertEqual([step["tokens"] for step in measured["results"]], [1, 3, 70])
        self.assertTrue(all(row["seconds"] > 0 for step in measured["results"]
                            for row in step["kernels"]))
        self.assertGreater(report["serving"][0]["results"][0]["generated_tokens_per_second"], 0)
        table = (output / "result.txt").read_text()
        for words in ("selftest-w4a16", "MatmulTensor", "whole step", "4 checks, 0 failed"):
            self.assertIn(words, table)

        # An engine that is damaged fails, and the rest is still measured.
        engine = self.prepared / "engines" / "selftest-w4a16.ingot.gz"
        engine.write_bytes(gzip.compress(gzip.decompress(engine.read_bytes())[:-4096]))
        result = self.run_folder("--output", output)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        report = json.loads((output / "result.json").read_text())
        self.assertEqual([check["outcome"] for check in report["checks"]],
                         ["failed", "passed", "failed", "failed"])


if __name__ == "__main__":
    harness.main()
