#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversations with `ingot-server`: the prompt is the template's, and the same turn in every form
has the answer of the completion of that prompt."""
import json
import pathlib
import subprocess

import documented_sessions
import harness
import server_process
from server_process import ServerTest

TEMPLATE = ("{%- for message in messages -%}{{ message.role[0] }} {{ message.content }}"
            "{% if message.tool_calls %}{{ message.tool_calls[0].function.name }}{% endif %} {% "
            "endfor -%}{%- if add_generation_prompt %}{{ greeting | default('a ') }}{% endif -%}"
            "{%- if fails %}{{ 1 / 0 }}{% endif -%}")
# The model answers with the last message's content.
ECHO = ("{%- for t in tools %}t{{ t.function.name }}.{% endfor -%}{% for m in messages[:-1] %}"
        "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}"
        "{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}{{ messages[-1].content }}~"
        "{{ '.' * (511 - messages[-1].content | length) }}")
ANSWER = ("<think>\nlet me see\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"look\", "
          "\"arguments\": {\"at\": \"paris\", \"n\": [1, 2]}}\n</tool_call>")
ARGUMENTS = {"at": "paris", "n": [1, 2]}
REQUESTS = pathlib.Path(__file__).with_name("agent_requests.json")
HELLO = [{"role": "user", "content": "hello there"}]
PROMPT = "u hello there a "


def named_events(text):
    """The JSON of events that have names."""
    parts = [part.split("\n", 1) for part in text.strip().split("\n\n")]
    found = [json.loads(data.removeprefix("data: ")) for _, data in parts]
    assert [name.removeprefix("event: ") for name, _ in parts] == [one["type"] for one in found]
    return found


class ChatTest(ServerTest):
    TEMPLATE = TEMPLATE

    def start(self, *options, **more):
        path = self.folder / "chat.jinja"
        path.write_text(self.TEMPLATE, encoding="ascii")
        return super().start("--chat-template", path, *options, **more)


class EchoTest(ChatTest):
    """A model that answers with what it was told last, so that answers may have calls."""

    TEMPLATE, MORE = ECHO, ("echo",)

    def start(self, *options, **more):
        return super().start("--tool-parser", "hermes", "--reasoning-parser", "think", *options,
                             **more)


class Documented(EchoTest):
    """The request of docs/tool-calls.md, to a model that calls whatever it is told."""

    TEMPLATE = ("{% set call = '<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": "
                "\"oslo\"}}</tool_call>' %}{% for t in tools %}{{ t.function.name }}.{% endfor %}"
                "{% for m in messages %}{{ m.content }}{% endfor %}"
                "{{ call }}~{{ '.' * (511 - call | length) }}")

    def test_call(self):
        (command, shown), = documented_sessions.sessions("docs/tool-calls.md")
        port = self.start().address.rpartition(":")[2]
        printed = subprocess.run(["bash", "-c", command.replace(":8000", f":{port}")], text=True,
                                 stdout=subprocess.PIPE, timeout=harness.LIMIT, check=True).stdout
        self.assertTrue(documented_sessions.agrees(shown, printed), printed)


class Conversations(ChatTest):
    def ask(self, server, path, body, status=200):
        got, _, text = server.request("POST", path, {"temperature": 0, **body})
        self.assertEqual(got, status, text)
        return text

    def test_prompts(self):
        server = self.start()
        for body, prompt in (
                ({"messages": HELLO}, PROMPT),
                ({"messages": HELLO, "add_generation_prompt": False}, "u hello there "),
                ({"messages": HELLO, "chat_template_kwargs": {"greeting": "b"}},
                 "u hello there b"),
                ({"messages": [*HELLO, {"role": "assistant", "content": "well"}],
                  "continue_final_message": True, "add_generation_prompt": False},
                 "u hello there a well")):
            with self.subTest(body=body):
                text = self.ask(server, "/apply-template", body)
                self.assertEqual(json.loads(text)["prompt"], prompt)

    def test_every_form_has_the_same_answer(self):
        server = self.start()
        complete = server.complete(prompt=PROMPT, max_tokens=12, temperature=0,
                                   add_special_tokens=False)
        wanted = complete["choices"][0]["text"]
        self.assertEqual(len(wanted), 12)
        chat = {"messages": HELLO, "max_tokens": 12}
        whole = json.loads(self.ask(server, "/v1/chat/completions", chat))
        self.assertEqual(whole["choices"][0]["message"]["content"], wanted)
        self.assertEqual(whole["usage"]["prompt_tokens"], complete["usage"]["prompt_tokens"])
        chunks = server_process.events(
            self.ask(server, "/v1/chat/completions", {**chat, "stream": True}))
        self.assertEqual("".join(chunk["choices"][0]["delta"].get("content", "")
                                 for chunk in chunks), wanted)
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "length")
        message = json.loads(self.ask(server, "/v1/messages", chat))
        self.assertEqual(message["content"], [{"type": "text", "text": wanted}])
        events = named_events(self.ask(server, "/v1/messages", {**chat, "stream": True}))
        self.assertEqual("".join(event["delta"]["text"] for event in events
                                 if event["type"] == "content_block_delta"), wanted)
        counted = json.loads(self.ask(server, "/v1/messages/count_tokens", {"messages": HELLO}))
        self.assertEqual(counted["input_tokens"], whole["usage"]["prompt_tokens"])
        asked = {"input": "hello there", "max_output_tokens": 12}
        response = json.loads(self.ask(server, "/v1/responses", asked))
        self.assertEqual(response["output"][0]["content"][0]["text"], wanted)
        events = named_events(self.ask(server, "/v1/responses", {**asked, "stream": True}))
        self.assertEqual("".join(event.get("delta", "") for event in events), wanted)
        self.assertEqual(events[-1]["response"]["usage"], response["usage"])

    def test_several_answers(self):
        server = self.start()
        body = {"messages": HELLO, "max_tokens": 5, "n": 3, "temperature": 1, "seed": 7}
        whole = json.loads(self.ask(server, "/v1/chat/completions", body))
        texts = [choice["message"]["content"] for choice in whole["choices"]]
        self.assertEqual(len(texts), 3)
        chunks = server_process.events(
            self.ask(server, "/v1/chat/completions", {**body, "stream": True}))
        streamed = ["", "", ""]
        for chunk in chunks:
            for choice in chunk["choices"]:
                streamed[choice["index"]] += choice["delta"].get("content", "")
        self.assertEqual(streamed, texts)

    def test_turns_compute_what_is_new(self):
        """Each turn finds its past in the cache, but for less than a block."""
        server = self.start()
        messages, known = [], 0
        for turn in range(20):
            messages.append({"role": "user", "content": f"question {turn}".replace("0", "o")})
            whole = json.loads(self.ask(server, "/v1/chat/completions",
                                        {"messages": messages, "max_tokens": 24}))
            usage = whole["usage"]
            cached = usage["prompt_tokens_details"]["cached_tokens"]
            self.assertGreater(cached + 16, known - 1, f"turn {turn}")
            messages.append(whole["choices"][0]["message"])
            known = usage["prompt_tokens"] + usage["completion_tokens"]

    def test_a_turn_after_preemption(self):
        """Two answers that do not fit side by side; what was computed again is found again."""
        server = self.start("--kv-blocks", self.CONTEXT // 16)
        whole = json.loads(self.ask(server, "/v1/chat/completions", {
            "messages": HELLO, "n": 2, "temperature": 1, "seed": 5, "max_tokens": 3000,
            "ignore_eos": True}))
        self.assertGreater(server.metric("vllm:num_preemptions_total"), 0)
        # The second one gave way to the first, ended last, and is still whole but for less than a
        # block.
        usage = json.loads(self.ask(server, "/v1/chat/completions", {
            "messages": [*HELLO, whole["choices"][1]["message"],
                         {"role": "user", "content": "more"}], "max_tokens": 1}))["usage"]
        self.assertGreater(usage["prompt_tokens_details"]["cached_tokens"] + 16,
                           whole["usage"]["prompt_tokens"] + 3000 - 1)

    def test_errors(self):
        server = self.start()
        for path, body, code in (
                ("/v1/chat/completions", {"messages": []}, "INGOT-E7203"),
                ("/v1/chat/completions", {"messages": HELLO, "response_format": {
                    "type": "structural_tag"}}, "INGOT-E7203"),
                ("/v1/chat/completions", {"messages": HELLO, "response_format": {
                    "type": "json_schema", "json_schema": {"schema": {
                        "type": "string", "not": {"pattern": r"(a)\1"}}}}}, "INGOT-E6602"),
                ("/v1/responses", {"input": "a", "previous_response_id": "x"}, "INGOT-E7202"),
                ("/v1/messages", {"messages": HELLO}, "INGOT-E7203")):
            error = json.loads(self.ask(server, path, body, 400))
            self.assertEqual(error["error"]["ingot_code"], code)
            self.assertEqual(error.get("type"), "error" if "messages" in path else None)
        for part, code, param in (
                ({"type": "image_url", "image_url": {"url": "x"}}, "INGOT-E6814", "messages"),
                ({"type": "input_audio"}, "INGOT-E6071", "messages[0].content[0].type")):
            error = json.loads(self.ask(server, "/v1/chat/completions", {
                "messages": [{"role": "user", "content": [part]}]}, 400))
            self.assertEqual((error["error"]["ingot_code"], error["error"]["param"]),
                             (code, param))
        # Where a template fails is told, but not the path that it has here.
        failing = self.ask(server, "/apply-template", {
            "messages": HELLO, "chat_template_kwargs": {"fails": True}}, 400)
        self.assertIn("chat template:1:", json.loads(failing)["error"]["message"])
        self.assertNotIn(str(self.folder), failing)
        server_process.wait_for(lambda: any(
            "INGOT-E6064" in line and str(self.folder / "chat.jinja") in line
            for line in server.log))
        plain = ServerTest.start(self)
        error = json.loads(self.ask(plain, "/v1/chat/completions", {"messages": HELLO}, 400))
        self.assertEqual(error["error"]["ingot_code"], "INGOT-E6074")
        wrong = server_process.Server(self.engine, "--tool-parser", "none-such", wait=False)
        self.addCleanup(wrong.end)
        self.assertEqual(wrong.process.wait(60), 1)
        server_process.wait_for(lambda: any("INGOT-E7222" in line for line in wrong.log))


class Calls(EchoTest):
    TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    ASKED = [{"role": "user", "content": ANSWER}]

    def setUp(self):
        self.server = self.start()

    def ask(self, path, **fields):
        status, _, text = self.server.request("POST", path, {
            "temperature": 0, "messages": self.ASKED, **fields})
        self.assertEqual(status, 200, text)
        return text

    def test_chats(self):
        whole = json.loads(self.ask("/v1/chat/completions", tools=self.TOOLS))["choices"][0]
        message = whole["message"]
        self.assertEqual(whole["finish_reason"], "tool_calls")
        self.assertEqual((message["reasoning"], message["content"]), ("let me see", "I look."))
        call = message["tool_calls"][0]
        self.assertEqual(call["function"]["name"], "look")
        self.assertEqual(json.loads(call["function"]["arguments"]), ARGUMENTS)
        deltas = [chunk["choices"][0]["delta"] for chunk in server_process.events(
            self.ask("/v1/chat/completions", tools=self.TOOLS, stream=True))]
        for name in ("reasoning", "reasoning_content", "content"):
            self.assertEqual("".join(delta.get(name, "") for delta in deltas),
                             message["reasoning" if "reasoning" in name else "content"])
        calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
        self.assertEqual("".join(part["function"].get("arguments", "") for part in calls),
                         call["function"]["arguments"])
        self.assertGreater(len(calls), 10)
        # The message comes back with the tool's result, which this model then says.
        later = [*self.ASKED, message, {"role": "tool", "tool_call_id": call["id"],
                                        "content": "rain"}]
        again = json.loads(self.ask("/v1/chat/completions", tools=self.TOOLS, messages=later))
        self.assertEqual(again["choices"][0]["message"]["content"], "rain")
        self.assertEqual(again["choices"][0]["finish_reason"], "stop")

    def test_without_tools_a_call_is_text(self):
        for more in ({}, {"tools": self.TOOLS, "tool_choice": "none"}):
            whole = json.loads(self.ask("/v1/chat/completions", **more))["choices"][0]
            self.assertEqual(whole["message"]["content"],
                             ANSWER.split("</think>\n\n", 1)[1])
            self.assertEqual(whole["finish_reason"], "stop")

    def test_messages(self):
        tools = [{"name": "look", "input_schema": {"type": "object"}}]
        whole = json.loads(self.ask("/v1/messages", tools=tools, max_tokens=600))
        self.assertEqual([block["type"] for block in whole["content"]],
                         ["thinking", "text", "tool_use"])
        self.assertEqual(whole["content"][2]["input"], ARGUMENTS)
        self.assertEqual(whole["stop_reason"], "tool_use")
        later = [*self.ASKED, {"role": "assistant", "content": whole["content"]},
                 {"role": "user", "content": [
                     {"type": "tool_result", "tool_use_id": whole["content"][2]["id"],
                      "content": "rain"}]}]
        again = json.loads(self.ask("/v1/messages", tools=tools, max_tokens=600, messages=later))
        self.assertEqual(again["content"], [{"type": "text", "text": "rain"}])

    def test_responses(self):
        tools = [{"type": "function", "name": "look", "parameters": {"type": "object"}}]
        asked = {"temperature": 0, "input": ANSWER, "tools": tools}
        status, _, text = self.server.request("POST", "/v1/responses", asked)
        self.assertEqual(status, 200, text)
        whole = json.loads(text)
        self.assertEqual([item["type"] for item in whole["output"]],
                         ["reasoning", "message", "function_call"])
        self.assertEqual(json.loads(whole["output"][2]["arguments"]), ARGUMENTS)
        later = [{"role": "user", "content": ANSWER}, *whole["output"],
                 {"type": "function_call_output", "call_id": whole["output"][2]["call_id"],
                  "output": "rain"}]
        status, _, text = self.server.request("POST", "/v1/responses", {**asked, "input": later})
        self.assertEqual(status, 200, text)
        self.assertEqual(json.loads(text)["output"][0]["content"][0]["text"], "rain")


def answer_in(path, text):
    """What was said in a response, whole or streamed."""
    if path == "/v1/chat/completions" and text.startswith("data: "):
        return "".join(chunk["choices"][0]["delta"].get("content", "")
                       for chunk in server_process.events(text) if chunk["choices"])
    if text.startswith("event: "):
        kinds = ("response.output_text.delta", "content_block_delta")
        deltas = [event["delta"] for event in named_events(text) if event["type"] in kinds]
        return "".join(delta if isinstance(delta, str) else delta.get("text", "")
                       for delta in deltas)
    return json.loads(text)["choices"][0]["message"]["content"]


class Agents(EchoTest):
    """What agents, SDKs and routers send by themselves."""

    def test_requests_run_unchanged(self):
        keys = self.folder / "keys"
        keys.write_text("KEY\n", encoding="ascii")
        server = self.start("--api-keys", keys, "--cors-origins", "http://localhost:5173")
        for sent in json.loads(REQUESTS.read_text(encoding="utf-8")):
            path = sent["path"].split("?")[0]
            with self.subTest(sent["client"]):
                status, headers, text = server.request("POST", sent["path"], sent["body"],
                                                       **sent["headers"])
                self.assertEqual(status, 200, text)
                if "answer" in sent:
                    self.assertEqual(answer_in(path, text), sent["answer"])
                origin = sent["headers"].get("Origin")
                self.assertEqual(headers.get("Access-Control-Allow-Origin"), origin)
                asked = ", ".join(name.lower() for name in sent["headers"])
                status, headers, _ = server.request(
                    "OPTIONS", sent["path"], Origin="http://localhost:5173",
                    Access_Control_Request_Method="POST", Access_Control_Request_Headers=asked)
                self.assertEqual((status, headers["Access-Control-Allow-Headers"]), (204, asked))
                # A field that would change the answer is named still.
                status, _, text = server.request("POST", sent["path"], {
                    **sent["body"], "guided_regex": "a+"}, **sent["headers"])
                self.assertEqual(status, 400)
                self.assertIn("guided_regex", text)

    def test_history_is_cleared(self):
        server = self.start()
        calls = [[{"role": "assistant", "content": [
            {"type": "tool_use", "id": f"t{i}", "name": "look", "input": {}}]},
                  {"role": "user", "content": [
                      {"type": "tool_result", "tool_use_id": f"t{i}",
                       "content": "rain in the morning, sun at noon"}]}]
                 for i in range(3)]
        body = {"model": "toy", "max_tokens": 600, "temperature": 0, "messages": [
            *HELLO, *sum(calls, [])], "context_management": {"edits": [{
                "type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 1},
                "trigger": {"type": "tool_uses", "value": 1}}]}}
        status, _, text = server.request("POST", "/v1/messages", body)
        self.assertEqual(status, 200, text)
        edit, = json.loads(text)["context_management"]["applied_edits"]
        self.assertEqual((edit["type"], edit["cleared_tool_uses"]),
                         ("clear_tool_uses_20250919", 2))
        _, _, text = server.request("POST", "/v1/messages", {**body, "stream": True})
        told = [event for event in named_events(text) if event["type"] == "message_delta"]
        self.assertEqual(told[-1]["context_management"]["applied_edits"], [edit])
        del body["max_tokens"]
        status, _, text = server.request("POST", "/v1/messages/count_tokens", body)
        counted = json.loads(text)
        self.assertEqual(
            counted["context_management"]["original_input_tokens"] - counted["input_tokens"],
            edit["cleared_input_tokens"])


if __name__ == "__main__":
    harness.main()
