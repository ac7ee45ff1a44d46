# SPDX-License-Identifier: Apache-2.0
"""Judges values by JSON Schema 2020-12, plainly and slowly: the other opinion of the test that
generates schemas. Formats are asserted; expressions are read by `re`, as far as it agrees with
ECMA-262 (the generator writes no others)."""
import datetime
import fractions
import ipaddress
import re

KINDS = {"null": type(None), "boolean": bool, "string": str, "array": list, "object": dict}
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)",
                  re.ASCII)


def is_number(value):
    return isinstance(value, (int, float, fractions.Fraction)) and not isinstance(value, bool)


def exact(value):
    """A number as it is written."""
    return fractions.Fraction(str(value))


def is_kind(value, name):
    if name == "number":
        return is_number(value)
    if name == "integer":
        return is_number(value) and exact(value).denominator == 1
    return isinstance(value, KINDS[name])


def equal(left, right):
    """JSON's equality: true is not 1, 1.0 is."""
    if is_number(left) and is_number(right):
        return exact(left) == exact(right)
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(equal(left[k], right[k]) for k in left)
    return left == right


def found(pattern, text):
    return re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None


def is_date(text):
    try:
        return re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) is not None and bool(
            datetime.date(int(text[:4]) or 4, int(text[5:7]), int(text[8:])))
    except ValueError:
        return False


def is_address(kind):
    def judge(text):
        try:
            return bool(kind(text))
        except ValueError:
            return False
    return judge


FORMATS = {
    "date": is_date,
    "time": lambda text: TIME.fullmatch(text) is not None,
    "date-time": lambda text: (is_date(text[:10]) and text[10:11] in ("T", "t")
                               and TIME.fullmatch(text[11:]) is not None),
    "ipv4": is_address(ipaddress.IPv4Address),
    "uuid": lambda text: UUID.fullmatch(text) is not None,
}


class Judge:
    def __init__(self, root):
        self.root = root
        self.anchors = {}
        self.find_anchors(root)

    def find_anchors(self, schema):
        if isinstance(schema, dict):
            if isinstance(schema.get("$anchor"), str):
                self.anchors[schema["$anchor"]] = schema
            for part in schema.values():
                self.find_anchors(part)
        elif isinstance(schema, list):
            for part in schema:
                self.find_anchors(part)

    def target(self, reference):
        if reference == "#":
            return self.root
        if not reference.startswith("#/"):
            return self.anchors[reference[1:]]
        at = self.root
        for step in reference[2:].split("/"):
            at = at[step.replace("~1", "/").replace("~0", "~")]
        return at

    def valid(self, value, schema=None):
        return self.look(value, self.root if schema is None else schema) is not None

    def look(self, value, schema):
        """What the schema has looked at (names, items), or None where the value does not match."""
        if isinstance(schema, bool):
            return (set(), set()) if schema else None
        names, items = set(), set()
        for check in (self.own, self.strings_and_numbers, self.arrays, self.objects, self.parts):
            seen = check(value, schema)
            if seen is None:
                return None
            names |= seen[0]
            items |= seen[1]
        if isinstance(value, dict) and "unevaluatedProperties" in schema:
            for name in value.keys() - names:
                if not self.valid(value[name], schema["unevaluatedProperties"]):
                    return None
            names = set(value)
        if isinstance(value, list) and "unevaluatedItems" in schema:
            for i in set(range(len(value))) - items:
                if not self.valid(value[i], schema["unevaluatedItems"]):
                    return None
            items = set(range(len(value)))
        return names, items

    def own(self, value, schema):
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        fits = (("type" not in schema or any(is_kind(value, kind) for kind in kinds))
                and ("const" not in schema or equal(value, schema["const"]))
                and ("enum" not in schema or any(equal(value, one) for one in schema["enum"])))
        return (set(), set()) if fits else None

    def strings_and_numbers(self, value, schema):
        fits = True
        if is_number(value):
            number = exact(value)
            fits = all(
                test(number, exact(schema[word])) for word, test in (
                    ("minimum", lambda a, b: a >= b), ("maximum", lambda a, b: a <= b),
                    ("exclusiveMinimum", lambda a, b: a > b),
                    ("exclusiveMaximum", lambda a, b: a < b),
                    ("multipleOf", lambda a, b: (a / b).denominator == 1)) if word in schema)
        elif isinstance(value, str):
            fits = (schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1 << 40)
                    and ("pattern" not in schema or found(schema["pattern"], value))
                    and ("format" not in schema or FORMATS[schema["format"]](value)))
        return (set(), set()) if fits else None

    def arrays(self, value, schema):
        if not isinstance(value, list):
            return set(), set()
        seen = set()
        first = schema.get("prefixItems", [])
        for i, (item, part) in enumerate(zip(value, first)):
            seen.add(i)
            if not self.valid(item, part):
                return None
        if "items" in schema:
            seen |= set(range(len(value)))
            if not all(self.valid(item, schema["items"]) for item in value[len(first):]):
                return None
        if "contains" in schema:
            held = {i for i, item in enumerate(value) if self.valid(item, schema["contains"])}
            seen |= held
            if not (schema.get("minContains", 1) <= len(held)
                    <= schema.get("maxContains", len(held))):
                return None
        if schema.get("uniqueItems") and any(
                equal(value[i], value[j]) for i in range(len(value)) for j in range(i)):
            return None
        fits = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return (set(), seen) if fits else None

    def objects(self, value, schema):
        if not isinstance(value, dict):
            return set(), set()
        seen = set()
        for name, item in value.items():
            parts = [part for key, part in schema.get("properties", {}).items() if key == name]
            parts += [part for pattern, part in schema.get("patternProperties", {}).items()
                      if found(pattern, name)]
            if not parts and "additionalProperties" in schema:
                parts = [schema["additionalProperties"]]
            if parts:
                seen.add(name)
            if not all(self.valid(item, part) for part in parts):
                return None
            if not self.valid(name, schema.get("propertyNames", True)):
                return None
        needed = set(schema.get("required", []))
        for name, more in schema.get("dependentRequired", {}).items():
            needed |= set(more) if name in value else set()
        fits = (needed <= value.keys()
                and schema.get("minProperties", 0) <= len(value)
                <= schema.get("maxProperties", len(value)))
        return (seen, set()) if fits else None

    def parts(self, value, schema):
        """What applies in place."""
        needed = [*schema.get("allOf", [])]
        if "$ref" in schema:
            needed.append(self.target(schema["$ref"]))
        for name, part in schema.get("dependentSchemas", {}).items():
            if isinstance(value, dict) and name in value:
                needed.append(part)
        if "not" in schema and self.valid(value, schema["not"]):
            return None
        seen = [self.look(value, part) for part in needed]
        if "if" in schema:
            condition = self.look(value, schema["if"])
            seen.append(condition or (set(), set()))
            seen.append(self.look(value, schema.get("else" if condition is None else "then", True)))
        for word in "anyOf", "oneOf":
            if word in schema:
                fitting = [one for part in schema[word]
                           if (one := self.look(value, part)) is not None]
                if not fitting or (word == "oneOf" and len(fitting) > 1):
                    return None
                seen += fitting
        if None in seen:
            return None
        return set().union(*(one[0] for one in seen)), set().union(*(one[1] for one in seen))
