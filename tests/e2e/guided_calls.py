# SPDX-License-Identifier: Apache-2.0
"""Calls that must be right: in the syntax of every family, whole and streamed, in the three forms
of requests, the example model at a high temperature calls only tools with valid arguments."""
import json
import re
import subprocess

import harness
from server_process import Server, events

TEMPLATE = ("{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}"
            "{% for m in messages %}{{ m.content }} {% endfor %}")
THINKING = TEMPLATE + "{% if true %}<think>\n{% endif %}{# </think> #}"
PICK = {"type": "object", "properties": {
    "color": {"enum": ["red", "green"]}, "count": {"type": "integer", "minimum": 1, "maximum": 99},
    "note": {"type": "string", "maxLength": 6}}, "required": ["color", "count"],
    "additionalProperties": False}
GO = {"type": "object", "properties": {"to": {"type": "array", "items": {"type": "boolean"},
                                              "minItems": 1, "maxItems": 2}}, "required": ["to"]}
ASKED = [{"role": "user", "content": "Once upon a time"}]


def is_right(name, arguments):
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    if name == "go":
        return (set(arguments) == {"to"} and 1 <= len(arguments["to"]) <= 2
                and all(isinstance(one, bool) for one in arguments["to"]))
    return (name == "pick" and {"color", "count"} <= set(arguments) <= {"color", "count", "note"}
            and arguments["color"] in ("red", "green") and 1 <= arguments["count"] <= 99
            and len(arguments.get("note", "")) <= 6)


def tools(strict=None):
    more = {} if strict is None else {"strict": strict}
    return [{"type": "function", "function": {"name": name, "parameters": schema, **more}}
            for name, schema in (("pick", PICK), ("go", GO))]


