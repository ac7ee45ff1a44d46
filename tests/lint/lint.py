#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of CONTRIBUTING.md on every file of the checkout, then that each rule finds
what it is for. Prints each problem as `path:line: what`, and the counts as the last line."""
import pathlib
import sys

sys.dont_write_bytecode = True
import binaries
import documents
import formatting
import layering
import layout
import pages
import selftest
import tree
import wording

SOURCE_RULES = [*layering.RULES, *layout.RULES, *wording.RULES, *documents.RULES, *pages.RULES]


def main():
    checkout = tree.read_checkout(pathlib.Path(__file__).resolve().parents[2])
    passed = failed = skipped = 0
    rules = list(SOURCE_RULES)
    for module in binaries, formatting:
        if module.available(checkout):
            rules += module.RULES
        else:
            for name, _ in module.RULES:
                print(f"SKIP {name}: {module.NEEDS}")
                skipped += 1
    for name, rule in rules:
        problems = list(rule(checkout))
        for problem in problems:
            print(f"{problem} [{name}]")
        failed += bool(problems)
        passed += not problems
    known = {name for name, _ in SOURCE_RULES}
    for problem in selftest.run(SOURCE_RULES):
        print(f"{problem} [selftest]")
        failed += 1
        known.discard(problem.split(":")[0])
    passed += len(known)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
