# SPDX-License-Identifier: Apache-2.0
"""The folder for machines with a GPU (tests/gpu), made here and run in the simulator, as it is and
with faults planted in a driver that stands in the simulator's place."""
import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness

PREPARE = harness.ROOT / "tests" / "gpu" / "prepare"
ARCHITECTURE = "sm_90a"  # whose kernels overlap
SMALL = "selftest-w4a16"


def pack(source, target):
    with gzip.open(target, "wb", 1) as out:
        out.write(pathlib.Path(source).read_bytes())


class GpuFolder(harness.BuildTest):
    @classmethod
    def setUpClass(cls):
        cls.made = pathlib.Path(tempfile.mkdtemp(prefix="ingot-e2e-gpu-"))
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        result = subprocess.run(
            [sys.executable, PREPARE, cls.made / "prepared", "--programs", harness.programs,
             "--architecture", ARCHITECTURE, "--models", "", "--recipes", "w4a16", "--keep-ptx",
             "--cases", "rms_norm_bf16_bf16_172,sample"],
            capture_output=True, text=True, timeout=harness.LIMIT, check=False)
        cls.said = result.stdout + result.stderr
        if result.returncode:
            raise AssertionError(cls.said)
        engines = cls.made / "prepared" / "engines"
        shutil.copy(engines / f"{SMALL}.ingot.gz", engines / "bench-fables-w4a16.ingot.gz")

    def setUp(self):
        super().setUp()
        self.prepared = self.folder / "prepared"
        shutil.copytree(self.made / "prepared", self.prepared)
        self.output = self.folder / "output"

    def command(self, *options):
        return [self.prepared / "run", "--simulate", ARCHITECTURE, "--output", self.output,
                *map(str, options)]

    def run_folder(self, *options, expected, **more):
        """Runs the folder; its result, with its attempts by their names."""
        result = subprocess.run(self.command(*options), stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=harness.LIMIT, check=False,
                                **more)
        self.printed = result.stdout + result.stderr
        self.assertEqual(result.returncode, expected, self.printed)
        return self.result()

    def result(self):
        report = json.loads((self.output / "result.json").read_text())
        report["by_name"] = {attempt["name"]: attempt for attempt in report["attempts"]}
        return report

    def outcomes(self, report):
        return {name: attempt["outcome"] for name, attempt in report["by_name"].items()}

    def plant(self, *faults):
        """Puts the faulty driver into the simulator's place."""
        programs = self.prepared / "bin"
        simulator = programs / "libingot-cuda-sim.so.gz"
        simulator.rename(programs / "libingot-cuda-sim-real.so.gz")
        pack(harness.programs.parent / "lib" / "libingot-faulty-driver.so", simulator)
        with gzip.open(programs / "faults.gz", "wt") as file:
            file.write("\n".join(faults) + "\n")

    def kernel_of(self, site, tokens):
        """The symbol of the kernel that the engine runs at a site for so many tokens."""
        engine = self.folder / "engine.ingot"
        engine.write_bytes(gzip.decompress(
            (self.prepared / "engines" / f"{SMALL}.ingot.gz").read_bytes()))
        target, = json.loads(self.ingot_run("inspect", engine, "--json").stdout)["targets"]
        launch, = [instruction for program in target["programs"]
                   for instruction in program["instructions"] if instruction["name"] == site]
        step = {"T": tokens, "S": tokens, "L": tokens, "B": 1}
        name = next(variant["kernel"] for variant in launch["variants"]
                    if all(r["min"] <= step[r["dim"]] <= r["max"] for r in variant["ranges"]))
        return next(kernel["symbol"] for kernel in target["kernels"] if kernel["name"] == name)

    # As it is.

    def test_one_table_and_one_json(self):
        report = self.run_folder(expected=0)
        self.assertEqual(self.outcomes(report), {
            "smoke": "passed", "conformance": "passed", SMALL: "passed",
            "bench-fables-w4a16": "passed", "check-fables-w4a16": "passed", "peers": "left-out"})
        launches = report["by_name"]["conformance"]["results"]
        self.assertEqual({line["verdict"] for line in launches if "launch" in line}, {"bit-equal"})
        self.assertTrue(any("graph" in line for line in launches))
        measured = report["by_name"]["bench-fables-w4a16"]["results"]
        self.assertEqual([line["step"]["tokens"] for line in measured if "step" in line],
                         [1, 70, 3])
        self.assertTrue(all(row["seconds"] > 0 for line in measured if "step" in line
                            for row in line["step"]["kernels"]))
        serving, = [line["serving"] for line in measured if "serving" in line]
        self.assertGreater(serving["generated_tokens_per_second"], 0)
        table = (self.output / "result.txt").read_text()
        for words in ("== smoke", "MatmulGroup", "6 attempts, 0 failed", "fables-w4a16  gate_up"):
            self.assertIn(words, table)
        last = self.printed[self.printed.rindex("6 attempts, 0 failed"):].splitlines()
        self.assertLessEqual(len(last), 61)
        # What to do with the folder is printed when it is made.
        self.assertIn("prepared/run --output results", self.said)
        self.assertIn("results/result.json", self.said)

    def test_only_and_budget_leave_out(self):
        report = self.run_folder("--only", "smoke,check-*", expected=0)
        self.assertEqual(set(report["by_name"]), {"smoke", "check-fables-w4a16"})
        report = self.run_folder("--budget", "1", expected=0)
        self.assertEqual(set(self.outcomes(report).values()), {"left-out"})
        self.assertIn("budget", report["by_name"]["conformance"]["reason"])

    def test_a_result_that_is_too_large_keeps_what_matters(self):
        report = self.run_folder("--only", "conformance", "--result-limit", "500", expected=0)
        self.assertTrue(report["dropped"])
        self.assertFalse(any("launch" in line for line in report["attempts"][0]["results"]))
        self.assertTrue(any("graph" in line for line in report["attempts"][0]["results"]))

    # With faults.

    def test_a_damaged_engine_fails_alone(self):
        engine = self.prepared / "engines" / f"{SMALL}.ingot.gz"
        engine.write_bytes(gzip.compress(gzip.decompress(engine.read_bytes())[:-4096]))
        packed = self.prepared / "engines" / "bench-fables-w4a16.ingot.gz"
        packed.write_bytes(packed.read_bytes()[:-1000])
        report = self.run_folder("--only", "smoke,selftest-*,bench-*", expected=1)
        outcomes = self.outcomes(report)
        self.assertEqual(outcomes["smoke"], "passed")
        self.assertEqual(outcomes[SMALL], "failed")
        self.assertIn("INGOT-E50", report["by_name"][SMALL]["reason"])
        self.assertIn("cannot be unpacked", report["by_name"]["bench-fables-w4a16"]["reason"])

    def test_a_kernel_that_never_ends_is_named(self):
        self.plant(f"hang {self.kernel_of('matmul layers.0.mlp.down_proj', 1)}")
        report = self.run_folder("--only", "smoke,selftest-*", "--limit-percent", "6", expected=1)
        outcomes = self.outcomes(report)
        self.assertEqual(outcomes["smoke"], "passed")
        self.assertEqual(outcomes[SMALL], "hung")
        reason = report["by_name"][f"{SMALL} --sync-each"]["reason"]
        self.assertIn(self.kernel_of("matmul layers.0.mlp.down_proj", 1), reason)
        self.assertIn("down_proj", reason)
        self.assertIn("a kernel", report["by_name"][f"{SMALL} diagnosis"]["reason"])

    def test_a_process_that_is_left_behind_holds_nothing_up(self):
        with gzip.open(self.prepared / "bin" / "gpu-replay.gz", "wt") as file:
            file.write("#!/bin/sh\nsleep 77 &\necho left behind\n")
        start = time.monotonic()
        report = self.run_folder("--only", "smoke,check-*", expected=0)
        self.assertEqual(self.outcomes(report),
                         {"smoke": "passed", "check-fables-w4a16": "passed"})
        self.assertLess(time.monotonic() - start, 70)

    def test_a_kernel_that_traps_is_named(self):
        self.plant(f"trap {self.kernel_of('matmul layers.0.mlp.down_proj', 1)}")
        report = self.run_folder("--only", "smoke,selftest-*", expected=1)
        self.assertEqual(report["by_name"]["smoke"]["outcome"], "passed")
        self.assertIn("INGOT-E6506", report["by_name"][SMALL]["reason"])
        self.assertIn("of op 'matmul layers.0.mlp.down_proj'",
                      report["by_name"][f"{SMALL} --sync-each"]["reason"])

    def test_a_wrong_element_is_named(self):
        # The largest grid of the case is that of one launch.
        self.plant("flip Sample_0@4x4x1 1 0")
        report = self.run_folder("--only", "conformance,selftest-*", expected=1)
        self.assertEqual(report["by_name"][SMALL]["outcome"], "passed")
        failed, = [line for line in report["by_name"]["conformance"]["results"]
                   if line.get("verdict") == "failed"]
        self.assertEqual((failed["case"], failed["grid"]), ("sample", [4, 4, 1]))
        self.assertIn("first", failed)

    def test_an_engine_that_does_not_fit(self):
        self.plant("memory 8000000")
        report = self.run_folder("--only", "conformance,bench-*", expected=1)
        self.assertEqual(report["by_name"]["conformance"]["outcome"], "passed")
        self.assertIn("INGOT-E6", report["by_name"]["bench-fables-w4a16"]["reason"])

    def test_graphs_at_fault(self):
        self.plant("fail cuGraphInstantiateWithFlags 801")
        report = self.run_folder("--only", "conformance,selftest-*", expected=1)
        outcomes = self.outcomes(report)
        self.assertEqual([outcomes[f"{SMALL}{way}"] for way in
                          ("", " --no-graphs", " --no-dependent-launch", " --sync-each")],
                         ["failed", "passed", "failed", "passed"])
        self.assertIn("graphs are at fault", report["by_name"][f"{SMALL} diagnosis"]["reason"])
        lines = report["by_name"]["conformance"]["results"]
        launches = [line for line in lines if "case" in line and "graph" not in line]
        self.assertEqual({line["verdict"] for line in launches}, {"bit-equal"})
        self.assertEqual({line["verdict"] for line in lines if "graph" in line}, {"failed"})

    def test_dependent_launches_at_fault(self):
        self.plant(*(f"overlap {self.kernel_of('matmul layers.0.mlp.down_proj', tokens)} 3 1"
                     for tokens in (1, 3, 16)))
        report = self.run_folder("--only", "selftest-*", expected=1)
        outcomes = self.outcomes(report)
        self.assertEqual(outcomes[f"{SMALL} --no-dependent-launch"], "passed")
        self.assertIn("dependent launches", report["by_name"][f"{SMALL} diagnosis"]["reason"])

    def test_a_driver_that_does_not_start(self):
        self.plant("fail cuInit 999")
        report = self.run_folder("--only", "smoke,conformance,selftest-*", expected=1)
        for name in ("smoke", "conformance", SMALL):
            self.assertIn("INGOT-E6502", report["by_name"][name]["reason"])

    def test_a_machine_without_python(self):
        tools = self.fresh("tools")
        for name in ("bash", "basename", "cat", "chmod", "cut", "date", "dirname", "grep", "gzip",
                     "head", "mkdir", "mktemp", "mv", "paste", "rm", "sed", "tail", "tee",
                     "timeout", "tr", "wc", "env"):
            (tools / name).symlink_to(shutil.which(name))
        report = self.run_folder("--only", "smoke,peers", expected=0,
                                 env={"PATH": str(tools), "TMPDIR": str(self.folder)})
        self.assertEqual(self.outcomes(report), {"smoke": "passed", "peers": "left-out"})
        self.assertIn("python3", report["by_name"]["peers"]["reason"])

    def test_a_full_disk_loses_nothing_that_is_printed(self):
        self.output.mkdir()
        for name in ("result.txt", "result.json.part"):
            (self.output / name).symlink_to("/dev/full")
        result = subprocess.run(self.command("--only", "smoke,conformance"), capture_output=True,
                                stdin=subprocess.DEVNULL, text=True, timeout=harness.LIMIT,
                                check=False)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("result.json cannot be written", result.stdout)
        self.assertIn("llm.sample", result.stdout)
        self.assertIn("2 attempts, 1 failed", result.stdout)
        self.assertFalse((self.output / "result.json").exists())

    def test_no_room_for_an_engine(self):
        # Files of more than 2 MB cannot be written: the programs can, the engine cannot.
        result = subprocess.run(
            ["bash", "-c", "trap '' XFSZ; ulimit -f $1; shift; exec \"$@\"", "-", "5000",
             *self.command("--only", "smoke,selftest-*")], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        report = self.result()
        self.assertEqual(report["by_name"]["smoke"]["outcome"], "passed")
        self.assertIn("cannot be unpacked", report["by_name"][SMALL]["reason"])

    def test_killed_at_any_moment(self):
        for seconds in (0.5, 1.5, 3, None):
            process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
            time.sleep(seconds or 0)
            # The last time as late as in the second attempt, however slow this machine is.
            end = time.monotonic() + (0 if seconds else harness.LIMIT)
            while time.monotonic() < end and len(self.result()["attempts"]) < 2:
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            report = self.result()
            self.assertTrue(all(attempt["outcome"] in ("passed", "running", "left-out")
                                for attempt in report["attempts"]), report)
            text = (self.output / "result.txt").read_text()
            for attempt in report["attempts"]:
                self.assertIn(f"== {attempt['name']}", text)
        self.assertGreater(len(report["attempts"]), 1)


if __name__ == "__main__":
    harness.main()
