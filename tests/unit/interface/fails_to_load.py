# SPDX-License-Identifier: Apache-2.0
"""usage: fails_to_load.py PROGRAM

A program of an earlier version of the interface ends while it is loaded, for want of a library or a
symbol, and never runs."""
import subprocess
import sys

result = subprocess.run([sys.argv[1]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
print(result.stdout, end="")
missing = ("undefined symbol: ingot_open", "undefined symbol: ingot_options_init",
           "libingot.so.0: cannot open shared object file")
if result.returncode == 0 or "loaded" in result.stdout:
    sys.exit("the program was loaded")
if not any(text in result.stdout for text in missing):
    sys.exit("it ended for another reason")
