# SPDX-License-Identifier: Apache-2.0
"""Random schemas through `ingot-run match`: each is refused by name, or lets through just the
values that another judge finds valid, in all their beginnings, and every answer can be ended.

    python3 tests/e2e/guided_schemas.py build/release/bin build/release/bin

SCHEMAS and SEED of the environment say how many and which."""
import collections
import itertools
import json
import os
import random

import harness
import schema_judge
import schema_maker

SCHEMAS = int(os.environ.get("SCHEMAS", "200"))
SEED = int(os.environ.get("SEED", "0"))
MOST_TEXTS = 120  # of one value, by the order of its members
WALKS = 8
ENDING = '"}],0123456789tfn:'
ASCII = [chr(code) for code in range(0x20, 0x7f)]


def number_text(value):
    whole = isinstance(value, float) and value == int(value)
    return str(int(value)) if whole else json.dumps(value)


def texts_of(value):
    """The value's texts with its members in every order, MOST_TEXTS of them at most."""
    if not isinstance(value, (dict, list)):
        return [json.dumps(value, ensure_ascii=False) if isinstance(value, (str, type(None), bool))
                else number_text(value)]
    parts = [texts_of(item) for item in (value.values() if isinstance(value, dict) else value)]
    if isinstance(value, list):
        return ["[" + ", ".join(items) + "]"
                for items in itertools.islice(itertools.product(*parts), MOST_TEXTS)]
    parts = [[json.dumps(name, ensure_ascii=False) + ": " + text for text in texts]
             for name, texts in zip(value, parts)]
    texts = ("{" + ", ".join(members) + "}" for order in itertools.permutations(parts)
             for members in itertools.product(*order))
    return list(itertools.islice(texts, MOST_TEXTS))


def unique(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a name twice")
    return dict(pairs)


def is_valid(judge, text):
    try:
        return judge.valid(json.loads(text, object_pairs_hook=unique))
    except ValueError:
        return False


class GuidedSchemas(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.engine = self.folder / "m.ingot"
        self.assert_built(self.build(harness.FABLES, self.engine), self.engine)
        self.counts = collections.Counter()

    def match(self, schema, texts):
        """What `match` says of each text; the refusal, where the schema is refused."""
        file, lines = self.folder / "schema.json", self.folder / "texts.jsonl"
        file.write_text(json.dumps(schema))
        lines.write_text("".join(json.dumps(text) + "\n" for text in texts))
        result = self.ingot_run("match", self.engine, "--json-schema", file, "--texts", lines)
        if not result.returncode:
            return [json.loads(line) for line in result.stdout.splitlines()], None
        self.assertLessEqual(result.returncode, 125, result)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"INGOT-E66\d\d: .*#")  # with a pointer
        return None, result.stderr

    def test_random_schemas(self):
        keywords = collections.Counter()
        for seed in range(SEED, SEED + SCHEMAS):
            choose = random.Random(seed)
            maker = schema_maker.Maker(choose)
            schema = maker.schema()
            keywords += maker.counts
            with self.subTest(seed=seed, schema=json.dumps(schema)):
                self.check(schema, maker, choose)
        print(dict(self.counts), dict(keywords.most_common()))
        self.assertGreater(self.counts["enforced"], SCHEMAS // 2)
        self.assertGreater(self.counts["valid"], SCHEMAS)

    def check(self, schema, maker, choose):
        judge = schema_judge.Judge(schema)
        try:
            values = [maker.value(judge, schema) for _ in range(10)]
            values += [maker.mutated(value) for value in values]
            verdicts = [judge.valid(value) for value in values]
        except RecursionError:  # a reference to itself in place
            self.assertIn("E6612", self.match(schema, [])[1] or "")
            return
        texts = [texts_of(value) for value in values]
        said, refusal = self.match(schema, itertools.chain(*texts))
        if refusal:
            self.counts["refused"] += 1
            if "E6613" in refusal:  # no value matches
                self.assertNotIn(True, verdicts)
            return
        self.counts["enforced"] += 1
        said = iter(said)
        sentences = []
        for value, verdict, spellings in zip(values, verdicts, texts):
            complete = [text for text in spellings if next(said)["complete"]]
            self.counts["valid" if verdict else "invalid"] += 1
            if len(spellings) < MOST_TEXTS or not verdict:
                self.assertEqual(bool(complete), verdict, value)
            sentences += complete[:2]
        self.check_beginnings(schema, judge, sentences, choose)
        if sentences and self.counts["walks"] < WALKS:
            self.counts["walks"] += 1
            self.walk(schema, judge, choose.choice(sentences), choose)

    def check_beginnings(self, schema, judge, sentences, choose):
        """Each beginning of a sentence may come; behind a changed byte the place is named."""
        cuts, changed = [], []
        for text in choose.sample(sentences, min(3, len(sentences))):
            cuts += [text[:end] for end in range(len(text) + 1)]
            at = choose.randrange(len(text) + 1)
            changed.append(text[:at] + choose.choice('x"}],9-.\\ \x01') + text[at + 1:])
        said, _ = self.match(schema, cuts + changed)
        for text, answer in zip(cuts, said):
            self.assertTrue(answer["accepted"], text)
        for text, answer in zip(changed, said[len(cuts):]):
            if answer["complete"]:
                self.assertTrue(is_valid(judge, text), text)
            if not answer["accepted"]:
                data = text.encode()
                shared = max(len(os.path.commonprefix([data, one.encode()])) for one in sentences)
                self.assertGreaterEqual(answer["at"], shared, text)

    def walk(self, schema, judge, sentence, choose):
        """From a beginning, any byte that may come, then those that end: a valid sentence."""
        text = sentence[:choose.randrange(len(sentence) + 1)]
        wander = choose.randint(2, 12)
        for step in itertools.count():
            said, _ = self.match(schema, [text] + [text + byte for byte in ASCII])
            if said[0]["complete"] and step >= wander:
                break
            allowed = [byte for byte, answer in zip(ASCII, said[1:]) if answer["accepted"]]
            if not allowed:
                self.assertTrue(said[0]["complete"], "a dead end: " + text)
                break
            ending = [byte for byte in ENDING if byte in allowed]
            text += choose.choice(allowed) if step < wander or not ending else ending[0]
            self.assertLess(step, 300, text)
        self.assertTrue(is_valid(judge, text), text)


if __name__ == "__main__":
    harness.main()
