# SPDX-License-Identifier: Apache-2.0
"""`bench serve` against a server that answers well or wrong and against `ingot-server`, and `bench
throughput` and `latency` on the example engine. No speed is tested."""
import itertools
import json
import time
import unittest
import xml.etree.ElementTree as ElementTree

import fake_completions
import harness
from server_process import ServerTest

USUAL = ("--requests", "4", "--concurrency", "2", "--prompt-tokens", "6", "--output-tokens", "5",
         "--warm-ups", "0")


class ServeTest(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.server = fake_completions.Server()
        self.addCleanup(self.server.stop)

    def serve(self, model, *options, status=0, usual=USUAL):
        """Runs the load; the JSON and the text on both streams."""
        path = self.folder / "load.json"
        path.unlink(missing_ok=True)
        result = self.ingot_run("bench", "serve", "--url", self.server.url, "--model", model,
                                "--json", path, *usual, *options)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return json.loads(path.read_text(encoding="utf-8")), result.stdout + result.stderr

    def failing(self, model, kind, code, *options):
        """Every request fails in one way, which is named; what came before it is kept."""
        found, text = self.serve(model, *options, status=1)
        self.assertEqual(found["requests"], {"all": 4, "answered": 0, "failed": 4, "cancelled": 0,
                                             "within_limits": 0})
        self.assertEqual(list(found["failures"]), [kind], text)
        self.assertIn(code, found["failures"][kind]["first"])
        self.assertIn("INGOT-E7245: 4 of 4 requests failed", text)
        return found

    def test_measures_what_came(self):
        found, text = self.serve("good")
        self.assertEqual(found["requests"]["answered"], 4)
        self.assertEqual(found["output_tokens"], 20)
        self.assertEqual(found["prompt_tokens"], 24)
        self.assertEqual(found["cached_tokens"], 8)
        self.assertIn("8 of 24 prompt tokens from the prefix cache", text)
        self.assertEqual([record["number"] for record in found["records"]], [0, 1, 2, 3])
        for record in found["records"]:
            self.assertEqual(record["text"], "t0 t1 t2 t3 t4 ")
            self.assertEqual(record["finish"], "length")
            self.assertEqual(len(record["inter_token_latencies"]), 4)
            self.assertLessEqual(record["time_to_first_token"], record["end"] - record["due"])
        self.assertNotIn("without usage", text)
        for path, headers, body, _ in self.server.requests:
            self.assertEqual(path, "/v1/completions")
            self.assertNotIn("Authorization", headers)
            self.assertEqual(len(body["prompt"]), 6)
            self.assertTrue(all(500 <= token < 3000 for token in body["prompt"]), body)
            self.assertEqual({key: body[key] for key in ("max_tokens", "stream", "stream_options")},
                             {"max_tokens": 5, "stream": True,
                              "stream_options": {"include_usage": True}})
            self.assertNotIn("ignore_eos", body)

    def test_forms_of_good_answers(self):
        for model in ("no-done", "byte-by-byte", "until-closed"):
            with self.subTest(model=model):
                found, _ = self.serve(model)
                self.assertEqual(found["requests"]["answered"], 4)
                self.assertEqual({record["text"] for record in found["records"]},
                                 {"t0 t1 t2 t3 t4 "})
        found, text = self.serve("no-usage")
        self.assertEqual(found["output_tokens"], 20)
        self.assertIn("4 answers without usage", text)

    def test_every_kind_of_failure(self):
        found = self.failing("status-429", "HTTP 429", "INGOT-E7251")
        self.assertIn("the queue is full", found["failures"]["HTTP 429"]["first"])
        found = self.failing("error-event", "error in the stream", "INGOT-E7255")
        self.assertIn("out of blocks", found["failures"]["error in the stream"]["first"])
        found = self.failing("cut", "connection cut", "INGOT-E7253")
        self.assertEqual({record["text"] for record in found["records"]}, {"t0 t1 "})
        self.failing("cut-before", "connection cut", "INGOT-E7253")
        self.failing("stall", "timeout", "INGOT-E7252", "--timeout", "0.3")
        for model in ("malformed", "no-http", "no-stream", "huge"):
            self.failing(model, "malformed answer", "INGOT-E7254")
        _, text = self.serve("status-429", "--allow-failures")
        self.assertIn("4 failed", text)

    def test_options_reach_the_server(self):
        key = self.folder / "key"
        key.write_text("secret-1\n", encoding="utf-8")
        self.serve("good", "--api-key-file", key, "--ignore-eos", "--text", usual=USUAL[:-2])
        self.assertEqual(len(self.server.requests), 5)  # one warms up
        for _, headers, body, _ in self.server.requests:
            self.assertEqual(headers["Authorization"], "Bearer secret-1")
            self.assertTrue(body["ignore_eos"])
            self.assertEqual(len(body["prompt"].split()), 6)

    def test_requests_are_cut_to_the_servers_context(self):
        found, _ = self.serve("good", usual=("--requests", "3", "--prompt-tokens", "900",
                                             "--output-tokens", "20", "--warm-ups", "0"))
        self.assertEqual({record["prompt_tokens"] for record in found["records"]}, {480})

    def test_a_seed_makes_the_load(self):
        def prompts(seed):
            self.server.forget()
            self.serve("good", "--seed", seed, "--shared-prefix", "9:2")
            return sorted(body["prompt"] for _, _, body, _ in self.server.requests)
        first = prompts("7")
        self.assertEqual(prompts("7"), first)
        self.assertNotEqual(prompts("8"), first)
        self.assertEqual({len(prompt) for prompt in first}, {15})
        self.assertLessEqual(len({tuple(prompt[:9]) for prompt in first}), 2)

    def test_concurrency_is_kept(self):
        found, _ = self.serve("slow", usual=("--requests", "12", "--concurrency", "3",
                                             "--output-tokens", "9", "--prompt-tokens", "4",
                                             "--warm-ups", "0"))
        self.assertEqual(len(self.server.requests), 12)
        # How many are under way whenever one begins.
        running = [sum(other["sent"] <= one["sent"] < other["end"] for other in found["records"])
                   for one in found["records"]]
        self.assertEqual(max(running), 3)

    def test_arrivals_do_not_wait_for_answers(self):
        trace = self.folder / "trace.csv"
        trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
            f"2023-11-16 18:17:{second:02}.0,40,30\n" for second in range(6)), encoding="utf-8")
        found, _ = self.serve("slow", usual=("--trace", trace, "--time-scale", "0.05",
                                             "--length-scale", "0.5", "--max-context", "25",
                                             "--warm-ups", "0"))
        times = sorted(record["due"] for record in found["records"])
        self.assertEqual([round(due, 6) for due in times], [0, 0.05, 0.1, 0.15, 0.2, 0.25])
        self.assertGreater(self.server.most, 1)  # an answer takes longer than 0.05 s
        self.assertEqual([(len(body["prompt"]), body["max_tokens"])
                          for _, _, body, _ in self.server.requests], [(10, 15)] * 6)

    def test_a_rate_for_a_time(self):
        started = time.monotonic()
        found, _ = self.serve("good", usual=("--rate", "200", "--duration", "1", "--prompt-tokens",
                                             "4", "--output-tokens", "2", "--warm-ups", "0"))
        self.assertGreater(time.monotonic() - started, 0.5)
        # 200 are expected, and the seed is fixed.
        self.assertTrue(150 < found["requests"]["all"] < 250, found["requests"])
        dues = sorted(record["due"] for record in found["records"])
        self.assertLessEqual(dues[-1], 1)
        self.assertGreater(max(b - a for a, b in itertools.pairwise(dues)), 0.01)

    def test_answers_are_read_to_their_end(self):
        self.serve("good")
        limit = time.monotonic() + 20
        while self.server.running and time.monotonic() < limit:
            time.sleep(0.01)
        self.assertEqual(self.server.hung_up, 0)

    def test_cancelled_requests_hang_up(self):
        found, _ = self.serve("slow", "--cancel-share", "1", usual=(
            "--requests", "8", "--rate", "inf", "--output-tokens", "40", "--prompt-tokens", "4",
            "--warm-ups", "0"))
        self.assertEqual(found["requests"]["cancelled"], 8)
        self.assertEqual(found["requests"]["failed"], 0)
        limit = time.monotonic() + 20
        while self.server.running and time.monotonic() < limit:
            time.sleep(0.01)
        self.assertEqual(self.server.hung_up, 8)

    def test_many_streams_at_once(self):
        found, _ = self.serve("crowded", usual=("--requests", "200", "--rate", "inf",
                                                "--output-tokens", "20", "--prompt-tokens", "4",
                                                "--warm-ups", "0"))
        self.assertEqual(found["requests"]["answered"], 200)
        self.assertGreaterEqual(self.server.most, fake_completions.CROWD)

    def test_conversations_are_sent_as_text(self):
        chats = self.folder / "chats.json"
        chats.write_text(json.dumps([{"conversations": [
            {"from": "human", "value": "Why é?"}, {"from": "gpt", "value": "x" * 13}]}]),
            encoding="utf-8")
        self.serve("good", usual=("--sharegpt", chats, "--requests", "2", "--warm-ups", "0"))
        for _, _, body, _ in self.server.requests:
            self.assertEqual((body["prompt"], body["max_tokens"]), ("Why é?", 4))

    def test_picture_and_limits(self):
        picture = self.folder / "load.svg"
        found, text = self.serve("good", "--svg", picture, "--slo", "ttft:60000,e2e:0.0001")
        self.assertEqual(found["requests"]["within_limits"], 0)
        self.assertIn("0 of 4 within the limits", text)
        ElementTree.parse(picture)

    def test_a_model_that_is_not_there(self):
        result = self.ingot_run("bench", "serve", "--url", self.server.url, "--model", "none")
        self.assertEqual(result.returncode, 1)
        self.assertIn("INGOT-E7243", result.stderr)
        result = self.ingot_run("bench", "serve", "--url", self.server.url, *USUAL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("good at " + self.server.url, result.stdout)


class OwnServerTest(ServerTest, harness.BuildTest):
    def measure(self, *command):
        path = self.folder / "load.json"
        result = self.ingot_run(
            "bench", *command, "--requests", "6", "--concurrency", "1", "--prompt-tokens", "7",
            "--output-tokens", "3", "--shared-prefix", "40", "--warm-ups", "0", "--json", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(path.read_text(encoding="utf-8"))

    def test_the_server_tells_vocabulary_and_cached_tokens(self):
        server = self.start()
        # Ids above the vocabulary, of 64, would be refused.
        found = self.measure("serve", "--url", server.address)
        self.assertEqual(found["requests"]["answered"], 6)
        # All but the first find the two whole blocks of the common beginning.
        self.assertEqual(found["cached_tokens"], 5 * 32)
        self.assertEqual(server.metric("vllm:prefix_cache_hits"), found["cached_tokens"])
        self.assertEqual(self.measure("latency", self.engine)["cached_tokens"], 5 * 32)


class InProcessTest(harness.BuildTest):
    def test_loads_on_the_example_engine(self):
        engine = self.folder / "fables.ingot"
        self.assert_built(self.build(harness.FABLES, engine), engine)
        texts = []
        for options in (("throughput",), ("latency",), ("throughput", "--concurrency", "3")):
            path = self.folder / "load.json"
            result = self.ingot_run("bench", options[0], engine, *options[1:], "--requests", "6",
                                    "--prompt-tokens", "10..40", "--output-tokens", "8", "--json",
                                    path, "--shared-prefix", "20:2", "--warm-ups", "0")
            self.assertEqual(result.returncode, 0, result.stderr)
            found = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual(found["requests"]["answered"], 6)
            texts.append([record["text"] for record in found["records"]])
        # A row's bits never depend on its batch, so neither does an answer on the load.
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])


if __name__ == "__main__":
    harness.main()
