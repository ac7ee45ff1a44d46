# SPDX-License-Identifier: Apache-2.0
"""Small models that see, of random weights, against what transformers computes (towers/)."""
import json
import unittest

import harness
from towers import checkpoint, gemma4, qwen

TOWERS = {**gemma4.TOWERS, **qwen.TOWERS}
SIMULATED = {"gemma4_unified", "qwen3_5"}  # Those that are also run on a simulated GPU.
LEAST_MARGIN = 4e-3  # Of goldens: below, sums in another order may lead to the other token.
TOLERANCE = 1e-3  # Of a logarithm of a probability.
PIECES = ("--max-batch-tokens", "96", "--max-sequences", "2")


class MadeTowers(harness.BuildTest):
    @classmethod
    def setUpClass(cls):
        harness.numpy()
        cls.tensors, cls.goldens = (checkpoint.stored(f"{kind}.json")
                                    for kind in ("tensors", "goldens"))

    def engine(self, name, seed, *targets):
        folder = self.fresh(f"{name}-{seed}")
        output = self.fresh(f"{name}-{seed}-built") / "m.ingot"
        checkpoint.write(folder, TOWERS[name], self.tensors[name], seed)
        words = [word for target in targets for word in ("--target", target)]
        self.assert_built(self.build(folder, output, *words, "--recipe", "exact", "--max-context",
                                     320), output)
        return output

    def answers(self, tower, engine, *options, numbers=None):
        """What an engine says to the prompts of the tower, or to those of `numbers`."""
        lines = []
        for number, (text, pictures) in enumerate(tower.prompts()):
            files = []
            for place, pixels in enumerate(pictures):
                files.append(self.folder / f"{number}-{place}.png")
                files[-1].write_bytes(checkpoint.png(pixels))
            lines.append(json.dumps({
                "id": number, "prompt": text, "add_special": False, "parse_special": True,
                "images": list(map(str, files)), "max_tokens": checkpoint.TOKENS,
                "temperature": 0, "ignore_eos": True, "logprobs": 10}))
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text("".join(f"{lines[number]}\n" for number in numbers or range(len(lines))))
        result = self.ingot_run(engine, "--prompts", prompts, *options)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        answers = map(json.loads, result.stdout.splitlines())
        return dict(sorted((answer["id"], answer) for answer in answers))

    def compare(self, answer, golden):
        self.assertNotIn("error", answer)
        self.assertEqual(answer["prompt_tokens"], golden["prompt_tokens"])
        # Behind a token with a meaning, such as that of pictures, programs may do as they like.
        sure = next((i for i, margin in enumerate(golden["margins"]) if margin < LEAST_MARGIN
                     or golden["ids"][i - 1] >= checkpoint.BYTES and i > 0), checkpoint.TOKENS)
        self.assertEqual(answer["tokens"][:sure], golden["ids"][:sure])
        kept = [("first", 0)] + [("last", -1)] * (sure == checkpoint.TOKENS)
        for name, place in kept:
            own = {one["token"]: one["logprob"] for one in answer["logprobs"][place]["top"]}
            for token, logprob in zip(golden[name]["ids"], golden[name]["logprobs"]):
                self.assertIn(token, own)
                self.assertAlmostEqual(own[token], logprob, delta=TOLERANCE, msg=name)
        return sure

    def test_answers(self):
        for name, tower in TOWERS.items():
            for seed in checkpoint.SEEDS:
                targets = ("reference", "x86-64-v3")
                with self.subTest(tower=name, seed=seed):
                    engine = self.engine(name, seed, *targets)
                    goldens, sure = self.goldens[name][str(seed)], 0
                    for target in targets:
                        whole = self.answers(tower, engine, "--target", target)
                        for number, golden in enumerate(goldens):
                            sure += self.compare(whole[number], golden)
                    self.assertGreater(sure, 2 * len(goldens) * checkpoint.TOKENS // 2)
                    pieces = self.answers(tower, engine, "--target", target, *PIECES)
                    again = self.answers(tower, engine, "--target", target, "--max-sequences", "1",
                                         numbers=[0, 1, 0])
                    for other in (pieces, again):
                        for number in other:
                            self.assertEqual(other[number]["logprobs"], whole[number]["logprobs"])

    def test_simulated_gpu(self):
        for name in TOWERS.keys() & SIMULATED:
            with self.subTest(tower=name):
                engine = self.engine(name, 1, "sm_90a")
                answer = self.answers(TOWERS[name], engine, "--simulate", "sm_90a", numbers=[2])[2]
                self.compare(answer, self.goldens[name]["1"][2])


if __name__ == "__main__":
    harness.main()
