# SPDX-License-Identifier: Apache-2.0
"""Prompts that conversations become: `ingot-run template` with a real engine."""
import json
import subprocess

import harness

QUESTION = [{"role": "user", "content": "Tell me of a fox."}]


class ChatTemplates(harness.BuildTest):
    def engine(self, model=harness.FABLES):
        output = self.folder / "fables.ingot"
        if not output.exists():
            self.assert_built(self.build(model, output), output)
        return output

    def render(self, body, *options, engine=None, check=True):
        path = self.folder / "request.json"
        path.write_text(json.dumps(body))
        result = self.ingot_run("template", engine or self.engine(), "--messages", path, *options)
        if check:
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout
        self.assertEqual(result.returncode, 1, result.stdout)
        return result.stderr

    def test_the_engines_own_template(self):
        text = "<|endoftext|><|user|>\nTell me of a fox.<|endoftext|>"
        self.assertEqual(self.render({"messages": QUESTION}), text + "<|assistant|>\n")
        self.assertEqual(self.render(QUESTION, "--set", "add_generation_prompt=false"), text)
        self.assertEqual(self.render({"messages": QUESTION, "add_generation_prompt": False},
                                     "--set", "bos_token=X"), text.replace("<|endoftext|>", "X", 1))
        parts = [{"type": "text", "text": "Tell me"}, {"type": "text", "text": "of a fox."}]
        self.assertIn("Tell me\nof a fox.", self.render([{"role": "user", "content": parts}]))
        started = [*QUESTION, {"role": "assistant", "content": "Once"}]
        self.assertTrue(self.render({"messages": started, "continue_final_message": True})
                        .endswith("Once"))

    def test_another_template(self):
        path = self.folder / "other.jinja"
        path.write_text("{{ strftime_now('%A %d %b %Y') }} {{ x|tojson }} {{ y }}"
                        "{{ messages[0].content }}\n")
        self.assertEqual(
            self.render(QUESTION, "--template", path, "--set", "now=2024-02-29 01:02:03",
                        "--set", 'x={"a": [1, null]}', "--set", "y=some text"),
            'Thursday 29 Feb 2024 {"a": [1, null]} some textTell me of a fox.')
        result = subprocess.run(
            [harness.programs / "ingot-run", "template", self.engine(), "--messages", "-",
             "--template", path], input=json.dumps(QUESTION), capture_output=True, text=True,
            timeout=harness.LIMIT, check=False)
        self.assertIn("INGOT-E6064", result.stderr)  # x is undefined, and that is no JSON
        self.assertEqual(result.returncode, 1)
        path.write_text("{% for x in y %}\n{{ 1 + }}")
        self.assertIn("INGOT-E6060: " + str(path) + ":2:8: expected an expression",
                      self.render(QUESTION, "--template", path, check=False))

    def test_builds_tell_of_templates_that_cannot_be_rendered(self):
        model = self.copy_of(harness.FABLES)
        path = model / "tokenizer_config.json"
        config = json.loads(path.read_text())
        path.write_text(json.dumps({**config, "chat_template": "a\n{% include 'b' %}"}))
        output, report = self.folder / "other.ingot", self.folder / "report.json"
        result = self.build(model, output, "--report", report)
        self.assert_built(result, output)
        self.assertRegex(result.stdout, "warning: .*INGOT-E6061: chat template 'default':2:")
        options = json.loads(report.read_text())["provenance"]["options"]
        self.assertEqual(["stored, cannot be rendered"],
                         [option["effective"] for option in options
                          if option["name"] == "chat template 'default'"])
        self.assertIn("INGOT-E6061", self.render(QUESTION, engine=output, check=False))

    def test_what_cannot_be_rendered(self):
        for options, code in ((("--set", "now=2024-02-30"), "E6075"), (("--set", "x"), "E6075"),
                              (("--name", "nosuch"), "E6074")):
            self.assertIn(code, self.render(QUESTION, *options, check=False))
        for body, code in (({}, "E6071"), ([{"content": ""}], "E6071"),
                           ({"messages": QUESTION, "tools": [{"type": "function"}]}, "E6072"),
                           ({"messages": QUESTION, "documents": [{"text": "x"}]}, "E6076")):
            self.assertIn(code, self.render(body, check=False))
        path = self.folder / "request.json"
        path.write_text("[" * 100000)
        self.assertIn("E6071", self.ingot_run("template", self.engine(), "--messages", path).stderr)


if __name__ == "__main__":
    harness.main()
