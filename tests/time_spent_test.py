# SPDX-License-Identifier: Apache-2.0
"""The account of CPU seconds, from recorded logs, and what the runner of the tests makes of it."""
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import run_tests
import time_spent

# Lines of one build's log: two objects, bitcode, parsed headers, a program, and one command of two
# outputs.
LOG = """# ninja log v5
0\t2000\t1795687569207580174\tcodegen/cuda/CMakeFiles/Cuda.dir/Nvrtc.cpp.o\tcba0d7bb169fb3aa
2000\t3000\t1795687569207580175\tcodegen/x86/x86_64_v4/Matmul.bc\te81e51d6bf92f236
100\t4100\t1795687569207580176\tCMakeFiles/IngotMlirHeaders.dir/cmake_pch.hxx.pch\t1
3000\t3500\t1795687569207580177\tdialects/llm/LlmOps.h.inc\t2
3000\t3500\t1795687569207580178\tdialects/llm/LlmOps.cpp.inc\t2
3500\t4000\t1795687569207580179\tbin/ingot\t3
"""
# The end of a program that builds engines and simulates one.
PROGRAM = """[ RUN      ] GoldenTest.Same
plan sm_90a                    0.31 s  218 kernels
compile sm_90a                 4.00 s  3.1 MiB
compile x86-64-v4+vnni         2.00 s  1.0 MiB
simulate sm_90a 1.00 s
compiled in 9.00 s
"""


