# SPDX-License-Identifier: Apache-2.0
"""Small models of every family in a server with little room: prompts in pieces of an odd number of
tokens, several sequences together, after preemption and after a prefix that is known. What is
computed must be what an engine computes for the prompt alone, to the bit. A quarter of the models
also on a simulated GPU and by the reference."""
import json
import sys

import harness
import server_process

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

F32 = "version: 1\nweights:\n  - {match: '*', format: f32}\nactivations: f32\nkv_cache: f32\n"
BLOCK = 16
PIECE = 7  # Tokens of a step.
GPU = "sm_90a"
ON_GPU = ("apertus", "cohere2", "deepseek_v3", "exaone_moe", "gemma2", "gemma3n", "gemma4_moe",
          "gemma4_shared", "glm4_moe_groups", "gpt2", "gpt_neox", "gpt_oss", "lfm2", "lfm2_moe",
          "llama4", "mimo_v2", "ministral3", "olmo3", "qwen2_moe", "qwen3_5", "qwen3_next",
          "stablelm")


class FamiliesServed(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        (self.model / "generation_config.json").unlink()
        self.recipe = self.folder / "f32.yaml"
        self.recipe.write_text(F32)

    @staticmethod
    def prompts(case):
        """The model's prompt, a short one, and one as long that begins as the first."""
        prompt, half = case.prompt, len(case.prompt) // 2
        return [prompt, prompt[::-1][:BLOCK // 2], prompt[:half] + prompt[half:][::-1]]

    def alone(self, engine, device, case, tokens):
        """What each token of the answers to the prompts had for a log-probability."""
        path = self.folder / "prompts.jsonl"
        path.write_text("".join(json.dumps({
            "prompt_ids": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
            "logprobs": 1}) + "\n" for prompt in self.prompts(case)))
        result = self.ingot_run(engine, "--prompts", path, *device, "--max-sequences", "1")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        answers = sorted(map(json.loads, result.stdout.splitlines()), key=lambda one: one["id"])
        return [[step["logprob"] for step in answer["logprobs"]] for answer in answers]

    def check(self, name, target, *device):
        case = models.CASES[name]
        (self.model / "config.json").write_text(json.dumps(case.config))
        models.write_safetensors(self.model / "model.safetensors", case.checkpoint())
        engine = self.fresh(name + target) / "m.ingot"
        self.assert_built(self.build(self.model, engine, "--target", target, "--recipe",
                                     self.recipe, "--max-context", case.context), engine)
        length = len(case.prompt)
        tokens = min(40, case.context - length)
        alone = self.alone(engine, device, case, tokens)
        # The first two fit side by side, but not with their answers. Windows with blocks for one
        # sequence would let nobody give way, and nothing be found again.
        blocks = -(-(length + tokens) // BLOCK) + 1
        summary = json.loads(self.ingot_run("inspect", engine, "--json").stdout)
        windows = [group["window"] for group in summary["targets"][0]["kv_groups"]]
        if any(windows):
            blocks *= len(windows)
        room = () if windows[0] else ("--kv-blocks", blocks)
        server = server_process.Server(engine, *device, "--max-batch-tokens", PIECE,
                                       "--max-sequences", len(alone), *room)
        self.addCleanup(server.end)

        def ask(*prompts):
            choices = server.complete(prompt=prompts, max_tokens=tokens, temperature=0, logprobs=1,
                                      ignore_eos=True)["choices"]
            return [choice["logprobs"]["token_logprobs"] for choice in choices]

        self.assertEqual(ask(*self.prompts(case)), alone)
        if not any(windows):
            self.assertGreater(server.metric("vllm:num_preemptions_total"), 0)
        self.assertEqual(ask(case.prompt), alone[:1])
        known = server.metric("vllm:prefix_cache_hits_total")
        self.assertEqual(ask(case.prompt), alone[:1])
        if length > BLOCK:
            self.assertGreater(server.metric("vllm:prefix_cache_hits_total"), known)
        self.assertEqual(server.stop(), 0)


def add(name):
    setattr(FamiliesServed, f"test_{name}", lambda self: self.check(name, "x86-64-v3"))
    if name in ON_GPU:
        setattr(FamiliesServed, f"test_{name}_reference",
                lambda self: self.check(name, "reference", "--target", "reference"))
        setattr(FamiliesServed, f"test_{name}_{GPU}",
                lambda self: self.check(name, GPU, "--simulate", GPU))


for model in models.CASES:
    add(model)

if __name__ == "__main__":
    harness.main()
