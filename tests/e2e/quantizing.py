# SPDX-License-Identifier: Apache-2.0
"""What the scripts that quantize the example model share: its texts, quantizing it, and how far
engines are from it."""
import json
import signal
import subprocess
import time

import harness

TEXT = harness.ROOT / "examples" / "fables" / "heldout.txt"
PLAIN = "version: 1\nactivations: f32\nkv_cache: f32\n"
F32 = 'version: 1\nweights: [{match: "*", format: f32}]\nactivations: f32\nkv_cache: f32\n'


def kill_behind(file, command):
    """Runs a command until `file` is there, and kills it; returns whether it came."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    end = time.monotonic() + harness.LIMIT
    while not file.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return file.exists()


class QuantizingTest(harness.BuildTest):
    def setUp(self):
        super().setUp()
        text = TEXT.read_text()
        self.calibration = self.write("calibration.txt", text[:120_000])
        self.text = self.write("text.txt", text[150_000:165_000])
        self.few = ("--samples", 8, "--length", 256, "--calibration-text", self.calibration)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def quantize(self, recipe, name, *options, model=harness.FABLES):
        output = self.folder / name
        options = options or self.few
        result = self.ingot("quantize", model, "-o", output, "--recipe", recipe, *options)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertFalse((self.folder / f"{name}.partial").exists())
        return output

    def engine(self, model, recipe=PLAIN, name="plain"):
        engine = self.folder / f"{model.name}.ingot"
        self.assert_built(self.ingot("build", model, "-o", engine, "--recipe",
                                     self.write(f"{name}.yaml", recipe), "--max-context", 512,
                                     "--max-sequences", 1), engine)
        return engine

    def evaluated(self, engine):
        base = self.folder / "base" / "model.ingot"
        if not base.exists():
            base.parent.mkdir()
            built = self.engine(harness.FABLES, F32, "f32")
            built.rename(base)
        result = self.ingot_run("eval", engine, "--against", base, "--text", self.text, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def divergence(self, folder):
        return self.evaluated(self.engine(folder))["divergence"]["mean"]
