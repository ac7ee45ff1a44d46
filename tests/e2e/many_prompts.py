#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `ingot-run` does with requests: answers come while input goes on, output that nobody takes
ends it at once, and the prompt's and the engine's own settings count once."""
import json
import subprocess

import harness


class ManyPrompts(harness.BuildTest):
    def engine(self, **generation):
        """The fables with more in their generation_config.json."""
        model = self.copy_of(harness.FABLES)
        path = model / "generation_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **generation}))
        output = self.folder / "fables.ingot"
        self.assert_built(self.build(model, output), output)
        return output

    def start(self, engine, *options, stdout=subprocess.PIPE):
        process = subprocess.Popen(
            [harness.programs / "ingot-run", engine, *options], stdin=subprocess.PIPE,
            stdout=stdout, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.kill)
        return process

    def ask(self, process, **request):
        process.stdin.write(json.dumps({"prompt": "Once", "temperature": 0, **request}) + "\n")
        process.stdin.flush()

    def test_answers_come_while_input_goes_on(self):
        process = self.start(self.engine(), "--prompts", "-")
        for number in range(1, 4):
            self.ask(process, max_tokens=number)
            answer = json.loads(process.stdout.readline())
            self.assertEqual((answer["id"], len(answer["tokens"])), (number, number))
        process.stdin.close()
        self.assertEqual(process.wait(harness.LIMIT), 0, process.stderr.read())
        process.stdout.close()

    def test_output_that_nobody_takes(self):
        engine = self.engine()
        # Input goes on; the first answer that cannot be written ends the program.
        with open("/dev/full", "w", encoding="ascii") as full:
            filled = self.start(engine, "--prompts", "-", stdout=full)
            self.ask(filled, max_tokens=2)
            self.assertEqual(filled.wait(harness.LIMIT), 1)
        self.assertIn("INGOT-E7102", filled.stderr.read())
        closed = self.start(engine, "--prompts", "-")
        self.ask(closed, max_tokens=2)
        closed.stdout.readline()
        closed.stdout.close()
        self.ask(closed, max_tokens=2)
        self.assertEqual(closed.wait(harness.LIMIT), 1)
        self.assertIn("INGOT-E7102", closed.stderr.read())
        # Of one prompt, whose answer would have no end.
        one = self.start(engine, "-p", "Once", "--ignore-eos")
        one.stdout.read(1)
        one.stdout.close()
        self.assertEqual(one.wait(harness.LIMIT), 1)
        self.assertIn("INGOT-E7102", one.stderr.read())

    def test_two_bos(self):
        engine = self.engine()
        prompt = ("-p", "<|endoftext|>Once upon", "--parse-special", "--greedy", "-n", "4")
        twice = self.ingot_run(engine, *prompt)
        self.assertIn("warning: the prompt begins with two BOS tokens", twice.stderr)
        once = self.ingot_run(engine, *prompt, "--no-special")
        self.assertNotIn("warning", once.stderr)
        plain = self.ingot_run(engine, "-p", "Once upon", "--greedy", "-n", "4")
        self.assertNotIn("warning", plain.stderr)
        self.assertEqual(once.stdout, plain.stdout)
        self.assertEqual(once.stderr.split(" tokens")[0], plain.stderr.split(" tokens")[0])
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text('\n{"prompt": "<|endoftext|>Once", "parse_special": true}\n')
        told = self.ingot_run(engine, "--prompts", prompts, "-n", "1")
        self.assertIn("warning: line 2 begins with two BOS tokens", told.stderr)

    def test_greedy_keeps_the_penalty(self):
        engine = self.engine(repetition_penalty=1.8)
        prompt = (engine, "-p", "Once upon a time", "-n", "40")
        greedy = self.ingot_run(*prompt, "--greedy")
        self.assertEqual(greedy.returncode, 0, greedy.stderr)
        self.assertEqual(greedy.stdout, self.ingot_run(*prompt, "--temp", "0").stdout)
        off = self.ingot_run(*prompt, "--greedy", "--repeat-penalty", "1")
        self.assertNotEqual(greedy.stdout, off.stdout)


if __name__ == "__main__":
    harness.main()
