# SPDX-License-Identifier: Apache-2.0
"""Bad input, bad options and bad disks: `ingot build` ends with a status, a code and no file."""
import contextlib
import ctypes
import json
import os
import random
import re
import socket
import stat
import struct
import subprocess

import harness

DAMAGED_FILES = ("model.safetensors", "config.json", "tokenizer.json")


class BadModels(harness.BuildTest):
    def refuse(self, model, code="INGOT-E[17]", *options):
        output = self.fresh(f"out{len(list(self.folder.iterdir()))}") / "m.ingot"
        self.assert_refused(self.build(model, output, *options), output, code)

    def test_truncated_files(self):
        for name in DAMAGED_FILES:
            data = (harness.FABLES / name).read_bytes()
            for length in (0, 1, 7, 9, 100, len(data) // 2, len(data) - 2):
                with self.subTest(file=name, length=length):
                    model = self.copy_of(harness.FABLES, f"{name}-{length}")
                    (model / name).write_bytes(data[:length])
                    self.refuse(model)

    def test_flipped_bits_are_refused_or_harmless(self):
        """A flipped bit in a header may still make a valid model; it never makes half a file."""
        seeded = random.Random(5)
        for name in DAMAGED_FILES:
            data = bytearray((harness.FABLES / name).read_bytes())
            for place in (seeded.randrange(min(len(data), 2000)) for _ in range(6)):
                with self.subTest(file=name, place=place):
                    model = self.copy_of(harness.FABLES, f"{name}-{place}-flipped")
                    damaged = bytearray(data)
                    damaged[place] ^= 1 << seeded.randrange(8)
                    (model / name).write_bytes(damaged)
                    output = self.fresh(f"out-{name}-{place}") / "m.ingot"
                    result = self.build(model, output)
                    if result.returncode == 0:
                        self.assertEqual(os.listdir(output.parent), ["m.ingot"])
                    else:
                        self.assert_refused(result, output)

    def test_missing_files(self):
        for name in ("model.safetensors", "config.json"):
            with self.subTest(file=name):
                model = self.copy_of(harness.FABLES, f"without-{name}")
                (model / name).unlink()
                self.refuse(model)
        self.refuse(self.folder / "nowhere")

    def test_hostile_safetensors(self):
        data = (harness.FABLES / "model.safetensors").read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        name = next(key for key in header if key != "__metadata__")

        def changed(**entry):
            text = json.dumps({**header, name: {**header[name], **entry}}).encode()
            return struct.pack("<Q", len(text)) + text + data[8 + length:]

        cases = {
            "header longer than memory": struct.pack("<Q", 2**63) + data[8:],
            "header longer than the file": struct.pack("<Q", len(data)) + data[8:],
            "offsets past the end": changed(data_offsets=[0, 2**62]),
            "offsets backwards": changed(data_offsets=[8, 0]),
            "negative offsets": changed(data_offsets=[-8, 0]),
            "shape that overflows": changed(shape=[2**32, 2**32]),
            "negative shape": changed(shape=[-1, 4]),
            "another shape": changed(shape=[3, 5]),
            "unknown type": changed(dtype="F99"),
            "deep nesting": struct.pack("<Q", 200000) + b"[" * 200000,
            "not JSON": struct.pack("<Q", 8) + b"{'a': 1}",
        }
        for case, content in cases.items():
            with self.subTest(case):
                model = self.copy_of(harness.FABLES, case.replace(" ", "-"))
                (model / "model.safetensors").write_bytes(content)
                self.refuse(model)

    def test_hostile_configurations(self):
        config = json.loads((harness.FABLES / "config.json").read_text())
        cases = [
            {"architectures": ["NoSuchForCausalLM"]}, {"hidden_size": 0}, {"hidden_size": -256},
            {"hidden_size": 2**62}, {"num_hidden_layers": 10**9}, {"num_attention_heads": 3},
            {"num_key_value_heads": 3}, {"head_dim": 63}, {"vocab_size": 4096},
            {"rms_norm_eps": "small"}, {"rope_theta": -1}, {"rope_scaling": {"rope_type": "odd"}},
            {"hidden_act": "cube"}, {"max_position_embeddings": 0}, {"hidden_size": None},
        ]
        for change in cases:
            with self.subTest(change=change):
                model = self.copy_of(harness.FABLES, f"config{cases.index(change)}")
                (model / "config.json").write_text(json.dumps({**config, **change}))
                self.refuse(model)

    def test_hostile_tokenizers(self):
        tokenizer = json.loads((harness.FABLES / "tokenizer.json").read_text())
        cases = [
            {"model": {**tokenizer["model"], "type": "Unheard"}},
            {"model": {**tokenizer["model"], "vocab": {"a": 10**12}}},
            {"model": {**tokenizer["model"], "merges": [["no", "such"]]}},
            {"model": None},
            {"added_tokens": [{"id": -1, "content": "x", "special": True}]},
        ]
        for number, change in enumerate(cases):
            with self.subTest(change=str(change)[:60]):
                model = self.copy_of(harness.FABLES, f"tokenizer{number}")
                (model / "tokenizer.json").write_text(json.dumps({**tokenizer, **change}))
                self.refuse(model)

    def test_links_and_folders_in_place_of_files(self):
        for name in ("model.safetensors", "config.json"):
            model = self.copy_of(harness.FABLES, f"folder-{name}")
            (model / name).unlink()
            (model / name).mkdir()
            self.refuse(model)
        model = self.copy_of(harness.FABLES, "pipe")
        (model / "config.json").unlink()
        os.mkfifo(model / "config.json")
        self.refuse(model)

    def test_bad_recipes(self):
        cases = ["", "version: 2\n", "version: 1\nweights: 3\n", "version: 1\nunknown: 1\n",
                 "version: 1\nweights:\n  - {match: '*', format: int7}\n",
                 "version: 1\nweights:\n  - {match: '*', format: int4, group: 7}\n",
                 "a: &a [*a, *a]\n", "[" * 5000, "version: 1\nkv_cache: f64\n", "\0\0\0"]
        for number, text in enumerate(cases):
            with self.subTest(text=text[:40]):
                recipe = self.folder / f"{number}.yaml"
                recipe.write_text(text)
                self.refuse(harness.FABLES, "INGOT-E2", "--recipe", recipe)
        self.refuse(harness.FABLES, "INGOT-E", "--recipe", self.folder / "absent.yaml")

    def test_bad_options(self):
        for options in (("--target", "x86-64-v9"), ("--target", "x86-64-v3+nothing"),
                        ("--target", "sm_00"), ("--max-batch-tokens", "-1"), ("--max-context", "0"),
                        ("--max-context", "99999999999")):
            with self.subTest(options=options):
                self.refuse(harness.FABLES, "INGOT-E", *options)


class OwnFiles(harness.BuildTest):
    """No command writes over what it reads, or over what else it writes."""

    def setUp(self):
        super().setUp()
        self.model = self.copy_of(harness.FABLES)
        self.inputs = {path: path.read_bytes() for path in self.model.iterdir()}
        self.out = self.fresh("out") / "m.ingot"

    def assert_kept(self, result, code="INGOT-E2163"):
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(code, result.stdout)
        self.assertEqual({path: path.read_bytes() for path in self.model.iterdir()}, self.inputs)
        self.assertEqual(os.listdir(self.out.parent), [])

    def names_of(self, file):
        """Other names of a file that is there."""
        for name, link in (("link", os.symlink), ("hard", os.link)):
            link(file, self.folder / f"{name}-{file.name}")
            yield self.folder / f"{name}-{file.name}"
        yield file.parent / ".." / file.parent.name / file.name

    def test_weights(self):
        weights = self.model / "model.safetensors"
        for output in (weights, *self.names_of(weights)):
            with self.subTest(output=output):
                result = self.build(self.model, output)
                self.assert_kept(result)
                self.assertIn(str(output), result.stdout)
        for name in ("config.json", "tokenizer.json"):
            self.assert_kept(self.build(self.model, self.out, "--report", self.model / name))

    def test_options(self):
        recipe, tuning = self.folder / "r.yaml", self.folder / "t.lock"
        recipe.write_text("version: 1\nweights: [{match: '*', format: int4}]\nmethod: gptq\n")
        tuning.write_text("ingot-tuning 1\n")
        gate, data = ("--gate", "kl<=1", "--gate-model", harness.FABLES), self.folder / "g.json"
        for options in (
                ("--report", self.out), ("--report", recipe, "--recipe", recipe),
                ("--tuning", tuning, "--report", tuning),
                ("--lockfile", recipe, "--recipe", recipe, "--bits", 5),
                ("--calibration-text", tuning, "--report", tuning),
                (*gate, "--gate-report", self.model / "config.json"),
                (*gate, "--gate-report", data, "--report", data),
                (*gate, "--gate-text", tuning, "--report", tuning),
                (*gate, "--report", f"{self.out}.gate")):
            with self.subTest(options=options):
                self.assert_kept(self.build(self.model, self.out, *options))
        self.assertEqual(tuning.read_text(), "ingot-tuning 1\n")

    def test_quantize(self):
        text = self.folder / "t.txt"
        text.write_text("text")
        for output, *options in (
                (self.model,), (self.out, "--lockfile", self.model / "config.json", "--bits", 5),
                (self.out, "--imatrix-output", self.model / "tokenizer.json"),
                (self.out, "--imatrix-output", self.out),
                (self.out, "--imatrix", text, "--imatrix-output", text),
                (self.model / "model.safetensors",)):
            with self.subTest(output=output, options=options):
                self.assert_kept(self.ingot("quantize", self.model, "-o", output, "--recipe",
                                            "w4a16-gptq", *options))
        self.assertEqual(text.read_text(), "text")

    def test_a_folder_for_work(self):
        partial = self.folder / "q.partial"
        self.model.rename(partial)
        result = self.ingot("quantize", partial, "-o", self.folder / "q", "--recipe", "w4a16-gptq")
        self.assertIn("INGOT-E2163", result.stdout)
        self.assertTrue((partial / "config.json").exists())


class FoundFirst(harness.BuildTest):
    """What can be known before work starts is refused before it."""

    def assert_first(self, result, code):
        self.assertGreater(result.returncode, 0, result.stdout)
        self.assertLess(result.returncode, 100, result.stdout)
        self.assertIn(f"INGOT-{code}", result.stdout)
        for stage in ("compile ", "stream weights", "layer 1 of", "calibration text   ",
                      "sensitivity"):
            self.assertNotIn(stage, result.stdout)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), self.names)

    def setUp(self):
        super().setUp()
        short, chats = self.folder / "short.txt", self.folder / "chats.jsonl"
        short.write_text("short")
        chats.write_text("{}\n")
        self.names = ["chats.jsonl", "short.txt"]
        self.short, self.chats = short, chats

    def test_gates(self):
        absent = self.folder / "absent"
        for code, *options in (
                ("E2103", "--gate", ""), ("E2113", "--max-context", 1),
                ("E7101", "--gate-text", absent), ("E7101", "--gate-model", absent),
                ("E2120", "--gate-text", self.short), ("E2144", "--gate-text", self.chats),
                ("E1030", "--gate-model", self.short), ("E2118", "--gate", "speed<=1"),
                ("E650", "--target", "sm_90a"), ("E7103", "--gate-report", absent / "r.html")):
            if "--gate" not in options:
                options = ("--gate", "kl<=1", *options)
            with self.subTest(options=options):
                self.assert_first(self.build(harness.FABLES, self.folder / "m.ingot", *options),
                                  code)

    def test_builds_that_quantize_first(self):
        for code, *options in (
                ("E2131", "--bits", 40), ("E2131", "--bits", 1), ("E2131", "--target-size", "1KiB"),
                ("E2131", "--target-size", "1GiB"), ("E2101", "--max-context", 10**9),
                ("E4", "--target", "x86-64-v9"), ("E7101", "--tuning", self.folder / "absent"),
                ("E2201", "--tuning", self.short), ("E2120", "--calibration-text", self.short),
                ("E2144", "--calibration-text", self.chats),
                ("E7101", "--calibration-text", self.folder / "absent")):
            with self.subTest(options=options):
                self.assert_first(self.build(harness.FABLES, self.folder / "m.ingot", "--no-cache",
                                             "--recipe", "w4a16-gptq", *options), code)

    def test_a_gate_of_another_shape(self):
        self.checkpoint("--shape", "tiny")
        self.names = sorted([*self.names, "checkpoint"])
        self.assert_first(self.build(harness.FABLES, self.folder / "m.ingot", "--gate", "kl<=1",
                                     "--gate-model", self.folder / "checkpoint"), "E2164")

    def test_quantize(self):
        for code, recipe, *options in (
                ("E2113", "w4a16-gptq", "--length", 1), ("E2113", "q4_k_m", "--length", 1),
                ("E2131", "w4a16-gptq", "--bits", 40), ("E2131", "w4a16-gptq", "--bits", 1),
                ("E2131", "w4a16-gptq", "--target-size", "1GiB"),
                ("E2120", "q4_k_m", "--calibration-text", self.short),
                ("E2144", "w4a16-gptq", "--calibration-text", self.chats),
                ("E7103", "q4_k_m", "--imatrix-output", self.folder / "absent" / "m")):
            with self.subTest(recipe=recipe, options=options):
                self.assert_first(self.ingot("quantize", harness.FABLES, "-o", self.folder / "q",
                                             "--no-cache", "--recipe", recipe, *options), code)

    def test_run_and_serve(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            absent, port = self.folder / "absent", taken.getsockname()[1]
            for code, command, *options in (
                    ("E2103", "run", "-p", "x", "--nothing"), ("E7101", "run", "--prompts", absent),
                    ("E2103", "run", "-p", "x", "-n", "many"),
                    ("E6006", "run", "-p", "x", "--temp", -1),
                    ("E7222", "run", "--chat", "--tool-parser", "nobody"),
                    ("E7101", "run", "--chat", "--chat-template", absent),
                    ("E2103", "serve", "--nothing"), ("E2103", "serve", "--port", 70000),
                    ("E2103", "serve", "--api-keys", ""), ("E7101", "serve", "--config", absent),
                    ("E7101", "serve", "--api-keys", absent), ("E7216", "serve", "--port", port),
                    ("E7222", "serve", "--tool-parser", "nobody")):
                with self.subTest(command=command, options=options):
                    self.assert_first(self.ingot(
                        command, harness.FABLES, "--target", "reference", "--cache",
                        self.folder / "cache", *options), code)

    def test_targets_of_other_machines(self):
        for command, *options in (("run", "-p", "x"), ("serve",)):
            with self.subTest(command=command):
                self.assert_first(self.ingot(command, harness.FABLES, "--target", "sm_80",
                                             "--no-cache", *options), "E")


class EmptyValues(harness.BuildTest):
    """Every option of every program that takes a value refuses an empty one by its name."""

    def test_every_option(self):
        takes_value = re.compile(r"^ +(?:-\w,)?(--[a-z-]+) (?:TEXT|INT|UINT|FLOAT|SIZE|PART|RULE)",
                                 re.MULTILINE)
        programs = [("ingot", "build"), ("ingot", "quantize"), ("ingot-server",), ("ingot-run",)]
        programs += [("ingot-run", *name.split()) for name in
                     ("plan", "verify", "selftest", "bench", "bench serve", "tune", "template",
                      "eval")]
        for program, *command in programs:
            def run(*options):
                return subprocess.run([harness.programs / program, *command, *options],
                                      capture_output=True, text=True, timeout=harness.LIMIT,
                                      check=False)
            names = set(takes_value.findall(run("--help-all").stdout)) - {"--prompt"}
            self.assertTrue(names, command)
            for name in sorted(names):
                with self.subTest(program=program, command=command, option=name):
                    result = run("file", f"{name}=", "--next")
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertRegex(result.stderr, f"INGOT-E2103: {name}: .*empty")


class BadDisks(harness.BuildTest):
    @contextlib.contextmanager
    def small_disk(self, size, name="disk"):
        """A file system of `size` bytes in a folder of its own."""
        folder = self.fresh(name)
        if os.geteuid() != 0 or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder],
                stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("mounting a small file system needs rights that are absent here")
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)

    def test_full_disk(self):
        with self.small_disk("1m") as disk:
            output = disk / "m.ingot"
            result = self.build(harness.FABLES, output)
            self.assert_refused(result, output, "INGOT-E7")
            self.assertRegex(result.stdout, "(?i)space|full")

    def test_full_disk_of_quantize(self):
        """What was worked out so far stays, for another try."""
        for output, recipe in (("q", "w4a16-gptq"), ("q.gguf", "q4_k_m")):
            with self.subTest(recipe=recipe), self.small_disk("1m", f"disk-{output}") as disk:
                result = self.ingot("quantize", harness.FABLES, "-o", disk / output, "--recipe",
                                    recipe, "--samples", 1, "--length", 16)
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertRegex(result.stdout, "INGOT-E7.*(space|full)")
                self.assertLessEqual(set(os.listdir(disk)), {f"{output}.partial"})

    def test_outputs_that_are_no_files(self):
        """Links are followed or replaced, devices and descriptors written to."""
        folder = self.fresh("links")
        (folder / "link.ingot").symlink_to("there.ingot")
        (folder / "link.json").symlink_to("there.json")
        result = self.build(harness.FABLES, folder / "link.ingot", "--report", folder / "link.json")
        self.assert_built(result, folder / "link.ingot")
        json.loads((folder / "link.json").read_text())
        for device in ("/dev/null", "/dev/stdout", "/proc/self/fd/1"):
            with self.subTest(device=device):
                result = self.build(harness.FABLES, folder / "m.ingot", "--report", device)
                self.assert_built(result, folder / "m.ingot")
                self.assertEqual("\"targets\"" in result.stdout, device != "/dev/null")

    def test_input_on_another_mount(self):
        """The same folder, mounted a second time."""
        model, there = self.copy_of(harness.FABLES), self.fresh("there")
        if os.geteuid() != 0 or subprocess.run(["mount", "--bind", model, there],
                                               stderr=subprocess.DEVNULL,
                                               check=False).returncode != 0:
            self.skipTest("mounting needs rights that are absent here")
        self.addCleanup(subprocess.run, ["umount", there], check=True)
        result = self.build(model, there / "model.safetensors")
        self.assertIn("INGOT-E2163", result.stdout)
        self.assertEqual((model / "model.safetensors").read_bytes(),
                         (harness.FABLES / "model.safetensors").read_bytes())

    def test_folder_without_write_permission(self):
        folder = self.fresh("sealed")
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)

        def become_nobody():
            if os.geteuid() == 0:
                # Root writes anywhere; the build must meet a folder it may not write to.
                ctypes.CDLL(None).setgroups(0, None)
                os.setgid(65534)
                os.setuid(65534)

        self.folder.chmod(0o755)
        folder.chmod(0o555)
        output = folder / "m.ingot"
        result = self.build(harness.FABLES, output, "--no-cache", preexec_fn=become_nobody)
        self.assert_refused(result, output, "INGOT-E7")

    def test_output_in_an_absent_folder(self):
        output = self.folder / "absent" / "m.ingot"
        self.assert_refused(self.build(harness.FABLES, output), output, "INGOT-E7")

    def test_output_that_is_a_folder(self):
        output = self.fresh("m.ingot")
        result = self.build(harness.FABLES, output)
        self.assertGreater(result.returncode, 0)
        self.assertRegex(result.stdout, "INGOT-E7")
        self.assertEqual(os.listdir(output), [])

    def test_an_engine_is_replaced_only_by_success(self):
        output = self.fresh("out") / "m.ingot"
        output.write_bytes(b"the engine before")
        broken = self.copy_of(harness.FABLES)
        data = (broken / "model.safetensors").read_bytes()
        (broken / "model.safetensors").write_bytes(data[:-1])
        self.assertGreater(self.build(broken, output).returncode, 0)
        self.assertEqual(output.read_bytes(), b"the engine before")
        self.assert_built(self.build(harness.FABLES, output), output)
        self.assertGreater(output.stat().st_size, 1 << 20)
        self.assertEqual(os.listdir(output.parent), ["m.ingot"])


if __name__ == "__main__":
    harness.main()
