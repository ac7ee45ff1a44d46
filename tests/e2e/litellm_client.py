#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LiteLLM (build/litellm, from scripts/setup --full) drives `ingot-server` as each kind of provider
that it has the form of: chats, completions, responses and messages, plain, streamed, with tools."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for packages in (ROOT / "build" / "litellm").glob("lib/python3*/site-packages"):
    sys.path.insert(0, str(packages))
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it is fetched
try:
    import litellm
except ImportError:
    print("SKIP litellm: scripts/setup --full installs it")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import json

import harness
from server_chat import ANSWER, ARGUMENTS, EchoTest

LOOK = [{"type": "function", "function": {
    "name": "look", "description": "Looks.", "parameters": {
        "type": "object", "properties": {"at": {"type": "string"}}}}}]
PROVIDERS = ("openai", "hosted_vllm", "openrouter", "anthropic")


class LiteLlm(EchoTest):
    def setUp(self):
        keys = self.folder / "keys"
        keys.write_text("KEY\n", encoding="ascii")
        self.address = self.start("--api-keys", keys).address

    def place(self, provider):
        path = "" if provider == "anthropic" else "/v1"
        return {"model": f"{provider}/toy", "api_base": self.address + path, "api_key": "KEY"}

    def ask(self, provider, content, **more):
        return litellm.completion(messages=[{"role": "user", "content": content}], temperature=0,
                                  max_retries=0, max_tokens=600, **self.place(provider), **more)

    def test_plain_and_streamed(self):
        for provider in PROVIDERS:
            with self.subTest(provider):
                whole = self.ask(provider, "hello there")
                self.assertEqual(whole.choices[0].message.content, "hello there")
                parts = list(self.ask(provider, "hello there", stream=True))
                self.assertEqual("".join(part.choices[0].delta.content or "" for part in parts),
                                 "hello there")

    def test_tools_and_their_results(self):
        for provider in PROVIDERS:
            with self.subTest(provider):
                answer = self.ask(provider, ANSWER, tools=LOOK).choices[0].message
                call, = answer.tool_calls
                self.assertEqual(json.loads(call.function.arguments), ARGUMENTS)
                again = litellm.completion(messages=[
                    {"role": "user", "content": ANSWER}, answer,
                    {"role": "tool", "tool_call_id": call.id, "content": "rain"}], tools=LOOK,
                                           temperature=0, max_retries=0, max_tokens=600,
                                           **self.place(provider))
                self.assertEqual(again.choices[0].message.content, "rain")

    def test_completions_and_responses(self):
        text = litellm.text_completion(prompt="hello", max_tokens=4, max_retries=0, temperature=0,
                                       **self.place("text-completion-openai"))
        self.assertEqual(len(text.choices[0].text), 4)
        answer = litellm.responses(input="hello there", temperature=0, max_retries=0,
                                   **self.place("openai"))
        self.assertEqual(answer.output[0].content[0].text, "hello there")

    def test_errors_are_its_own(self):
        with self.assertRaises(litellm.AuthenticationError):
            self.ask("openai", "hello", extra_headers={"Authorization": "Bearer other"})
        with self.assertRaises(litellm.BadRequestError):
            self.ask("openai", "hello", response_format={"type": "json_schema", "json_schema": {
                "name": "n", "schema": {"type": "string", "minLength": 2, "maxLength": 1}}})


if __name__ == "__main__":
    harness.main()
