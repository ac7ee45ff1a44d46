#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs refuse, they refuse in one shape: a line `error: INGOT-Ennnn: what, where; what to
change` on standard error, and status 2 for a wrong command line. What comes of a line of a
`--config` file names the file and the line."""
import re
import socket
import subprocess

import harness

SHAPE = re.compile(r"error: INGOT-E\d{4}: \S.*")


class OneShape(harness.BuildTest):
    def refused(self, program, *arguments):
        """The error of a program that must end with one; its status."""
        result = subprocess.run([harness.programs / program, *map(str, arguments)],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                errors="replace", timeout=harness.LIMIT, check=False)
        told = [line for line in result.stderr.splitlines()
                if "INGOT-E" in line or re.match(r"\W*error", line, re.IGNORECASE)]
        self.assertEqual(len(told), 1, result.stderr)
        self.assertRegex(told[0], f"^{SHAPE.pattern}$")
        return told[0], result.returncode

    def test_every_way(self):
        absent, out, model = self.folder / "absent", self.folder / "out", harness.FABLES
        for code, status, program, *arguments in (
                ("E2100", 2, "ingot"), ("E2100", 2, "ingot", "biuld"),
                ("E2103", 2, "ingot", "build"), ("E2103", 2, "ingot", "build", model, "--such"),
                ("E7001", 1, "ingot", "build", absent, "-o", out),
                ("E4000", 1, "ingot", "formats", "--target", "nothing"),
                ("E2103", 2, "ingot", "run"), ("E2103", 2, "ingot", "run", "-p", "x"),
                ("E2103", 2, "ingot", "run", model),
                ("E2103", 2, "ingot", "serve"), ("E2103", 2, "ingot", "serve", "--port", 1),
                ("E2103", 2, "ingot", "serve", model, "--no-cache"),
                ("E2103", 2, "ingot", "cache", "lits"),
                ("E7001", 1, "ingot", "quantize", absent, "-o", out, "--recipe", "int4"),
                ("E7101", 1, "ingot", "bisect", absent, model, "--text", absent),
                ("E2103", 2, "ingot-run"), ("E2100", 2, "ingot-run", "inspct"),
                ("E2100", 2, "ingot-run", "inspct", "some.ingot"),
                ("E2103", 2, "ingot-run", model), ("E7101", 1, "ingot-run", absent, "-p", "x"),
                ("E2103", 2, "ingot-server"), ("E2103", 2, "ingot-server", absent, "--port", "x"),
                ("E7101", 1, "ingot-server", absent, "--port", 0),
                ("E7101", 1, "ingot-server", "--config", absent),
                ("E2103", 2, "ingot-server", absent, "--allowed-hosts", "a b")):
            with self.subTest(program=program, arguments=arguments):
                told, ended = self.refused(program, *arguments)
                self.assertIn(f"INGOT-{code}: ", told)
                self.assertEqual(ended, status, told)

    def test_what_was_meant(self):
        absent, model = self.folder / "absent", harness.FABLES
        for meant, program, *arguments in (
                ("build", "ingot", "buld"), ("selftest", "ingot", "selftst"),
                ("--recipe", "ingot", "build", model, "-o", absent, "--recpie", "int4"),
                ("inspect", "ingot-run", "inspct"),
                ("--temp", "ingot-run", absent, "-p", "x", "--tempp=1"),
                ("--port", "ingot-server", absent, "--prot", 8000)):
            with self.subTest(meant=meant):
                told, status = self.refused(program, *arguments)
                self.assertRegex(told, rf""" \(did you mean ['"]{meant}['"]\?\); """)
                self.assertEqual(status, 2)

    def test_every_command(self):
        absent = self.folder / "absent"
        for program, *listing in (("ingot", "--help"), ("ingot-run", "--list-commands")):
            text = subprocess.run([harness.programs / program, *listing], check=True, text=True,
                                  capture_output=True, timeout=harness.LIMIT).stdout
            commands = re.findall(r"^ *([a-z]+) {2,}\S", text, re.MULTILINE)
            self.assertIn("inspect", commands)
            for command in commands:
                with self.subTest(program=program, command=command):
                    told, status = self.refused(program, command, absent, "--no-such-option")
                    self.assertIn("INGOT-E2103: ", told)
                    self.assertEqual(status, 2)

    def test_lines_of_a_config_file(self):
        engine = self.folder / "fables.ingot"
        self.assert_built(self.build(harness.FABLES, engine), engine)
        config, empty = self.folder / "options.yaml", self.folder / "no-keys"
        empty.write_text("# none\n", encoding="ascii")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            for code, line in (
                    ("E7217", "no-such: 1"), ("E7217", "max-body: many"), ("E7217", "port: [1, 2]"),
                    ("E7217", "host: {a: 1}"), ("E7217", "host:\n  name: a"),
                    ("E7217", "threads: 1"), ("E7217", "no-log: perhaps"),
                    ("E2103", "strict: true"), ("E2103", "allowed-hosts: a b"),
                    ("E7101", f"api-keys: {self.folder}/none"), ("E7218", f"api-keys: {empty}"),
                    ("E7101", f"chat-template: {self.folder}/none"),
                    ("E7222", "tool-parser: nobody"), ("E7216", "host: no-address"),
                    ("E7216", f"port: {port}"), ("E7216", f"unix-socket: {self.folder}/{'x' * 99}"),
                    ("E6001", "max-sequences: 1000000"), ("E6002", "memory: 1KiB"),
                    ("E5017", "target: sm_90a"), ("E7101", f"engine: {self.folder}/none.ingot")):
                with self.subTest(line=line):
                    # What is wrong stands in line 3, or below it where it is nested.
                    config.write_text(f"# of a test\nthreads: 1\n{line}\n", encoding="ascii")
                    given = [] if line.startswith("engine:") else [engine]
                    given += [] if "port" in line else ["--port", 0]
                    told, _ = self.refused("ingot-server", "--config", config, *given)
                    self.assertIn(f"INGOT-{code}: ", told)
                    self.assertRegex(told, rf"{re.escape(str(config))}[:,] line [34]\b")
        # The command line's own are not the file's.
        config.write_text("max-sequences: 2\n", encoding="ascii")
        told, _ = self.refused("ingot-server", "--config", config, engine, "--port", 0,
                               "--max-sequences", 1000000)
        self.assertNotIn(str(config), told)

    def test_nothing_listens_before_the_engine_can_be_opened(self):
        engine = self.folder / "bad.ingot"
        engine.write_bytes(b"no engine")
        result = subprocess.run([harness.programs / "ingot-server", engine, "--port", "0"],
                                capture_output=True, text=True, timeout=harness.LIMIT, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, rf"\Aopening {re.escape(str(engine))} for http://\S+\n\Z")
        self.assertRegex(result.stderr, rf"\A{SHAPE.pattern}\n\Z")


if __name__ == "__main__":
    harness.main()
