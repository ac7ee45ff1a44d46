#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of all kinds at once, for --seconds=N, the last argument: answers are those that each
request has alone, and whatever clients did, blocks and memory come back and nothing is stuck."""
import collections
import concurrent.futures
import json
import random
import socket
import struct
import sys
import time
import traceback

import harness
from server_process import (MALFORMED, ServerTest, events, post, read_all, reads_on, unchunked,
                            wait_for)

ENDLESS = {"max_tokens": 4000, "ignore_eos": True, "logprobs": 20}
ROUNDS = 4  # Between them the server is idle, which is when its memory is compared.
PLAYERS = 12
GROWTH = 16 << 20  # Bytes that the later rounds may have above the earlier ones.
RESET = struct.pack("ii", 1, 0)  # A connection that is closed so ends by a reset.


class Player:
    """A client that behaves at random, as one of its games."""

    def __init__(self, server, expected, seed):
        self.server, self.expected = server, expected
        self.chance = random.Random(seed)
        self.played = collections.Counter()
        self.wrong = []
        self.games = [self.asks, self.asks, self.streams, self.streams, self.leaves,
                      self.leaves_within, self.is_malformed, self.is_too_large, self.floods_headers,
                      self.takes_nothing, self.takes_little, self.says_half]

    def play(self, end):
        while time.monotonic() < end and not self.wrong:
            game = self.chance.choice(self.games)
            try:
                game()
                self.played[game.__name__] += 1
            except (ConnectionError, TimeoutError):
                # Those of a client that is refused before it has said everything.
                if game in (self.asks, self.streams, self.takes_little):
                    self.wrong.append(f"{game.__name__}: {traceback.format_exc()}")
            except Exception:  # pylint: disable=broad-except
                self.wrong.append(f"{game.__name__}: {traceback.format_exc()}")

    def request(self):
        """A request whose answer is known, and that answer's text."""
        return self.chance.choice(self.expected)

    def check(self, got, text):
        if got != text:
            self.wrong.append(f"{got!r} instead of {text!r}")

    def open(self, fields, receive_buffer=None):
        client = self.server.connect(receive_buffer)
        client.sendall(post("/v1/completions", json.dumps(fields).encode(), "Connection: close"))
        return client

    def leave(self, client):
        if self.chance.random() < 0.5:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        client.close()

    def take_stream(self, client, text):
        """Checks a stream that was read to its end, or was refused for want of a place."""
        head, _, body = read_all(client).partition(b"\r\n\r\n")
        if head.startswith(b"HTTP/1.1 200"):
            got = events(unchunked(body).decode())
            self.check("".join(event["choices"][0]["text"] for event in got), text)
        elif not head.startswith(b"HTTP/1.1 429"):
            self.wrong.append(head.decode(errors="replace"))

    def asks(self):
        fields, text = self.request()
        status, _, body = self.server.request("POST", "/v1/completions", fields)
        if status == 200:
            self.check(json.loads(body)["choices"][0]["text"], text)
        elif status != 429:
            self.wrong.append(body)

    def streams(self):
        fields, text = self.request()
        self.take_stream(self.open({**fields, "stream": True}), text)

    def takes_little(self):
        """A slow reader, which gets everything all the same."""
        fields, text = self.request()
        client = self.open({**fields, "stream": True, "logprobs": 20}, receive_buffer=4096)
        time.sleep(self.chance.random() / 2)
        self.take_stream(reads_on(client), text)

    def leaves(self):
        client = self.open({"prompt": "abc", "stream": self.chance.random() < 0.5, **ENDLESS,
                            "n": self.chance.choice([1, 1, 4])})
        time.sleep(self.chance.random() / 20)
        self.leave(client)

    def leaves_within(self):
        """Cancels an answer of which it has had some."""
        client = self.open({"prompt": "abc" * 50, "stream": True, **ENDLESS})
        for _ in range(self.chance.randrange(1, 10)):
            client.recv(1 << 12)
        self.leave(client)

    def is_malformed(self):
        client = self.server.connect()
        client.sendall(self.chance.choice(MALFORMED))
        self.leave(client)

    def is_too_large(self):
        body = b"a" * self.chance.randrange(5 << 20)
        status, _, text = self.server.request("POST", "/v1/completions", body)
        if status not in (400, 413, 503):
            self.wrong.append(text)

    def floods_headers(self):
        client = self.server.connect()
        client.sendall(b"GET /health HTTP/1.1\r\n")
        for number in range(self.chance.randrange(5000)):
            client.sendall(b"X-%d: %d\r\n" % (number, number))
        self.leave(client)

    def takes_nothing(self):
        client = self.open({"prompt": "abc", "stream": True, **ENDLESS}, receive_buffer=4096)
        time.sleep(self.chance.random() * 1.5)
        self.leave(client)

    def says_half(self):
        """Stays without saying the rest of its request, for longer than the server waits or not."""
        text = post("/v1/completions", b'{"prompt": "abc"}')
        client = self.server.connect()
        client.sendall(text[:self.chance.randrange(1, len(text))])
        time.sleep(self.chance.random() * 1.5)
        self.leave(client)


