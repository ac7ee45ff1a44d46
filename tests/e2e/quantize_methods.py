# SPDX-License-Identifier: Apache-2.0
"""The methods of compiler/quantize/methods, compared with plain numpy: the published algorithms as
their papers state them, in f64, with explicit inverses and no blocks. numpy is in build/numpy, from
scripts/setup."""
import subprocess

import harness

np = harness.numpy()

F16, BF16, F32 = range(3)
EQUAL_CODES = 0.999
RELATIVE = 1e-4
# A value that is so near the middle of two codes may become either, and what follows from it in its
# row is something else then: few rows of a matrix.
TIE = 1e-4
EQUAL_ROWS = 0.8
NEAR = 1e-2


def round_scale(scale, kind):
    scale = np.asarray(scale, np.float32)
    if kind == F16:
        return scale.astype(np.float16).astype(np.float32)
    if kind == BF16:
        bits = scale.view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16 << 16
        return bits.astype(np.uint32).view(np.float32)
    return scale


class Grid:
    def __init__(self, bits=4, group=128, zero_points=False, scale_type=F16):
        self.bits, self.group = bits, group
        self.zero_points, self.scale_type = zero_points, scale_type
        self.most = 2**bits - 1

    def words(self):
        return [f"bits={self.bits}", f"group={self.group}", f"zero_points={int(self.zero_points)}",
                f"scale_type={self.scale_type}"]

    def groups(self, columns):
        length = self.group or columns
        return [slice(first, min(first + length, columns)) for first in range(0, columns, length)]

    def share(self, weight, share):
        """Scale and zero of each row."""
        low = np.minimum(weight.min(axis=1), 0) * share
        high = np.maximum(weight.max(axis=1), 0) * share
        if self.zero_points:
            scale = round_scale((high - low) / self.most, self.scale_type)
            return scale, np.clip(np.rint(-low / scale), 0, self.most)
        scale = np.maximum(-low, high) * 2 / self.most
        return round_scale(scale, self.scale_type), np.full(len(weight), 2.0**(self.bits - 1))

    def codes(self, weight, scale, zero):
        """In f32: a group's largest weight, where below 0, lies in the middle of two codes."""
        places = weight.astype(np.float32) / scale.astype(np.float32)
        return np.clip(np.rint(places).astype(np.float64) + zero, 0, self.most)

    def margin(self, weight, scale, zero):
        """How far values are from the middle of two codes, in steps."""
        place = np.clip(weight / scale, -zero - 0.25, self.most - zero + 0.25)
        return np.abs(place - np.floor(place) - 0.5)

    def fit(self, weight, clip=None, importance=None):
        """The range with the smallest error, or all of it."""
        if not clip:
            return self.share(weight, 1)
        steps, least, power = clip
        if importance is None:
            importance = np.ones(weight.shape[1])
        fits = [self.share(weight, 1 - (1 - least) * step / steps) for step in range(steps + 1)]
        errors = [(np.abs((self.codes(weight, scale[:, None], zero[:, None]) - zero[:, None])
                          * scale[:, None] - weight)**power * importance).sum(axis=1)
                  for scale, zero in fits]
        best, rows = np.argmin(errors, axis=0), np.arange(len(weight))
        return (np.array([fit[0] for fit in fits])[best, rows],
                np.array([fit[1] for fit in fits])[best, rows])


def nearest(weight, grid, clip=None, importance=None):
    """Codes, and the values that they stand for."""
    codes, values = np.zeros(weight.shape), np.zeros(weight.shape)
    for part in grid.groups(weight.shape[1]):
        scale, zero = grid.fit(weight[:, part], clip,
                               None if importance is None else importance[part])
        codes[:, part] = grid.codes(weight[:, part], scale[:, None], zero[:, None])
        values[:, part] = (codes[:, part] - zero[:, None]) * scale[:, None]
    return codes, values


