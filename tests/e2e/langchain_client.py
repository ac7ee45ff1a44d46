#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LangChain (build/langchain_openai, from scripts/setup --full) drives `ingot-server` by its models
of OpenAI's and Anthropic's forms: plain, streamed, tools and their results, responses,
completions, counts, context that is cleared."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for packages in (ROOT / "build" / "langchain_openai").glob("lib/python3*/site-packages"):
    sys.path.insert(0, str(packages))
try:
    import langchain_anthropic
    import langchain_openai
    from langchain_core.messages import HumanMessage, ToolMessage
except ImportError:
    print("SKIP langchain_openai: scripts/setup --full installs it")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import harness
from server_chat import ANSWER, ARGUMENTS, EchoTest

LOOK = {"type": "function", "function": {
    "name": "look", "description": "Looks.", "parameters": {
        "type": "object", "properties": {"at": {"type": "string"}}}}}


class LangChain(EchoTest):
    def setUp(self):
        keys = self.folder / "keys"
        keys.write_text("KEY\n", encoding="ascii")
        self.address = self.start("--api-keys", keys).address

    def open_ai(self, model=langchain_openai.ChatOpenAI, **more):
        return model(model="toy", base_url=f"{self.address}/v1", api_key="KEY", temperature=0,
                     max_retries=0, **more)

    def anthropic(self, **more):
        return langchain_anthropic.ChatAnthropic(
            model="toy", base_url=self.address, api_key="KEY", temperature=0, max_retries=0,
            max_tokens=600, **more)

    def models(self):
        return {"chats": self.open_ai(), "responses": self.open_ai(use_responses_api=True),
                "usage": self.open_ai(stream_usage=True), "messages": self.anthropic()}

    def test_plain_and_streamed(self):
        for name, model in self.models().items():
            with self.subTest(name):
                self.assertEqual(model.invoke("hello there").text, "hello there")
                parts = list(model.stream("hello there"))
                self.assertEqual("".join(part.text for part in parts), "hello there")

    def test_tools_and_their_results(self):
        for name, model in self.models().items():
            with self.subTest(name):
                bound = model.bind_tools([LOOK])
                asked = [HumanMessage(ANSWER)]
                answer = bound.invoke(asked)
                call, = answer.tool_calls
                self.assertEqual((call["name"], call["args"]), ("look", ARGUMENTS))
                whole = None
                for part in bound.stream(asked):
                    whole = part if whole is None else whole + part
                self.assertEqual(whole.tool_calls[0]["args"], ARGUMENTS)
                again = bound.invoke([*asked, answer, ToolMessage("rain", tool_call_id=call["id"])])
                self.assertEqual(again.text, "rain")

    def test_completions_logprobs_and_counts(self):
        complete = self.open_ai(langchain_openai.OpenAI, max_tokens=4)
        self.assertTrue(complete.invoke("hello"))
        self.assertEqual(complete.invoke("hello"), "".join(complete.stream("hello")))
        scored = self.open_ai(logprobs=True, top_logprobs=2).invoke("hello")
        content = scored.response_metadata["logprobs"]["content"]
        said = bytes(byte for token in content[:-1] for byte in token["bytes"])
        self.assertEqual(said, b"hello")
        counted = self.anthropic().get_num_tokens_from_messages([HumanMessage("hello")])
        self.assertEqual(counted, self.anthropic().invoke("hello").usage_metadata["input_tokens"])

    def test_context_management(self):
        edits = [{"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 0},
                  "trigger": {"type": "tool_uses", "value": 0}}]
        model = self.anthropic(betas=["context-management-2025-06-27"],
                               context_management={"edits": edits}).bind_tools([LOOK])
        asked = [HumanMessage(ANSWER)]
        answer = model.invoke(asked)
        again = model.invoke([*asked, answer,
                              ToolMessage("rain", tool_call_id=answer.tool_calls[0]["id"])])
        edit, = again.response_metadata["context_management"]["applied_edits"]
        self.assertEqual(edit["cleared_tool_uses"], 1)


if __name__ == "__main__":
    harness.main()
