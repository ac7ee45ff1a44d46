#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to begin an answer whose calls have to be right: first tokens of chats with 128
tools and 100 KB of schemas, free and with `tool_choice` required, in turns; schemas are new each
time, so that no grammar is kept. Prints milliseconds of each turn and the medians.

    python3 tests/bench/guided/calls.py PROGRAMS ENGINE [--tools 128] [--turns 9]
"""
import argparse
import http.client
import json
import pathlib
import statistics
import tempfile
import time

from streams import served

# Names of tools alone: the prompts stay short, and what is timed is not their prefill.
TEMPLATE = ("{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}"
            "{% for m in messages %}{{ m.content }} {% endfor %}{# <tool_call> #}")


def tool(turn, index):
    members = {
        f"path_{turn}_{index}": {"type": "string", "minLength": 1, "maxLength": 200,
                                 "description": "Where, from the root of the project on. " * 3},
        "mode": {"enum": [f"mode-{index}-{i}" for i in range(8)]},
        "count": {"type": "integer", "minimum": 0, "maximum": 1000 + index},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{2,12}$"},
                 "maxItems": 4},
        "when": {"type": "string", "format": "date-time"},
        "where": {"type": "object", "properties": {
            "city": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
            "required": ["city"], "additionalProperties": False},
        "note": {"type": ["string", "null"]}}
    return {"type": "function", "function": {"name": f"tool{index}", "parameters": {
        "type": "object", "properties": members, "required": list(members)[:3],
        "additionalProperties": False}}}


def first(port, tools, choice):
    """Milliseconds that an answer of one token takes: a piece of a call is only told once more
    tokens have said which tool it is."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    body = json.dumps({"messages": [{"role": "user", "content": "Once upon a time"}],
                       "tools": tools, "tool_choice": choice, "max_tokens": 1})
    begin = time.monotonic()
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    milliseconds = 1000 * (time.monotonic() - begin)
    assert response.status == 200, text
    connection.close()
    return milliseconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("engine")
    parser.add_argument("--tools", type=int, default=128)
    parser.add_argument("--turns", type=int, default=9)
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
        template.write(TEMPLATE)
        template.flush()
        with served(options.programs, options.engine, "--chat-template", template.name,
                    "--tool-parser", "hermes") as port:
            rows = []
            for turn in range(options.turns + 1):
                tools = [tool(turn, index) for index in range(options.tools)]
                rows.append((first(port, tools, "auto"), first(port, tools, "required")))
                print(f"turn {turn}: {len(json.dumps(tools))} bytes, free {rows[-1][0]:.1f} ms, "
                      f"required {rows[-1][1]:.1f} ms", flush=True)
            # The first makes the trie of tokens.
            free, required = (statistics.median(values) for values in zip(*rows[1:]))
            print(f"free {free:.1f} ms, required {required:.1f} ms, {required - free:.1f} ms more")


if __name__ == "__main__":
    main()
