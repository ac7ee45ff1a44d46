#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wheel.py PREFIX FOLDER: packs wheels of what `cmake --install` left in PREFIX, and prints their
paths: `ingot-llm` of the components library and runtime, and where the component compiler is there,
`ingot-llm-compiler`. Equal inputs give equal bytes.

The first has the package, libingot.so beside it, and ingot-server and ingot-images as programs;
the second ingot and ingot-pull; each the licences of everything in it. Its tag names the C library
that it needs."""
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "packaging"))
import notices

# What manylinux lets a wheel need; the rest is in the files themselves.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2",
             "ld-linux-aarch64.so.1"}
METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: {summary}
License-Expression: Apache-2.0
{licences}Requires-Python: >=3.10
{needs}Description-Content-Type: text/markdown

{description}"""
RUNTIME_NEEDS = """\
Provides-Extra: compiler
Requires-Dist: ingot-llm-compiler == {version}; extra == "compiler"
Provides-Extra: logits
Requires-Dist: numpy; extra == "logits"
"""
COMPILER_NEEDS = """\
Requires-Dist: ingot-llm == {version}
Provides-Extra: cuda
Requires-Dist: nvidia-cuda-nvrtc >= 13, < 14; extra == "cuda"
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: ingot
Root-Is-Purelib: false
Tag: {tag}
"""


def readelf(option, path):
    return subprocess.run(["readelf", "--wide", option, path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def tag_of(binaries):
    """The tag of the oldest systems that run all of them."""
    newest = (0, 0)
    for path in binaries:
        unknown = set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", path))) - LIBRARIES
        if unknown:
            sys.exit(f"{path} needs {', '.join(sorted(unknown))}, which no wheel may")
        versions = readelf("--version-info", path)
        for major, minor in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", versions):
            newest = max(newest, (int(major), int(minor)))
    machine = re.search(r"Machine: +(.*)", readelf("--file-header", binaries[0])).group(1)
    processor = "aarch64" if machine == "AArch64" else "x86_64"
    return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{processor}"


class Wheel:
    """One wheel: its programs, its components in parts.json, and what its METADATA says."""

    def __init__(self, name, programs, components, summary, page, needs):
        self.name, self.programs, self.components = name, programs, components
        self.summary, self.page, self.needs = summary, page, needs
        self.package = name.replace("-", "_")

    def contents(self, prefix, version):
        """(binaries, {path in the wheel: (bytes, mode)}) without what tells of the wheel."""
        binaries = {f"{self.package}-{version}.data/scripts/{name}": prefix / "bin" / name
                    for name in self.programs}
        files = {}
        if (HERE / self.package).is_dir():
            binaries[f"{self.package}/lib/libingot.so"] = library_in(prefix)
            for path in (HERE / self.package).iterdir():
                if path.suffix in (".py", ".typed"):
                    files[f"{self.package}/{path.name}"] = (path.read_bytes(), 0o644)
        for name, path in binaries.items():
            files[name] = (path.read_bytes(), 0o755)
        licences = f"{self.package}-{version}.dist-info/licenses"
        files[f"{licences}/LICENSE"] = ((HERE.parent / "LICENSE").read_bytes(), 0o644)
        files[f"{licences}/NOTICE"] = (notices.notice(self.components).encode(), 0o644)
        return list(binaries.values()), files

    def pack(self, prefix, folder):
        """Writes the wheel; its path."""
        version = library_in(prefix).name.removeprefix("libingot.so.")
        binaries, files = self.contents(prefix, version)
        tag = tag_of(binaries)
        facts = f"{self.package}-{version}.dist-info"
        licences = "".join(f"License-File: {name.rpartition('/')[2]}\n" for name in sorted(files)
                           if name.startswith(f"{facts}/licenses/"))
        description = (HERE.parent / "docs" / self.page).read_text(encoding="utf-8")
        # Pages beside that one are not in the wheel.
        description = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", description)
        files[f"{facts}/METADATA"] = (METADATA.format(
            name=self.name, version=version, summary=self.summary, licences=licences,
            needs=self.needs.format(version=version), description=description).encode(), 0o644)
        files[f"{facts}/WHEEL"] = (WHEEL.format(tag=tag).encode(), 0o644)
        files[f"{facts}/RECORD"] = (record(files, f"{facts}/RECORD").encode(), 0o644)
        wheel = folder / f"{self.package}-{version}-{tag}.whl"
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel, "w") as archive:
            # What tells of the wheel stands last, where installers look first.
            for name in sorted(files, key=lambda name: (name.startswith(facts), name)):
                data, mode = files[name]
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                entry.external_attr = (0o100000 | mode) << 16
                entry.create_system = 3  # Unix, whose modes these are
                archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
        return wheel


RUNTIME = Wheel("ingot-llm", ["ingot-server", "ingot-images"], ["library", "runtime"],
                "Runs language models that Ingot compiled to engine files", "python.md",
                RUNTIME_NEEDS)
COMPILER = Wheel("ingot-llm-compiler", ["ingot", "ingot-pull"], ["compiler"],
                 "Compiles language models to engine files", "pulling.md", COMPILER_NEEDS)


def library_in(prefix):
    library, = (path for path in prefix.glob("lib*/**/libingot.so.*.*") if path.is_file())
    return library


def record(files, place):
    """What RECORD says of the files: digest and size of each but its own."""
    lines = []
    for name, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines) + f"{place},,\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    prefix, folder = map(pathlib.Path, sys.argv[1:])
    print(RUNTIME.pack(prefix, folder))
    if (prefix / "bin" / "ingot").is_file():
        print(COMPILER.pack(prefix, folder))


if __name__ == "__main__":
    main()
