# SPDX-License-Identifier: Apache-2.0
"""What the built runtime needs at its user's: the C library and libgcc_s, the unwinder, which the C
library itself opens and every system with it has."""
import re
import subprocess

LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
CAPS = {"ingot-run": 6 * 1024 * 1024, "ingot-server": 8 * 1024 * 1024,
        "ingot-images": 2 * 1024 * 1024}
PRESETS = ("release", "runtime-only")
NEEDS = "build the preset release or runtime-only"


def needed(dynamic):
    """The libraries in the output of `readelf --dynamic`."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)


def judge(name, dynamic, sections, size):
    """Problems of one program or library, from what readelf says about it."""
    for library in needed(dynamic):
        if library not in LIBRARIES:
            yield f"{name}: needs {library}"
    cap = CAPS.get(name.rpartition("/")[2])
    if cap:
        if ".symtab" in sections:
            yield f"{name}: is not stripped"
        if size > cap:
            yield f"{name}: {size} bytes, {cap} is the cap"


def runtime_binaries(tree):
    """What runs without the compiler needs these alone; its programs are small."""
    for preset in PRESETS:
        for name in "bin/ingot-run", "bin/ingot-server", "bin/ingot-images", "bin/gpu-replay", \
                "lib/libingot.so", "lib/libingot-cuda-sim.so":
            path = tree.root / "build" / preset / name
            if path.is_file():
                dynamic, sections = (
                    subprocess.run(["readelf", "--wide", option, path], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
                    for option in ("--dynamic", "--section-headers"))
                yield from judge(f"build/{preset}/{name}", dynamic, sections, path.stat().st_size)


def available(tree):
    """Whether the programs are built."""
    return tree.root is not None and any((tree.root / "build" / preset / "bin/ingot-run").is_file()
                                         for preset in PRESETS)


RULES = [("runtime-binaries", runtime_binaries)]