def gptq(weight, inputs, grid, act_order, clip=None, originals=None, asymmetry=0.25, damping=0.01):
    """arXiv 2210.17323, with the static groups of its authors' code; with originals arXiv
    2504.02692."""
    work, columns = weight.copy(), weight.shape[1]
    moments = inputs.T @ inputs
    diagonal = np.diag(moments)
    order = np.argsort(-diagonal, kind="stable") if act_order else np.arange(columns)
    damped = moments + np.diag((diagonal == 0) + damping * diagonal[diagonal > 0].mean())
    inverse = np.linalg.inv(damped[np.ix_(order, order)])
    upper = np.linalg.cholesky(inverse).T
    ahead = np.zeros((columns, columns))
    if originals is not None:
        cross = ((originals - inputs).T @ inputs)[np.ix_(order, order)]
        ahead = asymmetry * np.triu(cross @ upper.T, 1) @ upper
    importance = np.zeros(columns)
    importance[order] = 1 / np.diag(upper)**2
    parts = grid.groups(columns)
    fits = [grid.fit(weight[:, part], clip, importance[part]) for part in parts]
    work = work[:, order]
    codes, values, margins = (np.zeros(weight.shape) for _ in range(3))
    for step, column in enumerate(order):
        group = column // (grid.group or columns)
        if not act_order and step == parts[group].start:
            fits[group] = grid.fit(work[:, parts[group]], clip, importance[parts[group]])
        scale, zero = fits[group]
        target = work[:, step].copy()
        codes[:, column] = grid.codes(target, scale, zero)
        margins[:, step] = grid.margin(target, scale, zero)
        values[:, column] = (codes[:, column] - zero) * scale
        error = (target - values[:, column]) / upper[step, step]
        work[:, step:] -= np.outer(error, upper[step, step:]) - np.outer(target, ahead[step, step:])
    return codes, values, fits, (order, margins)


