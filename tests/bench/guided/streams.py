#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What forms of answers cost: streams at once to one server, without a form and each with a schema
of its own, in turns. Prints tokens/s and the 99th percentile between tokens of each turn, and the
medians of guided over free.

    python3 tests/bench/guided/streams.py PROGRAMS ENGINE [--streams 32] [--tokens 128] [--turns 5]
"""
import argparse
import contextlib
import http.client
import json
import pathlib
import re
import statistics
import subprocess
import threading
import time


def schema(index):
    """A list that fills any answer, of objects of several kinds of members."""
    members = {
        f"name{index}": {"type": "string", "maxLength": 30 + index},
        "kind": {"enum": [f"kind-{index}-{i}" for i in range(8)]},
        "count": {"type": "integer", "minimum": 0, "maximum": 1000 + index},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{2,12}$"},
                 "maxItems": 4},
        "when": {"type": "string", "format": "date"},
        "note": {"type": ["string", "null"]}}
    return {"type": "array", "minItems": 1000, "items": {
        "type": "object", "properties": members, "required": list(members),
        "additionalProperties": False}}


def answer(port, body, times):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST", "/v1/completions", json.dumps(body),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.status == 200, response.read()
    for line in response:
        if line.startswith(b"data: {"):
            times.append(time.monotonic())
    connection.close()


def turn(port, options, guided):
    """(tokens/s, 99th percentile between tokens in ms) of the streams together."""
    clients, times = [], [[] for _ in range(options.streams)]
    for index, seen in enumerate(times):
        body = {"prompt": f"Number {index}: write about it.", "stream": True, "temperature": 1.0,
                "seed": index, "max_tokens": options.tokens, "ignore_eos": True}
        if guided:
            body["json_schema"] = schema(index)
        clients.append(threading.Thread(target=answer, args=(port, body, seen)))
    begin = time.monotonic()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    gaps = [after - before for seen in times for before, after in zip(seen, seen[1:])]
    seconds = max(seen[-1] for seen in times) - begin
    return (options.streams * options.tokens / seconds,
            1000 * statistics.quantiles(gaps, n=100)[98])


@contextlib.contextmanager
def served(programs, engine, *options):
    """The port of a server of `engine`, which ends with the block."""
    with subprocess.Popen([programs / "ingot-server", engine, "--port", "0", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            port = int(re.search(r":(\d+)$", server.stdout.readline().strip()).group(1))
            server.stdout.readline()
            yield port
        finally:
            server.terminate()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("engine")
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with served(options.programs, options.engine) as port:
        turn(port, options, False)
        rows = []
        for number in range(options.turns):
            free, guided = turn(port, options, False), turn(port, options, True)
            rows.append((guided[0] / free[0], guided[1] / free[1]))
            print(f"turn {number}: free {free[0]:.1f} tokens/s, p99 {free[1]:.1f} ms; guided "
                  f"{guided[0]:.1f} tokens/s, p99 {guided[1]:.1f} ms", flush=True)
        rates, gaps = (statistics.median(values) for values in zip(*rows))
        print(f"guided over free: rate {rates:.3f}, p99 between tokens {gaps:.3f}")


if __name__ == "__main__":
    main()
