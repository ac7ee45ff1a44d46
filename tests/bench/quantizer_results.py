# SPDX-License-Identifier: Apache-2.0
"""What tests/bench/quantizers keeps, as tables and as a picture: each row is a model quantized by
one recipe, with how far it is from its original."""
import html
import math
import statistics

import tables

NEAREST = "round-to-nearest"  # The method that others are compared with.
COLUMNS = [("model", "{}"), ("recipe", "{}"), ("grid", "{}"), ("bits", "{:.2f}"),
           ("mib", "{:.1f}"), ("perplexity", "{:.3f}"), ("kl", "{:.5f}"), ("kl_error", "{:.5f}"),
           ("kl_p99", "{:.4f}"), ("same_top", "{:.2%}"), ("quantize_seconds", "{:.0f}"),
           ("build_seconds", "{:.1f}")]
TITLES = ["model", "recipe", "grid", "bits a weight", "MiB", "perplexity", "KL", "±", "KL, 99 %",
          "same top", "quantize, s", "build, s"]
COLOURS = ("#8a8a8a", "#1b6ac9", "#e07b1f", "#4d9a57", "#8d6cb8", "#b3423a", "#2a9d9d", "#a68a1f")
SHAPES = ("circle", "square", "diamond", "triangle")  # Of models, in their order.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 420, 76, 20, 66, 50


def key(row):
    return row["model"], row["recipe"]


def merged(old, new):
    """Rows of which the newer ones take the place of older ones, by model, grid and KL."""
    rows = {**{key(row): row for row in old}, **{key(row): row for row in new}}
    return sorted(rows.values(), key=lambda row: (row["model"], row["bits"], row["grid"],
                                                  row["kl"]))


def table(data):
    """A line for each row."""
    cells = [[tables.cell({"format": form}, row[name]) for name, form in COLUMNS]
             for row in data["rows"]]
    return tables.lines(TITLES, cells)


def ratios(rows):
    """{(method, recipe): [KL over that of rounding to nearest, of each model]}: that of the recipe
    NAME-round of a recipe NAME, or else of the same grid, which of code books is not named."""
    nearest = {}
    for row in rows:
        if row["method"] == NEAREST:
            nearest[row["model"], row["recipe"]] = nearest[row["model"], row["grid"]] = row["kl"]
    found = {}
    for row in rows:
        base = nearest.get((row["model"], f"{row['recipe']}-round")) or nearest.get(
            (row["model"], row["grid"]))
        if base and row["method"] != NEAREST:
            found.setdefault((row["method"], row["recipe"]), []).append(row["kl"] / base)
    return found


def summary(data):
    """Medians over the models."""
    cells = [[method, recipe, f"{statistics.median(values):.3f}", str(len(values))]
             for (method, recipe), values in sorted(ratios(data["rows"]).items())]
    return tables.lines(["method", "recipe", f"KL over {NEAREST}'s, median", "models"],
                        cells or [["-"] * 4])


def presets(data, model="smollm2"):
    """What each recipe that has a name makes of one model."""
    rows = [row for row in data["rows"] if row["model"] == model and row["named"]]
    cells = [[f"`--recipe {row['recipe']}`", f"{row['bits']:.2f}", f"{row['mib']:.0f}",
              f"{row['perplexity'] / row['base_perplexity'] - 1:+.1%}", f"{row['kl']:.4f}",
              f"{row['same_top']:.1%}"] for row in rows]
    return tables.lines(["", "bits a weight", "MiB", "perplexity", "KL", "same top"], cells)


def operations(model, recipe):
    """What a layer costs for each token: its products in each run of it, and with GPTQ half of the
    moments of inputs, which are symmetric, and the half of those of differences that it reads."""
    hidden, inner = model["hidden"], model["feed_forward"]
    weights = 2 * hidden * (hidden + model["kv"]) + 3 * hidden * inner
    runs, moments = (2, 0) if recipe.endswith("awq") else (3, 1)
    return runs * weights + moments * (3 * hidden ** 2 + inner ** 2)


