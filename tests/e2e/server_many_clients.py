#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thousands of idle clients and hundreds of streams at once: what each costs, and that no thread
is made for any."""
import json
import selectors
import socket
import time

import harness
import server_process
from server_process import LIMIT, ServerTest, events, post, unchunked, wait_for

IDLE, BUSY = 2000, 256
IDLE_LIMIT, BUSY_LIMIT = 32 << 10, 512 << 10  # Bytes for each.


def read_together(clients):
    """What each gets up to the end of its connection, none before the others."""
    answers = {client: [] for client in clients}
    with selectors.DefaultSelector() as selector:
        for client in clients:
            # A small one makes the system wait between packets.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            selector.register(client, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(LIMIT)
            assert ready, "nothing more comes"
            for key, _ in ready:
                part = key.fileobj.recv(1 << 16)
                answers[key.fileobj].append(part)
                if not part:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
    return [b"".join(parts) for parts in answers.values()]


def wait_for_standstill(server):
    """Until no more tokens come, for all who want some are behind."""
    count = None
    while count != (count := server.metric("vllm:generation_tokens_total")):
        time.sleep(1)


class ManyClients(ServerTest):
    CONTEXT, SEQUENCES = 1024, BUSY

    def test_idle_and_busy(self):
        if not server_process.allow_connections(IDLE + BUSY):
            self.skipTest("the system allows too few descriptors")
        server = self.start("--no-log")
        fields = {"max_tokens": 500, "ignore_eos": True, "logprobs": 20}
        expected = server.complete(**fields)["choices"][0]["text"]
        threads, descriptors = server.threads(), server.descriptors()
        before = server.resident()
        idle = [server.connect() for _ in range(IDLE)]
        # The one that asks is a connection too.
        wait_for(lambda: server.metric("ingot_http_connections") == IDLE + 1)
        with_idle = server.resident()
        body = json.dumps({"prompt": "abc", "stream": True, **fields}).encode()
        busy = []
        for _ in range(BUSY):
            client = server.connect(receive_buffer=4096)
            client.sendall(post("/v1/completions", body, "Connection: close"))
            busy.append(client)
        # All are in one step, and none ends before somebody reads: each has then what waits for it.
        wait_for(lambda: server.metric("vllm:num_requests_running") == BUSY)
        wait_for_standstill(server)
        with_busy = server.resident()
        self.assertEqual(server.threads(), threads)
        for answer in read_together(busy):
            received = events(unchunked(answer.partition(b"\r\n\r\n")[2]).decode())
            self.assertEqual("".join(event["choices"][0]["text"] for event in received), expected)
        self.assertEqual(server.threads(), threads)
        for client in idle:
            client.close()
        wait_for(server.is_idle)
        wait_for(lambda: server.descriptors() <= descriptors)
        each_idle, each_busy = (with_idle - before) / IDLE, (with_busy - with_idle) / BUSY
        print(f"\n{threads} threads; {before >> 10} KiB, {each_idle / 1024:.1f} KiB for each of "
              f"{IDLE} idle clients, {each_busy / 1024:.1f} KiB for each of {BUSY} streams")
        self.assertLess(each_idle, IDLE_LIMIT)
        self.assertLess(each_busy, BUSY_LIMIT)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    harness.main()
