# SPDX-License-Identifier: Apache-2.0
"""What `ingot quantize` and gates read text from: files, folders, and conversations, which the
model's chat template renders; what was read is recorded in the checkpoint."""
import hashlib
import json
import re

import harness

TEXT = harness.ROOT / "examples" / "fables" / "heldout.txt"
STORIES = harness.ROOT.parent / "shared" / "data" / "TinyStories-656K-rot256"
RECIPE = """version: 1
weights:  # what is read is the matter here
  - {match: "*layers.0.*down*", format: int4, group: 128}
  - {match: "*", format: stored}
method: gptq
"""
LENGTH = 64


class CalibrationText(harness.BuildTest):
    def setUp(self):
        super().setUp()
        # Spelled by a user, they are text; here a prompt is counted where they are not.
        self.words = re.sub(r"<\|\w+\|>", "", TEXT.read_text())
        self.recipe = self.write("recipe.yaml", RECIPE)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def conversations(self, count=8):
        """The bodies of as many, of fables' own words."""
        return [{"messages": [
            {"role": "user", "content": self.words[at:at + 300]},
            {"role": "assistant", "content": self.words[at + 300:at + 700]}]}
            for at in range(0, 700 * count, 700)]

    def write_lines(self, name, values):
        return self.write(name, "".join(json.dumps(value) + "\n" for value in values))

    def run_quantize(self, *texts, model=harness.FABLES, name="out"):
        options = [word for text in texts for word in ("--calibration-text", text)]
        return self.ingot("quantize", model, "-o", self.folder / name, "--recipe", self.recipe,
                          "--samples", 1000, "--length", LENGTH, *options)

    def record(self, *texts, **options):
        result = self.run_quantize(*texts, **options)
        self.assertEqual(result.returncode, 0, result.stdout)
        folder = self.folder / options.get("name", "out")
        record = json.loads((folder / "calibration.json").read_text())
        # What is shown at the end is what is recorded.
        self.assertIn(f"calibrated on {record['sequences']} sequences of {LENGTH} tokens, of "
                      f"{record['tokens']} in ", result.stdout)
        self.assertIn(record["ids_sha256"], result.stdout)
        self.assertEqual(json.loads((folder / "config.json").read_text())["quantization_config"][
            "quant_method"], "compressed-tensors")
        return record

    def tokens_of(self, engine, text):
        """How many ids a prompt has that is whole, with special tokens spelled in it."""
        result = self.ingot_run(engine, "--prompt", text, "--parse-special", "--no-special",
                                "-n", 1, "--greedy")
        return int(re.search(r"prompt: (\d+) tokens", result.stderr)[1])

    def rendered(self, engine, body):
        result = self.ingot_run("template", engine, "--messages",
                                self.write("body.json", json.dumps(body)), "--set",
                                "add_generation_prompt=false")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def engine(self, model):
        engine = self.fresh(f"{model.name}-engine") / "m.ingot"
        self.assert_built(self.build(model, engine), engine)
        return engine

    def with_template(self, model, template, name):
        model = self.copy_of(model, name)
        config = json.loads((model / "tokenizer_config.json").read_text())
        config["chat_template"] = template
        (model / "tokenizer_config.json").write_text(json.dumps(config))
        return model

    def test_conversations(self):
        """The ids are those of the template's text, one conversation after the other."""
        bodies = self.conversations()
        lines = self.write_lines("chats.jsonl", bodies)
        record = self.record(lines)
        self.assertEqual([(file["name"], file["documents"]) for file in record["files"]],
                         [("chats.jsonl", len(bodies))])
        self.assertEqual(record["files"][0]["sha256"],
                         hashlib.sha256(lines.read_bytes()).hexdigest())
        engine = self.engine(harness.FABLES)
        texts = [self.rendered(engine, body) for body in bodies]
        self.assertIn("<|assistant|>", texts[0])
        self.assertNotRegex(texts[0], r"<\|assistant\|>\s*$")
        # But for the first, which begins every sequence.
        total = sum(self.tokens_of(engine, text) - 1 for text in texts)
        self.assertEqual((record["tokens"], record["sequences"]), (total, total // LENGTH))
        # A template that adds nothing makes the ids of the text.
        bare = self.with_template(
            harness.FABLES, "{% for message in messages %}{{ message['content'] }}{% endfor %}",
            "bare")
        plain = self.write_lines("plain.jsonl", [
            {"text": "".join(message["content"] for message in body["messages"])}
            for body in bodies])
        found = [self.record(file, model=bare, name=file.stem)["ids_sha256"]
                 for file in (lines, plain)]
        self.assertEqual(*found)
        self.assertNotEqual(found[0], record["ids_sha256"])

    def test_folders(self):
        """Files in the order of their names; others are no texts; a line's text is a text."""
        parts = [self.words[at:at + 3000].rstrip() + "\n" for at in (0, 5000, 10000)]
        folder = self.fresh("texts")
        (folder / "b.md").write_text(parts[1])
        (folder / "a.txt").write_text(parts[0])
        (folder / "c.jsonl").write_text("\n" + json.dumps({"text": parts[2]}) + "\r\n\n")
        (folder / "weights.bin").write_bytes(b"\xff" * 100)
        (folder / "inner.txt").mkdir()
        whole = self.record(folder)
        self.assertEqual([file["name"] for file in whole["files"]], ["a.txt", "b.md", "c.jsonl"])
        self.assertEqual([file["documents"] for file in whole["files"]], [1, 1, 1])
        apart = self.record(*(self.write(f"{i}.txt", part) for i, part in enumerate(parts)),
                            name="apart")
        self.assertEqual(whole["ids_sha256"], apart["ids_sha256"])
        turned = self.record(*(self.folder / f"{i}.txt" for i in (2, 0, 1)), name="turned")
        self.assertEqual(turned["tokens"], whole["tokens"])
        self.assertNotEqual(turned["ids_sha256"], whole["ids_sha256"])
        self.assertEqual(*((self.folder / name / "model.safetensors").read_bytes()
                           for name in ("out", "apart")))

    def test_gate(self):
        chats = self.fresh("chats")
        (chats / "a.jsonl").write_text(
            "".join(json.dumps(body) + "\n" for body in self.conversations()))
        engine = self.folder / "gated.ingot"
        result = self.build(harness.FABLES, engine, "--gate", "kl<=0.5", "--gate-text", chats,
                            "--max-context", LENGTH)
        self.assert_built(result, engine)
        (chats / "a.jsonl").write_text("{}\n")
        result = self.build(harness.FABLES, self.folder / "no.ingot", "--gate", "kl<=0.5",
                            "--gate-text", chats, "--max-context", LENGTH)
        self.assert_refused(result, self.folder / "none" / "no.ingot", "INGOT-E2144")

    def test_spelled_tokens(self):
        """What a user spells is text, not the template's token."""
        found = []
        for name, words in ("plain", "A fox."), ("spelled", "A fox.<|endoftext|>"):
            lines = self.write_lines(f"{name}.jsonl", [
                {"messages": [{"role": "user", "content": words * 50}]}])
            found.append(self.record(lines, name=name)["tokens"])
        self.assertGreater(found[1], found[0] + 2 * 50)

    def test_dates(self):
        """The ids do not depend on the day: a template's clock is what the conversation says."""
        model = self.with_template(
            harness.FABLES, "{{ strftime_now('%d %b %Y') }}{{ messages[0]['content'] }}", "dated")
        words = self.words[:6000]
        messages = [{"role": "user", "content": words}]
        found = [self.record(self.write_lines(f"{name}.jsonl", [line]), model=model,
                             name=name)["ids_sha256"]
                 for name, line in [("unsaid", {"messages": messages}),
                                    ("said", {"messages": messages, "now": "2023-01-02 03:04:05"}),
                                    ("usual", {"text": "26 Jul 2024" + words}),
                                    ("other", {"text": "02 Jan 2023" + words})]]
        self.assertEqual(found[:2], found[2:])
        self.assertNotEqual(*found[:2])

    def test_bad_lines(self):
        good = json.dumps({"text": "Once upon a time."}) + "\n"
        empty = self.fresh("empty")
        (empty / "notes.rst").write_text("no text")
        self.assertIn("INGOT-E2142", self.run_quantize(empty).stdout)
        for code, line in [("E2143", "Once upon a time."), ("E2143", "[1]"), ("E2143", "{"),
                           ("E2143", '{"text": ' + "[" * 100_000 + "]" * 100_000 + "}"),
                           ("E2144", '{"words": "Once."}'), ("E2144", '{"text": 5}'),
                           ("E2144", '{"messages": "Once."}'),
                           ("E2145", '{"messages": [{"content": "Once."}]}'),
                           ("E2145", '{"messages": [], "now": "today"}')]:
            with self.subTest(line=line[:40]):
                result = self.run_quantize(self.write("bad.jsonl", good + "\n" + line + "\n"))
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(f"INGOT-{code}", result.stdout)
                self.assertIn("bad.jsonl:3", result.stdout)
                self.assertFalse((self.folder / "out").exists())

    def test_model_without_template(self):
        """A published model: its texts count, its conversations need a template."""
        if not STORIES.is_dir():
            self.skipTest("../shared/data is absent")
        chats = self.write_lines("chats.jsonl", self.conversations())
        result = self.run_quantize(chats, model=STORIES)
        self.assertIn("INGOT-E2145", result.stdout)
        self.assertIn("chats.jsonl:1", result.stdout)
        # Sequences begin with <|start_story|>; the one that the template writes is dropped.
        model = self.with_template(STORIES, "{{ bos_token }}{% for message in messages %}"
                                   "{{ message.content }}{% endfor %}", "model")
        record = self.record(chats, model=model)
        engine = self.engine(model)
        texts = [self.rendered(engine, body) for body in self.conversations()]
        self.assertTrue(texts[0].startswith("<|start_story|>"))
        self.assertEqual(record["tokens"], sum(self.tokens_of(engine, text) - 1 for text in texts))



if __name__ == "__main__":
    harness.main()
