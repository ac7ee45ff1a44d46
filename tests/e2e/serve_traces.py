# SPDX-License-Identifier: Apache-2.0
"""Recorded traces replayed on `ingot-server`, with shared prefixes, too few blocks and cancelled
requests: every request gets the text that it gets alone. --full: more of each trace."""
import contextlib
import json
import sys
import unittest

import harness
import server_process

TRACES = harness.ROOT.parent / "shared" / "data" / "traces"
NAMES = ("conv", "code")
FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")


@unittest.skipUnless(TRACES.is_dir(), "../shared/data is absent")
class Traces(harness.BuildTest):
    def built(self, target):
        output = self.folder / f"{target}.ingot"
        self.assert_built(self.build(harness.FABLES, output, "--target", target,
                                     "--max-context", "512", "--max-sequences", "16",
                                     "--max-batch-tokens", "128"), output)
        return output

    def replay(self, engine, trace, requests, length_scale, time_scale, *options, blocks):
        """Each alone, then all as they came; the figures of the load and of the server."""
        load = ["--trace", TRACES / f"AzureLLMInferenceTrace_{trace}.csv", "--requests", requests,
                "--length-scale", length_scale, "--shared-prefix", "40:3",
                "--shared-prefix-share", "0.7", "--ignore-eos", "--warm-ups", "0"]
        # Two threads wait long for each other where other tests have the cores.
        options = ("--threads", "1", *options)
        alone, together = self.folder / "alone.json", self.folder / "together.json"
        result = self.ingot_run("bench", "latency", engine, *load, *options, "--concurrency", "1",
                                "--json", alone)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        server = server_process.Server(engine, "--kv-blocks", blocks, "--queue-limit", requests,
                                       "--no-log", *options)
        with contextlib.ExitStack() as stack:
            stack.callback(server.end)
            result = self.ingot_run(
                "bench", "serve", "--url", f"http://127.0.0.1:{server.port}", *load,
                "--time-scale", time_scale, "--cancel-share", "0.15", "--vocabulary", "2048",
                "--json", together, "--compare", alone)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            server_process.wait_for(server.is_idle)
            found = json.loads(together.read_text(encoding="utf-8"))
            figures = {name: server.metric(f"vllm:{name}_total") for name in
                       ("num_preemptions", "prefix_cache_hits", "prefix_cache_queries")}
        counts = found["requests"]
        print(trace, engine.name, counts, figures, flush=True)
        self.assertEqual(counts["all"], requests)
        self.assertEqual(counts["failed"], 0)
        self.assertGreater(counts["cancelled"], 0)
        self.assertGreater(figures["prefix_cache_hits"], 0)
        return figures

    def test_on_x86(self):
        engine = self.built("x86-64-v3")
        preempted = 0
        for trace, scale in zip(NAMES, (0.12, 0.1)):
            with self.subTest(trace=trace):
                figures = self.replay(engine, trace, 4000 if FULL else 200, scale, 0.0005,
                                      blocks=40)
                preempted += figures["num_preemptions"]
        self.assertGreater(preempted, 0)

    def test_on_a_simulated_gpu(self):
        engine = self.built("sm_90a")
        self.replay(engine, "conv", 200 if FULL else 12, 0.01, 1, "--simulate", "sm_90a",
                    blocks=40)


if __name__ == "__main__":
    harness.main()