class Account(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def steps(self):
        (self.folder / ".ninja_log").write_text(LOG)
        return time_spent.build_steps(time_spent.log_lines(self.folder))

    def test_kinds_of_steps(self):
        kinds = {step.output: time_spent.kind_of_step(step.output) for step in self.steps()}
        self.assertEqual(sorted(kinds.values()), [
            "C++ of codegen", "bitcode", "generated sources", "link", "parsed headers"])
        for output, kind in {
                "CMakeFiles/IngotTestHeaders.dir/IngotTestHeaders.cpp.o": "parsed headers",
                "runtime/core/libIngotCore.a": "link", "lib/libingot.so.0.1.0": "link",
                "tests/unit/core/CMakeFiles/CoreTest.dir/CoreTest.cpp.o": "C++ of tests"}.items():
            self.assertEqual(time_spent.kind_of_step(output), kind)

    def test_only_what_is_new_in_the_log(self):
        path = self.folder / ".ninja_log"
        self.assertEqual(time_spent.log_lines(self.folder), set())
        path.write_text(LOG)
        before = time_spent.log_lines(self.folder)
        path.write_text(LOG + "0\t10\t9\tbin/ingot\t3\n")
        self.assertEqual(time_spent.build_steps(time_spent.log_lines(self.folder) - before),
                         [time_spent.Step(0, 10, "bin/ingot")])

    def test_a_build_is_shared_out_by_its_log(self):
        spent = time_spent.Seconds()
        # The log tells of 8 s, and of 4.1 s of the clock; the other 2 s configured.
        spent.add_build("release/build", 20, 6.1, self.steps())
        self.assertAlmostEqual(spent.kinds["release/C++ of codegen"], 4)
        self.assertAlmostEqual(spent.kinds["release/parsed headers"], 8)
        self.assertAlmostEqual(spent.kinds["release/configure"], 4)
        self.assertAlmostEqual(spent.kinds["release/generated sources"], 1)
        self.assertAlmostEqual(sum(spent.kinds.values()), 20)

    def test_a_program_is_shared_out_by_what_it_tells(self):
        spent = time_spent.Seconds()
        spent.add_program("release/e2e-engines", "e2e", 20, 10, PROGRAM, 3)
        self.assertEqual(spent.kinds, {"release/NVRTC": 8, "release/LLVM specialisation": 4,
                                       "release/simulation": 2, "release/e2e": 6})
        self.assertEqual(spent.tests, {"release/e2e": 3})
        # Stages side by side take more of the clock than there is: nothing is left for the rest.
        spent = time_spent.Seconds()
        spent.add_program("release/e2e-engines", "e2e", 7, 3.5, PROGRAM)
        self.assertAlmostEqual(spent.kinds["release/NVRTC"], 4)
        self.assertAlmostEqual(spent.kinds["release/e2e"], 0)

    def test_a_program_that_took_nothing(self):
        spent = time_spent.Seconds()
        spent.add_program("lint", "lint", 0, 0)
        self.assertEqual(spent.kinds, {"lint": 0})

    def test_budgets(self):
        kinds = {"lint": 5, "release/NVRTC": 30, "asan/unit": 1}
        over = list(time_spent.over_budget(kinds, {"lint": 4, "release/NVRTC": 40}, 1))
        self.assertEqual(len(over), 2)
        self.assertRegex(over[0], "asan/unit: 1.0 s.*no budget.*tests/budget.json")
        self.assertRegex(over[1], "lint: 5.0 s of CPU, over its budget of 4 s")
        self.assertEqual(len(list(time_spent.over_budget({"lint": 5}, {"lint": 4}, 1.5))), 0)
        over = list(time_spent.over_budget({"lint": 5, "new": 3, "old": 9}, {"lint": 9, "*": 4}, 1))
        self.assertEqual([line.split(":")[0] for line in over], ["old"])

    def test_the_table_and_its_file(self):
        spent = time_spent.Seconds()
        spent.add_build("release/build", 20, 6.1, self.steps())
        spent.add_program("release/lit", "lit", 3, 4, "", 2, [("a.mlir", 0.5), ("b.mlir", 2.5)])
        table = "\n".join(spent.table({"release/lit": 9}))
        self.assertRegex(table, r"release/lit +3\.0 +9\n")
        self.assertRegex(table, r"release/bitcode +2\.0 +-\n")
        self.assertRegex(table, r"in all +23\.0\n")
        self.assertRegex(table, r"release/build +20\.0 +6\.1\nrelease/lit +3\.0 +4\.0")
        path = self.folder / "new" / "seconds.json"
        spent.write(path, 0.25)
        content = json.loads(path.read_text())
        self.assertEqual(content["cpu"], 23)
        self.assertEqual(content["kinds"]["release/lit"], 3)
        self.assertEqual(content["tests"], {"release/lit": 2})
        self.assertEqual(content["machine"]["probe"], 0.25)
        self.assertEqual(content["slowest_cases"][0], {"name": "release/lit: b.mlir", "clock": 2.5})
        self.assertEqual(content["slowest_steps"][0]["name"],
                         "release/CMakeFiles/IngotMlirHeaders.dir/cmake_pch.hxx.pch")


class Runner(unittest.TestCase):
    """The runner with an account and a folder of logs of the test's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.spent = time_spent.Seconds()
        for patch in (unittest.mock.patch.object(run_tests, "LOGS", self.folder),
                      unittest.mock.patch.object(run_tests, "spent", self.spent),
                      unittest.mock.patch("sys.stdout", new_callable=io.StringIO)):
            self.printed = patch.start()
            self.addCleanup(patch.stop)

    def start(self, code, **options):
        return run_tests.run_test("release/program", "unit", [sys.executable, "-c", code],
                                  **options)

    def test_a_child_counts(self):
        code = ("import subprocess, sys; subprocess.run([sys.executable, '-c', "
                "'import time\\nwhile time.process_time() < 0.4: pass'])\n"
                "print('compile sm_80 0.01 s  1 KiB')\nprint('2 passed, 0 failed, 0 skipped')")
        outcome = self.start(code)
        self.assertEqual((outcome.passed, outcome.failed), (2, []))
        self.assertGreaterEqual(sum(self.spent.kinds.values()), 0.4)
        self.assertGreater(self.spent.kinds["release/NVRTC"], 0)
        self.assertEqual(self.spent.tests["release/unit"], 2)

    def test_statuses(self):
        self.assertEqual(self.start("pass").passed, 1)
        self.assertEqual(self.start("raise SystemExit(77)").skipped, ["program"])
        self.assertEqual(self.start("raise SystemExit(3)").failed, ["status 3"])
        self.assertEqual(self.start("import os; os.abort()").failed, ["status -6"])

    def test_a_program_beyond_its_limit(self):
        outcome = self.start("import time; time.sleep(60)", limit=0.3)
        self.assertEqual(outcome.failed, ["time limit"])
        self.assertIn("stopped after 0.3 s", outcome.output)

    def test_the_longest_start_first(self):
        def test(name, **more):
            return {"name": f"release/{name}", "command": [sys.executable, "-c", "pass"],
                    "labels": [], "serial": False, "cost": 0, "limit": 60, "folder": self.folder,
                    "environment": {}, **more}

        tests = [test("a"), test("alone", serial=True, cost=9), test("b", cost=2), test("c"),
                 test("d", cost=3), test("long", labels=["full"])]
        with unittest.mock.patch.object(run_tests, "declared_tests", lambda preset: tests):
            outcomes = run_tests.run_tests("release", {"full"})
        self.assertEqual([outcome.name.removeprefix("release/") for outcome in outcomes],
                         ["d", "b", "a", "c", "alone"])

    def test_over_budget(self):
        self.spent.add_program("asan/new", "a kind of its own", 90000, 1)
        path = self.folder / "seconds.json"
        outcome, = run_tests.show_seconds(path, full=False)
        self.assertEqual((outcome.passed, len(outcome.failed)), (0, 1))
        self.assertIn("over budget: asan/a kind of its own: 90000.0 s", self.printed.getvalue())
        self.assertEqual(run_tests.show_seconds(path, full=True), [])
        self.assertTrue(path.is_file())


if __name__ == "__main__":
    unittest.main()
