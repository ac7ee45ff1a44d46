#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What clients do to `ingot-server` without bringing it down: too many, too large, too slow, gone,
malformed; and its end under load."""
import concurrent.futures
import json
import signal
import socket
import threading
import time

import harness
from server_process import (LIMIT, MALFORMED, ServerTest, events, post, read_all, reads_on,
                            unchunked, wait_for)

ENDLESS = {"max_tokens": 4000, "ignore_eos": True, "logprobs": 20}


class Faults(ServerTest):
    def assert_well(self, server):
        """It answers, and nothing is left of what was before."""
        self.assertIsNone(server.process.poll())
        self.assertEqual(server.complete(max_tokens=2)["usage"]["completion_tokens"], 2)
        wait_for(server.is_idle)

    def test_malformed_requests(self):
        server = self.start()
        for data in MALFORMED:
            client = server.connect()
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            answer = read_all(client)
            self.assertRegex(answer, rb"^(HTTP/1.1 (4|505)|$)", data)
            self.assertNotIn(b"200 OK", answer)
        for body in ["", "{", "[1]", '{"prompt": ' + "[" * 100000, "\xff", '{"prompt": "\\ud800"}']:
            status, _, text = server.request("POST", "/v1/completions", body.encode("latin-1"))
            self.assertEqual(status, 400, text)
            self.assertIn("message", json.loads(text)["error"])
        self.assert_well(server)

    def test_sizes(self):
        server = self.start("--max-body", 10_000, "--max-header", 2_000)
        large = json.dumps({"prompt": "a" * 20_000}).encode()
        self.assertEqual(server.request("POST", "/v1/completions", large)[0], 413)
        client = server.connect()
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                       b"Transfer-Encoding: chunked\r\n\r\n" +
                       b"2000\r\n" + b"a" * 0x2000 + b"\r\n2000\r\n" + b"a" * 0x2000)
        self.assertIn(b"HTTP/1.1 413", read_all(client))
        # A header without end.
        client = server.connect()
        try:
            for number in range(10_000):
                client.sendall(b"GET / HTTP/1.1\r\n" if number == 0 else b"X-%d: 1\r\n" % number)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertRegex(read_all(client), rb"^(HTTP/1.1 431|$)")
        status, _, text = server.request("GET", "/health", X_Large="a" * 3_000)
        self.assertEqual((status, json.loads(text)["error"]["ingot_code"]), (431, "INGOT-E7210"))
        self.assert_well(server)

    def test_bodies_take_no_more_room_than_there_is(self):
        server = self.start("--max-body", 300_000, "--max-bodies", 250_000)
        status, headers, text = server.request("POST", "/v1/completions", b" " * 260_000)
        self.assertEqual((status, headers["Retry-After"]), (503, "1"), text)
        self.assertEqual(server.request("POST", "/v1/completions", b" " * 240_000)[0], 400)
        self.assert_well(server)

    def test_clients_that_wait_for_ever(self):
        server = self.start("--header-seconds", 1, "--body-seconds", 1, "--idle-seconds", 2)
        start = time.monotonic()
        clients = [server.connect() for _ in range(4)]
        clients[0].sendall(b"GET /health HT")
        clients[1].sendall(post("/v1/completions", b"{}" * 50)[:-20])
        clients[2].sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n5\r\n")
        for client in clients:
            self.assertEqual(read_all(client), b"")
        self.assertLess(time.monotonic() - start, LIMIT)
        self.assert_well(server)

    def test_a_client_that_ends_within_a_request(self):
        server = self.start("--header-seconds", 1000, "--body-seconds", 1000)
        for half in (b"GET ", post("/tokenize", b"{}")[:-1]):
            client = server.connect()
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + half)
            client.shutdown(socket.SHUT_WR)
            # What is whole is answered, and nothing waits for the rest.
            self.assertEqual(read_all(client).count(b"HTTP/1.1"), 1)
        self.assert_well(server)

    def test_a_client_that_leaves(self):
        server = self.start()
        for stream in (True, False):
            client = server.connect()
            client.sendall(post("/v1/completions", json.dumps(
                {"prompt": "abc", "stream": stream, **ENDLESS, "n": 8}).encode()))
            wait_for(lambda: server.metric("vllm:num_requests_running") > 0)
            client.close()
            wait_for(server.is_idle)
        self.assertGreaterEqual(
            server.metric("vllm:request_success_total", finished_reason="abort"), 8)
        self.assert_well(server)

    def test_a_full_queue(self):
        server = self.start("--max-sequences", 1, "--queue-limit", 1)
        # Two that nobody reads: they give way to others, but are answers in flight.
        stuck = [server.start_stream(receive_buffer=4096, **ENDLESS) for _ in range(2)]
        status, headers, text = server.request("POST", "/v1/completions", {"prompt": "abc"})
        self.assertEqual(status, 429, text)
        self.assertEqual(headers["Retry-After"], "1")
        self.assertEqual(json.loads(text)["error"]["type"], "rate_limit_error")
        self.assertEqual(server.request("GET", "/health")[0], 200)
        for client in stuck:
            client.close()
        wait_for(server.is_idle)
        self.assert_well(server)

    def test_a_slow_reader_holds_only_itself(self):
        server = self.start()
        whole = server.complete(**ENDLESS)["choices"][0]["text"]
        slow = server.start_stream(receive_buffer=4096, **ENDLESS)
        for _ in range(20):
            server.complete(max_tokens=50, ignore_eos=True)
        self.assertEqual(server.metric("vllm:num_requests_running"), 1)
        # It gets everything once it reads.
        reads_on(slow)
        text = b""
        while b"data: [DONE]" not in text[-100:]:
            part = slow.recv(1 << 16)
            self.assertTrue(part, "the connection ended")
            text += part
        slow.close()
        received = events(unchunked(text.split(b"\r\n\r\n", 1)[1]).decode())
        self.assertEqual("".join(event["choices"][0]["text"] for event in received), whole)
        self.assert_well(server)

    def test_one_that_never_reads_loses_its_connection(self):
        server = self.start("--write-seconds", 1)
        stuck = server.start_stream(receive_buffer=4096, **ENDLESS)
        wait_for(server.is_idle)
        stuck.close()
        self.assert_well(server)

    def test_a_deadline(self):
        server = self.start("--request-seconds", 4)
        stuck = server.start_stream(receive_buffer=4096, **ENDLESS)
        wait_for(server.is_idle)
        reads_on(stuck)
        text = b""
        while b"INGOT-E7215" not in text:
            part = stuck.recv(1 << 16)
            self.assertTrue(part, "the connection ended")
            text += part
        stuck.close()
        self.assert_well(server)

    def start_many(self, server, count):
        """Streams that their clients read to the end; the threads and what they get."""
        answers = []

        def ask(number):
            answers.append(server.complete(stream=True, max_tokens=3000 + number, ignore_eos=True,
                                           logprobs=5, stream_options={"include_usage": True}))
        threads = [threading.Thread(target=ask, args=[number]) for number in range(count)]
        for thread in threads:
            thread.start()
        return threads, answers

    def test_a_signal_under_load(self):
        server = self.start()
        threads, answers = self.start_many(server, 24)
        # One that comes later would be refused.
        wait_for(lambda: len(answers) + server.metric("vllm:num_requests_running") +
                 server.metric("vllm:num_requests_waiting") >= 24)
        idle = server.connect()
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: any(line.startswith("draining") for line in server.log))
        status, _, text = server.request("GET", "/health")
        self.assertEqual((status, json.loads(text)["status"]), (503, "draining"))
        status, _, text = server.request("POST", "/v1/completions", {"prompt": "abc"})
        self.assertEqual((status, json.loads(text)["error"]["ingot_code"]), (503, "INGOT-E6031"))
        for thread in threads:
            thread.join(LIMIT)
        self.assertEqual(sorted(answer[-1]["usage"]["completion_tokens"] for answer in answers),
                         list(range(3000, 3024)))
        self.assertEqual(server.process.wait(LIMIT), 0)
        idle.close()

    def test_a_signal_after_an_answer(self):
        """The process ends while its threads may still be at work on the last answer."""
        def answers_and_stops(_):
            server = self.start("--no-log")
            for number in range(3):
                server.complete(max_tokens=5, ignore_eos=True, stream=number % 2 == 1)
            return server.stop()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:  # more than most machines run
            self.assertEqual(set(pool.map(answers_and_stops, range(32))), {0})

    def test_a_second_signal(self):
        server = self.start()
        stuck = server.start_stream(receive_buffer=4096, **ENDLESS)
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: any(line.startswith("draining") for line in server.log))
        self.assertIsNone(server.process.poll())
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(LIMIT), 1)
        stuck.close()

    def test_connections_are_limited(self):
        server = self.start("--max-connections", 16)
        wait_for(server.is_idle)  # The first clients make it open what it keeps.
        descriptors = server.descriptors()
        idle = [server.connect() for _ in range(16)]
        self.assertIn(b"HTTP/1.1 503", read_all(server.connect()))
        for client in idle:
            client.close()
        # Those that it has not seen leave still count.
        wait_for(lambda: server.descriptors() <= descriptors)
        self.assert_well(server)


if __name__ == "__main__":
    harness.main()