class MixedLoad(ServerTest):
    def known_answers(self, server):
        """Requests of different lengths with common beginnings, and what each gives alone."""
        chance = random.Random(0)
        system = "".join(chance.choice("abcdefgh") for _ in range(300))
        known = []
        for index in range(16):
            fields = {"prompt": system[:index * 20] + "abc" + "z" * (index % 5), "seed": index,
                      "temperature": index % 2, "max_tokens": 20 + 10 * index, "ignore_eos": True}
            known.append((fields, server.complete(**fields)["choices"][0]["text"]))
        return known

    def preempt(self, server):
        """Two prompts of one request whose answers do not fit side by side; each is what it is
        alone."""
        def ask(*prompts):
            choices = server.complete(prompt=prompts, max_tokens=3000, temperature=0,
                                      ignore_eos=True)["choices"]
            return [choice["text"] for choice in choices]

        prompts = ["abc", "cab"]
        alone = [text for prompt in prompts for text in ask(prompt)]
        before = server.metric("vllm:num_preemptions_total")
        self.assertEqual(ask(*prompts), alone)
        self.assertGreater(server.metric("vllm:num_preemptions_total"), before)

    def test_mixed_load(self):
        # Few blocks, so that long answers preempt each other.
        server = self.start("--queue-limit", 16, "--write-seconds", 1, "--header-seconds", 1,
                            "--body-seconds", 1, "--kv-blocks", 256, "--no-log")
        expected = self.known_answers(server)
        wait_for(server.is_idle)
        threads, descriptors = server.threads(), server.descriptors()
        players = [Player(server, expected, seed) for seed in range(PLAYERS)]
        resident = []
        for _ in range(ROUNDS):
            end = time.monotonic() + SECONDS / ROUNDS
            with concurrent.futures.ThreadPoolExecutor(PLAYERS) as pool:
                list(pool.map(lambda player: player.play(end), players))
            self.assertEqual([entry for player in players for entry in player.wrong], [])
            wait_for(server.is_idle)
            wait_for(lambda: server.descriptors() <= descriptors)
            self.assertEqual(server.threads(), threads)
            self.assertIsNone(server.process.poll())
            resident.append(server.resident())
        played = sum((player.played for player in players), collections.Counter())
        self.tell(server, played, resident)
        self.assertEqual(set(played), {game.__name__ for game in players[0].games})
        # Players may never be many enough at once.
        self.preempt(server)
        self.assertGreater(server.metric("vllm:prefix_cache_hits_total"), 0)
        self.assertLess(max(resident[ROUNDS // 2:]), max(resident[:ROUNDS // 2]) + GROWTH)
        for fields, text in expected:
            self.assertEqual(server.complete(**fields)["choices"][0]["text"], text)
        self.assertEqual(server.stop(), 0)

    def tell(self, server, played, resident):
        print(f"\n{sum(played.values())} requests in {SECONDS} s:", dict(sorted(played.items())))
        print("MiB after each round:", [round(size / (1 << 20), 1) for size in resident])
        for name in ("num_preemptions_total", "prefix_cache_hits_total",
                     "generation_tokens_total"):
            print(f"{name} {server.metric('vllm:' + name):.0f}")


if __name__ == "__main__":
    SECONDS = int(sys.argv.pop().removeprefix("--seconds="))
    harness.main()
