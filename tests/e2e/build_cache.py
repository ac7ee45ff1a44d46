# SPDX-License-Identifier: Apache-2.0
"""What `ingot build` keeps in its cache changes no byte of an engine, whatever state it is in."""
import json
import os
import re

import harness

TARGETS = ("--target", "reference", "--target", "x86-64-v3", "--target", "sm_80")
LIMITS = ("--max-context", 8, "--max-batch-tokens", 4, "--max-sequences", 1, "--max-logit-rows", 1)
KINDS = {"cuda-cubin", "cuda-log", "cuda-ptx", "native-object"}


class SameBytes(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.model = self.checkpoint("--shape", "tiny")
        self.cache = self.folder / "cache"
        self.builds = 0

    def engine(self, *options):
        """The bytes of a new engine, and what its report says of the cache."""
        self.builds += 1
        output = self.fresh(f"engine-{self.builds}") / "m.ingot"
        report = self.folder / "report.json"
        self.assert_built(self.build(self.model, output, *TARGETS, *LIMITS, "--recipe",
                                     "exact", "--report", report, *options), output)
        return output.read_bytes(), json.loads(report.read_text())["cache"]

    def entries(self):
        return [path for path in self.cache.glob("*/*") if path.name.endswith(".ingot-entry")]

    def test_every_state_of_the_cache(self):
        plain, said = self.engine("--no-cache")
        self.assertEqual(said, {"folder": None, "because": "--no-cache"})
        use = ("--cache", self.cache)

        # Comparing with == alone: a difference of megabytes is not worth printing.
        built, said = self.engine(*use)
        self.assertTrue(built == plain, "with an empty cache")
        count = len(self.entries())
        self.assertEqual({path.parent.name for path in self.entries()}, KINDS)
        # Golden tokens are made by the engine's own reference target, which is compiled once.
        self.assertEqual((said["misses"], said["hits"]), (count, 0))

        built, full = self.engine(*use)
        self.assertTrue(built == plain, "with a full cache")
        self.assertEqual((full["misses"], full["hits"]), (0, count))

        # One kernel that is missing passes the bound when it is put back.
        limit = sum(path.stat().st_size for path in self.entries()) - 1
        next(path for path in self.entries() if path.parent.name == "native-object").unlink()
        built, said = self.engine(*use, "--cache-limit", limit)
        self.assertTrue(built == plain, "while entries are removed")
        self.assertLess(sum(path.stat().st_size for path in self.entries()), limit)
        left = len(self.entries())
        self.assertLess(left, count)
        built, said = self.engine(*use)
        self.assertTrue(built == plain, "after entries were removed")
        self.assertGreaterEqual(said["misses"], count - left)
        self.assertEqual(len(self.entries()), count)

        for number, path in enumerate(sorted(self.entries())):
            data = bytearray(path.read_bytes())
            data[number * 997 % len(data)] ^= 1 << number % 8
            path.write_bytes(data if number % 2 else data[:len(data) * 2 // 3])
        built, said = self.engine(*use)
        self.assertTrue(built == plain, "with every entry damaged")
        self.assertEqual(said["misses"], count)
        self.assertEqual(self.engine(*use)[1], full)


class Folders(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.model = self.checkpoint("--shape", "tiny")
        self.output = self.fresh("out") / "m.ingot"
        self.caches = self.fresh("caches")

    def built(self, *options, **variables):
        """A build in an environment with these variables alone; what it says, and its report."""
        report = self.folder / "report.json"
        result = self.build(self.model, self.output, "--report", report, *options,
                            env={"PATH": os.environ["PATH"], **variables})
        self.assert_built(result, self.output)
        return result.stdout, json.loads(report.read_text())["cache"]

    def test_default(self):
        said, report = self.built(XDG_CACHE_HOME=str(self.caches))
        self.assertEqual(report["folder"], str(self.caches / "ingot"))
        self.assertRegex(said, rf"cache: 0 hits, {report['misses']} misses")
        self.assertEqual((self.caches / "ingot").stat().st_mode & 0o777, 0o700)
        _, report = self.built(HOME=str(self.caches))
        self.assertEqual(report["folder"], str(self.caches / ".cache/ingot"))

    def test_no_home(self):
        said, report = self.built()
        self.assertIsNone(report["folder"])
        self.assertIn("HOME", report["because"])
        self.assertNotRegex(said, "warning|hits")

    def test_a_folder_that_others_may_write(self):
        folder = self.caches / "ingot"
        folder.mkdir()
        folder.chmod(0o777)
        said, report = self.built(XDG_CACHE_HOME=str(self.caches))
        self.assertRegex(said, "warning: INGOT-E7040: .*" + re.escape(str(folder)))
        self.assertIsNone(report["folder"])
        self.assertIn("INGOT-E7040", report["because"])
        self.assertEqual(list(folder.iterdir()), [])
        self.output.unlink()
        self.assert_refused(self.build(self.model, self.output, "--cache", folder), self.output,
                            "error: INGOT-E7040: .*" + re.escape(str(folder)))

    def test_options_that_contradict(self):
        for option in (("--cache", self.caches), ("--cache-limit", "1GiB")):
            self.assert_refused(self.build(self.model, self.output, "--no-cache", *option),
                                self.output, "INGOT-E2103")

    def test_a_rebuild_uses_none(self):
        cache = ("--cache", self.caches / "one")
        self.built(*cache)
        for entry in (self.caches / "one").glob("*/*"):
            os.utime(entry, (0, 0))
        result = self.ingot("verify", self.output, "--rebuild", self.model, *cache)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertNotIn("hits", result.stdout)
        entries = list((self.caches / "one").glob("*/*"))
        self.assertTrue(all(entry.stat().st_mtime == 0 for entry in entries))
        result = self.ingot("verify", self.output, "--numerics", self.model, *cache)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"cache: \d\d hits, 0 misses")
        self.assertTrue(all(entry.stat().st_mtime > 0 for entry in entries))


class Command(harness.BuildTest):
    def test_list_and_clear(self):
        cache, output = self.folder / "cache", self.fresh("out") / "m.ingot"
        result = self.ingot("cache", "list", "--cache", cache)
        self.assertEqual((result.returncode, result.stdout),
                         (0, f"{cache}\n  there is no such folder\n"))
        self.assertFalse(cache.exists())
        self.assert_built(self.build(self.checkpoint("--shape", "tiny"), output, "--cache", cache),
                          output)
        files = list((cache / "native-object").iterdir())
        os.utime(files[0], (1e9, 1e9))
        listed = self.ingot("cache", "list", "--cache", cache)
        self.assertEqual(listed.returncode, 0, listed.stdout)
        row = rf" +{len(files)} +\d[\d.]* KiB +2001-09-0[89] \d\d:\d\d +20[2-9]\d-[\d -]+:\d\d\n"
        self.assertRegex(listed.stdout, rf"^{re.escape(str(cache))}\n  kind .*\n"
                         rf"  native-object{row}  all{row}  builds let it grow to 2.0 GiB, .*\n$")
        (cache / "mine.txt").write_text("stays")
        cleared = self.ingot("cache", "clear", "--cache", cache)
        self.assertEqual(cleared.returncode, 0, cleared.stdout)
        self.assertRegex(cleared.stdout, rf"removed {len(files)} entries, \d[\d.]* KiB")
        self.assertEqual(os.listdir(cache), ["mine.txt"])
        self.assertIn("no entries", self.ingot("cache", "list", "--cache", cache).stdout)

    def test_what_is_refused(self):
        folder = self.fresh("open")
        folder.chmod(0o777)
        for action in ("list", "clear"):
            result = self.ingot("cache", action, "--cache", folder)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn("error: INGOT-E7040: ", result.stdout)
            result = self.ingot("cache", action, env={})
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn("error: INGOT-E7041: ", result.stdout)
        result = self.ingot("cache")
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("INGOT-E2103", result.stdout)

    def test_examples_are_in_the_help(self):
        for words in (("cache",), ("cache", "list"), ("cache", "clear")):
            result = self.ingot(*words, "--help")
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("ingot cache list --cache kernels", result.stdout)


if __name__ == "__main__":
    harness.main()
