# SPDX-License-Identifier: Apache-2.0
"""Bad input, bad options and bad disks: `ingot build` ends with a status, a code and no file."""
import contextlib
import ctypes
import json
import os
import random
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


class BadDisks(harness.BuildTest):
    @contextlib.contextmanager
    def small_disk(self, size):
        """A file system of `size` bytes in a folder of its own."""
        folder = self.fresh("disk")
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
