# SPDX-License-Identifier: Apache-2.0
"""From raw figures to the section of docs/benchmarks.md: medians, ratios, shares of the limit."""
import collections
import re
import statistics

import checkpoints
from programs import IK_LLAMA, INGOT, LLAMA_CLANG

# Around the section of one kind of machine.
BEGIN, END = "<!-- compare_cpu begins: {} -->", "<!-- compare_cpu ends: {} -->"
REQUIRED = (LLAMA_CLANG, IK_LLAMA)
# The probes that may bound products with weights of a format: bytes or bf16, at least plain floats.
PEAKS = {"q4_0": ("vnni_int8", "amx_int8", "fp32", "avx2_codes"),
         "q8_0": ("vnni_int8", "amx_int8", "fp32", "avx2_words"),
         "bf16": ("avx512_bf16", "amx_bf16", "fp32", "avx2_fp32")}
# Less than this part of the best probe says that a figure was disturbed; a figure is not begun
# below the second, for as long as the run's patience lasts.
DISTURBED, QUIET = 0.75, 0.9
UNITS = {"load": "s", "memory": "MiB"}

Row = collections.namedtuple("Row", "shape format threads metric values ratio share dram peak")


def peak(model_format, probes):
    return max((probes[name] for name in PEAKS[model_format] if name in probes), default=0.0)


def between(before, after):
    """The mean of each probe taken before and after a figure."""
    return {name: (before[name] + after[name]) / 2 for name in before if name in after}


def limit(shape, model_format, metric, probes):
    """Tokens per second that these probes allow, None where the metric is no rate. A step reads
    the weights once and multiplies each with every token; prompts leave the head out."""
    kind, _, number = metric.partition(" ")
    described, most = checkpoints.SHAPES[shape], peak(model_format, probes)
    if kind == "prompt":
        return most / (2 * described.linear()) or None
    if kind != "generate" or not most or not probes.get("dram"):
        return None
    size = described.read() * checkpoints.FORMATS[model_format] / 8
    return int(number) / max(size / probes["dram"], 2 * described.read() * int(number) / most)


def bounds(metric, model_format, threads, *probes):
    """The lowest and the highest of these probes of each kind that bounds a figure, by kind."""
    of = {("peak", model_format): lambda found: peak(model_format, found)}
    if metric.startswith("generate"):
        of["dram"] = lambda found: found.get("dram", 0.0)
    found = {(name, threads): [rate(probe) for probe in probes] for name, rate in of.items()}
    return {key: (min(rates), max(rates)) for key, rates in found.items()}


def bounds_of(figure):
    return bounds(figure["metric"], figure["format"], figure["threads"], figure["before"],
                  figure["after"])


def best_bounds(figures):
    """The best probe of the run, of each kind and number of threads."""
    best = collections.defaultdict(float)
    for figure in figures:
        for key, (_, most) in bounds_of(figure).items():
            best[key] = max(best[key], most)
    return best


def share_of_best(found, best):
    """The smallest part that any of these bounds is of the run's best."""
    return min((least / best[key] for key, (least, _) in found.items() if best[key]), default=1.0)


def disturbed(figures):
    """Which figures (their places) have a probe beside them far below the best of the run with as
    many threads: something else used the CPU or, where many weights are read for few products, the
    memory."""
    best = best_bounds(figures)
    return {place for place, figure in enumerate(figures)
            if share_of_best(bounds_of(figure), best) < DISTURBED}


def quiet(figures):
    """The figures without the disturbed ones, of what has others."""
    def key(figure):
        return tuple(figure[name] for name in ("shape", "format", "threads", "metric", "program"))
    left_out = disturbed(figures)
    good = {key(figure) for place, figure in enumerate(figures)
            if place not in left_out and "value" in figure}
    return [figure for place, figure in enumerate(figures)
            if place not in left_out or key(figure) not in good]


def medians(figures):
    """(shape, format, threads, metric) to {program: median}, with peak memory as a metric."""
    values = collections.defaultdict(lambda: collections.defaultdict(list))
    for figure in figures:
        cell = figure["shape"], figure["format"], figure["threads"]
        if "value" in figure:
            values[(*cell, figure["metric"])][figure["program"]].append(figure["value"])
    result = {key: {program: statistics.median(found) for program, found in per.items()}
              for key, per in values.items()}
    # Memory is the largest of all runs of one sequence.
    for figure in figures:
        if "value" in figure and (figure["metric"].startswith(("load", "prompt"))
                                  or figure["metric"] == "generate 1"):
            key = figure["shape"], figure["format"], figure["threads"], "memory"
            sizes = result.setdefault(key, {})
            sizes[figure["program"]] = max(sizes.get(figure["program"], 0),
                                           figure["peak_bytes"] / 2**20)
    return result


def metric_order(metric):
    kind, _, number = metric.partition(" ")
    return ("prompt", "generate", "load", "memory").index(kind), int(number or 0)


def rows(figures):
    """The rows of all tables. A ratio above 1 says that Ingot is better than the best peer."""
    figures = quiet(figures)
    described = medians(figures)
    order = {"shape": list(checkpoints.SHAPES), "format": list(checkpoints.FORMATS)}
    for key in sorted(described, key=lambda key: (order["shape"].index(key[0]), -key[2],
                                                  order["format"].index(key[1]),
                                                  metric_order(key[3]))):
        shape, model_format, threads, metric = key
        values = described[key]
        peers = [value for program, value in values.items() if program != INGOT]
        ratio = None
        if INGOT in values and peers:
            ratio = min(peers) / values[INGOT] if metric in UNITS else values[INGOT] / max(peers)
        probed = [(figure, between(figure["before"], figure["after"])) for figure in figures
                  if "value" in figure and (figure["shape"], figure["format"], figure["threads"],
                                            figure["metric"]) == key]
        shares = [figure["value"] / most for figure, probes in probed
                  if figure["program"] == INGOT
                  and (most := limit(shape, model_format, metric, probes))]
        dram = [probes["dram"] for _, probes in probed if "dram" in probes]
        peaks = [peak(model_format, probes) for _, probes in probed]
        rate = metric not in UNITS
        yield Row(*key, values, ratio, statistics.median(shares) if shares else None,
                  statistics.median(dram) if rate and dram else None,
                  statistics.median(peaks) if rate and peaks else None)


