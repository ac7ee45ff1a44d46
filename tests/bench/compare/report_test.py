# SPDX-License-Identifier: Apache-2.0
"""What the comparison makes of figures: medians, ratios, limits, what is printed of them, and the
plot."""
import json
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))
import pages
import plot
import report
import tables
from programs import IK_LLAMA, INGOT, LLAMA_CLANG
from model_shapes import SHAPES

PROBES = {"dram": 20e9, "vnni_int8": 1e12, "amx_int8": 4e12, "fp32": 2e11}
SHAPE, FORMAT = "qwen2.5-0.5b", "q4_0"


def figure(program, metric, value, peak=100 << 20):
    return {"shape": SHAPE, "format": FORMAT, "threads": 2, "metric": metric, "program": program,
            "value": value, "peak_bytes": peak, "before": PROBES, "after": PROBES}


FIGURES = [
    *(figure(INGOT, "generate 1", value) for value in (55, 40, 50)),
    figure(LLAMA_CLANG, "generate 1", 20.0, 400 << 20), figure(IK_LLAMA, "generate 1", 25.0),
    figure(INGOT, "load", 0.1, 150 << 20), figure(LLAMA_CLANG, "load", 0.4),
    figure(INGOT, "generate 32", 400.0, 900 << 20),
    {**figure(IK_LLAMA, "prompt 512", 0), "error": "it said\n/some/where/no such type"},
]
del FIGURES[-1]["value"], FIGURES[-1]["peak_bytes"]


def raw(programs):
    return {"figures": FIGURES, "programs": {name: "1.0" for name in programs}, "machine": "2 CPUs",
            "kind": "AVX2", "date": "2026-01-02", "command": "tests/bench/compare_cpu"}


