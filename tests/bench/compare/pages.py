# SPDX-License-Identifier: Apache-2.0
"""What is printed of comparisons: a page for each kind of CPU, and the tables of
docs/benchmarks.md, all from the summaries in docs/results/cpu-*.json."""
import collections
import statistics

import tables
import checkpoints
from programs import INGOT, OURS, PER_TOKEN
from report import DISTURBED, QUIET, REQUIRED, UNITS, Row, ours

# The shape of the tables that show all kinds of CPU side by side.
SHOWN = "llama-3.2-1b"

METHOD = """
Medians, programs in turn, one GGUF file for all, of synthetic weights where no perplexity stands
(the first 60,000 bytes of WikiText-2's test text, windows of 512, second half scored). First token:
a whole run of one token, from the page cache. Memory: the most of all runs of one sequence. Share
of limit: Ingot's rate over what probes right before and after it allow (weights read once a step,
two operations a weight and token). Bold: the best.
"""


def rows_of(summary):
    return [Row(**row) for row in summary["rows"]]


def number(value):
    """Three digits, or all before the point."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def percent(value):
    return "-" if value is None else f"{value * 100:.0f} %"


def label(metric):
    kind, _, amount = metric.partition(" ")
    return {"prompt": f"prompt of {amount}", "generate": f"decode x {amount}",
            "load": "first token, s", "memory": "memory, MiB", "perplexity": "perplexity"}[kind]


def metrics_of(rows):
    return list(dict.fromkeys(row.metric for row in rows))


def cells(rows):
    """{(format, threads): {metric: row}}, in the order of the rows."""
    result = collections.defaultdict(dict)
    for row in rows:
        result[row.format, row.threads][row.metric] = row
    return result


def best(row):
    return (min if row.metric in UNITS else max)(row.values.values())


def peers(row):
    return [value for program, value in row.values.items() if program not in OURS]


def shape_table(rows, programs):
    """The figures of one shape: a line for each program, and one for the share of the limit."""
    metrics = metrics_of(rows)
    lines = []
    for (weights, _), found in cells(rows).items():
        group = weights
        for program in programs:
            said = []
            for metric in metrics:
                value = found[metric].values.get(program) if metric in found else None
                bold = value is not None and value == best(found[metric])
                written = exact(value, metric)
                said.append(f"**{written}**" if bold else written)
            lines.append([group, program, *said])
            group = ""
        lines.append([group, "*share of limit*",
                      *(percent(found[metric].share if metric in found else None)
                        for metric in metrics)])
    return tables.lines(["weights", "program", *map(label, metrics)], lines)


def absent(programs):
    return [name for name in REQUIRED if name not in programs]


def facts(summary):
    """How the figures of a summary came about, a line for each fact."""
    yield from (f"- {name}: {version}" for name, version in summary["programs"].items())
    least, most = summary["passes"]
    yield f"- passes: {least}" if least == most else f"- passes: {least} to {most}"
    if summary.get("busy"):
        usual, most = summary["busy"]
        yield f"- other work, looked at before each row: a median of {usual:.1f} CPUs, at most " \
              f"{most:.1f}"
    if summary.get("waited"):
        yield f"- {summary['waited']:.1f} minutes were waited for probes of {percent(QUIET)} of " \
              "the run's best"
    if summary.get("disturbed"):
        yield f"- {summary['disturbed']} of {summary['figures']} figures were disturbed (a probe " \
              f"beside them below {percent(DISTURBED)} of the run's best); they count only where " \
              "a program has no others"
    yield from (f"- {note}" for note in [*summary["notes"], *summary["failures"]])


def verdict(rows):
    """How many rates each side wins, in a sentence."""
    ratios = [row.ratio for row in rows if row.ratio is not None and row.metric not in UNITS]
    if not ratios:
        return ""
    return (f"Ingot's rate is above the best peer's in {sum(r > 1 for r in ratios)} of "
            f"{len(ratios)} rows; the ratio is {number(min(ratios))} to {number(max(ratios))}, its "
            f"median {statistics.median(ratios):.1f}.")


def with_most_threads(rows):
    rows = list(rows)
    most = max((row.threads for row in rows), default=0)
    return [row for row in rows if row.threads == most]


def page(summary, picture):
    """The page of one kind of CPU: tables with all threads, since the plot tells of fewer.
    `picture`: its path from the page."""
    rows, programs = rows_of(summary), list(summary["programs"])
    heading = f"# Beside other programs on a CPU with {summary['kind']}"
    if missing := absent(programs):
        heading += f" (does not count: without {' and '.join(missing)})"
    lines = [heading, "", "One comparison, with all threads; "
             f"`docs/results/{name_of(summary)}.json` has those with fewer too, and the plot shows "
             "them.", "",
             f"{summary['date']}, {summary['machine']}. {verdict(rows)}", "",
             f"![Rates over the best peer's]({picture})", ""]
    for shape in dict.fromkeys(row.shape for row in rows):
        lines += [f"## {shape}", "", "Tokens per second, but for perplexity and the last two "
                  "columns.", "",
                  *shape_table(with_most_threads(row for row in rows if row.shape == shape),
                               programs), ""]
    lines += ["## How it was measured", METHOD, *facts(summary), "", f"    {summary['command']}"]
    return "\n".join([*lines, ""])


def name_of(summary):
    return f"cpu-{summary['kind'].lower()}"


def overview(summaries):
    """Ingot and the best peer on all kinds of CPU, all threads."""
    found = {summary["kind"]: with_most_threads(shown(summary)) for summary in summaries}
    metrics = metrics_of(row for rows in found.values() for row in rows)
    return tables.lines(
        ["CPU with", "weights", *map(label, metrics)],
        [[kind, weights, *(both(cell.get(metric)) for metric in metrics)]
         for kind, rows in found.items() for (weights, _), cell in cells(rows).items()])


def published(summaries):
    """Every program on the published models, all threads: quality beside speed."""
    lines, metrics = [], []
    for summary in summaries:
        rows = with_most_threads(row for row in rows_of(summary)
                                 if row.shape in checkpoints.PUBLISHED)
        metrics = metrics or metrics_of(rows)
        for shape in dict.fromkeys(row.shape for row in rows):
            group = [summary["kind"], f"{shape}, {checkpoints.PUBLISHED[shape]}"]
            found = {row.metric: row.values for row in rows if row.shape == shape}
            for program in summary["programs"]:
                if any(program in values for values in found.values()):
                    lines.append([*group, program, *(
                        exact(found.get(metric, {}).get(program), metric) for metric in metrics)])
                    group = ["", ""]
    return tables.lines(["CPU with", "model", "program", *map(label, metrics)], lines)


def exact(value, metric):
    """Perplexities with the digits that tell them apart."""
    return f"{value:.2f}" if metric == "perplexity" and value is not None else number(value)


def shown(summary):
    return [row for row in rows_of(summary) if row.shape == SHOWN]


def both(row):
    """Ingot's figure and that of the best peer; where it was only measured with one scale a token,
    that, marked."""
    if row is None:
        return "-"
    mark = "" if INGOT in row.values or PER_TOKEN not in row.values else "*"
    found, other = ours(row.values), peers(row)
    theirs = (min if row.metric in UNITS else max)(other) if other else None
    leads = found is not None and (theirs is None or (
        found < theirs if row.metric in UNITS else found > theirs))
    said = f"**{number(found)}**" if leads else number(found)
    return f"{said}{mark} / {number(theirs)}"


def percents(values):
    """Several of them in one cell."""
    said = ["-" if value is None else f"{value * 100:.0f}" for value in values]
    return " / ".join(said) + (" %" if any(value is not None for value in values) else "")


def probe(cell, field, kind):
    """The median of a probe beside the rates of this kind."""
    values = [getattr(row, field) for row in cell.values() if row.metric.startswith(kind)]
    return statistics.median(found) if (found := [v for v in values if v is not None]) else None


def limits(summaries):
    """Ingot's share of what the probes allow, with each number of threads, and the probes: of
    memory beside decode, of products beside prompts."""
    found = {summary["kind"]: [row for row in shown(summary) if row.metric not in UNITS]
             for summary in summaries}
    metrics = metrics_of(row for rows in found.values() for row in rows)
    lines = []
    for kind, rows in found.items():
        for weights in dict.fromkeys(row.format for row in rows):
            of = sorted((threads, cell) for (other, threads), cell in cells(rows).items()
                        if other == weights)
            lines.append([kind, weights, "/".join(str(threads) for threads, _ in of),
                          *(percents([cell[metric].share if metric in cell else None
                                      for _, cell in of]) for metric in metrics),
                          *(" / ".join(number(probe(cell, *wanted)) for _, cell in of)
                            for wanted in (("dram", "generate"), ("peak", "prompt")))])
    return tables.lines(["CPU with", "weights", "threads", *map(label, metrics), "DRAM GB/s",
                         "peak Top/s"], lines)
