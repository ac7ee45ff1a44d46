# SPDX-License-Identifier: Apache-2.0
"""What the README says is not there yet, and docs/coming-from.md is missing, is: no option of any
program, key of a request or word of a recipe has a name of it, the server refuses the fields that
ask for it, and the tree has no place for it. A claim that stands in no row here is refused, so that
whoever builds the thing is told to correct the page."""
import re
import unittest

import harness

# What each claim is held to: `names` of options, keys and words that would make it untrue, `fields`
# that the server must refuse, `paths` that may not be there, `says`: a file and its text, `lacks`:
# files and what none of them has.
DEVICES = {"names": r"parallel|devices|gpus|ranks|nodes", "paths": ["runtime/devices/*nccl*"]}
SPECULATIVE = {"names": r"draft|speculat", "paths": ["runtime/serving/*Draft*"]}
CLAIMS = {
    "several devices": DEVICES, "several gpus or several machines for one model": DEVICES,
    "speculative decoding": SPECULATIVE,
    "beam search": {"names": "beam", "fields": ["use_beam_search"]},
    "lora adapters that are chosen for each request": {"fields": ["lora", "lora_path"]},
    "sound": {"names": "audio|sound", "fields": ["audio"]},
    "video": {"names": "video", "fields": ["media_io_kwargs"]},
    "figures from a gpu": {"says": ("docs/results/on-gpus.md", "**NOT MEASURED**")},
    "`--weight_streaming`": {"names": "weight-?stream"}, "`--strip_plan`": {"names": "strip"},
    "refitting": {"names": "refit"}, "context logits as an output": {"names": "context-?logits"},
    "triton": {"paths": ["**/*[Tt]riton*"]},
    "dry": {"names": "dry", "fields": ["dry_multiplier"]},
    "xtc": {"names": "xtc", "fields": ["xtc_probability"]},
    "mirostat": {"names": "mirostat", "fields": ["mirostat"]},
    "metal": {"paths": ["codegen/metal"]}, "vulkan": {"paths": ["codegen/vulkan"]},
    "rocm": {"paths": ["codegen/rocm", "codegen/hip"]},
    "arm": {"paths": ["codegen/arm*", "codegen/aarch64"]},
    "embeddings": {"says": ("runtime/server/Router.cpp",
                            '"/v1/embeddings", &Router::notServed')},
    "pooling models": {"names": "pooling"},
    "plugins": {"names": "plugin", "fields": ["plugins"]},
    "macs": {"paths": ["runtime/**/*Darwin*", "runtime/**/*.mm"]},
    "windows": {"paths": ["runtime/**/*Windows*", "runtime/**/*Win32*"]},
}


def text_of(path):
    return (harness.ROOT / path).read_text(encoding="utf-8")


def things(text):
    """"a, b and c; d" as a list, without what else is said of them."""
    text = " ".join(text.split()).strip(" .").lower()
    return [thing.strip(" .") for thing in re.split(r"[;,]| and ", text) if thing.strip(" .")]


def claims():
    """(page, claim) of all that is said to be missing."""
    readme = text_of("README.md")
    found = [("README.md", thing) for pattern in
             (r"Not there yet: ([^.]*)\.", r"([A-Z][\w ]*): not yet\.", r"not yet with ([^.]*)\.")
             for text in re.findall(pattern, readme) for thing in things(text)]
    page = "docs/coming-from.md"
    bullets, = re.findall(r"Missing from Ingot today:\n\n((?:[- ] ?.*\n)+)", text_of(page))
    lists = [bullet.split(". ")[0] for bullet in bullets.split("\n- ")]
    lists += re.findall(r"Missing, too: ([^.]*)\.", text_of(page))
    return found + [(page, thing) for text in lists for thing in things(text.lstrip("- "))]


def names_of_all():
    """Long options of every command, keys of requests and words of recipes."""
    names = set()
    for command in [("ingot", name) for name in ("build", "quantize", "plan", "bisect", "verify")
                    ] + [("ingot-server",), ("ingot-run",)] + [
                        ("ingot-run", name) for name in ("selftest", "bench", "eval", "tune",
                                                         "template", "inspect", "diff", "match")]:
        names |= harness.options_of(*command)
    for path in ("runtime/tools/RequestJson.cpp", "compiler/recipe/RecipeWords.cpp"):
        names |= set(re.findall(r'[{(]"([a-z][\w-]*)"', text_of(path)))
    return names


class Gaps(unittest.TestCase):
    def test_claims_are_true(self):
        names = names_of_all()
        for known in ("--prompts", "--recipe", "--api-keys", "temperature", "smoothquant"):
            self.assertIn(known, names)
        refused = set(re.findall(r'^    \{"(\w+)", [^}\n]*(?<!anything)\}',
                                 text_of("runtime/server/UnservedFields.cpp"), re.MULTILINE))
        found = claims()
        self.assertGreater(len(found), 20)
        for page, claim in found:
            with self.subTest(page=page, claim=claim):
                self.assertIn(claim, CLAIMS, "tie it to a name")
                held = CLAIMS[claim]
                untrue = [name for name in names if held.get("names") and
                          re.search(held["names"], name)]
                self.assertEqual(untrue, [], "there is something of this name")
                self.assertEqual(set(held.get("fields", ())) - refused, set(), "these are served")
                for pattern in held.get("paths", ()):
                    self.assertEqual(list(harness.ROOT.glob(pattern)), [], "this is there")
                if "lacks" in held:
                    pattern, word = held["lacks"]
                    files = [path for path in harness.ROOT.glob(pattern) if path.is_file()]
                    self.assertTrue(files, pattern)
                    self.assertEqual([path for path in files if word in path.read_text()], [])
                if "says" in held:
                    self.assertIn(held["says"][1], text_of(held["says"][0]))

    def test_no_claim_is_forgotten(self):
        """Rows here that no page needs go."""
        self.assertEqual(set(CLAIMS) - {claim for _, claim in claims()}, set())


if __name__ == "__main__":
    harness.main()