class GuidedCalls(harness.FablesTest):
    def start(self, family, template=TEMPLATE, *options):
        file = self.folder / "t.jinja"
        file.write_text(template)
        server = Server(self.engine, "--served-model-name", "m", "--chat-template", file,
                        "--tool-parser", family, *options)
        self.addCleanup(server.stop)
        return server

    def ask(self, server, path, status=200, **body):
        got, _, text = server.request("POST", path, body)
        self.assertEqual(got, status, text)
        return events(text) if body.get("stream") else json.loads(text)

    def chat(self, server, status=200, **body):
        return self.ask(server, "/v1/chat/completions", status, **{
            "messages": ASKED, "temperature": 0.8, "max_tokens": 300, **body})

    def families(self):
        refused = subprocess.run(
            [harness.programs / "ingot-server", self.engine, "--tool-parser", "nobody"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=harness.LIMIT)
        names = re.search(r"use one of none, (.*)", refused.stderr).group(1).split(", ")
        self.assertGreater(len(names), 25)
        return [name.strip() for name in names]

    def called(self, choice):
        """The calls of a choice that ended; none of one that was cut."""
        if choice["finish_reason"] == "length":
            return []
        self.assertEqual(choice["finish_reason"], "tool_calls", choice)
        self.assertFalse(choice["message"]["content"], choice)
        calls = [call["function"] for call in choice["message"]["tool_calls"]]
        for call in calls:
            self.assertTrue(is_right(call["name"], call["arguments"]), choice)
        return calls

    def streamed(self, parts):
        """The same of a stream, whose deltas are put together."""
        calls = {}
        for part in parts:
            for choice in part["choices"]:
                for call in choice["delta"].get("tool_calls", []):
                    whole = calls.setdefault(call["index"], {"name": "", "arguments": ""})
                    for key, text in call["function"].items():
                        whole[key] += text
        if parts[-1]["choices"][0]["finish_reason"] == "length":
            return []
        for call in calls.values():
            self.assertTrue(is_right(call["name"], call["arguments"]), calls)
        return list(calls.values())

    def test_every_family(self):
        for family in self.families():
            with self.subTest(family=family):
                server = self.start(family)
                ended = 0
                for seed in range(2):
                    asked = {"seed": seed, "tools": tools(), "parallel_tool_calls": False}
                    whole = self.chat(server, tool_choice="required", **asked)["choices"][0]
                    calls = self.called(whole)
                    ended += len(calls)
                    self.assertLessEqual(len(calls), 1)
                    told = self.streamed(self.chat(server, tool_choice="required", stream=True,
                                                   **asked))
                    self.assertEqual(told, calls)
                named = {"type": "function", "function": {"name": "go"}}
                for call in self.called(self.chat(server, tool_choice=named,
                                                  **asked)["choices"][0]):
                    self.assertEqual(call["name"], "go")
                self.assertGreater(ended, 0)
                server.stop()

    def test_forms_of_requests(self):
        server = self.start("hermes")
        flat = [{"type": "function", **tool["function"]} for tool in tools()]
        for seed in range(3):
            said = self.ask(server, "/v1/responses", input="Once", temperature=1.2, seed=seed,
                            max_output_tokens=200, tools=flat, tool_choice="required",
                            parallel_tool_calls=False)
            if said["status"] == "completed":
                call, = said["output"]
                self.assertTrue(is_right(call["name"], call["arguments"]), said)
            own = [{"name": tool["name"], "input_schema": tool["parameters"]} for tool in flat]
            for choice in ({"type": "any"}, {"type": "tool", "name": "go"}):
                said = self.ask(server, "/v1/messages", messages=ASKED, temperature=1.0,
                                max_tokens=200, tools=own, tool_choice={
                                    **choice, "disable_parallel_tool_use": True})
                if said["stop_reason"] == "tool_use":
                    call, = said["content"]
                    self.assertTrue(is_right(call["name"], call["input"]), said)
                    self.assertIn(call["name"], (choice.get("name", call["name"]),))

    def test_strict_tools_bind_calls_and_nothing_else(self):
        server = self.start("pythonic")
        said = self.chat(server, tools=tools(True), temperature=0, max_tokens=30)["choices"][0]
        self.assertFalse(said["message"].get("tool_calls"))
        self.assertEqual(said, self.chat(server, tools=tools(), temperature=0, max_tokens=30)
                         ["choices"][0])
        # A bracket begins a call of this family: it is one, or the answer is text.
        pushed = {"logit_bias": {str(self.token("[")): 100}, "seed": 3, "stop": ["[" * 8]}
        free = self.chat(server, tools=tools(), **pushed)["choices"][0]
        self.assertFalse(free["message"].get("tool_calls"))
        held = self.chat(server, tools=tools(True), parallel_tool_calls=False, **pushed)
        self.assertEqual(len(self.called(held["choices"][0])), 1, held)

    def test_thoughts_are_free(self):
        server = self.start("hermes", THINKING)
        said = self.chat(server, tools=tools(), tool_choice="required", max_tokens=30)
        self.assertEqual(said["choices"][0]["finish_reason"], "length")
        self.assertTrue(said["choices"][0]["message"]["reasoning_content"])

    def test_templates_that_leave_tools_out(self):
        server = self.start("hermes", TEMPLATE.replace("in tools or []", "in (tools or [])[:1]"))
        for _ in range(2):
            error = self.chat(server, 400, tools=tools())["error"]
            self.assertEqual(error["ingot_code"], "INGOT-E6076")
            self.assertIn("tools[1]", error["message"])

    def test_structural_tags(self):
        server = self.start("none")
        tag = {"type": "tag", "begin": "<pick>", "end": "</pick>",
               "content": {"type": "json_schema", "json_schema": PICK}}
        for format, wanted in (
                (tag, r"<pick>(.*)</pick>"),
                ({"type": "sequence", "elements": [
                    {"type": "const_string", "value": "so: "}, {"type": "regex", "pattern": "[ab]"},
                    {"type": "optional", "content": {"type": "grammar",
                                                     "grammar": 'root ::= "!" root | "!"'}}]},
                 "so: [ab]!*"),
                ({"type": "tags_with_separator", "tags": [tag], "separator": ", ",
                  "at_least_one": True, "stop_after_first": True}, r"<pick>(.*)</pick>"),
                ({"type": "triggered_tags", "triggers": ["<pick"], "tags": [tag],
                  "at_least_one": True, "stop_after_first": True}, r"[^<]*<pick>(.*)</pick>")):
            said = self.chat(server, temperature=0.5, logit_bias={str(self.token("<")): 8},
                             response_format={"type": "structural_tag", "format": format})
            choice = said["choices"][0]
            if choice["finish_reason"] == "stop":
                match = re.fullmatch(wanted, choice["message"]["content"], re.DOTALL)
                self.assertTrue(match, choice)
                if match.groups():
                    self.assertTrue(is_right("pick", match.group(1)), choice)
        old = {"type": "structural_tag", "triggers": ["<f="], "structures": [
            {"begin": "<f=a>", "schema": GO, "end": "</f>"}]}
        pushed = {"logit_bias": {str(self.token("<")): 100}, "stop": ["</f>"], "max_tokens": 60,
                  "include_stop_str_in_output": True}
        for more in ({"response_format": old}, {"structured_outputs": {
                "structural_tag": json.dumps(old)}}):
            text = self.chat(server, **pushed, **more)["choices"][0]["message"]["content"]
            for call in re.findall(r"<f=a>(.*?)</f>", text, re.DOTALL):
                self.assertTrue(is_right("go", call), text)
        for wrong in ({"type": "tag", "begin": "a", "content": {"type": "any_text"}},
                      {"type": "nothing"}, {"type": "or", "elements": []},
                      {"type": "triggered_tags", "triggers": ["x"], "tags": [tag]},
                      {"type": "json_schema", "json_schema": {}, "style": "yaml"}):
            self.chat(server, 400, response_format={"type": "structural_tag", "format": wrong})
        error = self.chat(server, 400, response_format={"type": "structural_tag", "format": {
            "type": "sequence", "elements": [{"type": "regex", "pattern": "("}]}})["error"]
        self.assertIn("structural_tag.format.elements[0]", error["message"])

    def token(self, text):
        return json.loads((harness.FABLES / "tokenizer.json").read_text())["model"]["vocab"][text]

    def test_refusals(self):
        server = self.start("glm")
        bad = {"type": "function", "function": {"name": "f", "parameters": {
            "type": "object", "properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}}}
        for body, code, where in (
                ({"tool_choice": "required"}, "INGOT-E7203", "tool_choice"),
                ({"tool_choice": "sometimes", "tools": tools()}, "INGOT-E7203", "tool_choice"),
                ({"tool_choice": {"type": "function", "function": {"name": "x"}},
                  "tools": tools()}, "INGOT-E7203", "'x'"),
                ({"tool_choice": "required", "tools": [bad]}, "INGOT-E6602",
                 "tool 'f': #/properties/a/pattern"),
                ({"tools": tools("yes")}, "INGOT-E7203", "tools[0].function.strict"),
                ({"tool_choice": "required", "tools": [{"type": "function", "function": {
                    "name": "a b"}}]}, "INGOT-E6608", "'a b'")):
            with self.subTest(body=body):
                error = self.chat(server, 400, **body)["error"]
                self.assertEqual(error["ingot_code"], code)
                self.assertIn(where, error["message"])


if __name__ == "__main__":
    harness.main()
