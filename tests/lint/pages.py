# SPDX-License-Identifier: Apache-2.0
"""Documents as their readers meet them: how long a page and a table's cell may be, how a page of
docs/ begins, how long all are together, that docs/README.md lists them, and that links to a heading
find one."""
import os
import re

from tree import lines

CELL_CAP = 160  # Characters of a cell as it is shown: links without their addresses.
WORD_CAP = 1500
ALL_WORDS_CAP = 44_700  # What is added to docs/ replaces something.
OWN_WORDS_CAP = 20  # Rows of the glossary: words that are not the field's.
# Pages in which one looks things up, and that nobody reads from the top.
REFERENCES = ("docs/errors/", "docs/formats.md")
# Pages that grow with what there is to tell.
GROWING = ("docs/errors/", "docs/decisions/", "docs/results/")
INDEX = "docs/README.md"

FENCE = re.compile(r"\s*(```|~~~)")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"#{1,6} +(.*?)#*$")
BAR = re.compile(r"(?<!\\)\|")
# What is printed from docs/results between marks of its own.
PRINTED = re.compile(r"<!-- results begin: (.*?) -->.*?<!-- results end: \1 -->", re.DOTALL)
# What cannot begin the sentences that say what a page is for: a heading, a table, a list, a
# picture, code.
NO_SENTENCE = re.compile(r"#|\||[-*+] |!\[|```|~~~|    |<")


def _prose(text):
    """The lines outside fenced code, with their numbers."""
    fenced = False
    for number, line in lines(text):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _shown(text):
    return LINK.sub(r"\1", text).strip()


def table_cells(tree):
    """A cell of a table is a phrase; what takes more belongs into a paragraph."""
    for path, text in tree.with_suffix(".md"):
        for number, line in _prose(text):
            if not line.lstrip().startswith("|"):
                continue
            for cell in BAR.split(line.strip())[1:-1]:
                if len(_shown(cell)) > CELL_CAP:
                    yield (f"{path}:{number}: a cell of {len(_shown(cell))} characters, "
                           f"{CELL_CAP} is the cap")


def page_length(tree):
    """A page is read in one go, but for references and for tables printed from figures."""
    for path, text in tree.with_suffix(".md"):
        words = sum(any(map(str.isalnum, word)) for word in PRINTED.sub("", text).split())
        if words > WORD_CAP and not path.startswith(REFERENCES):
            yield f"{path}: {words} words, {WORD_CAP} is the cap"


def all_words(tree):
    """The pages of docs/ together stay as many words as somebody can keep true, and few of them
    words that the field does not know."""
    words = sum(len(text.split()) for path, text in tree.with_suffix(".md")
                if path.startswith("docs/") and not path.startswith(GROWING))
    if words > ALL_WORDS_CAP:
        yield f"docs: {words:,} words in all pages, {ALL_WORDS_CAP:,} is the cap"
    table = re.findall(r"^\|(-?)", tree.texts.get("docs/glossary.md", ""), re.MULTILINE)
    own = len(table) - 2 * table.count("-")  # without each table's head
    if own > OWN_WORDS_CAP:
        yield f"docs/glossary.md: {own} words of its own, {OWN_WORDS_CAP} is the cap"


def page_openings(tree):
    """A page of docs/ has a title, and sentences below it that say what the page is for."""
    for path, text in tree.with_suffix(".md"):
        if os.path.dirname(path) != "docs":
            continue
        first = [line for line in text.splitlines() if line.strip()][:2] + ["", ""]
        if not first[0].startswith("# "):
            yield f"{path}:1: no title"
        elif not first[1] or NO_SENTENCE.match(first[1]):
            yield f"{path}:2: no sentence says what this page is for"


def index(tree):
    """docs/README.md, which says who reads what, names every page of the folder."""
    listed = {os.path.normpath(os.path.join("docs", link.split("#")[0]))
              for _, link in LINK.findall(tree.texts.get(INDEX, ""))}
    for path, _ in tree.with_suffix(".md"):
        if os.path.dirname(path) == "docs" and path != INDEX and path not in listed:
            yield f"{path}: {INDEX} does not list it"


def _anchors(text):
    """The names by which links find the headings of a page, as GitHub makes them."""
    found = {}
    for _, line in _prose(text):
        match = HEADING.match(line)
        if match:
            name = re.sub(r"[^\w\- ]", "", _shown(match.group(1)).lower()).replace(" ", "-")
            found[name] = found.get(name, -1) + 1
            if found[name]:
                found[f"{name}-{found[name]}"] = 0
    return found


def anchors(tree):
    """A link to a heading leads to one."""
    for path, text in tree.with_suffix(".md"):
        for number, line in _prose(text):
            for _, link in LINK.findall(line):
                page, mark, name = link.partition("#")
                if not mark or "://" in link:
                    continue
                page = os.path.normpath(os.path.join(os.path.dirname(path), page)) if page else path
                if page.endswith(".md") and page in tree.texts \
                        and name not in _anchors(tree.texts[page]):
                    yield f"{path}:{number}: {page} has no heading #{name}"


RULES = [("table-cells", table_cells), ("page-length", page_length),
         ("all-words", all_words),
         ("page-openings", page_openings), ("docs-index", index), ("anchors", anchors)]
