#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Notices of what is linked into a package, from parts.json and the texts of the Debian packages
that this machine builds with.

notices.py copyright COMPONENT  Debian's machine-readable file
notices.py notice COMPONENT...  the same for people, without Debian's own places

A part whose `text` is false asks for none beside a program: its licence says so of object code
(BSL-1.0, GCC's exception), or the text is in LICENSE or named by where it is.
"""
import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FORMAT = "https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
APACHE = "Apache-2.0"
# What has to be said of a part besides its licence.
REMARKS = {
    "Apache-2.0": "The text is that of Ingot's own licence.",
    "BSL-1.0": "It asks for no notice beside object code.",
    "GPL-3.0-or-later WITH GCC-exception-3.1":
        "The exception lets programs that contain the library have terms of their own.",
    "MPL-2.0": "Unchanged; its source is Debian's source package of the same version.",
}


def parts_in(components):
    """The entries of the list that any of the components contains, in the list's order."""
    parts = json.loads((HERE / "parts.json").read_text(encoding="utf-8"))
    return [part for part in parts if set(components) & set(part["in"])]


def text_of(part):
    """The notice as the part's Debian package has it; nothing where none is asked for."""
    if not part["text"]:
        return REMARKS[part["licence"]]
    return pathlib.Path("/usr/share/doc", part["package"], "copyright").read_text(
        encoding="utf-8").strip()


def folded(text):
    """A field's further lines: each behind a space, and a full stop for an empty one."""
    return "\n".join(" " + (line.rstrip() or ".") for line in text.splitlines())


def copyright_file(component):
    """The paragraphs of Debian's copyright-format 1.0."""
    paragraphs = [
        f"Format: {FORMAT}\nUpstream-Name: Ingot\n"
        "Comment: Paragraphs behind the first are of parts that are linked in.",
        f"Files: *\nCopyright: Ingot's authors\nLicense: {APACHE}\n"
        + folded("On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.")]
    for part in parts_in([component]):
        folder = part["name"].replace(" ", "-")
        licence = part["licence"].replace(" AND ", " and ").replace(" WITH ", " with ")
        paragraphs.append(f"Files: {folder}/*\nCopyright: {part['holders']}\n"
                          f"License: {licence}\n{folded(text_of(part))}")
    return "\n\n".join(paragraphs) + "\n"


def notice(components):
    """A list of the parts, then their texts."""
    parts = parts_in(components)
    lines = ["Ingot: Apache-2.0, whose text is in LICENSE. Linked into its programs and libraries:",
             ""]
    lines += [f"  {part['name']}, {part['licence']}, copyright {part['holders']}"
              for part in parts]
    for part in parts:
        lines += ["", "-" * 80, part["name"], "", text_of(part)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("form", choices=["copyright", "notice"])
    parser.add_argument("components", nargs="+")
    arguments = parser.parse_args()
    if arguments.form == "copyright":
        for component in arguments.components:
            sys.stdout.write(copyright_file(component))
    else:
        sys.stdout.write(notice(arguments.components))


if __name__ == "__main__":
    main()
