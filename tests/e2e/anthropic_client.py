#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official `anthropic` client (build/anthropic, from scripts/setup --full) drives
`ingot-server` with a key: plain, streamed, system prompts, stop sequences, counts, context that is
cleared, errors, cancellation."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for packages in (ROOT / "build" / "anthropic").glob("lib/python3*/site-packages"):
    sys.path.insert(0, str(packages))
try:
    import anthropic
except ImportError:
    print("SKIP anthropic: scripts/setup --full installs it")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import harness
from server_chat import ANSWER, ARGUMENTS, HELLO, ChatTest, EchoTest
from server_process import wait_for


class Messages(ChatTest):
    def setUp(self):
        keys = self.folder / "keys"
        keys.write_text("KEY\n", encoding="ascii")
        self.server = self.start("--api-keys", keys)
        self.client = anthropic.Anthropic(base_url=self.server.address, api_key="KEY",
                                          max_retries=0, timeout=60)
        self.addCleanup(self.client.close)

    def ask(self, **fields):
        return self.client.messages.create(
            **{"model": "toy", "messages": HELLO, "max_tokens": 20, "extra_body": {
                "temperature": 0}, **fields})

    def test_plain_and_streamed(self):
        whole = self.ask(system="be kind")
        self.assertEqual(whole.stop_reason, "max_tokens")
        self.assertEqual(whole.usage.output_tokens, 20)
        with self.client.messages.stream(
                model="toy", messages=HELLO, max_tokens=20, system="be kind",
                extra_body={"temperature": 0}) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(final.content[0].text, text)
        self.assertEqual(final.stop_reason, "max_tokens")

    def test_stop_sequences_and_counts(self):
        text = self.ask().content[0].text
        stopped = self.ask(stop_sequences=["none of it", text[4:6]])
        self.assertEqual((stopped.stop_reason, stopped.stop_sequence),
                         ("stop_sequence", text[4:6]))
        self.assertEqual(stopped.content[0].text, text[:text.index(text[4:6])])
        counted = self.client.messages.count_tokens(model="toy", messages=HELLO)
        usage = self.ask().usage
        self.assertEqual(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens)

    def test_tools_are_for_templates_that_know_them(self):
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.ask(tools=[{"name": "f", "input_schema": {"type": "object"}}])
        self.assertIn("INGOT-E6072", str(caught.exception))

    def test_errors_and_cancellation(self):
        with self.assertRaises(anthropic.AuthenticationError):
            self.client.with_options(api_key="other").messages.create(
                model="toy", messages=HELLO, max_tokens=1)
        with self.assertRaises(anthropic.NotFoundError):
            self.ask(model="other")
        with self.assertRaises(anthropic.BadRequestError):
            self.ask(messages=[{"role": "user", "content": [{"type": "image", "source": {
                "type": "url", "url": "x"}}]}])
        stream = self.ask(stream=True, max_tokens=4000)
        next(iter(stream))
        stream.close()
        wait_for(self.server.is_idle)


class ClearedContext(EchoTest):
    def test_edits_are_told(self):
        client = anthropic.Anthropic(base_url=self.start().address, api_key="none", max_retries=0,
                                     timeout=60)
        self.addCleanup(client.close)
        asked = {"model": "toy", "betas": ["context-management-2025-06-27"], "messages": [
            *HELLO, {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "paris"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "rain"}]},
            {"role": "user", "content": "hello"}], "context_management": {"edits": [
                {"type": "clear_thinking_20251015", "keep": "all"},
                {"type": "clear_tool_uses_20250919", "clear_tool_inputs": True,
                 "trigger": {"type": "tool_uses", "value": 0},
                 "keep": {"type": "tool_uses", "value": 0}}]}}
        whole = client.beta.messages.create(max_tokens=600, **asked)
        edit, = whole.context_management.applied_edits
        self.assertEqual((edit.type, edit.cleared_tool_uses), ("clear_tool_uses_20250919", 1))
        with client.beta.messages.stream(max_tokens=600, **asked) as stream:
            final = stream.get_final_message()
        self.assertEqual(final.context_management.applied_edits, [edit])
        counted = client.beta.messages.count_tokens(**asked)
        self.assertEqual(counted.context_management.original_input_tokens - counted.input_tokens,
                         edit.cleared_input_tokens)


class Calls(EchoTest):
    def test_a_call_and_its_result(self):
        client = anthropic.Anthropic(base_url=self.start().address, api_key="none", max_retries=0,
                                     timeout=60)
        self.addCleanup(client.close)
        asked = {"model": "toy", "max_tokens": 600, "extra_body": {"temperature": 0},
                 "tools": [{"name": "look", "input_schema": {"type": "object"}}]}
        messages = [{"role": "user", "content": ANSWER}]
        with client.messages.stream(messages=messages, **asked) as stream:
            for _ in stream:
                pass
            whole = stream.get_final_message()
        self.assertEqual([block.type for block in whole.content], ["thinking", "text", "tool_use"])
        self.assertEqual(whole.content[0].thinking, "let me see")
        self.assertEqual(whole.content[2].input, ARGUMENTS)
        self.assertEqual(whole.stop_reason, "tool_use")
        again = client.messages.create(messages=[
            *messages, {"role": "assistant", "content": whole.content},
            {"role": "user", "content": [{"type": "tool_result", "content": "rain",
                                          "tool_use_id": whole.content[2].id}]}], **asked)
        self.assertEqual(again.content[0].text, "rain")


if __name__ == "__main__":
    harness.main()
