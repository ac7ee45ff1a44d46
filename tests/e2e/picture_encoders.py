# SPDX-License-Identifier: Apache-2.0
"""Encoders of pictures: the rows that engines make of them, compared with those of transformers."""
import hashlib
import json
import subprocess
import sys
import unittest

import harness
import picture_pixels

np = harness.numpy()
DATA = harness.ROOT.parent / "shared" / "data" / "vision"
GOLDENS = json.loads((DATA / "goldens.json").read_text()) if DATA.is_dir() else {}
sys.path.insert(0, str(harness.ROOT / "build" / "pillow"))
try:
    from PIL import Image
except ImportError:
    print("SKIP picture_encoders: scripts/setup installs Pillow")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)


def pictures(facts, names):
    """The resized pictures or tiles of a case, as [3, height, width] of f32."""
    shown = []
    for name in names:
        pixels = np.asarray(Image.open(DATA / "images" / name).convert("RGB"))
        kind = facts["filter"].lower()
        if facts["rule"] == "Tiles":
            parts = picture_pixels.tiles(pixels, facts["longest_edge"], facts["tile"], kind)
        elif facts["rule"] == "Stretch":
            parts = [picture_pixels.resize(pixels, facts["height"], facts["width"], kind)]
        else:
            size = picture_pixels.smart_size(*pixels.shape[:2], facts["factor"],
                                             facts["min_pixels"], facts["max_pixels"])
            parts = [picture_pixels.resize(pixels, *size, kind)]
        shown += [picture_pixels.normalised(part, facts["mean"], facts["deviation"])
                  for part in parts]
    return shown


def golden_bytes(facts, shown, shape):
    """As the processor of the family orders them: convolutions have whole pictures, others patches
    with the picture twice."""
    if len(shape) > 2:
        return np.stack(shown).astype("<f4").tobytes()
    area = facts["patch"] ** 2
    rows = [picture_pixels.patches(one, facts["patch"], facts["merge_rows"])[0] for one in shown]
    rows = np.concatenate(rows).reshape(-1, 3, 1, area)
    return np.repeat(rows, 2, axis=2).astype("<f4").tobytes()


def interpolated(places, grid, side):
    """The four rows of a table around each place, and their weights."""
    high, wide = (np.linspace(0, side - 1, count, dtype=np.float32)[axis]
                  for count, axis in zip(grid, places.T))
    low = [np.floor(value).astype(np.int32) for value in (high, wide)]
    up = [np.minimum(value + 1, side - 1) for value in low]
    part = [value - first for value, first in zip((high, wide), low)]
    rows = np.stack([y * side + x for y in (low[0], up[0]) for x in (low[1], up[1])], -1)
    weights = np.stack([y * x for y in (1 - part[0], part[0]) for x in (1 - part[1], part[1])], -1)
    return rows.astype(np.int32), weights.astype(np.float32)


def windows(rows, columns, side):
    """The order of rows by windows of `side` x `side` rows, ragged at the edges, and the sizes of
    windows."""
    order, sizes = [], []
    grid = np.arange(rows * columns).reshape(rows, columns)
    for y in range(0, rows, side):
        for x in range(0, columns, side):
            part = grid[y:y + side, x:x + side].ravel()
            order.append(part)
            sizes.append(len(part))
    return np.concatenate(order), sizes


