# SPDX-License-Identifier: Apache-2.0
"""Golden tokens: which target makes them, of which models, and that a wrong kernel is found by
them."""
import json
import pathlib
import struct
import unittest

import harness
from faulty_engines import with_wrong_product
from qwen2_family import read_tensors

RECIPE = "version: 1\nweights:\n  - {match: '*embed*', format: int4, group: 32}\n" \
         "  - {match: '*', format: bf16}\nactivations: bf16\nkv_cache: bf16\n"
FAST = "x86-64-v3"
CPU = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
# A level of this machine beside the one that makes the tokens of large models.
OTHER = next((level for flag, level in ((" avx512vl", "x86-64-v4"),
                                        (" avx_vnni", FAST + "+avxvnni")) if flag in CPU), None)


class GoldenTokens(harness.BuildTest):
    def many_tokens(self):
        """The example model with a vocabulary of 2^20 tokens, zeros where it has none of its own,
        in a file that takes no room: 272 million weights, more than the reference is asked for."""
        model = self.copy_of(harness.FABLES, "many")
        config = json.loads((model / "config.json").read_text())
        config["vocab_size"] = 1 << 20
        (model / "config.json").write_text(json.dumps(config))
        file = model / "model.safetensors"
        tensors = read_tensors(file)
        name = "model.embed_tokens.weight"
        dtype, _, data = tensors.pop(name)
        tensors[name] = (dtype, [1 << 20, config["hidden_size"]], data)
        sizes = [len(data) for _, _, data in tensors.values()]
        sizes[-1] = (1 << 20) * config["hidden_size"] * 2
        header = {name: {"dtype": dtype, "shape": shape,
                         "data_offsets": [sum(sizes[:i]), sum(sizes[:i + 1])]}
                  for i, (name, (dtype, shape, _)) in enumerate(tensors.items())}
        text = json.dumps(header).encode()
        with file.open("wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            out.writelines(data for _, _, data in tensors.values())
            out.truncate(8 + len(text) + sum(sizes))
        return model

    def engine(self, name, model, *options):
        output = self.fresh(name) / "m.ingot"
        recipe = self.folder / "recipe.yaml"
        recipe.write_text(RECIPE)
        self.assert_built(self.build(model, output, "--recipe", recipe, "--max-context", 64,
                                     "--max-batch-tokens", 16, "--max-sequences", 4, *options),
                          output)
        return output

    def facts(self, engine):
        """The golden cases, and what the build says of them."""
        found = json.loads(self.ingot_run("inspect", engine, "--json").stdout)
        record, = (option for option in found["provenance"]["options"]
                   if option["name"] == "golden tokens")
        return found["golden"], record

    def check(self, engine, status, *says):
        result = self.ingot_run("selftest", engine)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        for text in says:
            self.assertRegex(result.stdout, text)
        return result.stdout

    @unittest.skipIf(" avx2" not in CPU, "this machine has no AVX2")
    def test_beyond_what_the_reference_is_asked_for(self):
        model = self.many_tokens()
        own = self.engine("own", model, "--target", FAST)
        cases, record = self.facts(own)
        self.assertEqual(record["effective"], FAST)
        self.assertEqual([len(case["tokens"]) for case in cases], [16] * 3)
        self.check(own, 0, r"golden +passed +\d\d tokens .*; recorded by this target's own kernels")
        if OTHER:
            other = self.engine("other", model, "--target", OTHER)
            self.assertEqual(self.facts(other), (cases, record))
            said = self.check(other, 0, r"golden +passed +\d\d tokens")
            self.assertNotIn("own kernels", said)
            sections = json.loads(self.ingot_run("inspect", other, "--json").stdout)["sections"]
            self.assertEqual([section["name"] for section in sections],
                             [f"kernels/{OTHER}/kernels", "tokenizer", "weights"])

    @unittest.skipIf(" avx2" not in CPU, "this machine has no AVX2")
    def test_a_wrong_kernel_is_found(self):
        engine = self.engine("right", harness.FABLES, "--target", FAST)
        cases, record = self.facts(engine)
        self.assertEqual(record["effective"], "reference")
        self.assertGreater(max(margin for case in cases for margin in case["margins"]), 1)
        self.check(engine, 0, r"golden +passed +\d\d tokens")
        found = json.loads(self.ingot_run("inspect", engine, "--json").stdout)
        wrong = with_wrong_product(engine, found, "down_proj", self.folder / "wrong.ingot")
        self.assertEqual(self.ingot_run("verify", wrong).returncode, 0)
        self.check(wrong, 1, r"golden +FAILED +case \d, token \d+ is ", r"batches +passed")

    def test_none_is_said(self):
        engine = self.engine("option", harness.FABLES, "--no-golden-tokens")
        self.assertEqual(self.facts(engine)[0], [])
        self.check(engine, 3, "golden +NONE +the engine has no golden tokens: --no-golden-tokens\n",
                   r"\nno golden tokens; all else passed on ")
        engine = self.engine("memory", self.many_tokens(), "--max-build-memory", "400MiB")
        cases, record = self.facts(engine)
        self.assertEqual((cases, record["effective"]), ([], "none"))
        self.assertIn("needs --max-build-memory 512.0 MiB", record["reason"])


if __name__ == "__main__":
    harness.main()
