#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wheel.py PREFIX FOLDER: packs the wheel `ingot-llm` from what `cmake --install` left of
the components library and runtime in PREFIX, and prints its path. Equal inputs give equal bytes.

The wheel has the package, libingot.so beside it, ingot-server as a program of the environment, and
the licences of everything in them. Its tag names the C library that they need."""
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

PROGRAMS = ("ingot-server",)
# What manylinux lets a wheel need; the rest is in the files themselves.
LIBRARIES = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
METADATA = """\
Metadata-Version: 2.4
Name: ingot-llm
Version: {version}
Summary: Runs language models that Ingot compiled to engine files
License-Expression: Apache-2.0
{licences}Requires-Python: >=3.10
Provides-Extra: logits
Requires-Dist: numpy; extra == "logits"
Description-Content-Type: text/markdown

{description}"""
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


def contents(prefix):
    """(version, binaries, {path in the wheel: (bytes, mode)}) without what tells of the wheel."""
    library, = (path for path in prefix.glob("lib*/**/libingot.so.*.*") if path.is_file())
    binaries = {"ingot_llm/lib/libingot.so": library}
    version = library.name.removeprefix("libingot.so.")
    for name in PROGRAMS:
        binaries[f"ingot_llm-{version}.data/scripts/{name}"] = prefix / "bin" / name
    files = {name: (path.read_bytes(), 0o755) for name, path in binaries.items()}
    for path in (HERE / "ingot_llm").iterdir():
        if path.suffix in (".py", ".typed"):
            files[f"ingot_llm/{path.name}"] = (path.read_bytes(), 0o644)
    licences = f"ingot_llm-{version}.dist-info/licenses"
    files[f"{licences}/LICENSE"] = ((HERE.parent / "LICENSE").read_bytes(), 0o644)
    files[f"{licences}/NOTICE"] = (notices.notice(["library", "runtime"]).encode(), 0o644)
    return version, list(binaries.values()), files


def record(files, place):
    """What RECORD says of the files: digest and size of each but its own."""
    lines = []
    for name, (data, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join(lines) + f"{place},,\n"


def pack(prefix, folder):
    """Writes the wheel; its path."""
    version, binaries, files = contents(prefix)
    tag = tag_of(binaries)
    facts = f"ingot_llm-{version}.dist-info"
    licences = "".join(f"License-File: {name.rpartition('/')[2]}\n" for name in sorted(files)
                       if name.startswith(f"{facts}/licenses/"))
    description = (HERE.parent / "docs" / "python.md").read_text(encoding="utf-8")
    # Pages beside that one are not in the wheel.
    description = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", description)
    files[f"{facts}/METADATA"] = (METADATA.format(
        version=version, licences=licences, description=description).encode(), 0o644)
    files[f"{facts}/WHEEL"] = (WHEEL.format(tag=tag).encode(), 0o644)
    files[f"{facts}/RECORD"] = (record(files, f"{facts}/RECORD").encode(), 0o644)
    wheel = folder / f"ingot_llm-{version}-{tag}.whl"
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


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(pack(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