class Inputs:
    """Those of the program, and where the rows that it makes belong."""

    def __init__(self, facts, shown):
        self.arrays = {name: [] for name in ("pixels", "patch_places", "position_rows",
                                             "position_weights")}
        lengths, spans, self.order = [], [], []
        merge = facts["merge_rows"]
        each = merge * merge
        for picture in shown:
            rows, places = picture_pixels.patches(picture, facts["patch"], merge)
            grid = tuple(size // facts["patch"] for size in picture.shape[1:])
            order = np.arange(len(rows) // each)
            if facts["window"]:
                order, sizes = windows(*(size // merge for size in grid),
                                       facts["window"] // facts["patch"] // merge)
                spans += [size * each for size in sizes]
            patches = (order[:, None] * each + np.arange(each)).ravel()
            rows, places = rows[patches], places[patches]
            self.arrays["pixels"].append(rows)
            self.arrays["patch_places"].append(places)
            if facts["positions"] == "Interpolated":
                at, weights = interpolated(places, grid, facts["position_side"])
                self.arrays["position_rows"].append(at)
                self.arrays["position_weights"].append(weights)
            else:
                self.arrays["position_rows"].append(
                    (places[:, 0] * facts["position_side"] + places[:, 1]).astype(np.int32))
            self.order.append(order + sum(lengths) // each)
            lengths.append(len(rows))
        self.arrays = {name: np.concatenate(parts) for name, parts in self.arrays.items() if parts}
        self.add("patch", lengths)
        if spans:
            self.add("window", spans)
        self.sizes = {"E": sum(lengths) // each, "Q": len(lengths), "W": len(spans)}
        self.order = np.concatenate(self.order)

    def add(self, kind, lengths):
        self.arrays[f"{kind}_sequences"] = np.repeat(np.arange(len(lengths), dtype=np.int32),
                                                     lengths)
        self.arrays[f"{kind}_offsets"] = np.cumsum([0, *lengths]).astype(np.int32)


def positions_of(ids, token, grids):
    """Three positions of each token: those of a picture by its place in it, in rows and columns."""
    positions, next_one, at = [], 0, 0
    pictures_left = iter(grids)
    while at < len(ids):
        if ids[at] != token:
            positions.append([next_one] * 3)
            next_one += 1
            at += 1
            continue
        rows, columns = next(pictures_left)
        positions += [[next_one, next_one + y, next_one + x] for y in range(rows)
                      for x in range(columns)]
        next_one += max(rows, columns)
        at += rows * columns
    return np.array(positions, np.int32), next_one


def reaches_of(ids, token):
    """The last position that each token sees: of a picture's the last of its own."""
    reaches = np.arange(len(ids), dtype=np.int32)
    for at in range(len(ids) - 2, -1, -1):
        if ids[at] == ids[at + 1] == token:
            reaches[at] = reaches[at + 1]
    return reaches


@unittest.skipUnless(DATA.is_dir(), "../shared/data is absent")
class PictureEncoders(harness.BuildTest):
    def facts_of(self, engine):
        result = self.ingot_run("inspect", engine, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        described = json.loads(result.stdout)
        target = described["targets"][0]
        programs = {one["name"]: one for one in target["programs"]}
        roles = {one["name"]: one["role"] for one in target["buffers"]}
        return described["images"], programs["encode"], [
            name for name in programs["step"]["inputs"] if roles[name].lower() == "input"]

    def run_program(self, engine, target, commands):
        words = ["--simulate", target] if target.startswith("sm_") else []
        result = subprocess.run([harness.tools / "run-program", engine, target, *words],
                                input="\n".join(commands) + "\n", capture_output=True, text=True,
                                timeout=harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)

    def encoded(self, engine, target, inputs, encode):
        """The results of the program, each in the order of the tokens."""
        sizes = {**inputs.sizes, "T": 1, "S": 1, "L": 1, "G": 0}
        dims = [f"set {name} {size}" for name, size in sizes.items() if size or name == "G"]
        commands = []
        for name in encode["inputs"]:
            file = self.folder / f"{name}.bin"
            file.write_bytes(np.ascontiguousarray(inputs.arrays[name]).tobytes())
            commands.append(f"write {name} {file}")
        files = {name: self.folder / f"{name}.bin" for name in encode["outputs"]}
        self.run_program(engine, target, [*dims, *commands, "run encode",
                                          *(f"read {name} {file}" for name, file in files.items())])
        order = np.argsort(inputs.order)
        return {name: np.fromfile(file, "<f4").reshape(inputs.sizes["E"], -1)[order]
                for name, file in files.items()}

    def assert_rows(self, rows, wanted, where):
        self.assertEqual(list(rows.shape), wanted["shape"], where)
        self.assertAlmostEqual(float(rows.mean()), wanted["mean"], delta=1e-5, msg=where)
        self.assertAlmostEqual(float(rows.std()), wanted["std"], delta=1e-4, msg=where)
        first = rows.ravel()[:len(wanted["first"])]
        np.testing.assert_allclose(first, wanted["first"], rtol=1e-4, atol=2e-5, err_msg=where)

    def step(self, name, ids, first, rows, facts, places, rotary):
        """Commands for one step over tokens from `first` on, and where its logits will be."""
        count = len(ids)
        values = {
            "tokens": np.array(ids, np.int32),
            "positions": np.arange(first, first + count, dtype=np.int32),
            "token_sequences": np.zeros(count, np.int32),
            "sequence_offsets": np.array([0, count], np.int32),
            "logit_rows": np.array([count - 1], np.int32), "image_places": places,
            "rotary_positions": rotary,
            "reaches": first + (reaches_of(ids, facts["token_id"]) if facts["sees_ahead"]
                                else np.arange(count, dtype=np.int32)),
            **{key.replace("encoded", "image"): value for key, value in rows.items()}}
        given = len(next(iter(rows.values())))
        commands = [f"set T {count}", "set S 1", "set L 1", f"set G {given}"]
        for buffer in self.step_inputs:
            value = self.table if buffer.startswith("block_table") else values[buffer]
            file = self.folder / f"{name}.{buffer}.bin"
            file.write_bytes(np.ascontiguousarray(value).tobytes())
            commands.append(f"write {buffer} {file}")
        return [*commands, "run step", f"read logits {self.folder / name}"]

    def assert_greedy(self, engine, target, case, facts, results, shown):
        """The ids of transformers, given one by one, as long as its margins are no chance."""
        ids, greedy, token = case["input_ids"], case["greedy"], facts["token_id"]
        grids = [tuple(size // facts["patch"] // facts["merge_rows"] for size in one.shape[1:])
                 for one in shown]
        rotary, following = positions_of(ids, token, grids)
        is_image = np.array(ids) == token
        places = np.where(is_image, np.cumsum(is_image) - 1, -1).astype(np.int32)
        none = {key: value[:0] for key, value in results.items()}
        commands = self.step("prompt", ids, 0, results, facts, places, rotary)
        for at, one in enumerate(greedy[:-1]):
            commands += self.step(f"token{at}", [one], len(ids) + at, none, facts,
                                  np.array([-1], np.int32),
                                  np.full((1, 3), following + at, np.int32))
        self.run_program(engine, target, commands)
        names = ["prompt", *(f"token{at}" for at in range(len(greedy) - 1))]
        for name, wanted, margin in zip(names, greedy, case["margins"]):
            if margin < 3e-3:
                break
            logits = np.fromfile(self.folder / name, "<f4")
            self.assertEqual(int(logits.argmax()), wanted, f"{target}, {name}")

    def prove(self, model, *targets):
        engine = self.fresh(model) / "m.ingot"
        words = [word for target in targets for word in ("--target", target)]
        self.assert_built(self.build(DATA / model, engine, *words, "--recipe", "exact",
                                     "--max-image-rows", 128, "--max-context", 512), engine)
        facts, encode, self.step_inputs = self.facts_of(engine)
        self.table = np.arange(512 // 16, dtype=np.int32)
        for name, case in GOLDENS[model]["cases"].items():
            shown = pictures(facts, case["images"])
            pixels = case["pixel_values"]["pixel_values"]
            bytes_of = golden_bytes(facts, shown, pixels["shape"])
            self.assertEqual(hashlib.sha256(bytes_of).hexdigest(), pixels["sha256"], name)
            inputs = Inputs(facts, shown)
            for target in targets:
                steps = len(case["greedy"])
                if target.startswith("sm_"):  # which takes long to simulate
                    steps = 3
                    if name != "other":
                        continue
                results = self.encoded(engine, target, inputs, encode)
                self.assert_rows(results["encoded_rows"], case["image_features"],
                                 f"{model}, {name}, {target}")
                self.assert_greedy(engine, target, {**case, "greedy": case["greedy"][:steps]},
                                   facts, results, shown)

    def test_qwen2_5_vl_windows(self):
        self.prove("qwen2_5_vl", "reference", "x86-64-v3")

    def test_qwen3_vl_rows_for_several_layers(self):
        self.prove("qwen3_vl", "reference", "x86-64-v3", "sm_90a")

    def test_gemma3_means_of_patches(self):
        self.prove("gemma3", "reference", "x86-64-v3")

    def test_smolvlm_squares_of_tiles(self):
        self.prove("smolvlm", "reference", "x86-64-v3")


if __name__ == "__main__":
    harness.main()
