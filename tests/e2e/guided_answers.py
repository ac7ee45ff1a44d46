# SPDX-License-Identifier: Apache-2.0
"""Answers that are held to a form: `ingot-run match`, and the example model at a high temperature,
which writes nothing but what its schema, expression or choice lets through."""
import json
import re

import harness

PERSON = {"type": "object", "properties": {
    "name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0,
                                                         "maximum": 150},
    "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 2}},
    "required": ["age", "name"], "additionalProperties": False}


def is_person(value):
    return (isinstance(value, dict) and set(value) <= {"name", "age", "tags"}
            and {"name", "age"} <= set(value) and len(value["name"]) <= 12
            and isinstance(value["age"], int) and 0 <= value["age"] <= 150
            and all(tag in ("red", "green") for tag in value.get("tags", []))
            and len(value.get("tags", [])) <= 2)


# A request's words, and what an answer is that ended.
FORMS = [
    ({"json_schema": PERSON}, lambda text: is_person(json.loads(text))),
    ({"json_schema": {"type": "number", "minimum": -1.5, "exclusiveMaximum": 20}},
     lambda text: -1.5 <= json.loads(text) < 20),
    ({"json_schema": {"anyOf": [{"type": "null"}, {"type": "array", "minItems": 1, "maxItems": 3,
                                                   "items": {"type": "boolean"}}]}},
     lambda text: json.loads(text) is None or 1 <= len(json.loads(text)) <= 3),
    ({"regex": r"(cat|dog)s? [0-9]{2,4}"},
     lambda text: re.fullmatch(r"(cat|dog)s? [0-9]{2,4}", text)),
    ({"grammar": 'root ::= "<" root ">" | [a-c]{2,4}'},
     lambda text: (inner := text.strip("<>")) and set(inner) <= set("abc")
     and text == "<" * text.count("<") + inner + ">" * text.count("<")),
    ({"grammar": 'start: WORD ("," WORD)~1..2\nWORD: /[a-d]{1,3}/\n%ignore " "'},
     lambda text: re.fullmatch(r" *[a-d]{1,3} *(, *[a-d]{1,3} *){1,2}", text)),
    ({"choice": ["once", "once upon", "a time"]},
     lambda text: text in ("once", "once upon", "a time")),
]