class Report(unittest.TestCase):
    def rows(self):
        return {row.metric: row for row in report.rows(FIGURES)}

    def test_rates(self):
        row = self.rows()["generate 1"]
        self.assertEqual(row.values[INGOT], 50)
        self.assertEqual(row.ratio, 2)
        # 493,961,216 weights of 4.5 bits, norms and biases of f32, and keys and values of 16
        # positions at 20 GB/s.
        read = 493961216 * 4.5 / 8 + 24 * 4 * (2 * 896 + 896 + 2 * 128) + 24 * 16 * 2 * 256
        self.assertAlmostEqual(row.share, 50 / (20e9 / read))
        self.assertAlmostEqual(row.dram, 20)
        self.assertAlmostEqual(row.peak, 4)

    def test_disturbed(self):
        slow = {**figure(INGOT, "generate 1", 1.0), "after": {**PROBES, "amx_int8": 2e12}}
        rows = {row.metric: row for row in report.rows([*FIGURES, slow, slow, slow, slow])}
        self.assertEqual(rows["generate 1"].values[INGOT], 50)
        waiting = {**figure(INGOT, "generate 1", 1.0), "before": {**PROBES, "dram": 14e9}}
        loading = {**waiting, "metric": "load"}
        self.assertEqual(report.disturbed([*FIGURES, waiting, loading]), {len(FIGURES)})
        other = {**slow, "metric": "generate 4"}
        rows = {row.metric: row for row in report.rows([*FIGURES, other])}
        self.assertEqual(rows["generate 4"].values[INGOT], 1)

    def test_quiet(self):
        best = report.best_bounds(FIGURES)
        for metric, share in (("generate 1", 0.5), ("prompt 512", 0.9)):
            probes = {**PROBES, "dram": 10e9, "amx_int8": 3.6e12}
            found = report.bounds(metric, FORMAT, 2, probes)
            self.assertAlmostEqual(report.share_of_best(found, best), share)
        # Nothing is known of other threads yet.
        self.assertEqual(report.share_of_best(report.bounds("load", FORMAT, 1, PROBES), best), 1)

    def test_less_is_better(self):
        rows = self.rows()
        self.assertAlmostEqual(rows["load"].ratio, 4)
        self.assertEqual(rows["memory"].values, {INGOT: 150, LLAMA_CLANG: 400, IK_LLAMA: 100})
        self.assertAlmostEqual(rows["memory"].ratio, 100 / 150)

    def test_limits(self):
        few = report.limit(SHAPE, FORMAT, "generate 1", PROBES)
        many = report.limit(SHAPE, FORMAT, "generate 32", PROBES)
        self.assertTrue(31 * few < many < 32 * few, many / few)
        # So many sequences are bound by products; 24 layers of 14 heads of 64 look back.
        looks = 24 * 2 * 14 * 64
        self.assertAlmostEqual(report.limit(SHAPE, FORMAT, "generate 1000", PROBES),
                               4e12 / (2 * (493961216 + 16 * looks)))
        self.assertAlmostEqual(report.limit(SHAPE, FORMAT, "prompt 512", PROBES),
                               4e12 / (2 * (357826560 + 256.5 * looks)))
        self.assertIsNone(report.limit(SHAPE, FORMAT, "load", PROBES))

    def test_layers_that_differ(self):
        shape = SHAPES["gemma-4-e2b-cut"]
        # Of the window of 512 a token of a prompt of 1024 sees less at first.
        self.assertAlmostEqual(shape.layers[0].looked(1024), 512 - 511 / 4)
        self.assertAlmostEqual(shape.layers[4].looked(1024), 512.5)
        self.assertEqual(shape.layers[4].looks, 2 * 8 * 512)
        # Rows of the table of layers' inputs are looked up: no product, and few bytes.
        self.assertNotIn("per_layer_token_embd.weight", [t.name for t in shape.products()])
        self.assertEqual(shape.layers[5].tensors[-1].count(0), 256 * 1536)
        self.assertLess(shape.read(1, 8), 1e9)
        net = SHAPES["qwen3.5-9b-cut"].layers[0]
        self.assertEqual((net.state, net.updates), (4 * 32 * 128 * 128 + 2 * 3 * 8192, 3 * 2**19))
        each = (SHAPES["qwen3.5-9b-cut"].read(9, 8) - SHAPES["qwen3.5-9b-cut"].read(1, 8)) / 8
        self.assertAlmostEqual(each, 3 * 2 * net.state + 16 * 2 * 2 * 4 * 256)
        mixture = SHAPES["gemma-4-26b-a4b-cut"]
        rows = 6 * 3 * (2112 + 8 * 704) + 5 * (2 * 4096 + 2 * 2048) + 2 * 8192 + 1024
        self.assertEqual(mixture.linear(), rows * 2816)

    def test_page(self):
        summary = report.summary(raw([INGOT, LLAMA_CLANG, IK_LLAMA]))
        self.assertEqual(summary, json.loads(tables.written(summary)))
        text = pages.page(summary, "plot.svg")
        self.assertIn("# Beside other programs on a CPU with AVX2\n", text)
        self.assertIn("| q4_0 | Ingot | **50.0** | **400** | **0.10** | 150 |", text)
        self.assertIn("|  | *share of limit* | 70 % | 18 % | - | - |", text)
        self.assertIn(f"{IK_LLAMA} failed: {SHAPE}, q4_0, 2 threads, prompt 512: `no such type`",
                      text)
        text = pages.page(report.summary(raw([INGOT, LLAMA_CLANG])), "plot.svg")
        self.assertIn(f"(does not count: without {IK_LLAMA})", text)

    def test_side_by_side(self):
        summary = report.summary(raw([INGOT, LLAMA_CLANG, IK_LLAMA]))
        for row in summary["rows"]:
            row["shape"] = pages.SHOWN
        other = {**summary, "kind": "AMX",
                 "rows": [{**row, "threads": 1} for row in summary["rows"]]}
        text = "\n".join(pages.overview([summary, other]))
        for kind in "AVX2", "AMX":
            self.assertIn(f"| {kind} | q4_0 | **50.0** / 25.0 | **400** / - | **0.10** / 0.40 | "
                          "150 / 100 |", text)
        both = [*summary["rows"], *({**row, "threads": 1, "share": 0.5} for row in summary["rows"])]
        text = "\n".join(pages.limits([{**summary, "rows": both}]))
        self.assertIn("| AVX2 | q4_0 | 1/2 | 50 / 70 % |", text)

    def test_tables(self):
        table = {"columns": [{"title": "recipe"}, {"title": "change", "format": "{:+.2f} %"}],
                 "rows": [["bf16", 1.5], ["f32", None]]}
        self.assertEqual(table, json.loads(tables.written(table)))
        lines = ["| recipe | change |", "|---|---|", "| bf16 | +1.50 % |", "| f32 | - |"]
        self.assertEqual(list(tables.printed(table)), lines)
        begin, end = tables.BEGIN.format("a"), tables.END.format("a")
        once = tables.put(f"x\n{begin}\nold\n{end}\ny\n", "a", lines)
        self.assertEqual(once, "\n".join(["x", begin, "", *lines, "", end, "y", ""]))
        self.assertEqual(tables.put(once, "a", lines), once)
        with self.assertRaises(ValueError):
            tables.put(once, "b", lines)

    def test_plot(self):
        picture = xml.etree.ElementTree.fromstring(
            plot.svg(plot.panels_of(report.rows(FIGURES)), [INGOT, LLAMA_CLANG, IK_LLAMA]))
        bars = picture.findall(".//{*}rect/{*}title")
        self.assertEqual([bar.text for bar in bars][:3],
                         [f"{INGOT}: 50.0 tokens/s", f"{LLAMA_CLANG}: 20.0 tokens/s",
                          f"{IK_LLAMA}: 25.0 tokens/s"])


if __name__ == "__main__":
    unittest.main()
