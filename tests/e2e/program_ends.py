#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs do around their work: closed descriptors harm no file, and output that cannot be
written is an error."""
import itertools
import os
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

    def test_an_engine_that_changes(self):
        def cut(path):
            os.truncate(path, 4096)

        def overwrite(path):
            size = path.stat().st_size
            with path.open("r+b") as file:
                file.write(bytes(size))

        def replace(path):
            other = path.with_suffix(".new")
            other.write_bytes(b"no engine")
            other.rename(path)

        wanted = None
        for change, status in (lambda path: None, 0), (replace, 0), (cut, 1), (overwrite, 1):
            engine = self.engine()
            process = subprocess.Popen(
                [harness.programs / "ingot-run", engine, "--prompts", "-"], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            line = '{"prompt": "Once upon a time", "temperature": 0, "max_tokens": 4}\n'
            process.stdin.write(line)
            process.stdin.flush()
            first = process.stdout.readline()
            self.assertEqual(first, wanted or first)
            wanted = first
            change(engine)
            output, errors = process.communicate(line, timeout=harness.LIMIT)
            self.assertEqual(process.returncode, status, (change, errors))
            if status:
                self.assertIn(f"INGOT-E7104: {engine}: ", errors)
            else:
                self.assertIn('"finish":"length"', output)

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
        result = self.ingot("verify", engine)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    harness.main()
