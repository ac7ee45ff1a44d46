# SPDX-License-Identifier: Apache-2.0
"""Writes the first shared object of kernels that an engine file holds: kernels_of.py ENGINE OUT."""
import pathlib
import sys

engine = pathlib.Path(sys.argv[1]).read_bytes()
pathlib.Path(sys.argv[2]).write_bytes(engine[engine.index(b"\x7fELF"):])