def descend(weight, inputs, grid, codes, fits, sweeps, originals=None, asymmetry=0.25,
            damping=0.01):
    """Coordinate descent on tr(dW H dWᵀ), a column at a time; with originals on the squared
    difference from outputs that lie `asymmetry` of the way to theirs. H is damped."""
    moments, codes, columns = inputs.T @ inputs, codes.copy(), weight.shape[1]
    wanted = inputs if originals is None else inputs + asymmetry * (originals - inputs)
    missing = weight @ ((wanted - inputs).T @ inputs)
    diagonal = np.diag(moments)
    moments = moments + damping * diagonal[diagonal > 0].mean() * np.eye(columns)
    scale, zero = (np.stack([fits[column // (grid.group or columns)][part]
                             for column in range(columns)], axis=1) for part in range(2))
    for _ in range(sweeps):
        for column in range(columns):
            values = (codes - zero) * scale
            gradient = (values - weight) @ moments[:, column] - missing[:, column]
            codes[:, column] = grid.codes(
                values[:, column] - gradient / moments[column, column],
                scale[:, column], zero[:, column])
    return codes, (codes - zero) * scale


def awq_scales(weight, inputs, steps, weight_scales):
    """arXiv 2306.00978: the candidates."""
    means = np.abs(inputs).mean(axis=0)
    for duo in (False, True)[:1 + weight_scales]:
        for step in range(steps):
            scale = means**(step / steps) if step else np.ones(len(means))
            if duo:
                scale = scale / (np.abs(weight).max(axis=0)**(1 - step / steps) + 1e-4)
            scale = np.clip(scale, 1e-4, 1e4)
            yield scale / np.sqrt(scale.max() * scale.min())


def smooth_scale(weight, inputs, strength):
    """arXiv 2211.10438, equation 4."""
    most, widest = (np.maximum(np.abs(matrix).max(axis=0), 1e-5) for matrix in (inputs, weight))
    return most**strength / widest**(1 - strength)


def round_rows(matrix):
    """Each row as int8 holds it, by its largest magnitude."""
    scale = (np.abs(matrix).max(axis=1, keepdims=True).astype(np.float64) / 127).astype(np.float32)
    return np.rint(matrix / scale).astype(np.float64) * scale


def output_error(difference, inputs):
    return ((difference @ inputs.T)**2).sum() / len(inputs)


class QuantizeMethods(harness.BuildTest):
    def setUp(self):
        super().setUp()
        numbers = np.random.default_rng(5)
        self.rows, self.columns = 32, 136
        mix = numbers.normal(size=(self.columns, self.columns)) / 8 + np.eye(self.columns)
        spread = np.exp(numbers.normal(size=self.columns) / 2)
        self.weight = self.f32("weight", numbers.normal(size=(self.rows, self.columns)) / 50)
        original = (numbers.normal(size=(300, self.columns)) @ mix) * spread
        self.inputs = self.f32("inputs", original)
        self.shifted = original * 0.95 + 0.1 * numbers.normal(size=original.shape)

    def f32(self, name, values):
        """Writes values; returns what was written."""
        values = values.astype(np.float32)
        (self.folder / name).write_bytes(values.tobytes())
        return values.astype(np.float64)

    def run_method(self, method, grid, *words):
        """The numbers that it prints."""
        result = subprocess.run(
            [harness.tools / "run-quantize-method", method, self.folder, f"columns={self.columns}",
             *grid.words(), *words], capture_output=True, text=True, timeout=harness.LIMIT,
            check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        if result.stdout == "unsupported\n":
            self.skipTest("this processor has no AVX2")
        return [float(number) for number in result.stdout.split()]

    def read(self, name, kind):
        return np.frombuffer((self.folder / name).read_bytes(), kind)

    def values(self):
        return self.read("values", np.float32).reshape(self.rows, -1).astype(np.float64)

    def assert_same(self, codes, values):
        """Codes are those of numpy, and so is the error of the outputs."""
        ours = self.read("codes", np.uint8).reshape(codes.shape)
        self.assertGreaterEqual((ours == codes).mean(), EQUAL_CODES)
        mine = output_error(self.values() - self.weight, self.inputs)
        theirs = output_error(values - self.weight, self.inputs)
        self.assertLess(abs(mine - theirs), RELATIVE * theirs)

    def assert_steps(self, codes, values, steps, error):
        """The same row by row, up to the first tie."""
        order, margins = steps
        ours = self.read("codes", np.uint8).reshape(codes.shape)
        equal = (ours == codes).all(axis=1)
        for row in np.flatnonzero(~equal):
            first = np.flatnonzero((ours != codes)[row][order])[0]
            self.assertLess(margins[row, first], TIE, f"row {row} differs from step {first} on")
        self.assertGreaterEqual(equal.mean(), EQUAL_ROWS)
        mine = output_error((self.values() - self.weight)[equal], self.inputs)
        theirs = output_error((values - self.weight)[equal], self.inputs)
        self.assertLess(abs(mine - theirs), RELATIVE * theirs)
        whole = output_error(self.values() - self.weight, self.inputs)
        self.assertLess(abs(error - whole), RELATIVE * whole)

    def grids(self):
        for group in (0, 48):
            for zero_points in (False, True):
                for bits, scale_type in ((2, F32), (3, BF16), (4, F16), (8, F16)):
                    yield Grid(bits, group, zero_points, scale_type)

    def test_nearest(self):
        for grid in self.grids():
            self.run_method("nearest", grid)
            self.assert_same(*nearest(self.weight, grid))

    def test_nearest_with_searched_ranges(self):
        importance = self.f32("importance", (self.inputs**2).mean(axis=0))
        for power in (2, 2.4):
            for grid in self.grids():
                self.run_method("nearest", grid, "steps=20", "least=0.5", f"power={power}")
                self.assert_same(*nearest(self.weight, grid, (20, 0.5, power), importance))

    def test_gptq(self):
        for act_order in (False, True):
            for grid in self.grids():
                codes, values, _, steps = gptq(self.weight, self.inputs, grid, act_order)
                # A group is fitted when its turn comes, wherever blocks of columns end.
                for block in (32, 100):
                    error, damping = self.run_method(
                        "gptq", grid, f"act_order={int(act_order)}", f"block={block}")
                    self.assert_steps(codes, values, steps, error)
                    self.assertEqual(damping, 0.01)

    def test_gptq_with_searched_ranges(self):
        for act_order in (False, True):
            for grid in self.grids():
                error, _ = self.run_method(
                    "gptq", grid, f"act_order={int(act_order)}", "steps=10")
                codes, values, _, steps = gptq(self.weight, self.inputs, grid, act_order,
                                               (10, 0.5, 2.4))
                self.assert_steps(codes, values, steps, error)

    def test_asymmetric_gptq(self):
        originals = self.f32("originals", self.inputs)
        self.inputs = self.f32("inputs", self.shifted)
        for act_order in (False, True):
            for grid in self.grids():
                error, _ = self.run_method("gptq", grid, f"act_order={int(act_order)}", "block=64")
                codes, values, _, steps = gptq(self.weight, self.inputs, grid, act_order,
                                        originals=originals)
                self.assert_steps(codes, values, steps, error)
                if act_order: # rows are so few that the first ones are all
                    error, _ = self.run_method("gptq", grid, "ordered=1", "block=64")
                    self.assert_steps(codes, values, steps, error)

    def test_asymmetric_sweeps(self):
        originals = self.f32("originals", self.inputs)
        self.inputs = self.f32("inputs", self.shifted)
        for grid in self.grids():
            self.run_method("gptq", grid)
            codes = self.read("codes", np.uint8).reshape(self.weight.shape).astype(np.float64)
            _, _, fits, _ = gptq(self.weight, self.inputs, grid, True, originals=originals)
            codes, values = descend(self.weight, self.inputs, grid, codes, fits, 2, originals)
            self.run_method("gptq", grid, "sweeps=2")
            ours = self.read("codes", np.uint8).reshape(codes.shape)
            # One code at a tie changes those after it.
            self.assertGreaterEqual((ours == codes).mean(), 0.995)
            wanted = self.weight @ (self.inputs + 0.25 * (originals - self.inputs)).T
            damping = 0.01 * (self.inputs**2).sum(axis=0).mean()
            mine, theirs = (((found @ self.inputs.T - wanted)**2).sum() +
                            damping * ((found - self.weight)**2).sum()
                            for found in (self.values(), values))
            self.assertLess(abs(mine - theirs), 5e-3 * theirs)

    def test_sweeps(self):
        for grid in self.grids():
            before, _ = self.run_method("gptq", grid)
            codes = self.read("codes", np.uint8).reshape(self.weight.shape).astype(np.float64)
            _, _, fits, _ = gptq(self.weight, self.inputs, grid, True)
            codes, values = descend(self.weight, self.inputs, grid, codes, fits, 2)
            error, _ = self.run_method("gptq", grid, "sweeps=2")
            self.assert_same(codes, values)
            self.assertLess(error, before)

    def test_awq(self):
        for weight_scales in (0, 1):
            for grid in self.grids():
                error, without, _ = self.run_method("awq", grid, f"weight_scales={weight_scales}")
                def error_of(scale):
                    scale = scale.astype(np.float32)
                    _, values = nearest(self.weight.astype(np.float32) * scale, grid)
                    return output_error(values / scale - self.weight, self.inputs)

                scales = list(awq_scales(self.weight, self.inputs, 20, weight_scales))
                errors = [error_of(scale) for scale in scales]
                self.assertLess(abs(without - errors[0]), RELATIVE * errors[0])
                ours = self.read("scales", np.float32)
                same = error_of(ours)
                self.assertLess(abs(error - same), RELATIVE * same)
                # Powers differ in the last places, and so do ties: candidates may change places.
                self.assertLess(error, min(errors) * (1 + NEAR))
                near = [scale for scale, other in zip(scales, errors, strict=True)
                        if other <= min(errors) * (1 + NEAR)]
                self.assertLess(min(np.abs(ours / scale - 1).max() for scale in near), 1e-4)

    def test_awq_clip(self):
        for grid in self.grids():
            self.run_method("awq-clip", grid)
            expected = self.weight.copy()
            for part in grid.groups(self.columns):
                # In f32, as in Grid.codes(): what is clipped lies in the middle of two codes.
                weight, inputs = self.weight[:, part].astype(np.float32), self.inputs[:, part]
                most = np.abs(weight).max(axis=1, keepdims=True)
                shares = 1 - (1 - np.float32(0.55)) * np.arange(11, dtype=np.float32) / 10
                clipped = [np.clip(weight, -most * share, most * share) for share in shares]
                errors = []
                for candidate in clipped:
                    scale, zero = (fit[:, None] for fit in grid.fit(candidate))
                    values = (grid.codes(candidate, scale, zero) - zero) * scale
                    errors.append((((values - weight) @ inputs.T)**2).sum(axis=1))
                best = np.argmin(errors, axis=0)
                expected[:, part] = np.array(clipped)[best, np.arange(self.rows)]
            same = np.isclose(self.values(), expected, rtol=1e-5, atol=0)
            self.assertGreaterEqual(same.mean(), EQUAL_CODES)

    def test_smooth_quant(self):
        """Columns of inputs with outliers, so that a strength pays."""
        inputs = self.inputs.copy()
        inputs[:, ::17] *= 30
        self.inputs = self.f32("inputs", inputs)
        for steps in (1, 10, 20):
            error, without, strength = self.run_method("smooth", Grid(), f"steps={steps}")
            ours = self.read("scales", np.float32)
            errors = [self.smooth_error(smooth_scale(self.weight, inputs, step / steps))
                      for step in range(steps + 1)]
            unscaled = self.smooth_error(np.ones(self.columns))
            self.assertLess(abs(without - unscaled), RELATIVE * unscaled)
            self.assertLess(abs(error - self.smooth_error(ours)), RELATIVE * error)
            # As with AWQ: powers differ in the last places, and so do ties.
            most = min(errors) * (1 + NEAR)
            self.assertLess(error, most)
            self.assertLess(errors[round(strength * steps)], most)
            self.assertLess(error, 0.9 * without)
            expected = smooth_scale(self.weight, inputs, strength)
            self.assertLess(np.abs(ours / expected - 1).max(), 1e-4)

    def smooth_error(self, scale):
        """Of a row of outputs, with weights and inputs in int8 by row, in f32 as matrices are."""
        scale = scale.astype(np.float32)
        weight = round_rows(self.weight.astype(np.float32) * scale)
        inputs = round_rows(self.inputs.astype(np.float32) / scale)
        return ((inputs @ weight.T - self.inputs @ self.weight.T)**2).sum() / len(inputs)


if __name__ == "__main__":
    harness.main()
