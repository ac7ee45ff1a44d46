# SPDX-License-Identifier: Apache-2.0
"""Small models of every family with their matrices stored quantized, under the names that the
family has: what is computed must be what the numbers compute that they stand for."""
import json
import sys

import harness

sys.path.append(str(harness.ROOT / "tests" / "families"))
import layouts  # noqa: E402
import models  # noqa: E402
import released  # noqa: E402

F32 = "version: 1\nweights:\n  - {match: '*', format: f32}\nactivations: f32\nkv_cache: f32\n"


def gptq(tensors):
    def store_of(name, shape):
        fits = models.is_projection(name, shape) and not shape[1] % models.GROUP | shape[0] % 8
        return layouts.gptq() if fits else None
    return layouts.quantized(tensors, store_of)


METHODS = {
    "int8": (lambda tensors: models.int8(tensors, models.is_projection),
             {**models.INT8_METHOD,
              "ignore": ["lm_head", "re:.*(gate|router|wg|router.proj)$"]}, "int8"),
    "gptq": (gptq, models.GPTQ_METHOD, "int4"),
    "fp8": (models.fp8, models.FP8_METHOD, "fp8"),
}
# Its matrices are stored as [inputs, outputs], and quantized ones are not.
LEFT_OUT = ("gpt2", "gpt2_exact")


class FamiliesQuantized(harness.BuildTest):
    def steps(self, case, config, name, checkpoint, held, changes):
        (self.model / "config.json").write_text(json.dumps({**config, **changes}))
        models.write_safetensors(self.model / "model.safetensors", checkpoint)
        engine = self.fresh(name) / "m.ingot"
        self.assert_built(self.build(self.model, engine, "--recipe", self.recipe,
                                     "--max-context", case.context, "--no-vision"), engine)
        weights = self.ingot_run("inspect", engine, "--section", "weights").stdout
        self.assertEqual(held in weights, bool(changes), weights)
        prompts = self.folder / "prompts.jsonl"
        prompts.write_text(json.dumps({
            "prompt_ids": case.prompt, "max_tokens": models.TOKENS, "temperature": 0,
            "ignore_eos": True, "logprobs": 1}) + "\n")
        result = self.ingot_run(engine, "--prompts", prompts, "--max-sequences", "1")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return json.loads(result.stdout)["logprobs"]

    def test_stacked_experts_taken_apart(self):
        self.check("llama4", "int8", models.apart)

    def check(self, name, method, changed=lambda tensors: tensors):
        case, (quantize, said, held) = models.CASES[name], METHODS[method]
        self.compare(case, case.config, *quantize(changed(case.checkpoint())), said, held)

    def released(self, release):
        config, stored, meant = release.tensors()
        self.compare(release.case, config, stored, meant, release.said, release.held)

    def compare(self, case, config, stored, meant, said, held):
        self.model = self.checkpoint("--shape", "tiny")  # Its tokenizer is used.
        (self.model / "generation_config.json").unlink()
        self.recipe = self.folder / "f32.yaml"
        self.recipe.write_text(F32)
        self.assertNotEqual(stored.keys(), meant.keys())
        ours = self.steps(case, config, "stored", stored, held, {"quantization_config": said})
        theirs = self.steps(case, config, "meant", meant, held, {})
        for one, other in zip(ours, theirs, strict=True):
            self.assertEqual(one["token"], other["token"])
            self.assertAlmostEqual(one["logprob"], other["logprob"], delta=1e-4)


for model in models.CASES.keys() - set(LEFT_OUT):
    for kind in METHODS:
        setattr(FamiliesQuantized, f"test_{model}_{kind}",
                lambda self, name=model, method=kind: self.check(name, method))

for release in released.RELEASES:
    setattr(FamiliesQuantized, f"test_released_{release}",
            lambda self, name=release: self.released(released.RELEASES[name]))

if __name__ == "__main__":
    harness.main()
