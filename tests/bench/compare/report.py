# SPDX-License-Identifier: Apache-2.0
"""From raw figures to a summary of them: medians, ratios, shares of the limit."""
import collections
import re
import statistics

import checkpoints
from programs import IK_LLAMA, INGOT, LLAMA_CLANG, OURS, PER_TOKEN

# Without these a comparison does not count.
REQUIRED = (LLAMA_CLANG, IK_LLAMA)
# The probes that may bound products with weights of a format: bytes or bf16, at least plain floats.
PEAKS = {"q4_0": ("vnni_int8", "amx_int8", "fp32", "avx2_codes"),
         "q4_1": ("vnni_int8", "amx_int8", "fp32", "avx2_codes"),
         "q4_k_m": ("vnni_int8", "amx_int8", "fp32", "avx2_codes"),
         "mxfp4": ("vnni_int8", "amx_int8", "fp32", "avx2_codes"),
         "q8_0": ("vnni_int8", "amx_int8", "fp32", "avx2_words"),
         "bf16": ("avx512_bf16", "amx_bf16", "fp32", "avx2_fp32")}
# Less than this part of the best probe says that a figure was disturbed; a figure is not begun
# below the second, for as long as the run's patience lasts.
DISTURBED, QUIET = 0.75, 0.9
# Of what is no rate: less is better.
UNITS = {"load": "s", "memory": "MiB", "perplexity": ""}

# One line of figures: `values` by program; `dram` in GB/s and `peak` in Top/s of the probes beside
# them.
Row = collections.namedtuple("Row", "shape format threads metric values ratio share dram peak")


def peak(model_format, probes):
    return max((probes[name] for name in PEAKS[model_format] if name in probes), default=0.0)


def between(before, after):
    """The mean of each probe taken before and after a figure."""
    return {name: (before[name] + after[name]) / 2 for name in before if name in after}


def limit(shape, model_format, metric, probes):
    """Tokens per second that these probes allow, None where the metric is no rate. A step reads
    the weights once, and what each sequence keeps; it multiplies each weight with every token;
    prompts leave the head out."""
    kind, _, number = metric.partition(" ")
    described, most = checkpoints.SHAPES[shape], peak(model_format, probes)
    if kind == "prompt":
        return most / (2 * described.multiplied(int(number))) or None
    if kind != "generate" or not most or not probes.get("dram"):
        return None
    size = described.read(int(number), checkpoints.FORMATS[model_format])
    return int(number) / max(size / probes["dram"], 2 * described.generated() * int(number) / most)


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


def ours(values):
    """This project's figure: by default, or where that was not measured, with one scale a token."""
    return values.get(INGOT, values.get(PER_TOKEN))


def metric_order(metric):
    kind, _, number = metric.partition(" ")
    return ("perplexity", "prompt", "generate", "load", "memory").index(kind), int(number or 0)


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
        peers = [value for program, value in values.items() if program not in OURS]
        ratio = None
        if INGOT in values and peers:
            ratio = min(peers) / values[INGOT] if metric in UNITS else values[INGOT] / max(peers)
        probed = [(figure, between(figure["before"], figure["after"])) for figure in figures
                  if "value" in figure and (figure["shape"], figure["format"], figure["threads"],
                                            figure["metric"]) == key]
        shares = [figure["value"] / most for figure, probes in probed
                  if figure["program"] == INGOT
                  and (most := limit(shape, model_format, metric, probes))]
        dram = [probes["dram"] / 1e9 for _, probes in probed if "dram" in probes]
        peaks = [peak(model_format, probes) / 1e12 for _, probes in probed]
        rate = metric not in UNITS
        yield Row(*key, values, ratio, statistics.median(shares) if shares else None,
                  statistics.median(dram) if rate and dram else None,
                  statistics.median(peaks) if rate and peaks else None)


def errors(figures):
    """What each program could not do, with the end of what it said first; a line for each."""
    failed = collections.defaultdict(list)
    for figure in figures:
        if "error" in figure:
            failed[figure["program"], figure["shape"], figure["format"],
                   figure["threads"]].append(figure)
    for (program, shape, model_format, threads), found in failed.items():
        lines = [line for line in found[0]["error"].splitlines() if line.strip()]
        said = re.sub(r"/\S*/", "", lines[-1] if lines else "nothing")[:160]
        metrics = ", ".join(dict.fromkeys(figure["metric"] for figure in found))
        yield f"{program} failed: {shape}, {model_format}, {threads} threads, {metrics}: `{said}`"


def rounded(value):
    """Four digits, which is more than figures repeat to."""
    return value and float(f"{value:.4g}")


def summary(raw):
    """What docs/results/cpu-*.json keeps of the raw results."""
    figures = raw["figures"]
    passes = collections.Counter((f["shape"], f["format"], f["threads"], f["metric"], f["program"])
                                 for f in figures if "value" in f).values()
    result = {key: raw[key] for key in ("kind", "date", "machine", "command", "programs")}
    result |= {"passes": [min(passes, default=0), max(passes, default=0)],
               "figures": len(figures), "disturbed": len(disturbed(figures)),
               "notes": raw.get("notes", []), "failures": list(errors(figures))}
    if raw.get("busy"):
        result["busy"] = [rounded(statistics.median(raw["busy"])), rounded(max(raw["busy"]))]
    if raw.get("waited"):
        result["waited"] = rounded(raw["waited"])
    result["rows"] = [
        row._replace(values={name: rounded(value) for name, value in row.values.items()},
                     **{name: rounded(getattr(row, name))
                        for name in ("ratio", "share", "dram", "peak")})._asdict()
        for row in rows(figures)]
    return result
