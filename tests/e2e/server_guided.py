# SPDX-License-Identifier: Apache-2.0
"""Forms of answers through `ingot-server`: every finished answer of the example model at a high
temperature is valid, every cut one is the beginning of one, and neighbours do not notice."""
import concurrent.futures
import json
import re

import harness
from guided_answers import PERSON, is_person
from server_process import Server, events

SCHEMA = {"type": "json_schema", "json_schema": {"name": "person", "strict": True,
                                                 "schema": PERSON}}
THINKING = ("{% for m in messages %}{{ m.content }} {% endfor %}"
            "{% if enable_thinking is not defined or enable_thinking %}<think>\n"
            "{% else %}<think>\n\n</think>\n\n{% endif %}{# </think> #}")
HOT = {"temperature": 1.5, "max_tokens": 80}


class ServerGuided(harness.FablesTest):
    def start(self, *options):
        server = Server(self.engine, "--served-model-name", "m", *options)
        self.addCleanup(server.stop)
        return server

    def ask(self, server, path, status=200, **body):
        """The parsed answer, or the events of a stream."""
        got, _, text = server.request("POST", path, body)
        self.assertEqual(got, status, text)
        return events(text) if body.get("stream") else json.loads(text)

    def chat(self, server, status=200, **body):
        return self.ask(server, "/v1/chat/completions", status, messages=[
            {"role": "user", "content": "Once upon a time"}], **{**HOT, **body})

    def is_beginning(self, schema, text):
        file, texts = self.folder / "schema", self.folder / "texts"
        file.write_text(json.dumps(schema))
        texts.write_text(json.dumps(text))
        said = self.ingot_run("match", self.engine, "--json-schema", file, "--texts", texts)
        return json.loads(said.stdout)["accepted"]

    def check(self, choice):
        text = choice.get("text", choice.get("message", {}).get("content"))
        if choice["finish_reason"] == "stop":
            self.assertTrue(is_person(json.loads(text)), text)
        else:
            self.assertTrue(self.is_beginning(PERSON, text), text)

    def test_every_path_and_choice(self):
        server = self.start()
        for seed in range(4):
            answer = self.chat(server, response_format=SCHEMA, n=3, seed=seed)
            for choice in answer["choices"]:
                self.check(choice)
        self.assertGreater(len({choice["message"]["content"]
                                for choice in answer["choices"]}), 1)
        for words in ({"json_schema": PERSON}, {"structured_outputs": {"json": PERSON}}):
            for choice in self.ask(server, "/v1/completions", prompt="Once", **HOT,
                                   **words)["choices"]:
                self.check(choice)
        said = self.ask(server, "/v1/responses", input="Once", temperature=1.5,
                        max_output_tokens=80, text={"format": {
                            "type": "json_schema", "name": "n", "schema": {"enum": [7, "x"]}}})
        self.assertIn(json.loads(said["output"][-1]["content"][0]["text"]), (7, "x"))
        said = self.ask(server, "/v1/messages", max_tokens=80, temperature=1.0, messages=[
            {"role": "user", "content": "Once"}], output_config={"format": {
                "type": "json_schema", "schema": {"const": {"a": [None]}}}})
        self.assertEqual(json.loads(said["content"][0]["text"]), {"a": [None]})
        said = self.chat(server, structured_outputs={"regex": "[a-c]{4} [0-9]"})
        self.assertRegex(said["choices"][0]["message"]["content"], "^[a-c]{4} [0-9]$")
        for words in ({"grammar": 'root ::= [a-c]{4} " " [0-9]'},
                      {"structured_outputs": {"grammar": 'start: /[a-c]{4}/ " " "0".."9"'}}):
            said = self.chat(server, **words)
            self.assertRegex(said["choices"][0]["message"]["content"], "^[a-c]{4} [0-9]$")
            said = self.ask(server, "/v1/completions", prompt="Once", **HOT, **words)
            self.assertRegex(said["choices"][0]["text"], "^[a-c]{4} [0-9]$")
        for seed in range(3):
            said = self.chat(server, response_format={"type": "json_object"}, seed=seed)
            if said["choices"][0]["finish_reason"] == "stop":
                self.assertIsInstance(json.loads(said["choices"][0]["message"]["content"]), dict)

    def test_streams_seeds_and_other_parameters(self):
        server = self.start()
        whole = self.chat(server, response_format=SCHEMA, seed=3, logprobs=True, top_logprobs=2)
        again = self.chat(server, response_format=SCHEMA, seed=3, logprobs=True, top_logprobs=2)
        self.assertEqual(whole["choices"], again["choices"])
        streamed = self.chat(server, response_format=SCHEMA, seed=3, stream=True)
        text = "".join(event["choices"][0]["delta"].get("content") or ""
                       for event in streamed if event["choices"])
        self.assertEqual(text, whole["choices"][0]["message"]["content"])
        # Where one token alone is allowed, its probability is 1.
        said = self.chat(server, structured_outputs={"choice": ["zzzz"]}, logprobs=True)
        self.assertTrue(all(token["logprob"] == 0
                            for token in said["choices"][0]["logprobs"]["content"]))
        # A stop string within the answer ends nothing, nor does a stop token.
        said = self.chat(server, structured_outputs={"choice": ["a stop b"]}, stop=["stop"])
        self.assertEqual(said["choices"][0]["message"]["content"], "a stop b")
        # Ends are asked for and forbidden at once: the form wins.
        said = self.chat(server, structured_outputs={"choice": ["ab"]}, min_tokens=20)
        self.assertEqual(said["choices"][0]["message"]["content"], "ab")
        said = self.chat(server, structured_outputs={"regex": "[ab]{2,}"}, max_tokens=5,
                         ignore_eos=True, presence_penalty=2)
        self.assertEqual(said["choices"][0]["finish_reason"], "length")
        self.assertRegex(said["choices"][0]["message"]["content"], "^[ab]+$")

    def test_thoughts_are_free(self):
        template = self.folder / "t.jinja"
        template.write_text(THINKING)
        server = self.start("--chat-template", template)
        quiet = {"chat_template_kwargs": {"enable_thinking": False}}
        said = self.chat(server, structured_outputs={"choice": ["yes", "no"]}, **quiet)
        self.assertIn(said["choices"][0]["message"]["content"], ("yes", "no"))
        # The example does not know how to end a thought: a bias does.
        said = self.chat(server, structured_outputs={"choice": ["yes", "no"]}, max_tokens=20)
        message = said["choices"][0]["message"]
        self.assertEqual(said["choices"][0]["finish_reason"], "length")
        self.assertFalse(message["content"])
        self.assertGreater(len(message["reasoning_content"]), 10)

    def test_thoughts_end_at_their_limit(self):
        template = self.folder / "t.jinja"
        template.write_text(THINKING)
        server = self.start("--chat-template", template, "--max-reasoning-tokens", 12)
        long = {"seed": 5, "max_tokens": 40, "ignore_eos": True}

        def thought(choice):
            return choice["message"].get("reasoning_content") or ""

        free = None
        for words, most in (({"thinking_token_budget": -1}, 12), ({"thinking_token_budget": 5}, 5),
                            ({"thinking_budget_tokens": 1}, 1),
                            ({"reasoning": {"max_tokens": 50}}, 12),
                            ({"thinking": {"type": "enabled", "budget_tokens": 3}}, 3)):
            with self.subTest(words=words):
                whole = self.chat(server, **long, **words)
                [choice] = whole["choices"]
                self.assertTrue(choice["message"]["content"])
                self.assertNotIn("think>", choice["message"]["content"])
                # Up to its end the thought is that of a higher limit.
                free = free or thought(choice)
                self.assertTrue(free.startswith(thought(choice).rstrip("\ufffd")), choice)
                tokens = self.ask(server, "/tokenize", prompt=thought(choice),
                                  add_special_tokens=False)["count"]
                self.assertLessEqual(tokens, most)
                streamed = self.chat(server, stream=True, **long, **words)
                deltas = [event["choices"][0]["delta"] for event in streamed if event["choices"]]
                for name in ("reasoning_content", "content"):
                    self.assertEqual("".join(delta.get(name) or "" for delta in deltas),
                                     choice["message"][name])
                count = whole["usage"]["completion_tokens_details"]["reasoning_tokens"]
                # Those of its end are told of as ever; the example spells it letter by letter.
                self.assertGreaterEqual(count, tokens)
                self.assertLessEqual(count, most + len("</think>"))
        # Nothing is thought, and the choices differ.
        said = self.chat(server, reasoning_effort="none", n=3, **long)
        self.assertFalse(any(thought(choice) for choice in said["choices"]))
        self.assertEqual(len({choice["message"]["content"] for choice in said["choices"]}), 3)
        # Behind it the answer has its form; other wishes have no say in the end of a thought.
        for words in ({}, {"thinking_token_budget": 0}, {"bad_words": ["think"]}):
            said = self.chat(server, structured_outputs={"choice": ["yes", "no"]}, **words)
            self.assertIn(said["choices"][0]["message"]["content"], ("yes", "no"))
        said = self.chat(server, bad_words=["think"], thinking_token_budget=2, **long)
        self.assertTrue(said["choices"][0]["message"]["content"])
        said = self.ask(server, "/v1/messages", max_tokens=40, temperature=1.0, ignore_eos=True,
                        thinking={"type": "enabled", "budget_tokens": 4},
                        messages=[{"role": "user", "content": "Once"}])
        self.assertEqual([block["type"] for block in said["content"]], ["thinking", "text"])
        said = self.ask(server, "/v1/responses", input="Once", max_output_tokens=40,
                        ignore_eos=True, reasoning={"effort": "low"})
        self.assertEqual([item["type"] for item in said["output"]], ["reasoning", "message"])
        error = self.ask(server, "/v1/messages", 400, max_tokens=40, messages=[
            {"role": "user", "content": "Once"}], thinking={"type": "enabled",
                                                            "budget_tokens": "few"})["error"]
        self.assertIn("thinking.budget_tokens", error["message"])

    def test_refusals_name_the_place(self):
        server = self.start()
        for words, code, where in (
                ({"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}},
                 "INGOT-E7203", "response_format"),
                ({"response_format": {"type": "json_schema", "json_schema": {
                    "schema": {"properties": {"a": {"type": "strin"}}}}}},
                 "INGOT-E6611", "/properties/a/type"),
                ({"json_schema": {"$ref": "#/$defs/x"}}, "INGOT-E6612", "/$ref"),
                ({"regex": r"(a)\1"}, "INGOT-E6602", "byte 3"),
                ({"grammar": 'root ::= "a" |\n  <think>'}, "INGOT-E6620", "line 2, column 3"),
                ({"structured_outputs": {"grammar": "start: a"}}, "INGOT-E6621",
                 "line 1, column 8"),
                ({"structured_outputs": {"choice": []}}, "INGOT-E6006", "choices"),
                ({"structured_outputs": {"json": {}, "regex": "a"}}, "INGOT-E7203",
                 "structured_outputs"),
                ({"guided_json": {}}, "INGOT-E7202", "guided_json")):
            with self.subTest(words=words):
                error = self.chat(server, 400, **words)["error"]
                self.assertEqual(error["ingot_code"], code, error)
                self.assertIn(where, error["message"])

    def test_bombs_are_refused_while_neighbours_go_on(self):
        server = self.start()
        deep = {"type": "null"}
        for _ in range(9):
            deep = {"anyOf": [{"type": "array", "items": deep}, deep]}
        bombs = [
            {"json_schema": deep},
            {"regex": "((a{0,1000}){0,1000}){0,1000}b"},
            {"regex": "(.*a.*){40}"},
            {"grammar": 'root ::= ' + "(" * 100000},
            {"grammar": 'root ::= root root root | "a"{0,1000000000} | root? "b"'},
            {"json_schema": {"allOf": [{"pattern": f"a.{{{i}}}b"} for i in range(40)]}},
            {"json_schema": {"properties": {f"name{i}": {"maxLength": i} for i in range(5000)},
                             "type": "object"}},
            {"json_schema": {"enum": [f"{i * i:08}" for i in range(10000)]}}]
        with concurrent.futures.ThreadPoolExecutor(len(bombs) + 2) as pool:
            alone = [self.chat(server, response_format=SCHEMA, seed=seed)["choices"][0]
                     for seed in range(2)]
            sent = [pool.submit(server.request, "POST", "/v1/completions", {
                "prompt": "Once", **HOT, **bomb}) for bomb in bombs]
            beside = list(pool.map(lambda seed: self.chat(
                server, response_format=SCHEMA, seed=seed)["choices"][0], range(2)))
            for answer, bomb in zip(sent, bombs):
                status, _, text = answer.result()
                self.assertIn(status, (200, 400), str(bomb)[:200] + text[:300])
                if status == 400:
                    self.assertTrue(re.search("INGOT-E66[012]", text), text)
        self.assertEqual(alone, beside)


if __name__ == "__main__":
    harness.main()
