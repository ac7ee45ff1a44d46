#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets torch of the Python registry run on a CPU without CUDA's libraries, several gigabytes that
it would never call there.

usage: tests/tools/stub_cuda.py FOLDER

FOLDER is torch/lib of an installed torch. Beside torch's libraries come small ones with the names
of those that they need: each function in them says that there is no device. Needs gcc and readelf.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

OF_CUDA = re.compile(r"lib(cu|nv|nccl).*\.so\.\d+")
FUNCTION = re.compile(r"_*(cu|nv|nccl)\w+", re.IGNORECASE)
NO_DEVICE = 100  # cudaErrorNoDevice


def read(option, library):
    return subprocess.run(["readelf", "-W", option, library], capture_output=True, text=True,
                          check=True).stdout


def versions_of(library):
    """{version: the library of CUDA that a library wants it of}."""
    found, name = {}, None
    for line in read("--version-info", library).splitlines():
        if file := re.search(r"File: (\S+)", line):
            name = file[1]
        elif name and OF_CUDA.fullmatch(name) and (version := re.search(r"Name: (\S+)", line)):
            found[version[1]] = name
    return found


def wanted(folder):
    """{library: {(function, version)}} of what torch's libraries need; "" are functions without a
    version, of any library."""
    names, own, functions = set(), set(), collections.defaultdict(set)
    for library in sorted(folder.glob("lib*.so*")):
        if OF_CUDA.fullmatch(library.name):
            continue  # Written before.
        own.add(library.name)
        names.update(re.findall(r"\(NEEDED\).*\[(.+)\]", read("--dynamic", library)))
        versions = versions_of(library)
        for line in read("--dyn-syms", library).splitlines():
            fields = line.split()
            if len(fields) > 7 and fields[6] == "UND":
                name, _, version = fields[7].partition("@")
                if version in versions or not version and FUNCTION.fullmatch(name):
                    functions[versions.get(version, "")].add((name, version))
    return {name: functions.get(name, set()) for name in sorted(names - own)
            if OF_CUDA.fullmatch(name)} | {"": functions[""]}


def write(path, functions):
    """A library of functions that return NO_DEVICE."""
    source = "".join(f".globl {name}\n.type {name}, @function\n{name}:\n"
                     for name, _ in sorted(functions))
    versions = "".join(f"{version} {{ global: *; }};\n" for _, version in {
        version: (name, version) for name, version in functions if version}.values())
    with tempfile.TemporaryDirectory() as folder:
        text, script = pathlib.Path(folder) / "stub.s", pathlib.Path(folder) / "versions"
        text.write_text(f".text\n{source} mov ${NO_DEVICE}, %eax\n ret\n"
                        '.section .note.GNU-stack,"",@progbits\n')
        script.write_text(versions)
        options = [f"-Wl,--version-script={script}"] if versions else []
        subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname={path.name}", *options, "-o",
                        path, text], check=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    libraries = wanted(folder)
    anywhere = libraries.pop("")
    for name, functions in libraries.items():
        # Functions without a version may be in any library that has no versions.
        write(folder / name, functions or anywhere)
    if anywhere and all(libraries.values()):
        sys.exit(f"no library can have {min(anywhere)[0]}")


if __name__ == "__main__":
    main()
