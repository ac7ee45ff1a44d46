# SPDX-License-Identifier: Apache-2.0
"""Plots of comparisons as SVG: a panel for each shape and number of threads, or each machine, with
every program's rate over the best peer's."""
import html

from programs import OURS
from report import UNITS, ours

COLOURS = ("#1b6ac9", "#e07b1f", "#f2b872", "#4d9a57", "#8d6cb8", "#8a8a8a")
BAR, GAP, PANEL, LEFT, TOP = 9, 14, 150, 46, 58
UNDER = 64  # below a panel, for its labels
LEGEND = 150  # of one program


def written(x, y, words, size=11, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{extra}>' \
           f"{html.escape(words)}</text>"


def short(metric):
    kind, _, amount = metric.partition(" ")
    return f"prompt {amount}" if kind == "prompt" else f"decode x{amount}"


def panel(title, rows, programs, top, width):
    """One panel; its rows are groups of bars."""
    most = max(1, int(max((row.ratio for row in rows if row.ratio is not None), default=1)) + 1)
    bottom = top + PANEL
    height = lambda value: PANEL * min(value, most) / most
    yield written(LEFT, top - 8, title, 13, "start", ' font-weight="bold"')
    for mark in range(int(most) + 1):
        y = bottom - height(mark)
        yield f'<line x1="{LEFT}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" ' \
              f'stroke="{"#333" if mark == 1 else "#ddd"}"/>'
        yield written(LEFT - 6, y + 4, str(mark), 11, "end")
    step = BAR * len(programs) + GAP
    for place, row in enumerate(rows):
        x = LEFT + GAP / 2 + place * step
        best = max((value for name, value in row.values.items() if name not in OURS),
                   default=None)
        for number, program in enumerate(programs):
            value = row.values.get(program)
            if value is None or not best:
                continue
            tall = height(value / best)
            yield f'<rect x="{x + number * BAR:.1f}" y="{bottom - tall:.1f}" width="{BAR - 1}" ' \
                  f'height="{tall:.1f}" fill="{COLOURS[number % len(COLOURS)]}">' \
                  f"<title>{html.escape(program)}: {value:.1f} tokens/s</title></rect>"
        middle = x + BAR * len(programs) / 2
        yield written(middle, bottom + 14, short(row.metric), 9)
        if place == 0 or rows[place - 1].format != row.format:
            alike = sum(other.format == row.format for other in rows)
            yield written(x + (alike * step - GAP) / 2, bottom + 30, row.format, 12)
        if row.ratio is not None:
            yield written(x + BAR / 2, bottom - height(ours(row.values) / best) - 3,
                          f"{row.ratio:.1f}", 9)


def rates(rows):
    """The rows that a plot shows."""
    return [row for row in rows if row.metric not in UNITS]


def panels_of(rows):
    """The rows of one machine as (title, rows), by shape and number of threads."""
    rows = rates(rows)
    for shape, threads in dict.fromkeys((row.shape, row.threads) for row in rows):
        plural = "thread" if threads == 1 else "threads"
        yield f"{shape}, {threads} {plural}: rate over the best peer's", [
            row for row in rows if (row.shape, row.threads) == (shape, threads)]


def svg(panels, programs):
    """The whole picture of panels, (title, rows) each."""
    panels = list(panels)
    widest = max((len(rows) for _, rows in panels), default=1)
    width = max(LEFT + widest * (BAR * len(programs) + GAP) + 20, LEGEND * len(programs) + LEFT)
    high = TOP + len(panels) * (PANEL + UNDER)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {high}" '
             f'width="{width}" height="{high}" font-family="sans-serif">',
             f'<rect width="{width}" height="{high}" fill="white"/>']
    for number, program in enumerate(programs):
        x = LEFT + LEGEND * number
        lines.append(f'<rect x="{x}" y="10" width="10" height="10" '
                     f'fill="{COLOURS[number % len(COLOURS)]}"/>')
        lines.append(written(x + 14, 19, program, 11, "start"))
    for place, (title, rows) in enumerate(panels):
        lines += panel(title, rows, programs, TOP + place * (PANEL + UNDER), width)
    return "\n".join([*lines, "</svg>", ""])