def number(value):
    """Three digits, or all before the point."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def label(metric):
    kind, _, amount = metric.partition(" ")
    return {"prompt": f"prompt of {amount}, tokens/s", "generate": f"decode x {amount}, tokens/s",
            "load": "load and first token, s", "memory": "peak memory, MiB"}[kind]


def tables(figures, programs):
    """One table for each shape."""
    all_rows = list(rows(figures))
    for shape in dict.fromkeys(row.shape for row in all_rows):
        yield f"**{shape}**"
        yield ""
        yield "| weights | threads | measured | " + " | ".join(programs) \
            + " | Ingot to best peer | share of limit | DRAM GB/s | peak Top/s |"
        yield "|" + "---|" * (len(programs) + 7)
        for row in all_rows:
            if row.shape != shape:
                continue
            best = max(row.values.values()) if row.metric not in UNITS else min(row.values.values())
            cells = [number(row.values.get(program)) for program in programs]
            cells = [f"**{cell}**" if row.values.get(program) == best else cell
                     for cell, program in zip(cells, programs)]
            yield f"| {row.format} | {row.threads} | {label(row.metric)} | " + " | ".join(
                [*cells, number(row.ratio), number(row.share),
                 number(row.dram and row.dram / 1e9), number(row.peak and row.peak / 1e12)]) + " |"
        yield ""


def errors(figures):
    """What each program could not do, with the end of what it said first."""
    failed = collections.defaultdict(list)
    for figure in figures:
        if "error" in figure:
            failed[figure["program"], figure["shape"], figure["format"],
                   figure["threads"]].append(figure)
    for (program, shape, model_format, threads), found in failed.items():
        lines = [line for line in found[0]["error"].splitlines() if line.strip()]
        said = re.sub(r"/\S*/", "", lines[-1] if lines else "nothing")[:160]
        metrics = ", ".join(dict.fromkeys(figure["metric"] for figure in found))
        yield f"- {program} failed: {shape}, {model_format}, {threads} threads, {metrics}: `{said}`"


def absent(programs):
    return [name for name in REQUIRED if name not in programs]


def summary(figures):
    """How many cells each side wins, in a sentence."""
    ratios = [row.ratio for row in rows(figures) if row.ratio is not None and row.metric != "memory"
              and row.metric != "load"]
    if not ratios:
        return ""
    return (f"Ingot's rate is above the best peer's in {sum(r > 1 for r in ratios)} of "
            f"{len(ratios)} rows; the ratio is {min(ratios):.2f} to {max(ratios):.2f}, its median "
            f"{statistics.median(ratios):.2f}.")


def section(raw, plot):
    """The Markdown between the two comments, from the raw results. `plot`: its path from docs/."""
    figures, programs = raw["figures"], list(raw["programs"])
    missing = absent(programs)
    heading = f"## Beside other programs on a CPU with {raw['kind']}"
    if missing:
        heading += f" (does not count: without {' and '.join(missing)})"
    passes = collections.Counter((f["shape"], f["format"], f["threads"], f["metric"], f["program"])
                                 for f in figures if "value" in f).values()
    counts = f"{min(passes)} to {max(passes)}" if passes and min(passes) != max(passes) \
        else f"{max(passes, default=0)}"
    lines = [BEGIN.format(raw["kind"]), heading, "", f"    {raw['command']}", ""]
    lines += [f"{raw['date']}, {raw['machine']}. Medians; passes: {counts}; programs in turn for "
              "each figure. Weights are synthetic, and one GGUF file is read by all programs. "
              "`share of limit`: Ingot's rate over what the probes taken right before and after it "
              "allow (weights read once a step, two operations for each weight and token). Load is "
              "the whole run of one token, from the page cache; memory is the largest of all runs "
              "of one sequence. Bold: the best.", ""]
    lines += [f"- {name}: {version}" for name, version in raw["programs"].items()]
    if raw.get("busy"):
        lines += ["- other work, looked at before each row of each pass: a median of "
                  f"{statistics.median(raw['busy']):.1f} CPUs, at most {max(raw['busy']):.1f} "
                  "(programs whose threads spin suffer most from it)"]
    if raw.get("waited"):
        lines += [f"- {raw['waited']:.1f} minutes were waited for probes of {QUIET:.0%} of the "
                  "run's best before figures were measured"]
    if count := len(disturbed(figures)):
        lines += [f"- {count} of {len(figures)} figures were disturbed: beside them the peak or, "
                  "of generation, the memory's rate was below "
                  f"{DISTURBED:.0%} of the run's best; they count only where a row of a program "
                  "has no others"]
    lines += [f"- {note}" for note in raw.get("notes", [])]
    lines += list(errors(figures))
    lines += ["", summary(figures), "", f"![Rates over the best peer's]({plot})", ""]
    return "\n".join([*lines, *tables(figures, programs), END.format(raw["kind"])])


def replace_section(document, kind, text):
    """The document with the section of this kind of machine replaced, or put at its end."""
    if BEGIN.format(kind) not in document:
        return f"{document.rstrip()}\n\n{text}\n"
    before, _, rest = document.partition(BEGIN.format(kind))
    return before + text + rest.partition(END.format(kind))[2]
