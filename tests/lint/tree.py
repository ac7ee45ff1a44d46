# SPDX-License-Identifier: Apache-2.0
"""The files that the rules look at: a checkout, or a small tree made up by a self-test."""
import os
import pathlib
import subprocess


class Tree:
    """Paths relative to the root, and the text of those that are text. `root` is the
    folder of a checkout, None for a tree that is made up."""

    def __init__(self, texts, binaries=(), root=None):
        self.root = root
        self.texts = dict(texts)
        self.paths = sorted([*self.texts, *binaries])
        self.folders = {str(parent) for path in self.paths
                        for parent in pathlib.PurePosixPath(path).parents} - {"."}

    def exists(self, path):
        """Whether a file or a folder of the tree has this path."""
        path = os.path.normpath(path)
        return path in self.folders or path in self.texts or path in self.paths

    def with_suffix(self, *suffixes):
        """The (path, text) of every text file whose name ends so."""
        return [(path, text) for path, text in self.texts.items() if path.endswith(suffixes)]


def _listed(root):
    """The files git knows or would add; every file outside build/ where there is no git."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=root,
            check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return sorted(set(listing.decode().split("\0")) - {""})
    except (OSError, subprocess.CalledProcessError):
        return sorted(str(path.relative_to(root)) for path in root.rglob("*")
                      if path.parts[len(root.parts)] not in (".git", "build"))


def read_checkout(root):
    texts, binaries = {}, []
    for path in _listed(root):
        if not (root / path).is_file():
            continue
        try:
            texts[path] = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            binaries.append(path)
    return Tree(texts, binaries, root)


def lines(text):
    """The lines of a text with their numbers, from 1."""
    return enumerate(text.splitlines(), 1)
