# SPDX-License-Identifier: Apache-2.0
"""Answers to prompts with pictures: transformers' tokens, whatever is computed beside them."""
import atexit
import base64
import json
import pathlib
import shutil
import tempfile
import unittest

import harness

DATA = harness.ROOT.parent / "shared" / "data" / "vision"
GOLDENS = json.loads((DATA / "goldens.json").read_text()) if DATA.is_dir() else {}
MODELS = [name for name in GOLDENS if (DATA / name).is_dir()]
LEAST_MARGIN = 3e-3  # of goldens: below, either token may come
CPU = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
# Those that this machine runs.
X86_LEVELS = ["x86-64-v3"] + [level for flag, level in (
    (" avx512vl", "x86-64-v4"), (" avx512_bf16", "x86-64-v4+vnni+bf16"),
    (" amx_bf16", "x86-64-v4+vnni+bf16+amx")) if flag in CPU]


def expected(case):
    """Tokens that are sure: up to the first step whose margin is small, by either resizing."""
    steps = [min(pair) for pair in zip(case["margins"], case["pillow"]["margins"])]
    sure = next((i for i, margin in enumerate(steps) if margin < LEAST_MARGIN), len(steps))
    return case["greedy"][:sure]


@unittest.skipUnless(DATA.is_dir(), "../shared/data is absent")
class PictureEngines(harness.BuildTest):
    """Tests with engines of models that see."""
    engines = {}

    def engine(self, model, target="x86-64-v3", *options):
        """Built once for all tests of this file."""
        key = (model, target, *options)
        if key not in self.engines:
            engine = self.kept_folder() / f"{'-'.join(key).replace('/', '_')}.ingot"
            result = self.build(DATA / model, engine, "--target", target, *options)
            self.assert_built(result, engine)
            self.engines[key] = engine
        return self.engines[key]

    @classmethod
    def kept_folder(cls):
        if "kept" not in cls.__dict__:
            cls.kept = pathlib.Path(tempfile.mkdtemp(prefix="ingot-pictures-"))
            atexit.register(shutil.rmtree, cls.kept, ignore_errors=True)
        return cls.kept


class PicturesTest(PictureEngines):
    def lines(self, cases, **fields):
        """Lines of --prompts that ask for the goldens' tokens."""
        return "\n".join(json.dumps(
            {"id": number, "prompt": case["prompt"], "add_special": False, "parse_special": True,
             "images": [str(DATA / "images" / name) for name in case["images"]],
             "max_tokens": 16, "temperature": 0, "ignore_eos": True, **fields})
            for number, case in enumerate(cases)) + "\n"

    def answers(self, engine, text, *options):
        file = self.folder / "prompts.jsonl"
        file.write_text(text)
        result = self.ingot_run(engine, "--prompts", file, *options)
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        return {answer["id"]: answer for answer in answers}

    def check(self, model, engine, *options):
        cases = list(GOLDENS[model]["cases"].values())
        answers = self.answers(engine, self.lines(cases), *options)
        for number, case in enumerate(cases):
            answer = answers[number]
            self.assertNotIn("error", answer)
            self.assertEqual(answer["prompt_tokens"], len(case["input_ids"]))
            sure = expected(case)
            self.assertGreater(len(sure), 4)
            self.assertEqual(answer["tokens"][:len(sure)], sure, f"{model}, {case['images']}")
        return answers

    def test_reference(self):
        for model in MODELS:
            with self.subTest(model):
                self.check(model, self.engine(model, "reference"))

    def test_x86(self):
        for level in X86_LEVELS:
            for model in MODELS:
                with self.subTest(f"{model}, {level}"):
                    self.check(model, self.engine(model, level), "--target", level)

    def test_pieces_and_preemption_change_nothing(self):
        for model in MODELS:
            with self.subTest(model):
                engine = self.engine(model)
                whole = self.check(model, engine)
                pieces = self.check(model, engine, "--max-batch-tokens", "48", "--max-sequences",
                                    "2")
                self.assertEqual([whole[i]["tokens"] for i in whole],
                                 [pieces[i]["tokens"] for i in whole])

    def test_what_the_cache_holds_is_not_computed_again_and_changes_nothing(self):
        for model in MODELS:
            with self.subTest(model):
                cases = list(GOLDENS[model]["cases"].values())
                answers = self.answers(self.engine(model), self.lines(cases * 2),
                                       "--max-sequences", "1")
                for number in range(len(cases)):
                    self.assertEqual(answers[number]["tokens"],
                                     answers[number + len(cases)]["tokens"])

    def test_simulated_gpu(self):
        for model in ("gemma3", "qwen3_vl"):
            with self.subTest(model):
                engine = self.engine(model, "sm_90a")
                case = GOLDENS[model]["cases"]["one"]
                answer = self.answers(engine, self.lines([case]), "--simulate", "sm_90a")[0]
                self.assertEqual(answer["tokens"][:len(expected(case))], expected(case))

    def test_quantized_text(self):
        """The encoder is as exact as before, and answers come."""
        model = "qwen3_vl"
        engine = self.engine(model, "x86-64-v3", "--recipe", "int8")
        answer = self.answers(engine, self.lines([GOLDENS[model]["cases"]["one"]]))[0]
        self.assertEqual(len(answer["tokens"]), 16)
        plain = self.answers(self.engine(model), self.lines([GOLDENS[model]["cases"]["one"]]))[0]
        self.assertEqual(answer["prompt_tokens"], plain["prompt_tokens"])

    def test_one_picture_on_the_command_line(self):
        model = MODELS[0]
        case = GOLDENS[model]["cases"]["one"]
        result = self.ingot_run(
            self.engine(model), "-p", case["prompt"], "--image",
            DATA / "images" / case["images"][0], "--parse-special", "--no-special", "--greedy",
            "--ignore-eos", "-n", "16", "--ids")
        self.assertEqual([int(token) for token in result.stdout.split()][:len(expected(case))],
                         expected(case))

    def test_refusals(self):
        model = MODELS[0]
        case = GOLDENS[model]["cases"]["one"]
        file = DATA / "images" / case["images"][0]
        begin = "data:image/jpeg;base64,"
        data = begin + base64.b64encode(file.read_bytes()).decode()
        engine = self.engine(model)
        for images, code in (([], "INGOT-E6026"), ([str(file)] * 2, "INGOT-E6811"),
                             (["http://127.0.0.1/a.png"], "INGOT-E6815"),
                             (["file:///etc/passwd"], "INGOT-E6815"),
                             (["data:image/png,abc"], "INGOT-E6815"),
                             ([data[:len(begin) + 40]], "INGOT-E680"),
                             ([str(DATA / "README.md")], "INGOT-E6801"), ([data], None)):
            answer = self.answers(engine, self.lines([case], images=images))[0]
            if code:
                self.assertIn(code, answer["error"])
            else:
                self.assertNotIn("error", answer)
        text = self.ingot_run(engine, "-p", "a text", "-n", "2", "--greedy")
        self.assertEqual(text.returncode, 0)


if __name__ == "__main__":
    harness.main()
