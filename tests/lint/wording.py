# SPDX-License-Identifier: Apache-2.0
"""What no committed file may contain."""
import re

from tree import lines

CODE = (".h", ".hpp", ".cpp", ".c", ".td")
# Hosts that committed files may name: licences, specifications, reserved example names, and the
# Hub that names of models are of.
HOSTS = {"www.apache.org", "www.debian.org", "www.w3.org", "json-schema.org", "huggingface.co",
         "example.com", "example.org", "localhost", "127.0.0.1"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
KNOBS = re.compile(r"\b(secure_)?getenv\s*\(|\benviron\b")
FILE_LEVEL_OPTION = re.compile(r"^(static\s+)?(llvm::)?cl::(opt|list|bits|alias|OptionCategory)\b")
STATIC_REGISTRATION = re.compile(
    r"^\s*(static\s+)?(mlir::|llvm::)?(Pass|PassPipeline|Dialect|Target)Registration<"
    r"|ManagedStatic<|__attribute__\(\(constructor|\[\[gnu::constructor|REGISTER_[A-Z]+\(")
URL_HOST = re.compile(r"\b[a-z][a-z0-9+]*://([A-Za-z0-9.-]+)")
MACHINE_PATH = re.compile(r"(?<![\w.$}*/-])/(work|home|root|Users|mnt|media|srv)/\w")
# Text that models are trained on or answer with is data, not wording.
DATA = ("examples/fables/heldout.txt", "examples/fables/golden.json", "examples/fables/model/")


def _matches(tree, pattern, suffixes=None, besides=()):
    for path, text in tree.texts.items():
        if path.startswith(DATA + besides) or (suffixes and not path.endswith(suffixes)):
            continue
        for number, line in lines(text):
            match = pattern.search(line)
            if match:
                yield path, number, match


def unfinished(tree):
    """Work that is left lies in an issue."""
    for path, number, match in _matches(tree, UNFINISHED):
        yield f"{path}:{number}: {match.group(0)}: finish it or write an issue"


def environment(tree):
    """No environment variable is a knob: an engine and a run are what their options say. Where a
    user's caches lie is asked of the system, and changes no engine; so are the conventions of
    programs that download (HF_HOME, HF_ENDPOINT, HF_TOKEN, HTTPS_PROXY, NO_PROXY,
    SSL_CERT_FILE)."""
    for path, number, _ in _matches(tree, KNOBS, CODE,
                                    besides=("tests/", "codegen/BuildCache.cpp",
                                             "compiler/hub/HubSettings.cpp")):
        yield f"{path}:{number}: options come from the command line and the API"


def global_state(tree):
    """No file-level options and nothing that registers itself: a program lists what it has."""
    for pattern in FILE_LEVEL_OPTION, STATIC_REGISTRATION:
        for path, number, match in _matches(tree, pattern, CODE):
            yield f"{path}:{number}: {match.group(0).strip()}: list it where it is used"


def places(tree):
    """Nothing committed depends on one network or one machine."""
    for path, number, match in _matches(tree, URL_HOST):
        if match.group(1).lower().rstrip(".") not in HOSTS:
            yield f"{path}:{number}: {match.group(0)}: the host is not listed in {__name__}.py"
    for path, number, match in _matches(tree, MACHINE_PATH):
        yield f"{path}:{number}: {match.group(0)}: a path of one machine"


RULES = [("unfinished", unfinished), ("environment", environment), ("global-state", global_state),
         ("places", places)]
