#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SmolLM2-135M-Instruct holds a conversation: its prompts are those of `transformers`
(build/transformers, from scripts/setup --full), every interface gives the same answers, and a turn
computes what is new."""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
for packages in (ROOT / "build" / "transformers").glob("lib/python3*/site-packages"):
    sys.path.insert(0, str(packages))
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
try:
    from transformers.utils.chat_template_utils import render_jinja_template
except ImportError:
    print("SKIP real_conversations: scripts/setup --full installs transformers")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import browser
import harness
import registry
from server_chat import named_events
from server_page import DONE, LAST
from server_process import ServerTest, events

QUESTIONS = ["What is the capital of France?", "And of Italy?", "Which of both is older? Why?"]
GREEDY = {"temperature": 0, "max_tokens": 40}
CONVERSATIONS = [
    [{"role": "user", "content": "Hi"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    [{"role": "user", "content": " Zürich <b>\n\n"}, {"role": "assistant", "content": "<|x|>"},
     {"role": "user", "content": "  Go on.\t"}],
    [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}],
    [{"role": "user", "content": "Look"}, {"role": "tool", "content": "{\"a\": 1}"},
     {"role": "user", "content": "a\r\nb\u2028c😀"}],
]


class RealConversations(ServerTest):
    @classmethod
    def make_engine(cls):
        model = registry.smollm2(cls.folder)
        subprocess.run([harness.programs / "ingot", "build", model, "-o", cls.engine,
                        "--max-context", "4096", "--max-sequences", "4"],
                       check=True, stdout=subprocess.DEVNULL, timeout=harness.LIMIT)

    def ask(self, server, path, **body):
        status, _, text = server.request("POST", path, {**GREEDY, **body})
        self.assertEqual(status, 200, text)
        return text if body.get("stream") else json.loads(text)

    def converse(self, answer):
        """What `answer` says to each question, given what was said before."""
        messages = []
        for question in QUESTIONS:
            messages.append({"role": "user", "content": question})
            messages.append({"role": "assistant", "content": answer(messages)})
        return [message["content"] for message in messages[1::2]]

    def test_prompts_are_those_of_transformers(self):
        server = self.start()
        # A string of GGUF: its key, a word that says string, its length, its bytes.
        _, _, rest = (self.folder / "SmolLM2-135M.gguf").read_bytes().partition(
            b"tokenizer.chat_template")
        template = rest[12:12 + int.from_bytes(rest[4:12], "little")].decode()
        for messages in CONVERSATIONS:
            for more in ({"add_generation_prompt": True}, {"add_generation_prompt": False}):
                with self.subTest(messages=messages, **more):
                    [wanted], _ = render_jinja_template(
                        [messages], chat_template=template, bos_token="<|im_start|>",
                        eos_token="<|im_end|>", **more)
                    got = self.ask(server, "/apply-template", messages=messages, **more)
                    self.assertEqual(got["prompt"], wanted)

    def test_every_interface_answers_alike(self):
        server = self.start()
        wanted = self.converse(lambda messages: self.ask(
            server, "/v1/chat/completions", messages=messages)["choices"][0]["message"]["content"])
        self.assertEqual(len(set(wanted)), len(QUESTIONS))
        self.assertEqual(wanted, self.converse(lambda messages: "".join(
            chunk["choices"][0]["delta"].get("content", "") for chunk in events(
                self.ask(server, "/v1/chat/completions", messages=messages, stream=True)))))
        self.assertEqual(wanted, self.converse(lambda messages: self.ask(
            server, "/v1/messages", messages=messages)["content"][0]["text"]))
        self.assertEqual(wanted, self.converse(lambda messages: "".join(
            event["delta"]["text"] for event in named_events(self.ask(
                server, "/v1/messages", messages=messages, stream=True))
            if event["type"] == "content_block_delta")))
        limit = {"max_tokens": None, "max_output_tokens": GREEDY["max_tokens"]}
        self.assertEqual(wanted, self.converse(lambda messages: self.ask(
            server, "/v1/responses", input=messages, **limit)["output"][0]["content"][0]["text"]))
        self.assertEqual(wanted, self.converse(lambda messages: self.ask(
            server, "/v1/completions", add_special_tokens=False, prompt=self.ask(
                server, "/apply-template", messages=messages)["prompt"])["choices"][0]["text"]))
        terminal = subprocess.run(
            [harness.programs / "ingot-run", self.engine, "--chat", "--greedy", "-n",
             str(GREEDY["max_tokens"])], input="\n".join(QUESTIONS) + "\n", text=True,
            capture_output=True, timeout=harness.LIMIT, check=True).stdout
        self.assertEqual(terminal.replace(" (the limit of --max-tokens)", ""),
                         "\n".join(wanted) + "\n")
        self.on_the_page(server, wanted)

    def on_the_page(self, server, wanted):
        page = browser.Browser()
        self.addCleanup(page.end)
        page.show(1280, 800)
        page.open(f"{server.address}/")
        for name, value in GREEDY.items():
            page.value(f"document.getElementById('{name}').value = '{value}'")
        for count, (question, answer) in enumerate(zip(QUESTIONS, wanted), start=1):
            page.value("document.getElementById('draft').focus()")
            page.type(question)
            page.key("Enter", 13, text="\r")
            page.wait_for(DONE.format(count))
            self.assertEqual(page.value(f"{LAST}.querySelector('.text').textContent"), answer)
        self.assertEqual(page.faults, [])

    def test_a_turn_computes_what_is_new(self):
        """What it took is printed: what is not in the cache costs time, the rest nearly none."""
        server = self.start()
        messages = [{"role": "system", "content": "You know the history of cities. " * 60}]
        known = 0
        for turn in range(20):
            messages.append({"role": "user", "content": f"Tell me of the city number {turn}, " * 3})
            usage, text, seconds = self.stream(server, messages)
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            print(f"turn {turn + 1}: {usage['prompt_tokens']} tokens, {cached} in the cache, first "
                  f"token after {1000 * seconds:.1f} ms", flush=True)
            self.assertGreater(cached + 16, known - 1, f"turn {turn}")
            messages.append({"role": "assistant", "content": text})
            known = usage["prompt_tokens"] + usage["completion_tokens"]

    def stream(self, server, messages):
        """Usage, text, and seconds to the first of it."""
        body = {**GREEDY, "messages": messages, "stream": True,
                "stream_options": {"include_usage": True}}
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.LIMIT)
        self.addCleanup(connection.close)
        start = time.monotonic()
        connection.request("POST", "/v1/chat/completions", json.dumps(body),
                           {"Content-Type": "application/json"})
        response, first, whole = connection.getresponse(), None, b""
        while part := response.read1(1 << 16):
            whole += part
            if first is None and b'"content":"' in whole.replace(b'"content":""', b""):
                first = time.monotonic() - start
        chunks = events(whole.decode())
        return chunks[-1]["usage"], "".join(
            chunk["choices"][0]["delta"].get("content", "")
            for chunk in chunks if chunk["choices"]), first


if __name__ == "__main__":
    harness.main()
