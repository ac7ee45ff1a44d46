# SPDX-License-Identifier: Apache-2.0
"""`ingot build --gate-report`: the page is whole and says what the JSON says, and both say what can
be computed from the checkpoint."""
import html.parser
import json
import math
import struct

import harness

STORIES = harness.ROOT.parent / "shared" / "data" / "TinyStories-656K-rot256"
HELDOUT = harness.ROOT / "examples" / "fables" / "heldout.txt"
RECIPE = """version: 1
weights:
  - {match: "*layers.%d.*", format: int4, group: 32}
  - {match: "*", format: stored}
activations: f32
kv_cache: f32
"""


class Page(html.parser.HTMLParser):
    """Elements must be closed in order; `tables` by id, as rows of texts and exact numbers."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tables, self.by_id, self.tags = [], {}, {}, set()
        self.table = self.cell = self.named = None
        self.feed(text)
        self.close()
        if self.open:
            raise ValueError(f"not closed: {self.open}")

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        if {"src", "href"} & set(attrs):
            raise ValueError(f"{tag} needs another file")
        if tag != "meta":
            self.open.append(tag)
        if tag == "table":
            self.table = self.tables.setdefault(attrs["id"], [])
        if tag == "tr":
            self.table.append([])
        if tag == "td":
            self.cell = attrs.get("data-value", "")
        if "id" in attrs:
            self.named = attrs["id"]
            self.by_id[self.named] = attrs.get("data-value", "")

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise ValueError(f"{tag} is not the innermost")
        if tag == "td":
            self.table[-1].append(self.cell)
            self.cell = None
        self.named = None

    def handle_data(self, data):
        if self.cell is not None and not self.cell:
            self.cell = data
        if self.named and not self.by_id[self.named]:
            self.by_id[self.named] = data

    def rows(self, table):
        return [row for row in self.tables[table] if row]


class GateReports(harness.BuildTest):
    def gated(self, model, gate, layer, *options):
        """The build's result, the page and the JSON."""
        recipe = self.folder / "recipe.yaml"
        recipe.write_text(RECIPE % layer)
        paths = [self.folder / f"report.{form}" for form in ("html", "json")]
        engine = self.fresh("engine") / "m.ingot"
        result = self.build(model, engine, "--recipe", recipe, "--max-context", 256, "--gate", gate,
                            "--gate-report", paths[0], "--gate-report", paths[1], *options)
        self.left = sorted(path.name for path in engine.parent.iterdir())
        self.assertIn(result.returncode, (0, 3), result.stdout)
        return result, Page(paths[0].read_text()), json.loads(paths[1].read_text())

    def assert_same(self, page, data):
        """Every number of the JSON is on the page, with all its digits."""
        self.assertFalse({"script", "link", "img", "iframe"} & page.tags)
        for name in ("kl_mean", "kl_p99", "perplexity", "same_top1"):
            self.assertEqual(float(page.by_id[name]), data[name])
        self.assertEqual(page.by_id["worst"], data["worst_part"])
        self.assertEqual([(row[0], float(row[1])) for row in page.rows("limits")],
                         [(limit["limit"], limit["measured"]) for limit in data["limits"]])
        self.assertEqual([(row[0], float(row[1]), float(row[2])) for row in page.rows("errors")],
                         [(part["part"], part["relative_rms"], part["accumulated"])
                          for part in data["parts"]])
        self.assertEqual([(row[0], *map(float, row[1:])) for row in page.rows("weights")],
                         [(matrix["name"], matrix["min"], matrix["max"], matrix["deviation"])
                          for part in data["parts"] for matrix in part["weights"]])
        self.assertEqual([(row[0], *map(float, row[1:])) for row in page.rows("inputs")],
                         [(part["part"], part["input"]["largest"], part["input"]["p999"],
                           part["input"]["outlier_channels"], part["input"]["channels"])
                          for part in data["parts"] if "input" in part])
        self.assertEqual([(row[0], float(row[1]), float(row[2])) for row in page.rows("stored")],
                         [(part["part"], part["bits_per_weight"], part["bytes"])
                          for part in data["stored"]])

    def tensor(self, model, name):
        """The numbers of a tensor in bf16 or f32."""
        data = (model / "model.safetensors").read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        entry = json.loads(data[8:8 + size])[name]
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        if entry["dtype"] == "F32":
            return struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        words = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
        return struct.unpack(f"<{len(words)}f",
                             struct.pack(f"<{len(words)}I", *(word << 16 for word in words)))

    def assert_measured(self, model, data):
        """Ranges are those of the checkpoint; inputs of the first layer are its embeddings."""
        for part in data["parts"]:
            for matrix in part["weights"][::3]:
                values = self.tensor(model, matrix["name"])
                mean = math.fsum(values) / len(values)
                deviation = math.sqrt(math.fsum((value - mean)**2 for value in values)
                                      / len(values))
                self.assertEqual((matrix["min"], matrix["max"]), (min(values), max(values)))
                self.assertAlmostEqual(matrix["deviation"], deviation, delta=1e-9)
        first = data["parts"][1]["input"]
        embeddings = {abs(value) for value in self.tensor(model, "model.embed_tokens.weight")}
        self.assertIn(first["largest"], embeddings)
        self.assertIn(first["p999"], embeddings)
        self.assertLess(first["p999"], first["largest"])

    def test_kept(self):
        """One layer alone is quantized; it is the worst, and the one with fewer bits."""
        result, page, data = self.gated(f"{harness.FABLES}/", "kl<=1,top1>=10%", 3)
        self.assertEqual((data["engine"], data["original"]), ("m.ingot", harness.FABLES.name))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assert_same(page, data)
        self.assert_measured(harness.FABLES, data)
        self.assertTrue(data["kept"])
        self.assertEqual(data["worst_part"], "layers.3")
        self.assertIn("parts that differ most: layers.3 ", result.stdout)
        # Of the built-in text, which has other words than fables.
        self.assertLess(data["unigram_perplexity"], data["original_perplexity"])
        for text in result.stdout, page.by_id["doubt"]:
            self.assertRegex(text, "a bound of perplexity means nothing here, .* --gate-text")
        bits = {part["part"]: part["bits_per_weight"] for part in data["stored"]}
        self.assertAlmostEqual(bits["layers.2"], 16, delta=0.01)
        self.assertAlmostEqual(bits["layers.3"], 4.5, delta=0.05) # a bf16 scale for 32
        inspected = self.ingot_run("inspect", self.folder / "engine" / "m.ingot", "--section",
                                   "weights", "--json")
        stored = [weight for weight in json.loads(inspected.stdout)["weights"]
                  if weight["name"].startswith("layers.3.")]
        self.assertEqual(sum(weight["bytes"] for weight in stored),
                         next(part["bytes"] for part in data["stored"]
                              if part["part"] == "layers.3"))

    def test_refused(self):
        """A report is there where the engine is not, which is kept for bisect."""
        result, page, data = self.gated(harness.FABLES, "kl<=0.000001,top1>=10%", 1,
                                        "--gate-text", HELDOUT)
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertEqual(self.left, ["m.ingot.refused"])
        self.assertGreater(data["unigram_perplexity"], data["original_perplexity"])
        self.assertNotIn("doubt", page.by_id)
        refused = self.folder / "engine" / "m.ingot.refused"
        self.assertIn(f"`ingot bisect {refused} {harness.FABLES} --text {HELDOUT}`", result.stdout)
        found = self.ingot("bisect", refused, harness.FABLES, "--text", HELDOUT, "--tolerance",
                           "0.01")
        self.assertEqual(found.returncode, 3, found.stdout)
        self.assertIn("layers.1 is the first part", found.stdout)
        options = json.loads(self.ingot_run("inspect", refused, "--json").stdout)
        self.assertIn("exceeded: of ", json.dumps(options))
        self.assert_built(self.build(harness.FABLES, refused.with_suffix(""), "--gate", "kl<=1",
                                     "--gate-text", HELDOUT, "--max-context", 256),
                          refused.with_suffix(""))
        self.assertFalse(refused.exists())
        self.assert_same(page, data)
        self.assertEqual([limit["kept"] for limit in data["limits"]], [False, True])
        self.assertEqual([row[2][2:] for row in page.rows("limits")], ["exceeded", "kept"])
        self.assertEqual((data["kept"], data["worst_part"]), (False, "layers.1"))

    def test_published_model(self):
        if not STORIES.is_dir():
            self.skipTest("../shared/data is absent")
        _, page, data = self.gated(STORIES, "kl<=1", 0)
        self.assert_same(page, data)
        self.assert_measured(STORIES, data)
        self.assertEqual(data["worst_part"], "layers.0")

    def test_names(self):
        for name, code in ("report.txt", "E2146"), ("none/report.html", "E7103"):
            result = self.build(harness.FABLES, self.folder / "m.ingot", "--gate", "kl<=1",
                                "--gate-report", self.folder / name)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"INGOT-{code}", result.stdout)
        result = self.build(harness.FABLES, self.folder / "m.ingot", "--gate-report", "x.html")
        self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    harness.main()
