# SPDX-License-Identifier: Apache-2.0
"""Makes schemas at random, over all keywords, and values near them."""
import collections

NAMES = ["a", "b", "cd", "é", 'q"', "x y", "xa", "n0"]
TEXTS = ["", "a", "ab", "abc", "b1", "12", "x", "é", "日本", "😀b", 'say "hi"', "back\\slash", "t\tb",
         "2024-02-29", "2023-02-29", "12:30:00Z", "2024-01-31T10:00:00Z", "2024-13-01T10:00:00Z",
         "1.2.3.4", "1.2.3.04", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "aaaa", "ba", "xyz"]
NUMBERS = [0, 1, -1, 2, 3, 5, 7, 10, 12, 100, -7, 0.5, 1.5, -2.25, 0.1, 9.95, 99, 1000000,
           2**53 + 1]
PATTERNS = ["^a", "b$", "^[a-c]+$", "\\d", "^\\w{2,3}$", "^(x|y)?z*$", "^a|b$", "[^a]", "^.{2}$",
            "\\\\", "^x", "^[A-Za-z_]\\w*$", "(ab)+", "^$|^\\d+$", "^\\S*$"]
KEYS = ["^x", "a", "^[a-c]", "d$", "^n\\d$"]


class Maker:
    """`random` decides; `counts` says how often each keyword was written."""

    def __init__(self, random):
        self.random = random
        self.counts = collections.Counter()
        self.definitions = []

    def chance(self, share):
        return self.random.random() < share

    def schema(self):
        """A whole schema, with definitions that it may refer to."""
        self.definitions = [f"d{i}" for i in range(self.random.randint(0, 2))]
        anchored = self.definitions and self.chance(0.3)
        root = self.part(3)
        if isinstance(root, bool):
            return root
        if self.definitions:
            root["$defs"] = {name: self.part(2, True) for name in self.definitions}
            first = root["$defs"]["d0"]
            if anchored and isinstance(first, dict):
                first["$anchor"] = "first"
        self.counts.update(["$defs"] if self.definitions else [])
        return root

    def part(self, depth, guarded=False):
        """A schema; `guarded`: with no reference in place, which could be a circle."""
        if self.chance(0.05):
            return self.random.choice([True, True, False])
        schema = {}
        kind = self.random.choice(
            ["null", "boolean", "integer", "number", "string", "string", "array", "object",
             "object", "constants", "mixed"] if depth else ["boolean", "integer", "number",
             "string",
                                                  "constants"])
        makers = {"integer": self.numbers, "number": self.numbers, "string": self.strings,
                  "array": self.arrays, "object": self.objects, "constants": self.constants}
        if kind == "mixed":
            for make in self.random.sample([self.numbers, self.strings, self.arrays, self.objects],
                                           2):
                make(schema, depth - 1)
            if self.chance(0.3):
                schema["type"] = self.random.sample(
                    ["null", "integer", "number", "string", "array", "object"], 2)
        elif kind in makers:
            if kind != "constants" and self.chance(0.85):
                schema["type"] = kind
            makers[kind](schema, depth - 1)
        else:
            schema["type"] = kind
        if depth and self.chance(0.35):
            self.combine(schema, depth - 1, guarded)
        if self.chance(0.1):
            schema[self.random.choice(["title", "description", "$comment", "x-order"])] = "text"
        if self.chance(0.05):
            schema["default"] = 1
        items = list(schema.items())
        self.random.shuffle(items)
        self.counts.update(schema.keys())
        return dict(items)

    def numbers(self, schema, depth):
        for word in "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
            if self.chance(0.25):
                schema[word] = self.random.choice(NUMBERS)
        if self.chance(0.2):
            schema["multipleOf"] = self.random.choice([1, 2, 3, 5, 7, 10, 0.5, 0.01, 2.5])

    def strings(self, schema, depth):
        if self.chance(0.3):
            schema["minLength"] = self.random.randint(0, 4)
        if self.chance(0.3):
            schema["maxLength"] = self.random.randint(0, 6)
        if self.chance(0.35):
            schema["pattern"] = self.random.choice(PATTERNS)
        elif self.chance(0.2):
            schema["format"] = self.random.choice(["date", "time", "date-time", "ipv4", "uuid"])

    def arrays(self, schema, depth):
        if self.chance(0.6):
            schema["items"] = self.part(depth)
        if self.chance(0.25):
            schema["prefixItems"] = [self.part(depth) for _ in range(self.random.randint(1, 3))]
        if self.chance(0.25):
            schema["contains"] = self.part(depth)
            if self.chance(0.4):
                schema["minContains"] = self.random.randint(0, 2)
            if self.chance(0.4):
                schema["maxContains"] = self.random.randint(1, 3)
        if self.chance(0.3):
            schema["minItems"] = self.random.randint(0, 3)
        if self.chance(0.3):
            schema["maxItems"] = self.random.randint(0, 4)
        if self.chance(0.1):
            schema["uniqueItems"] = self.chance(0.8)
            if self.chance(0.7):
                schema["items"] = {"enum": self.random.sample(TEXTS[1:6] + [1, None, True], 4)}
        if self.chance(0.08):
            schema["unevaluatedItems"] = self.part(0)

    def objects(self, schema, depth):
        names = self.random.sample(NAMES, self.random.randint(0, 4))
        if names:
            schema["properties"] = {name: self.part(depth) for name in names}
        if self.chance(0.5):
            schema["required"] = self.random.sample(
                names, self.random.randint(0, len(names))) + (["zz"] if self.chance(0.1) else [])
        if self.chance(0.5):
            schema["additionalProperties"] = self.chance(0.3) or (
                self.part(depth) if self.chance(0.4) else False)
        if self.chance(0.2):
            schema["patternProperties"] = {key: self.part(depth) for key in
                                           self.random.sample(KEYS, self.random.randint(1, 2))}
        if self.chance(0.1):
            schema["propertyNames"] = self.part(0)
        if self.chance(0.15):
            schema["minProperties"] = self.random.randint(0, 3)
        if self.chance(0.15):
            schema["maxProperties"] = self.random.randint(0, 4)
        if self.chance(0.1):
            schema["dependentRequired"] = {self.random.choice(NAMES): self.random.sample(NAMES, 1)}
        if self.chance(0.1):
            schema["dependentSchemas"] = {self.random.choice(NAMES): self.part(depth)}
        if self.chance(0.08):
            schema["unevaluatedProperties"] = self.part(0) if self.chance(0.4) else False

    def constants(self, schema, depth):
        pool = [*TEXTS, *NUMBERS, None, True, False, [], [1, "a"], {"a": 1},
                {"b": [None], "a": "x"}]
        if self.chance(0.3):
            schema["const"] = self.random.choice(pool)
        else:
            schema["enum"] = self.random.sample(pool, self.random.randint(1, 6))

    def combine(self, schema, depth, guarded):
        word = self.random.choice(["allOf", "anyOf", "anyOf", "oneOf", "not", "if", "$ref"])
        if word == "$ref":
            if guarded or not self.definitions:
                return
            name = self.random.choice(self.definitions)
            schema["$ref"] = "#/$defs/" + name
        elif word == "not":
            schema["not"] = self.part(depth, guarded)
        elif word == "if":
            schema["if"] = self.part(depth, guarded)
            for other in "then", "else":
                if self.chance(0.7):
                    schema[other] = self.part(depth, guarded)
        else:
            schema[word] = [self.part(depth, guarded) for _ in range(self.random.randint(1, 3))]

    # Values.

    def any_value(self, depth=2):
        choice = self.random.random()
        if choice < 0.15:
            return self.random.choice([None, True, False])
        if choice < 0.4 or not depth:
            return self.random.choice(NUMBERS + TEXTS)
        if choice < 0.65:
            return [self.any_value(depth - 1) for _ in range(self.random.randint(0, 3))]
        return {name: self.any_value(depth - 1)
                for name in self.random.sample(NAMES, self.random.randint(0, 3))}

    def value(self, judge, schema, depth=4):
        """A value near the schema; often it matches."""
        if isinstance(schema, bool) or depth < 0 or self.chance(0.03):
            return self.any_value(1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        for word in "allOf", "anyOf", "oneOf":
            if word in schema and self.chance(0.35):
                return self.value(judge, self.random.choice(schema[word]), depth - 1)
        for word in "then", "else", "if":
            if word in schema and self.chance(0.3):
                return self.value(judge, schema[word], depth - 1)
        if "$ref" in schema and (len(schema) < 3 or self.chance(0.5)):
            return self.value(judge, judge.target(schema["$ref"]), depth - 1)
        kinds = schema.get("type") or self.kinds_of(schema)
        kind = self.random.choice(kinds) if isinstance(kinds, list) else kinds
        if kind == "object":
            return self.object_near(judge, schema, depth)
        if kind == "array":
            return self.array_near(judge, schema, depth)
        if kind == "string":
            return self.text_near(schema)
        if kind in ("integer", "number"):
            return self.number_near(schema, kind)
        return None if kind == "null" else self.chance(0.5)

    @staticmethod
    def kinds_of(schema):
        kinds = [kind for kind, words in {
            "object": ("properties", "required", "additionalProperties", "patternProperties",
                       "propertyNames", "minProperties", "dependentRequired", "dependentSchemas"),
            "array": ("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"),
            "string": ("minLength", "maxLength", "pattern", "format"),
            "number": ("minimum", "maximum", "multipleOf", "exclusiveMinimum")}.items()
            if any(word in schema for word in words)]
        return kinds or ["null", "boolean", "string", "number"]

    def number_near(self, schema, kind):
        bounds = [schema[word] for word in ("minimum", "maximum", "exclusiveMinimum",
                                            "exclusiveMaximum", "multipleOf") if word in schema]
        number = self.random.choice(bounds or NUMBERS)
        if self.chance(0.5):
            number = round(number + self.random.choice([0, 1, -1, 0.01, -0.01, 0.5, 3, 10]), 4)
        if "multipleOf" in schema and self.chance(0.7):
            number = round(schema["multipleOf"] * self.random.randint(-4, 12), 4)
        return int(number) if kind == "integer" or number == int(number) else number

    def text_near(self, schema):
        text = self.random.choice(TEXTS)
        if self.chance(0.4):
            text += self.random.choice(["a", "b", "1", "é", "z"])
        return text

    def array_near(self, judge, schema, depth):
        first = schema.get("prefixItems", [])
        least, most = schema.get("minItems", 0), schema.get("maxItems", 4)
        count = self.random.randint(min(least, most), max(least, most))
        parts = [first[i] if i < len(first) else schema.get("items", True) for i in range(count)]
        if "contains" in schema and parts and self.chance(0.8):
            for i in self.random.sample(range(count), min(count, schema.get("minContains", 1))):
                parts[i] = schema["contains"]
        return [self.value(judge, part, depth - 1) for part in parts]

    def object_near(self, judge, schema, depth):
        result = {}
        properties = schema.get("properties", {})
        needed = set(schema.get("required", []))
        for name, part in properties.items():
            if self.chance(0.97 if name in needed else 0.5):
                result[name] = self.value(judge, part, depth - 1)
        for name in needed - properties.keys():
            result[name] = self.any_value(1)
        extra = schema.get("additionalProperties", True)
        for name in self.random.sample(NAMES + ["zz", "d"], self.random.randint(0, 2)):
            if name not in result and self.chance(0.6 if extra is not False else 0.1):
                result[name] = self.value(judge, extra, depth - 1)
        return result

    def mutated(self, value):
        """The value with one thing changed."""
        if isinstance(value, dict) and value and self.chance(0.8):
            name = self.random.choice(list(value))
            result = dict(value)
            if self.chance(0.4):
                del result[name]
            else:
                result[name] = self.mutated(value[name])
            return result
        if isinstance(value, list) and value and self.chance(0.8):
            result = list(value)
            at = self.random.randrange(len(value))
            result[at:at + 1] = self.random.choice(
                [[], [self.mutated(value[at])], [value[at], value[at]]])
            return result
        if isinstance(value, str) and self.chance(0.6):
            return value[1:] if self.chance(0.5) else value + self.random.choice("a1é")
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self.chance(0.6):
            return self.number_near({"minimum": value}, "number")
        return self.any_value(1)
