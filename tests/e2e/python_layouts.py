# SPDX-License-Identifier: Apache-2.0
"""The Python package declares structures and functions as `ingot.h` does: a program of C tells
offsets and sizes, and the header's text what functions take."""
import ctypes
import pathlib
import re
import struct
import subprocess
import tempfile

import harness
from python_tree import PackageTest

HEADER = harness.ROOT / "runtime" / "include" / "ingot" / "ingot.h"
FUNCTION = re.compile(r"^INGOT_(?:API|CHECK) ([\w ]+?\**) ?(?:\**|const \*)(ingot_\w+)\(([^)]*)\);",
                      re.MULTILINE)
# What the parameters of a type of C are in ctypes; all else are pointers.
SCALARS = {"size_t": ctypes.c_size_t, "bool": ctypes.c_bool, "double": ctypes.c_double,
           "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32, "int": ctypes.c_int}


class Layouts(PackageTest):
    def setUp(self):
        from ingot_llm import _structures
        self.declared = _structures
        comment = re.compile(r"/\*.*?\*/", re.DOTALL)
        self.header = comment.sub("", HEADER.read_text(encoding="ascii"))

    def probe(self, lines):
        """What a C program prints that has these statements."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "probe.c").write_text(
            '#include <stdio.h>\n#include "ingot.h"\nint main(void) {\n' + "\n".join(lines) +
            "\nreturn 0;\n}\n", encoding="ascii")
        subprocess.run(["cc", "-I", HEADER.parent, "-o", folder / "probe", folder / "probe.c"],
                       check=True, timeout=harness.LIMIT)
        return subprocess.run([folder / "probe"], check=True, capture_output=True, text=True,
                              timeout=harness.LIMIT).stdout.split()

    def test_structures(self):
        lines, expected = [], []
        for structure in self.declared.STRUCTURES:
            name = structure.__doc__.split(";")[0]
            body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", self.header,
                             re.DOTALL).group(1)
            members = re.findall(r"(\w+)(?=[,;])", body)
            self.assertEqual([field[0] for field in structure._fields_], members, name)
            for field, _ in structure._fields_:
                lines.append(f'printf("%zu %zu\\n", offsetof({name}, {field}), '
                             f"sizeof((({name} *)0)->{field}));")
                place = getattr(structure, field)
                expected += [place.offset, place.size]
            lines.append(f'printf("%zu\\n", sizeof({name}));')
            expected.append(ctypes.sizeof(structure))
        self.assertEqual(self.probe(lines), [str(number) for number in expected])

    def test_events_are_unpacked(self):
        """At once, with the places of all fields."""
        from ingot_llm._mailbox import FIELDS
        event = self.declared.Event
        codes = FIELDS.format.removeprefix("@")
        places = [struct.calcsize(f"@{codes[:count]}") - struct.calcsize(f"@{codes[count - 1]}")
                  for count in range(1, len(codes) + 1)]
        self.assertEqual(places, [getattr(event, field[0]).offset for field in event._fields_])
        self.assertEqual(FIELDS.size, ctypes.sizeof(event))

    def test_names_of_numbers(self):
        names = []
        for kind in ("FINISH", "PART"):
            own = [name for name in vars(self.declared) if name.startswith(f"{kind}_")]
            self.assertEqual([f"INGOT_{name}" for name in own],
                             re.findall(rf"INGOT_{kind}_\w+", self.header))
            names += own
        printed = self.probe([f'printf("%d\\n", INGOT_{name});' for name in names] +
                             ['printf("%d\\n", INGOT_API_VERSION);'])
        values = [getattr(self.declared, name) for name in names]
        self.assertEqual(printed, [str(value) for value in [*values, self.declared.API_VERSION]])

    def test_functions(self):
        symbols = dict(re.findall(r"^#define (ingot_\w+) (ingot_\w+_v\d+)$", self.header,
                                  re.MULTILINE))
        found = {symbols.get(name, name): (result, re.sub(r"\s+", " ", arguments))
                 for result, name, arguments in FUNCTION.findall(self.header)}
        for name, (result, arguments) in self.declared.FUNCTIONS.items():
            with self.subTest(function=name):
                returned, taken = found[name]
                self.assertEqual(result is None, returned == "void")
                taken = [] if taken == "void" else taken.split(", ")
                self.assertEqual(len(arguments), len(taken))
                for declared, text in zip(arguments, taken):
                    scalar = None if "*" in text else SCALARS.get(text.split()[0])
                    if scalar:
                        self.assertIs(declared, scalar)
                    else:
                        self.assertNotIn(declared, SCALARS.values())


if __name__ == "__main__":
    harness.main()