class GuidedAnswers(harness.FablesTest):
    def match(self, option, pattern, texts):
        """What `match` says of each text; an option may be of several words."""
        file, lines = self.folder / "form", self.folder / "texts.jsonl"
        file.write_text(pattern)
        lines.write_text("".join(json.dumps(text) + "\n" for text in texts))
        result = self.ingot_run("match", self.engine, *option.split(), file, "--texts", lines)
        if result.returncode:
            return result
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_match(self):
        schema = json.dumps(PERSON)
        whole, prefix, wrong, repeated = self.match("--json-schema", schema, [
            '{"name": "Ann", "age": 7}', '{"name": "An', '{"name": 7}',
            '{"name": "Ann", "name": "Bob"'])
        self.assertEqual(whole, {"accepted": True, "at": None, "complete": True})
        self.assertEqual(prefix, {"accepted": True, "at": None, "complete": False})
        self.assertEqual(wrong, {"accepted": False, "at": 9, "complete": False})
        self.assertFalse(repeated["accepted"])
        # Names that no schema has come once, in whatever spelling.
        once, twice = self.match("--json-schema", '{"type": "object"}',
                                 ['{"a": 1, "b": 2}', '{"a": 1, "\\u0061": 2}'])
        self.assertTrue(once["complete"])
        self.assertEqual((twice["accepted"], twice["at"]), (False, 16))
        date, none = self.match("--regex", r"\d{4}-\d\d" + "\n", ["2026-11", "2026-x"])
        self.assertTrue(date["complete"])
        self.assertEqual(none["at"], 5)
        for option, grammar in (("--grammar gbnf", 'root ::= "[" (root ("," root)*)? "]"'),
                                ("--grammar lark", 'start: "[" [start ("," start)*] "]"')):
            whole, prefix, wrong = self.match(option, grammar, ["[[],[[]]]", "[[],", "[[] ]"])
            self.assertTrue(whole["complete"])
            self.assertEqual((prefix["accepted"], prefix["complete"]), (True, False))
            self.assertEqual((wrong["accepted"], wrong["at"]), (False, 3))
        # A name in a text is that token, or spelled.
        tokens = 'root ::= <|user|> !<[1]>* <[2]> "<|user|>"?'
        whole, spelled, prefix, wrong = self.match("--grammar gbnf", tokens, [
            "<|user|>a<|pad|>é<|assistant|>", "<|user|><|assistant|><|user|>", "<|user|>x<",
            "<|assistant|>"])
        self.assertTrue(whole["complete"] and spelled["complete"])
        self.assertEqual((prefix["accepted"], prefix["complete"]), (True, False))
        self.assertEqual((wrong["accepted"], wrong["at"]), (False, 0))

    def test_refusals(self):
        for option, pattern, code, where in (
                ("--json-schema", '{"type": "strin"}', "INGOT-E6611", "/type"),
                ("--json-schema", '{"properties": {"a": {"$ref": "http://example.com/z"}}}',
                 "INGOT-E6612", "/properties/a/$ref"),
                ("--json-schema", '{"type": "string", "minLength": 5, "maxLength": 3}',
                 "INGOT-E6613", ""),
                ("--json-schema", '{"minimum": ', "INGOT-E6610", ""),
                ("--regex", "(ab)\\1", "INGOT-E6602", "byte 4"),
                ("--grammar gbnf", 'root ::= "a"\nx ::= [b', "INGOT-E6620", "line 2, column 7"),
                ("--grammar lark", 'start: x\nx: "a" x', "INGOT-E6622", "line 2, column 1"),
                ("--grammar ebnf", 'root ::= "a"', "INGOT-E2103", "ebnf")):
            result = self.match(option, pattern, ["1"])
            self.assertTrue(1 <= result.returncode <= 125, result)
            self.assertEqual(result.stdout, "")
            self.assertIn(code, result.stderr)
            self.assertIn(where, result.stderr)

    def test_answers_have_their_form(self):
        requests = [{"id": [form, seed], "prompt": "Once upon a time", "temperature": 1.5,
                     "seed": seed, "max_tokens": 80, **FORMS[form][0]}
                    for form in range(len(FORMS)) for seed in range(12)]
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text("".join(json.dumps(request) + "\n" for request in requests))
        result = self.ingot_run(self.engine, "--prompts", prompts)
        self.assertEqual(result.returncode, 0, result.stderr)
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len(answers), len(requests))
        ended = 0
        for answer in answers:
            form, _ = answer["id"]
            if answer["finish"] == "end_token":
                self.assertTrue(FORMS[form][1](answer["text"]), answer)
                ended += 1
            else:
                self.assertEqual(answer["finish"], "length", answer)
        self.assertGreater(ended, len(requests) / 2)
        cut = [answer for answer in answers if answer["finish"] == "length"]
        for answer in cut:
            words, _ = FORMS[answer["id"][0]]
            if "json_schema" in words:
                [said] = self.match("--json-schema", json.dumps(words["json_schema"]),
                                    [answer["text"].rstrip("\ufffd")])
                self.assertTrue(said["accepted"], answer)

    def test_options(self):
        file = self.folder / "schema.json"
        file.write_text('{"enum": ["yes", "no"]}')
        result = self.ingot_run(self.engine, "-p", "Once", "--json-schema", file)
        self.assertIn(json.loads(result.stdout), ("yes", "no"))
        result = self.ingot_run(self.engine, "-p", "Once", "--regex", "[ab]{3}")
        self.assertRegex(result.stdout.strip(), "^[ab]{3}$")
        file.write_text('root ::= [ab]{3} | "(" root ")"')
        result = self.ingot_run(self.engine, "-p", "Once", "--grammar", "gbnf", file)
        self.assertRegex(result.stdout.strip(), r"^\(*[ab]{3}\)*$")
        file.write_text('root ::= "ab" <|user|> <[3]> "c"')
        lines = self.folder / "one.jsonl"
        lines.write_text(json.dumps({"prompt": "Once", "grammar": file.read_text()}))
        result = self.ingot_run(self.engine, "--prompts", lines)
        answer = json.loads(result.stdout)
        self.assertEqual((answer["text"], answer["finish"]), ("abc", "end_token"), result.stderr)


if __name__ == "__main__":
    harness.main()
