#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lm_eval` (build/lm_eval, from scripts/setup --full) runs a local task through `ingot-server` and
finds the perplexities that `ingot-run eval` has of the same tokens."""
import json
import math
import os
import subprocess
import sys

import harness
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
        model = f"base_url={server.address}/v1/completions,model=fables,max_length={CONTEXT}"
        output = self.fresh(name)
        result = subprocess.run(
            [LM_EVAL, "run", "--model", "local-completions", "--model_args", model, "--tasks",
             "local_text", "--include_path", self.folder, "--output_path", output, *arguments],
            env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(self.folder / "cache")},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        found, = output.glob("**/results_*.json")
        return json.loads(found.read_text(encoding="utf-8"))["results"]["local_text"]

    def test_perplexities_are_those_of_eval(self):
        self.engine = self.folder / "fables.ingot"
        self.assert_built(self.build(harness.FABLES, self.engine), self.engine)
        server = Server(self.engine)
        self.addCleanup(server.end)
        found = self.measure(server, "alone")
        self.assertEqual(self.measure(server, "in-batches", "--batch_size", "2"), found)
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
