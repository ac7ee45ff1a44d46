# SPDX-License-Identifier: Apache-2.0
"""The wheel: made twice with equal bytes, small, installed without a network in an environment of
each Python there is, used there, and removed without a trace."""
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import harness

MOST_BYTES = 5_000_000
SESSION = """
import ingot_llm, sys, urllib.request
from ingot_llm import LLM, SamplingParams
assert ingot_llm.__file__.startswith(sys.prefix), ingot_llm.__file__
with LLM("toy.ingot", threads=2) as llm:
    output, = llm.generate("abc", SamplingParams(max_tokens=3, ignore_eos=True))
    print(len(output.outputs[0].token_ids))
    with llm.serve(port=0, options=["--no-log"]) as url:
        print(urllib.request.urlopen(url + "/health").status)
"""


def pythons():
    """Those of the PATH that the package is for, and this one."""
    found = {pathlib.Path(sys.executable).resolve()}
    for minor in range(10, 16):
        path = shutil.which(f"python3.{minor}")
        # A name may stand for versions of which none was chosen.
        if path and subprocess.run([path, "--version"], capture_output=True,
                                   check=False).returncode == 0:
            found.add(pathlib.Path(path).resolve())
    return sorted(found)


class Wheel(harness.BuildTest):
    def run_to_its_end(self, *words, **more):
        run = subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, text=True, check=False,
                             capture_output=True, timeout=harness.LIMIT, **more)
        self.assertEqual(run.returncode, 0, f"{words}: {run.stdout}{run.stderr}")
        return run.stdout

    def pack(self, prefix, folder):
        return pathlib.Path(self.run_to_its_end(
            sys.executable, harness.ROOT / "python" / "wheel.py", prefix, folder).strip())

    def test_wheel(self):
        prefix = self.fresh("prefix")
        for component in ("library", "runtime"):
            self.run_to_its_end("cmake", "--install", harness.programs.parent, "--component",
                                component, "--prefix", prefix, "--strip")
        wheel = self.pack(prefix, self.fresh("one"))
        other = self.pack(shutil.copytree(prefix, self.folder / "copy"), self.fresh("other"))
        self.assertEqual(wheel.read_bytes(), other.read_bytes())
        self.assertLess(wheel.stat().st_size, MOST_BYTES)
        self.assertRegex(wheel.name, r"^ingot_llm-[\d.]+-py3-none-manylinux_2_\d\d_\w+\.whl$")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            metadata = archive.read(next(name for name in names if name.endswith("METADATA")))
        for licence in re.findall("^License-File: (.*)$", metadata.decode(), re.MULTILINE):
            self.assertTrue(any(name.endswith(f"licenses/{licence}") for name in names), licence)
        subprocess.run([harness.tools / "make-toy-engine", self.folder / "toy.ingot"], check=True,
                       timeout=harness.LIMIT)
        for python in pythons():
            with self.subTest(python=python):
                self.use(python, wheel)

    def use(self, python, wheel):
        place = self.folder / python.name
        self.run_to_its_end(python, "-m", "venv", place)
        before = set(place.rglob("*"))
        self.run_to_its_end(place / "bin" / "pip", "install", "--no-index", wheel)
        self.assertTrue((place / "bin" / "ingot-server").is_file())
        printed = self.run_to_its_end(place / "bin" / "python", "-c", SESSION, cwd=self.folder,
                                      env={"PATH": "/nowhere"})
        self.assertEqual(printed.split(), ["3", "200"])
        self.run_to_its_end(place / "bin" / "pip", "uninstall", "--yes", "ingot-llm")
        left = set(place.rglob("*")) - before
        self.assertEqual({path for path in left if "__pycache__" not in path.parts}, set())


if __name__ == "__main__":
    harness.main()
