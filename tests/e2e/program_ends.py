#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs do around their work: closed descriptors harm no file, and output that cannot be
written is an error."""
import itertools
import subprocess

import harness


class ProgramEnds(harness.BuildTest):
    def run_with(self, closed, *command):
        """Runs a program with these of its descriptors 0 to 2 closed."""
        redirections = " ".join(f"{number}>&-" for number in closed)
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {redirections}', "sh", *map(str, command)],
            capture_output=True, text=True, errors="replace", timeout=harness.LIMIT, check=False)

    def engine(self):
        output = self.folder / "fables.ingot"
        self.assert_built(self.build(harness.FABLES, output), output)
        return output

    def test_versions(self):
        for program in ("ingot", "ingot-run"):
            result = self.run_with((), harness.programs / program, "--version")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, rf"^{program} \d+\.\d+\.\d+")

    def test_builds_without_descriptors(self):
        wanted = self.engine().read_bytes()
        for count in (1, 2, 3):
            for closed in itertools.combinations(range(3), count):
                output = self.fresh("".join(map(str, closed))) / "fables.ingot"
                result = self.run_with(closed, harness.programs / "ingot", "build", harness.FABLES,
                                       "-o", output, "--target", "reference")
                self.assertEqual(result.returncode, 0, (closed, result.stderr))
                self.assertEqual(output.read_bytes(), wanted, closed)

    def test_output_that_cannot_be_written(self):
        engine = self.engine()
        for program, *arguments in (["ingot-run", engine, "-p", "Once", "-n", "3"],
                                    ["ingot-run", "inspect", engine], ["ingot", "inspect", engine],
                                    ["ingot", "--version"], ["ingot-run", "--version"]):
            command = [harness.programs / program, *arguments]
            closed = self.run_with((1,), *command)
            with open("/dev/full", "w", encoding="ascii") as full:
                filled = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True,
                                        timeout=harness.LIMIT, check=False)
            for result in (closed, filled):
                self.assertEqual(result.returncode, 1, (command, result.stderr))
                self.assertIn("INGOT-E7102", result.stderr, command)
        # Nothing was printed into it.
        result = self.ingot("verify", engine, "--weights")
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    harness.main()
