# SPDX-License-Identifier: Apache-2.0
"""The tekken.json of Mistral Nemo, as its makers' package carries it, against golden encodings."""
import json
import pathlib
import unittest

import harness
import server_process

FILE = harness.ROOT / "build/mistral_common/mistral_common/data/tekken_240718.json"
CORPUS = (harness.ROOT.parent / "shared/data/tokenizer-golden/iree_tokenizer_corpus.json")
MODEL = "mistralai/Mistral-Nemo-Instruct-2407"


class TekkenTokenizer(harness.BuildTest):
    @unittest.skipUnless(CORPUS.exists(), f"no shared test data at {CORPUS.parent.parent}")
    def test_golden_encodings(self):
        model = self.checkpoint("--shape", "tiny")
        for name in ("tokenizer.json", "tokenizer_config.json", "model.safetensors"):
            (model / name).unlink()
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps({**config, "vocab_size": 131072}))
        (model / "tekken.json").write_bytes(pathlib.Path(FILE).read_bytes())
        engine = self.fresh("engine") / "m.ingot"
        self.assert_built(self.build(model, engine, "--random-weights", "1"), engine)
        server = server_process.Server(engine)
        self.addCleanup(server.end)
        tests = json.loads(CORPUS.read_text(encoding="utf-8"))["models"][MODEL]["tests"]
        self.assertGreater(len(tests), 10)
        for test in tests:
            with self.subTest(test["input"]):
                _, _, text = server.request("POST", "/tokenize", {
                    "prompt": test["input"],
                    "add_special_tokens": test.get("add_special_tokens", True)})
                self.assertEqual(json.loads(text)["tokens"], test["golden_ids"])


if __name__ == "__main__":
    harness.main()
