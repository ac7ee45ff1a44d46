# SPDX-License-Identifier: Apache-2.0
"""`ingot run` and `ingot serve`: build once for the same model, options and program, and answer as
the programs of the runtime do."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import harness


class RunCommand(harness.BuildTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.model = self.copy_of(harness.FABLES)

    def answer(self, *options, cache=True, model=None):
        """The text on both streams, and whether a build was needed."""
        options = ("--cache", self.cache, *options) if cache else options
        result = self.ingot("run", model or self.model, "--target", "reference", "-p",
                            "Once upon a time", "-n", "8", "--greedy", "--threads", "2", *options)
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout, "wrote " in result.stdout

    def engines(self):
        return sorted((self.cache / "engines").glob("*.ingot"))

    def test_builds_once(self):
        text, built = self.answer()
        self.assertTrue(built, text)
        # Whoever else runs it would take another time of modification for damage.
        [engine] = self.engines()
        os.utime(engine, (1e9, 1e9))
        again, built = self.answer()
        self.assertFalse(built, again)
        self.assertEqual(engine.stat().st_mtime, 1e9)
        self.assertGreater(engine.stat().st_atime, 1e9)
        plain = self.ingot_run(self.engines()[0], "-p", "Once upon a time", "-n", "8", "--greedy")
        self.assertIn(plain.stdout.strip(), text)
        self.assertIn(plain.stdout.strip(), again)
        self.assertEqual(self.engines()[0].parent.stat().st_mode & 0o777, 0o700)

    def keep(self, *options, **more):
        return subprocess.run(
            [harness.programs / "ingot", "keep", self.model, "--target", "reference", *options],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=harness.LIMIT,
            check=False, **more)

    def test_keep_tells_where(self):
        """The engine is that of `run`."""
        kept = self.keep("--cache", self.cache)
        self.assertIn("wrote ", kept.stderr)
        engine, = self.engines()
        self.assertEqual((kept.returncode, kept.stdout), (0, f"{engine}\n"))
        again = self.keep("--cache", self.cache)
        self.assertEqual((again.stdout, "wrote " in again.stderr), (kept.stdout, False))
        self.assertFalse(self.answer()[1])
        homeless = self.keep(env={"PATH": os.environ["PATH"]})
        self.assertEqual((homeless.returncode, homeless.stdout), (1, ""))
        self.assertIn("INGOT-E7043", homeless.stderr)
        self.assertNotIn("stream weights", homeless.stderr)

    def replace(self, file, data):
        """Another file of that name and size, from the same second as those of an image."""
        other = file.with_name("other")
        other.write_bytes(data)
        os.utime(other, (1e9, 1e9))
        other.rename(file)

    def test_contents_decide(self):
        for file in self.model.iterdir():
            os.utime(file, (1e9, 1e9))
        weights = self.model / "model.safetensors"
        data = weights.read_bytes()
        text, built = self.answer()
        self.assertTrue(built, text)
        self.assertIn("digest inputs", text)
        # Nothing was changed, and nothing is read.
        again, built = self.answer()
        self.assertFalse(built, again)
        self.assertNotIn("digest inputs", again)
        self.replace(weights, data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        other, built = self.answer()
        self.assertTrue(built, other)
        # Those of before again, here and elsewhere, by another path.
        self.replace(weights, data)
        link = self.folder / "link"
        link.symlink_to(self.folder)
        for model in (self.model, link / self.model.name,
                      shutil.copytree(self.model, self.fresh("copies") / self.model.name)):
            text, built = self.answer(model=model)
            self.assertFalse(built, text)
            self.assertEqual("digest inputs" in text, model != link / self.model.name)
        self.assertEqual(len(self.engines()), 2)

    def test_nothing_is_left_without_a_home(self):
        """However run and serve end."""
        temporary = self.fresh("tmp")
        variables = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary)}

        def start(*arguments):
            process = subprocess.Popen(
                [harness.programs / "ingot", *map(str, arguments), "--target", "reference",
                 "--threads", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, env=variables)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.stdin.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            return process

        for command, ending in ((("serve", self.model, "--port", "0"), signal.SIGTERM),
                                (("run", self.model, "-p", "Once"), signal.SIGINT),
                                (("run", self.model, "-p", "Once"), signal.SIGKILL)):
            process = start(*command)
            said = ""
            while "serving " not in said and "wrote " not in said:
                line = process.stdout.readline()
                self.assertTrue(line, said)
                said += line
            self.assertIn("is not kept", said)
            self.assertNotEqual(os.listdir(temporary), [])
            process.send_signal(ending)
            process.wait(harness.LIMIT)
            end = time.monotonic() + harness.LIMIT
            while os.listdir(temporary) and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(os.listdir(temporary), [])

    def test_a_model_that_changes_meanwhile_is_not_kept(self):
        process = subprocess.Popen(
            [harness.programs / "ingot", "run", self.model, "--target", "reference", "-p", "Once",
             "--cache", self.cache], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        said = ""
        for line in process.stdout:
            if line.startswith("plan "):
                file = self.model / "generation_config.json"
                file.write_text(file.read_text() + " ")
            said += line
        self.assertEqual(process.wait(harness.LIMIT), 1, said)
        self.assertIn("INGOT-E7042", said)
        self.assertEqual(self.engines(), [])

    def test_nothing_is_left_of_what_is_not_kept(self):
        """Neither the engine nor the model that was quantized for it; also where that fails."""
        recipe, here, temporary = (self.folder / "r.yaml", self.fresh("here"), self.fresh("tmp"))
        for rule, status in (("{match: '*proj*', format: int4}", 0),
                             ("{match: 'none', format: int4}", 1)):
            recipe.write_text(f"version: 1\nweights: [{rule}]\nmethod: round-mse\n")
            result = self.ingot("run", self.model, "--target", "reference", "--recipe", recipe,
                                "--no-cache", "-p", "Once", "-n", "2", cwd=here,
                                env={**os.environ, "TMPDIR": str(temporary)})
            self.assertEqual(result.returncode, status, result.stdout)
            self.assertEqual(os.listdir(here) + os.listdir(temporary), [])

    def test_serves_what_it_has_built(self):
        text, _ = self.answer()
        server = subprocess.Popen(
            [harness.programs / "ingot", "serve", self.model, "--target", "reference", "--cache",
             self.cache, "--port", "0", "--threads", "2"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        lines = []
        for line in server.stdout:
            lines.append(line)
            if line.startswith("serving "):
                break
        self.assertNotIn("wrote ", "".join(lines))
        self.assertTrue(lines[-1].startswith("serving model at http://127.0.0.1:"), lines)
        address = lines[-1].removeprefix("serving model at ").partition(": ")[0]
        body = {"model": "model", "prompt": "Once upon a time", "max_tokens": 8, "temperature": 0}
        request = urllib.request.Request(f"{address}/v1/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=harness.LIMIT) as response:
            self.assertIn(json.load(response)["choices"][0]["text"].strip(), text)
        # The process is the server's, which ends as that does.
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(harness.LIMIT), 0)

    def test_a_server_that_is_not_there(self):
        self.answer()
        alone = self.fresh("programs") / "ingot"
        shutil.copy(harness.programs / "ingot", alone)
        result = subprocess.run(
            [alone, "serve", self.model, "--target", "reference", "--cache", self.cache],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=harness.LIMIT,
            check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"INGOT-E7221: {alone.with_name('ingot-server')} cannot be started: No such "
                      "file", result.stderr)

    def test_what_changes_the_engine_builds_anew(self):
        self.answer()
        _, built = self.answer("--recipe", "int8")
        self.assertTrue(built)
        config = self.model / "generation_config.json"
        config.write_text(config.read_text() + " ")
        _, built = self.answer()
        self.assertTrue(built)
        self.assertEqual(len(self.engines()), 3)
        listed = self.ingot("cache", "list", "--cache", self.cache).stdout
        self.assertIn("engines of `ingot run`: 3", listed)
        self.ingot("cache", "clear", "--cache", self.cache)
        self.assertEqual(self.engines(), [])

    def test_without_a_cache_nothing_is_kept(self):
        before = set(os.listdir(tempfile.gettempdir()))
        text, built = self.answer("--no-cache", cache=False)
        self.assertTrue(built, text)
        left = [name for name in set(os.listdir(tempfile.gettempdir())) - before
                if name.startswith("ingot-run-")]
        self.assertEqual(left, [])

    def test_errors_are_those_of_the_parts(self):
        for arguments, code in ((("none", "-p", "x"), "INGOT-E7001"),
                                ((self.model, "-p", "x", "--recipe"), "INGOT-E2103"),
                                ((self.model, "--target", "reference", "--cache", self.cache,
                                  "--such"), "INGOT-E2103")):
            result = self.ingot("run", *arguments)
            self.assertGreater(result.returncode, 0, result.stdout)
            self.assertIn(code, result.stdout)
        self.assertEqual(self.ingot("run").returncode, 2)


if __name__ == "__main__":
    harness.main()
