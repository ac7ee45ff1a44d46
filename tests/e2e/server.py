#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ingot-server` as its clients meet it: completions whole and streamed, errors, keys, names,
logs, and the requests that official clients send."""
import concurrent.futures
import json
import socket
import subprocess

import harness
import server_process
from server_process import LIMIT, ServerTest, post, wait_for

# Bodies as the Python client of OpenAI and evaluation programs send them.
RECORDED = [
    ({"model": "toy", "prompt": "abc", "max_tokens": 7}, 200),
    ({"model": "toy", "prompt": ["abc", "b"], "max_tokens": 4, "n": 2, "stop": ["z", "\n"],
      "temperature": 0.7, "top_p": 0.9, "user": "somebody"}, 200),
    ({"model": "toy", "prompt": [[0, 1, 2]], "max_tokens": 1, "logprobs": 1, "seed": 1234,
      "temperature": 0}, 200),
    ({"model": "toy", "prompt": "abc", "best_of": 3, "n": 1, "echo": False,
      "frequency_penalty": 0.0, "presence_penalty": 0.5, "logit_bias": {"3": 5}}, 200),
    ({"model": "toy", "prompt": "abc", "suffix": "def"}, 400),
    ({"model": "gpt-3.5-turbo-instruct", "prompt": "abc"}, 404),
    ({"model": "toy", "prompt": "abc", "response_format": {"type": "xml"}}, 400),
]


class Completions(ServerTest):
    def test_whole_and_streamed(self):
        server = self.start()
        fields = {"max_tokens": 40, "n": 2, "temperature": 1, "seed": 5, "ignore_eos": True}
        whole = server.complete(**fields)
        texts, last = ["", ""], None
        for event in server.complete(stream=True, stream_options={"include_usage": True}, **fields):
            for choice in event["choices"]:
                texts[choice["index"]] += choice["text"]
            last = event
        self.assertEqual([choice["text"] for choice in whole["choices"]], texts)
        self.assertEqual(last["usage"], whole["usage"])
        self.assertEqual(whole["usage"],
                         {"prompt_tokens": 3, "completion_tokens": 80, "total_tokens": 83,
                          "prompt_tokens_details": {"cached_tokens": 0}})
        self.assertEqual(server.metric("vllm:generation_tokens_total"), 160)
        self.assertEqual(server.metric("vllm:prompt_tokens_total"), 6)
        self.assertEqual(server.metric("vllm:request_success_total", finished_reason="length"), 4)
        self.assertEqual(server.metric("vllm:inter_token_latency_seconds_count"), 156)
        self.assertTrue(server.is_idle())
        self.assertEqual(server.stop(), 0)

    def test_recorded_bodies(self):
        server = self.start()
        for body, status in RECORDED:
            got, headers, text = server.request("POST", "/v1/completions", body)
            self.assertEqual(got, status, text)
            self.assertEqual(headers["Content-Type"], "application/json")
            answer = json.loads(text)
            if status == 200:
                prompts = len(body["prompt"]) if isinstance(body["prompt"], list) else 1
                self.assertEqual(len(answer["choices"]), prompts * body.get("n", 1))
                self.assertEqual(bool(answer["choices"][0]["logprobs"]), "logprobs" in body)
            else:
                self.assertEqual(set(answer["error"]),
                                 {"message", "type", "param", "code", "ingot_code"})
                self.assertIn(answer["error"]["param"], body)
        self.assertEqual(server.stop(), 0)

    def test_forms_of_many_clients(self):
        """Masks are made on threads of their own, for clients that share a form and others."""
        server = self.start()
        forms = ["[a-d]{5,20}", "(abc|bcd)+x", "[x-z]*[a-c]", "[a-d]{5,20}"] * 4

        def ask(pattern):
            status, _, text = server.request("POST", "/v1/completions", {
                "prompt": "abc", "regex": pattern, "temperature": 1.5, "max_tokens": 30, "n": 2})
            self.assertEqual(status, 200, text)
            for choice in json.loads(text)["choices"]:
                if choice["finish_reason"] == "stop":
                    self.assertRegex(choice["text"], f"^({pattern})$")

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, forms))
        self.assertEqual(server.stop(), 0)

    def test_one_connection_for_many_requests(self):
        server = self.start()
        body = json.dumps({"prompt": "abc", "max_tokens": 3}).encode()
        client = server.connect()
        # The second and third are sent before the first is answered.
        client.sendall(post("/v1/completions", body) * 2 +
                       post("/v1/completions", body, "Connection: close"))
        answers = server_process.read_all(client).decode()
        self.assertEqual(answers.count("HTTP/1.1 200 OK"), 3, answers)
        self.assertEqual(answers.count('"text_completion"'), 3)
        # A client that closes its writing half gets what there is at once, then the end.
        client = server.connect()
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(server_process.read_all(client).count(b"200 OK"), 2)
        # A client that waits for leave before it sends the body.
        client = server.connect()
        head, _ = post("/v1/completions", body, "Expect: 100-continue",
                       "Connection: close").split(b"\r\n\r\n")
        client.sendall(head + b"\r\n\r\n")
        self.assertEqual(client.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
        client.sendall(body)
        self.assertIn(b"200 OK", server_process.read_all(client))
        # HTTP/1.0 knows no chunks: a stream ends with the connection.
        client = server.connect()
        body = json.dumps({"prompt": "abc", "stream": True, "max_tokens": 3}).encode()
        client.sendall(post("/v1/completions", body).replace(b"HTTP/1.1", b"HTTP/1.0"))
        head, _, text = server_process.read_all(client).decode().partition("\r\n\r\n")
        self.assertNotIn("chunked", head)
        self.assertGreaterEqual(len(server_process.events(text)), 1)
        # A body in chunks.
        body = json.dumps({"prompt": "abc", "max_tokens": 2}).encode()
        client = server.connect()
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                       b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
                       b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        self.assertIn(b"200 OK", server_process.read_all(client))

    def test_long_texts_are_read_beside_streams(self):
        server = self.start()
        status, _, text = server.request("POST", "/tokenize", {"prompt": "abc" * 200_000})
        self.assertEqual(status, 200, text)
        self.assertEqual(json.loads(text)["count"], 600_000)
        status, _, text = server.request("POST", "/v1/completions", {"prompt": "abc" * 200_000})
        self.assertEqual(status, 400)
        self.assertEqual(json.loads(text)["error"]["code"], "context_length_exceeded")

    def test_silence_has_comments(self):
        server = self.start("--comment-seconds", 1, "--max-sequences", 1)
        # Behind one of many long answers.
        first = server.connect()
        first.sendall(post("/v1/completions", json.dumps(
            {"prompt": "abc", "n": 128, "max_tokens": 4000, "ignore_eos": True}).encode()))
        wait_for(lambda: server.metric("vllm:num_requests_running") == 1)
        waiting = server.connect()
        waiting.sendall(post("/v1/completions", json.dumps(
            {"prompt": "abc", "stream": True, "max_tokens": 3}).encode(), "Connection: close"))
        received = b""
        while b": still computing\n\n" not in received:
            part = waiting.recv(1 << 16)
            self.assertTrue(part, "the connection ended")
            received += part
        first.close()
        received += server_process.read_all(waiting)
        self.assertIn(b"data: [DONE]", received)


class Process(ServerTest):
    def test_names_keys_origins_and_logs(self):
        keys, config = self.folder / "keys", self.folder / "options.yaml"
        keys.write_text("# for the tests\nsecret\n", encoding="ascii")
        config.write_text(f"# the server of the tests\napi-keys: {keys}\n"
                          "served-model-name: [fables, \"toy\"]\ncors-origins:\n"
                          "  - http://localhost:3000\n", encoding="ascii")
        server = self.start("--config", config)
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        status, headers, text = server.request(
            "POST", "/v1/completions", {"prompt": "abc", "max_tokens": 2},
            Authorization="Bearer secret", Origin="http://localhost:3000",
            X_Request_Id="mine-1", Traceparent=trace)
        self.assertEqual(status, 200, text)
        self.assertEqual(headers["x-request-id"], "mine-1")
        self.assertEqual(headers["Access-Control-Allow-Origin"], "http://localhost:3000")
        answer = json.loads(text)
        self.assertEqual((answer["id"], answer["model"]), ("cmpl-mine-1", "fables"))
        self.assertEqual(server.request("GET", "/v1/models")[0], 401)
        _, _, text = server.request("GET", "/v1/models", Authorization="Bearer secret")
        self.assertEqual([entry["id"] for entry in json.loads(text)["data"]], ["fables", "toy"])
        self.assertEqual(server.request("GET", "/health")[0], 200)
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in server.log if line.startswith("{")]
        # A line is written behind its answer, so those of two connections may change places.
        by_request = {(line["path"], line["status"]): line for line in lines}
        self.assertEqual(len(lines), 3, lines)
        self.assertEqual(set(by_request), {("/v1/completions", 200), ("/v1/models", 401),
                                           ("/v1/models", 200)})
        answered = by_request["/v1/completions", 200]
        self.assertEqual(answered["request_id"], "mine-1")
        self.assertEqual(answered["traceparent"], trace)
        self.assertEqual((answered["prompt_tokens"], answered["completion_tokens"]), (3, 2))
        self.assertEqual(by_request["/v1/models", 401]["error"], "INGOT-E7205")

    def test_unix_socket(self):
        path = self.folder / "socket"
        server = self.start("--unix-socket", path)
        self.assertEqual(server.address, f"unix:{path}")
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(path))
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertIn(b'{"status":"ok"}', server_process.read_all(client))
        # A process that is killed leaves its file, which the next one takes away.
        server.process.kill()
        server.process.wait()
        self.assertTrue(path.exists())
        second = self.start("--unix-socket", path)
        self.assertEqual(second.stop(), 0)
        self.assertFalse(path.exists())

    def run_server(self, *arguments):
        return subprocess.run([harness.programs / "ingot-server", *map(str, arguments)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT, check=False)

    def test_what_cannot_start(self):
        server = self.start()
        wrong = [
            ("INGOT-E7216", (self.engine, "--port", server.port)),
            ("INGOT-E7216", (self.engine, "--host", "no address", "--port", 0)),
            ("INGOT-E7216", (self.engine, "--unix-socket", self.folder / ("x" * 200))),
            ("INGOT-E7101", (self.folder / "none.ingot", "--port", 0)),
            ("INGOT-E7101", (self.engine, "--config", self.folder / "none.yaml")),
            ("INGOT-E7101", (self.engine, "--api-keys", self.folder / "none", "--port", 0)),
            ("INGOT-E2103", ()),
            ("INGOT-E2103", (self.engine, "--port", "70000")),
            ("INGOT-E2103", (self.engine, "--unheard-of")),
        ]
        for code, arguments in wrong:
            result = self.run_server(*arguments)
            self.assertIn(code, result.stderr, arguments)
            self.assertIn(result.returncode, (1, 2), result.stderr)
        config = self.folder / "wrong.yaml"
        config.write_text("port: {a: 1}\n", encoding="ascii")
        self.assertIn("INGOT-E7217", self.run_server("--config", config).stderr)
        self.assertTrue(self.run_server("--version").stdout.startswith("ingot-server "))
        self.assertIn("--queue-limit", self.run_server("--help").stdout)

    def test_listens_before_the_engine_is_loaded(self):
        server = self.start(wait=False)
        status, _, text = server.request("GET", "/health")
        self.assertIn((status, json.loads(text)["status"]), [(503, "loading"), (200, "ok")])
        wait_for(lambda: server.request("GET", "/ready")[0] == 200)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    harness.main()