def model_seconds(data):
    """Hours, memory and disk of models: the first is measured, a layer behind the first stands for
    the others, and larger ones are reckoned from it by their operations."""
    models, cells = data["models"], []
    for measured in data["measured"]:
        recipe, seconds = measured["recipe"], measured["layer_seconds"]
        for model in models:
            layer = seconds[1] * operations(model, recipe) / operations(models[0], recipe)
            memory = f"{measured['peak_mib'] / 1024:.1f}" if model is models[0] else "-"
            if "memory_gib" in model:
                memory = f"{model['memory_gib'][recipe]:.1f}"
            disk = 4 * data["tokens"] * model["hidden"] * 4 / 2**30
            cells.append([recipe, model["model"], f"{layer:.0f}",
                          f"{layer * model['layers'] / 3600:.1f}", memory, f"{disk:.1f}"])
    return tables.lines(["recipe", "model", "a layer, s", "all, hours", "memory, GiB",
                         "rows on disk, GiB"], cells)


def text(x, y, words, anchor="middle", size=11, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{extra}>' \
           f"{html.escape(words)}</text>"


def mark(shape, x, y, colour, words=""):
    """A point; its words show where the pointer rests."""
    title = f"<title>{html.escape(words)}</title>" if words else ""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}">{title}</circle>'
    if shape == "triangle":
        return f'<path d="M{x:.1f} {y - 6:.1f} l6 11 h-12 z" fill="{colour}">{title}</path>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" fill="{colour}"' \
           f"{turn}>{title}</rect>"


def axes(low, high, decades, x, y):
    """Lines, numbers and names of both axes."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for bits in range(low, high + 1):
        yield f'<line x1="{x(bits):.1f}" x2="{x(bits):.1f}" y1="{TOP}" y2="{bottom}" ' \
              'stroke="#ddd"/>'
        yield text(x(bits), bottom + 16, str(bits))
    for decade in decades:
        kl = 10.0 ** decade
        yield f'<line x1="{LEFT}" x2="{right}" y1="{y(kl):.1f}" y2="{y(kl):.1f}" stroke="#ddd"/>'
        yield text(LEFT - 6, y(kl) + 4, f"{kl:g}", "end")
    yield text((LEFT + right) / 2, HEIGHT - 12, "bits a weight, of the layers' matrices", size=12)
    middle = (TOP + bottom) / 2
    yield text(16, middle, "KL divergence from the original, nats (log scale)", size=12,
               extra=f' transform="rotate(-90 16 {middle:.1f})"')


def legend(names, y, look):
    """A mark and a name after the other; `look`: shape and colour by place."""
    at = LEFT + 5
    for place, name in enumerate(names):
        shape, colour = look(place)
        yield mark(shape, at, y, colour)
        yield text(at + 10, y + 4, name, "start")
        at += 32 + 6 * len(name)


def svg(data):
    """Bits a weight against KL: a colour for each method, a shape for each model."""
    rows = [row for row in data["rows"] if row["kl"] > 0]
    methods = sorted({row["method"] for row in rows}, key=lambda name: (name != NEAREST, name))
    models = sorted({row["model"] for row in rows})
    logs = [math.log10(row["kl"]) for row in rows] or [-3, 0]
    decades = range(math.floor(min(logs)), math.floor(max(logs)) + 2)
    low = math.floor(min((row["bits"] for row in rows), default=2))
    high = max(low + 1, math.ceil(max((row["bits"] for row in rows), default=8)))

    def x(bits):
        return LEFT + (bits - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(kl):
        part = (math.log10(kl) - decades[0]) / (decades[-1] - decades[0])
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             *axes(low, high, decades, x, y)]
    lines += legend(methods, 16, lambda place: ("circle", COLOURS[place % len(COLOURS)]))
    lines += legend(models, 40, lambda place: (SHAPES[place % len(SHAPES)], "#333"))
    for row in rows:
        colour = COLOURS[methods.index(row["method"]) % len(COLOURS)]
        shape = SHAPES[models.index(row["model"]) % len(SHAPES)]
        lines.append(mark(shape, x(row["bits"]), y(row["kl"]), colour,
                          f"{row['model']}, {row['recipe']}: {row['bits']:.2f} bits, "
                          f"KL {row['kl']:.5f}"))
    return "\n".join([*lines, "</svg>", ""])
