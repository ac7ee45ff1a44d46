#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lm_eval` (build/lm_eval, from scripts/setup --full) runs local tasks through `ingot-server`, and
by the Python package, and finds the perplexities that `ingot-run eval` has of the same tokens."""
import json
import math
import os
import subprocess
import sys

import harness
import python_tree
from server_process import Server

LM_EVAL = harness.ROOT / "build" / "lm_eval" / "bin" / "lm_eval"
CONTEXT = 256
BOS = "<|endoftext|>"
TEXTS = [
    "Once upon a time there was a fox who lived under a tall mountain.",
    "The crow was very honest, and everybody in the village knew it.\nOne day a hungry wolf came "
    "and asked for bread.",
    "naïve café — 3.14",
]
TASK = """
task: local_text
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list:
  - {metric: word_perplexity, aggregation: weighted_perplexity, higher_is_better: false}
  - {metric: byte_perplexity, aggregation: weighted_perplexity, higher_is_better: false}
"""

# A choice of two continuations, and a text up to a full stop.
OTHER_TASKS = {"local_choice": """
task: local_choice
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{text}}"
doc_to_choice: [" time", " xylophone"]
doc_to_target: 0
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
""", "local_story": """
task: local_story
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
output_type: generate_until
doc_to_text: "{{text}}"
doc_to_target: ""
generation_kwargs: {until: ["."], max_gen_toks: 24, do_sample: false}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""}


class LmEval(harness.BuildTest):
    def loss(self, text):
        """Of a text behind the model's first token, in all."""
        path = self.folder / "text.txt"
        path.write_text(BOS + text, encoding="utf-8")
        result = self.ingot_run("eval", self.engine, "--text", path, "--window", CONTEXT,
                                "--no-special", "--parse-special", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        self.assertEqual(found["windows"], 1)
        return found["mean_nll"] * found["scored_tokens"]

    def measure(self, server, name, *arguments):
        """The task's results, from a run of that name."""
        texts = self.folder / "texts.jsonl"
        texts.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS),
                         encoding="utf-8")
        (self.folder / "local_text.yaml").write_text(TASK % texts, encoding="utf-8")
        return self.run_tasks(name, [LM_EVAL], "local-completions", "local_text",
                              f"base_url={server.address}/v1/completions,model=fables,"
                              f"max_length={CONTEXT}", *arguments)["local_text"]

    def run_tasks(self, name, program, model, tasks, model_arguments, *arguments):
        """The results of a run of that name, by task."""
        output = self.fresh(name)
        result = subprocess.run(
            [*program, "run", "--model", model, "--model_args", model_arguments, "--tasks", tasks,
             "--include_path", self.folder, "--output_path", output, *arguments],
            cwd=self.folder,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(self.folder / "cache")},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        found, = output.glob("**/results_*.json")
        return json.loads(found.read_text(encoding="utf-8"))["results"]

    def measure_package(self):
        """The same of the Python package, and of its other kinds of requests."""
        python_tree.install(self.folder)
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text('{"text": "Once upon a"}\n', encoding="utf-8")
        for name, task in OTHER_TASKS.items():
            (self.folder / f"{name}.yaml").write_text(task % prompts, encoding="utf-8")
        found = self.run_tasks(
            "package", [LM_EVAL.parent / "python", "-m", "ingot_llm.lm_eval"], "ingot",
            "local_text,local_choice,local_story",
            f"pretrained={self.engine},max_context={CONTEXT}", "--log_samples")
        self.assertEqual(found["local_choice"]["acc,none"], 1)
        sample, = (self.folder / "package").glob("**/samples_local_story_*.jsonl")
        answer = json.loads(sample.read_text(encoding="utf-8"))["resps"][0][0]
        own = self.ingot_run(self.engine, "-p", "Once upon a", "-n", 24, "--temp", 0, "--stop", ".")
        self.assertEqual(answer.strip(), own.stdout.strip())
        return found["local_text"]

    def test_perplexities_are_those_of_eval(self):
        self.engine = self.folder / "fables.ingot"
        self.assert_built(self.build(harness.FABLES, self.engine), self.engine)
        server = Server(self.engine)
        self.addCleanup(server.end)
        found = self.measure(server, "alone")
        self.assertEqual(self.measure(server, "in-batches", "--batch_size", "2"), found)
        package = self.measure_package()
        for metric in ("word_perplexity,none", "byte_perplexity,none"):
            self.assertAlmostEqual(package[metric] / found[metric], 1, 12)
        loss = sum(self.loss(text) for text in TEXTS)
        for metric, units in (("word", sum(len(text.split()) for text in TEXTS)),
                              ("byte", sum(len(text.encode()) for text in TEXTS))):
            self.assertAlmostEqual(math.log(found[f"{metric}_perplexity,none"]), loss / units, 12)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    if not LM_EVAL.exists():
        print("SKIP lm_eval: scripts/setup --full installs it")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    harness.main()
