#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official `openai` client (build/openai, from scripts/setup --full) drives `ingot-server`:
completions, chats and responses, plain, streamed, several answers, log-probabilities, stop, errors,
cancellation, timeouts."""
import contextlib
import io
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for packages in (ROOT / "build" / "openai").glob("lib/python3*/site-packages"):
    sys.path.insert(0, str(packages))
try:
    import openai
except ImportError:
    print("SKIP openai: scripts/setup --full installs it")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import harness
from server_chat import ANSWER, ARGUMENTS, HELLO, ChatTest, EchoTest
from server_process import ServerTest, wait_for


class OpenAi(ServerTest):
    def setUp(self):
        self.server = self.start()
        self.client = self.connect()

    def connect(self, **more):
        options = {"max_retries": 0, "timeout": 60, **more}
        client = openai.OpenAI(base_url=f"{self.server.address}/v1", api_key="none", **options)
        self.addCleanup(client.close)
        return client

    def ask(self, client=None, **fields):
        return (client or self.client).completions.create(
            **{"model": "toy", "prompt": "abc", "max_tokens": 20, "temperature": 0, **fields})

    def test_plain_and_streamed(self):
        self.assertEqual(self.client.models.list().data[0].id, "toy")
        whole = self.ask()
        parts = list(self.ask(stream=True, stream_options={"include_usage": True}))
        text = "".join(choice.text for part in parts for choice in part.choices)
        self.assertEqual(whole.choices[0].text, text)
        self.assertEqual(parts[-1].usage, whole.usage)
        self.assertIn(whole.choices[0].finish_reason, ("stop", "length"))

    def test_several_answers_and_stop(self):
        answer = self.ask(n=3, temperature=1, seed=1, prompt=["abc", "z"])
        self.assertEqual([choice.index for choice in answer.choices], list(range(6)))
        text = self.ask(extra_body={"ignore_eos": True}).choices[0].text
        stopped = self.ask(stop=text[4:6], extra_body={"ignore_eos": True}).choices[0]
        self.assertEqual((stopped.text, stopped.finish_reason),
                         (text[:text.index(text[4:6])], "stop"))

    def test_log_probabilities(self):
        lists = self.ask(logprobs=3, extra_body={"ignore_eos": True}).choices[0].logprobs
        self.assertEqual(len(lists.tokens), 20)
        for token, value, top in zip(lists.tokens, lists.token_logprobs, lists.top_logprobs):
            self.assertEqual(top[token], value)

    def test_errors(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.ask(model="other")
        self.assertEqual((caught.exception.code, caught.exception.param),
                         ("model_not_found", "model"))
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask(suffix="x")
        self.assertEqual(caught.exception.param, "suffix")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.ask(prompt=[1] * 5000)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        self.server = self.start("--max-sequences", 1, "--queue-limit", 0)
        with self.assertRaises(openai.BadRequestError):
            self.ask(self.connect(), n=2)

    def test_cancellation_and_timeout(self):
        stream = self.ask(stream=True, max_tokens=4000, logprobs=20,
                          extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()
        wait_for(self.server.is_idle)
        with self.assertRaises(openai.APITimeoutError):
            self.ask(self.connect(timeout=0.01), max_tokens=4000, n=64,
                     extra_body={"ignore_eos": True})
        wait_for(self.server.is_idle)


class Conversations(ChatTest):
    def setUp(self):
        self.client = openai.OpenAI(base_url=f"{self.start().address}/v1", api_key="none",
                                    max_retries=0, timeout=60)
        self.addCleanup(self.client.close)

    def chat(self, **fields):
        return self.client.chat.completions.create(
            **{"model": "toy", "messages": HELLO, "max_completion_tokens": 20, "temperature": 0,
               **fields})

    def respond(self, **fields):
        return self.client.responses.create(
            **{"model": "toy", "input": "hello there", "max_output_tokens": 20, "temperature": 0,
               **fields})

    def test_chats(self):
        whole = self.chat(logprobs=True, top_logprobs=2)
        self.assertEqual(len(whole.choices[0].logprobs.content), 20)
        parts = list(self.chat(stream=True, stream_options={"include_usage": True}))
        text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(parts[-1].usage.completion_tokens, 20)
        several = self.chat(n=2, temperature=1, seed=3)
        self.assertEqual([choice.index for choice in several.choices], [0, 1])

    def test_the_helper_for_streams(self):
        with self.client.chat.completions.stream(
                model="toy", messages=HELLO, max_completion_tokens=20, temperature=0) as stream:
            kinds = {event.type for event in stream}
            # The whole would be an error to the client, for its length is at the limit.
            last = stream.current_completion_snapshot
        self.assertIn("content.delta", kinds)
        self.assertEqual(last.choices[0].message.content,
                         self.chat().choices[0].message.content)

    def test_responses(self):
        whole = self.respond()
        self.assertEqual(whole.output_text, self.chat().choices[0].message.content)
        self.assertEqual(whole.status, "incomplete")
        with self.client.responses.stream(model="toy", input="hello there", max_output_tokens=20,
                                          temperature=0) as stream:
            kinds = [event.type for event in stream]
        self.assertEqual(kinds[0], "response.created")
        self.assertEqual(kinds[-1], "response.incomplete")
        deltas = [event.delta for event in self.respond(stream=True)
                  if event.type == "response.output_text.delta"]
        self.assertEqual("".join(deltas), whole.output_text)

    def test_tools_and_errors(self):
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(tools=[tool], tool_choice="required")
        self.assertEqual(caught.exception.param, "tool_choice")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(response_format={"type": "structural_tag"})
        self.assertEqual(caught.exception.param, "response_format")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.respond(previous_response_id="resp_1")
        self.assertEqual(caught.exception.param, "previous_response_id")


class Documented(ChatTest):
    def test_example(self):
        """The client of docs/conversations.md, as it stands but for the port."""
        server = self.start("--served-model-name", "fables")
        page = (ROOT / "docs/conversations.md").read_text(encoding="utf-8")
        code, = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code.replace("http://127.0.0.1:8000", server.address), {})
        self.assertTrue(printed.getvalue())


class Calls(EchoTest):
    TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}

    def setUp(self):
        self.client = openai.OpenAI(base_url=f"{self.start().address}/v1", api_key="none",
                                    max_retries=0, timeout=60)
        self.addCleanup(self.client.close)
        self.asked = {"model": "toy", "temperature": 0, "tools": [self.TOOL]}

    def test_chats(self):
        messages = [{"role": "user", "content": ANSWER}]
        whole = self.client.chat.completions.create(messages=messages, **self.asked).choices[0]
        call = whole.message.tool_calls[0]
        self.assertEqual((whole.finish_reason, call.function.name), ("tool_calls", "look"))
        self.assertEqual(json.loads(call.function.arguments), ARGUMENTS)
        self.assertEqual(whole.message.reasoning_content, "let me see")
        with self.client.chat.completions.stream(messages=messages, **self.asked) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion().choices[0].message
        self.assertEqual(final.tool_calls[0].function.arguments, call.function.arguments)
        self.assertEqual(final.content, whole.message.content)
        again = self.client.chat.completions.create(messages=[
            *messages, whole.message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}],
                                                    **self.asked)
        self.assertEqual(again.choices[0].message.content, "rain")

    def test_responses(self):
        asked = {**self.asked, "tools": [{"type": "function", **self.TOOL["function"]}]}
        with self.client.responses.stream(input=ANSWER, **asked) as stream:
            for _ in stream:
                pass
            whole = stream.get_final_response()
        self.assertEqual([item.type for item in whole.output],
                         ["reasoning", "message", "function_call"])
        self.assertEqual(json.loads(whole.output[2].arguments), ARGUMENTS)
        again = self.client.responses.create(input=[
            {"role": "user", "content": ANSWER}, *whole.output,
            {"type": "function_call_output", "call_id": whole.output[2].call_id,
             "output": "rain"}], **asked)
        self.assertEqual(again.output_text, "rain")


if __name__ == "__main__":
    harness.main()
