#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How tokens are drawn where nobody says: as the model's generation_config.json does, else as
llama.cpp's programs or, by the server, as vLLM."""
import json

import harness
import server_process


class SamplingDefaults(harness.BuildTest):
    def engine(self, generation):
        """An engine of a model whose generation_config.json, if any, says this; what it states."""
        name = f"model{len(list(self.folder.iterdir()))}"
        model = self.copy_of(harness.FABLES, name)
        (model / "generation_config.json").unlink()
        if generation is not None:
            (model / "generation_config.json").write_text(json.dumps(generation), encoding="ascii")
        output = self.folder / f"{name}.ingot"
        self.assert_built(self.build(model, output), output)
        stated = json.loads(self.ingot_run("inspect", output, "--json").stdout)["serving"]
        return output, [round(stated[key], 3) for key in
                        ("names_sampling", "temperature", "top_k", "top_p", "min_p")]

    def text(self, engine, *options):
        """What ingot-run writes, and whether it told a seed, as it does of draws."""
        result = self.ingot_run(engine, "-p", "Once upon", "-n", "24", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, "seed: " in result.stderr

    def test_what_the_model_says(self):
        for generation, stated in (
                ({"do_sample": True, "temperature": 0.5, "top_k": 7}, [True, 0.5, 7, 1, 0]),
                ({"temperature": 0.5}, [True, 0.5, 0, 1, 0]),
                ({"do_sample": True}, [True, 1, 0, 1, 0]),
                ({"do_sample": False, "temperature": 0.5}, [True, 0, 0, 1, 0])):
            with self.subTest(generation=generation):
                engine, found = self.engine(generation)
                self.assertEqual(found, stated)
                self.assertEqual(self.text(engine)[1], stated[1] > 0)

    def test_where_it_says_nothing(self):
        for generation in (None, {"eos_token_id": 0}):
            engine, stated = self.engine(generation)
            self.assertEqual(stated, [False, 1, 0, 1, 0])
        # As llama-cli; each word of it may be taken back.
        drawn, isTold = self.text(engine)
        self.assertTrue(isTold, drawn)
        as_llama = ("--temp", 0.8, "--top-k", 40, "--top-p", 0.95, "--min-p", 0.05)
        whole = ("--temp", 1, "--top-k", 0, "--top-p", 1, "--min-p", 0)
        seeds = range(1, 7)
        defaults = [self.text(engine, "--seed", seed)[0] for seed in seeds]
        self.assertEqual(defaults, [self.text(engine, "--seed", seed, *as_llama)[0]
                                    for seed in seeds])
        of_all = [self.text(engine, "--seed", seed, *whole)[0] for seed in seeds]
        self.assertNotEqual(defaults, of_all)
        greedy = self.text(engine, "--greedy")
        self.assertEqual(greedy, self.text(engine, "--temp", 0))
        self.assertFalse(greedy[1])
        # The server as vLLM.
        server = server_process.Server(engine)
        self.addCleanup(server.end)
        for seed, text in zip(seeds, of_all):
            answer = server.complete(prompt="Once upon", max_tokens=24, seed=seed)
            self.assertEqual(answer["choices"][0]["text"], text.removesuffix("\n"))


if __name__ == "__main__":
    harness.main()
