# SPDX-License-Identifier: Apache-2.0
"""What the comparison makes of figures: medians, ratios, limits, the document's section, the plot,
and the metadata of a model's file."""
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import plot
import report
from programs import IK_LLAMA, INGOT, LLAMA_CLANG

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
        # 493,961,216 weights of 4.5 bits at 20 GB/s.
        self.assertAlmostEqual(row.share, 50 / (20e9 / (493961216 * 4.5 / 8)))
        self.assertEqual((row.dram, row.peak), (20e9, 4e12))

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
        self.assertAlmostEqual(report.limit(SHAPE, FORMAT, "generate 32", PROBES), 32 * few)
        # So many sequences are bound by products.
        self.assertAlmostEqual(report.limit(SHAPE, FORMAT, "generate 1000", PROBES),
                               4e12 / (2 * 493961216))
        self.assertAlmostEqual(report.limit(SHAPE, FORMAT, "prompt 512", PROBES),
                               4e12 / (2 * 357826560))
        self.assertIsNone(report.limit(SHAPE, FORMAT, "load", PROBES))

    def test_section(self):
        text = report.section(raw([INGOT, LLAMA_CLANG, IK_LLAMA]), "plot.svg")
        self.assertIn("\n## Beside other programs on a CPU with AVX2\n", text)
        self.assertIn("| q4_0 | 2 | decode x 1, tokens/s | **50.0** | 20.0 | 25.0 | 2.00 | 0.69 | "
                      "20.0 | 4.00 |", text)
        self.assertIn(f"{IK_LLAMA} failed: {SHAPE}, q4_0, 2 threads, prompt 512: `no such type`",
                      text)
        text = report.section(raw([INGOT, LLAMA_CLANG]), "plot.svg")
        self.assertIn(f"(does not count: without {IK_LLAMA})", text)

    def test_document(self):
        section = report.section(raw([INGOT]), "plot.svg")
        once = report.replace_section("# Title\n\n## Next\n", "AVX2", section)
        self.assertEqual(report.replace_section(once, "AVX2", section), once)
        old, other = ("{}\nold\n{}".format(report.BEGIN.format(kind), report.END.format(kind))
                      for kind in ("AVX2", "AMX"))
        self.assertEqual(report.replace_section(f"a\n{old}\nb\n{other}\n", "AVX2", section),
                         f"a\n{section}\nb\n{other}\n")

    def test_plot(self):
        picture = xml.etree.ElementTree.fromstring(
            plot.svg(list(report.rows(FIGURES)), [INGOT, LLAMA_CLANG, IK_LLAMA]))
        bars = picture.findall(".//{*}rect/{*}title")
        self.assertEqual([bar.text for bar in bars][:3],
                         [f"{INGOT}: 50.0 tokens/s", f"{LLAMA_CLANG}: 20.0 tokens/s",
                          f"{IK_LLAMA}: 25.0 tokens/s"])


if __name__ == "__main__":
    unittest.main()
