#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models of every family as transformers saves them, and as it saves again what older
releases wrote, compute what it does (tests/families/save_models.py)."""
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

import harness
import model_families

sys.path.append(str(harness.ROOT / "tests" / "families"))
import models  # noqa: E402

PYTHON = harness.ROOT / "build" / "torch_cpu" / "bin" / "python"
SAVE = harness.ROOT / "tests" / "families" / "save_models.py"
OLDER = ("4.40.2", "4.57.6")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json")


@unittest.skipUnless(PYTHON.exists(), "scripts/setup --full installs torch")
class SavedModels(harness.BuildTest):
    steps = model_families.ModelFamilies.steps
    compare = model_families.ModelFamilies.compare

    def setUp(self):
        super().setUp()
        self.tokenizer = self.checkpoint("--shape", "tiny")
        self.recipe = self.folder / "f32.yaml"
        self.recipe.write_text(model_families.F32)

    def save(self, name, *options):
        folder = self.folder / name
        subprocess.run([PYTHON, SAVE, folder, *options], check=True, timeout=1800)
        return folder

    def check(self, saved, least):
        """Builds every model in `saved`, at least so many, and compares its tokens."""
        folders = sorted(saved.iterdir())
        self.assertGreaterEqual(len(folders), least)
        for folder in folders:
            golden = json.loads((folder / "golden.json").read_text())
            case = models.Case({}, context=golden["context"])
            case.prompt = golden["prompt"]
            for file in TOKENIZER:
                shutil.copyfile(self.tokenizer / file, folder / file)
            with self.subTest(saved.name, model=folder.name):
                engine = self.fresh(f"{saved.name}-{folder.name}") / "m.ingot"
                self.assert_built(self.build(folder, engine, "--recipe", self.recipe,
                                             "--max-context", case.context), engine)
                steps = self.steps(engine, "reference", case)
                self.assertEqual([step["token"] for step in steps], golden["greedy_ids"])
                self.compare(steps[0], golden["first"])
                self.compare(steps[-1], golden["last"])
            shutil.rmtree(folder)

    def test_as_saved_by_this_release(self):
        self.check(self.save("saved"), 60)

    def test_as_older_releases_saved_them_and_this_one_again(self):
        configs = json.loads((models.FOLDER / "saved_configs.json").read_text())
        for release in OLDER:
            old = self.fresh(f"old-{release}")
            for name, by_release in configs.items():
                if name in models.CASES and release in by_release:
                    folder = old / name
                    folder.mkdir()
                    (folder / "config.json").write_text(json.dumps(by_release[release]))
                    models.write_safetensors(folder / "model.safetensors",
                                             models.CASES[name].checkpoint(), "pt")
            self.check(self.save(f"again-{release}", "--again", old), 12)


if __name__ == "__main__":
    harness.main()
