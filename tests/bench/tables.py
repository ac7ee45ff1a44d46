# SPDX-License-Identifier: Apache-2.0
"""Tables of results: JSON with titles, formats and rows, printed as Markdown between two comments
of a document."""
import json

BEGIN, END = "<!-- results begin: {} -->", "<!-- results end: {} -->"


def cell(column, value):
    """A value as its column prints it; nothing where there is none."""
    return "-" if value is None else column.get("format", "{}").format(value)


def lines(titles, rows):
    """The lines of a Markdown table of cells that are text."""
    yield f"| {' | '.join(titles)} |"
    yield "|" + "---|" * len(titles)
    for row in rows:
        yield f"| {' | '.join(row)} |"


def printed(table):
    """The lines of {"columns": [{"title", "format"}], "rows": [[value, ...], ...]}."""
    columns = table["columns"]
    return lines([column["title"] for column in columns],
                 [[cell(column, value) for column, value in zip(columns, row, strict=True)]
                  for row in table["rows"]])


def written(data):
    """The text of a file of results: a line for each row, so that changes can be read."""
    def text(value, indent=""):
        if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
            items = ",\n".join(f"{indent} {json.dumps(item, ensure_ascii=False)}"
                               for item in value)
            return f"[\n{items}\n{indent}]"
        return json.dumps(value, ensure_ascii=False)
    lines = ",\n".join(f' "{key}": {text(value, " ")}' for key, value in data.items())
    return f"{{\n{lines}\n}}\n"


def put(document, name, text):
    """The document with what stands between the comments of `name` replaced by these lines."""
    begin, end = BEGIN.format(name), END.format(name)
    before, found, rest = document.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"no lines {begin} and {end}")
    return "\n".join([before + begin, "", *text, "", end]) + after
