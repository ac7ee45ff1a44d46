#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated templates, rendered by Ingot and by Python's Jinja2 (build/jinja2, from scripts/setup
--full) as Hugging Face sets it up: texts are equal, and errors are errors on both sides."""
import copy
import datetime
import json
import pathlib
import random
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
for packages in (ROOT / "build" / "jinja2").glob("lib/python3*/site-packages"):
    sys.path.insert(0, str(packages))
try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
except ImportError:
    print("SKIP jinja: scripts/setup --full installs it")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import template_grammar

TEMPLATES = 10_000


class Generation(jinja2.ext.Extension):
    """{% generation %}, which prints what is in it."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.TemplateError(message)

    def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = raise_exception
    now = datetime.datetime(2024, 7, 26, 12, 34, 56)
    made.globals["strftime_now"] = now.strftime
    return made


def expected(made, template, variables):
    """The text, or the exception."""
    try:
        # A copy: some filters of Jinja2 change the list that they are given.
        return made.from_string(template).render(**copy.deepcopy(variables)), None
    except Exception as error:  # any: what a template may raise is all of Python's
        return None, f"{type(error).__name__}: {error}"


def unequal_by_choice(error, text, answer):
    """Differences that decision 0091 names; and Jinja's own between what it computes when it
    compiles, where a slice of a number is undefined, and later, where it is an error."""
    refusal = answer.get("error", "")
    return ("more than 64 bits" in refusal or "cannot be sliced" in refusal
            or "INGOT-E6067" in refusal  # Python makes a text of gigabytes
            or "at 0x" in (text or "")
            or "Exceeds the limit" in (error or ""))


def main(program, count, seed):
    warnings.simplefilter("ignore")  # Python's, about expressions that cannot work
    made = environment()
    grammar = template_grammar.Grammar(random.Random(seed))
    variables = template_grammar.VARIABLES
    templates = [grammar.template() for _ in range(count)]
    requests = "".join(json.dumps({"template": template, "variables": variables}) + "\n"
                       for template in templates)
    result = subprocess.run([program], input=requests, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == count, (len(answers), count)
    rendered = refused = differences = 0
    for number, (template, answer) in enumerate(zip(templates, answers)):
        text, error = expected(made, template, variables)
        if unequal_by_choice(error, text, answer):
            continue
        rendered += error is None
        refused += error is not None
        if answer.get("ok") == text:
            continue
        differences += 1
        if differences <= 20:
            print(f"FAIL template {number} of seed {seed}: {template!r}\n"
                  f"  jinja2: {text!r} {error}\n"
                  f"  ingot:  {answer.get('ok')!r} {answer.get('error')}")
    print(f"{rendered} rendered, {refused} refused, {differences} differ")
    # Templates that are all errors would test little.
    passed = differences == 0 and rendered > count // 2 and refused > count // 50
    print(f"{int(passed)} passed, {int(not passed)} failed, 0 skipped")
    return not passed


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    sys.exit(main(folder / "render-templates", int(sys.argv[2]) if len(sys.argv) > 2 else TEMPLATES,
                  int(sys.argv[3]) if len(sys.argv) > 3 else 1))
