#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ingot-run --chat`, from a pipe and at a terminal."""
import os
import pty
import select
import subprocess
import time

import harness
from server_chat import TEMPLATE
from server_process import LIMIT, ServerTest


class Chat(ServerTest):
    """Answers of the toy engine are letters, 5 of them."""

    CONTEXT = 1 << 17  # more than a terminal takes before somebody reads it

    def command(self, *options):
        path = self.folder / "chat.jinja"
        if not path.exists():  # another process may be reading it
            path.write_text(TEMPLATE, encoding="ascii")
        return [str(word) for word in
                (harness.programs / "ingot-run", self.engine, "--chat", "--chat-template", path,
                 "--greedy", "--ignore-eos", "--threads", "1", *options)]

    def pipe(self, text, *options, status=0):
        result = subprocess.run(self.command("-n", "5", *options), input=text, text=True,
                                capture_output=True, timeout=LIMIT, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        return [line.removesuffix(" (the limit of --max-tokens)")
                for line in result.stdout.splitlines()], result.stderr

    def test_a_conversation_from_a_pipe(self):
        both, _ = self.pipe("hello\nworld\n")
        self.assertEqual([len(line) for line in both], [5, 5])
        alone, _ = self.pipe("world\n")
        again, _ = self.pipe("hello\n/reset\nworld\n")
        self.assertEqual(again, [both[0], alone[0]])
        # What was said before changes the answer: the same prompt, made by hand, has it too.
        prompt = f"u hello a {both[0]} u world a "
        result = subprocess.run([harness.programs / "ingot-run", self.engine, "-p", prompt, "-n",
                                 "5", "--greedy", "--ignore-eos", "--no-special"],
                                capture_output=True, text=True, timeout=LIMIT, check=True)
        self.assertEqual(result.stdout.strip(), both[1])

    def test_commands_and_messages_of_several_lines(self):
        lines, _ = self.pipe("hello\\\nthere\n/retry\n/nonsense\n")
        self.assertEqual(lines[0], lines[1])
        self.assertIn("/nonsense", lines[2])
        quoted, _ = self.pipe('"""\nhello\nthere\n"""\n')
        self.assertEqual(quoted, lines[:1])
        # What begins with a slash can be said.
        slashed, _ = self.pipe('//reset\n"""\n/reset\n"""\n')
        self.assertEqual([len(line) for line in slashed], [5, 5])
        alone, _ = self.pipe('"""\n/reset\n"""\n')
        self.assertEqual(slashed[0], alone[0])
        told, _ = self.pipe("hello\n", "--system", "be kind")
        later, _ = self.pipe("what\n/system be kind\nhello\n")
        self.assertEqual(later[1:], told)

    def test_a_conversation_that_is_too_long_is_an_error(self):
        _, errors = self.pipe("a" * (self.CONTEXT + 1) + "\n", status=1)
        self.assertIn("INGOT-E6004", errors)

    def test_tabs_are_text(self):
        command = self.command("-n", "5")
        child, terminal = pty.fork()
        if child == 0:
            os.execvp(command[0], command)
        answers, _ = self.pipe("a\tb\n")
        seen, end = b"", time.monotonic() + LIMIT
        for wanted, typed in ((b"> ", b"a\tb\r"), (answers[0].encode(), b"/exit\r")):
            while wanted not in seen:
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 1 << 16)
                self.assertLess(time.monotonic(), end, seen[-400:])
            os.write(terminal, typed)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, seen[-400:])

    def test_an_interrupt_ends_the_answer(self):
        child, terminal = pty.fork()
        if child == 0:
            os.execvp(self.command()[0], self.command("-n", "100000"))
        seen = b""

        def read_until(wanted):
            nonlocal seen
            end = time.monotonic() + LIMIT
            while wanted not in seen:
                ready, _, _ = select.select([terminal], [], [], 1)
                if ready:
                    seen += os.read(terminal, 1 << 16)
                assert time.monotonic() < end, seen[-400:]
            found, seen = seen.split(wanted, 1)
            return found

        read_until(b"> ")
        os.write(terminal, b"hello there\r")
        read_until(b"hello there")
        while len(seen) < 200:
            seen += os.read(terminal, 1 << 16)
        os.write(terminal, b"\x03")
        answer = read_until(b"> ")
        self.assertLess(len(answer), 100000)
        # At the prompt it gives nothing but a new one. One that comes before the line is waited for
        # is lost, as on other programs.
        end = time.monotonic() + LIMIT
        while b"ends)" not in seen:
            try:
                os.write(terminal, b"\x03")
                if select.select([terminal], [], [], 0.2)[0]:
                    seen += os.read(terminal, 1 << 16)
            except OSError:
                _, status = os.waitpid(child, 0)
                self.fail(f"it ended: {os.waitstatus_to_exitcode(status)}, {seen[-400:]}")
            assert time.monotonic() < end, seen[-400:]
        read_until(b"ends)")
        read_until(b"> ")
        os.write(terminal, b"/exit\r")
        while True:
            try:
                seen += os.read(terminal, 1 << 16)
            except OSError:  # The other end is closed.
                break
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, seen[-400:])


class Repetition(ServerTest):
    """A model that says the same for hundreds of tokens."""

    CONTEXT, MORE = 1 << 15, ("echo",)

    def test_a_repetition_is_told_once_and_can_be_ended(self):
        path = self.folder / "chat.jinja"
        path.write_text(TEMPLATE, encoding="ascii")
        child, terminal = pty.fork()
        if child == 0:
            os.execv(harness.programs / "ingot-run", [
                "ingot-run", self.engine, "--chat", "--chat-template", path, "--greedy",
                "--ignore-eos", "--threads", "1"])
        seen, end = b"", time.monotonic() + LIMIT

        def read_until(wanted):
            nonlocal seen
            while wanted not in seen:
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 1 << 16)
                self.assertLess(time.monotonic(), end, seen[-400:])
            found, seen = seen.split(wanted, 1)
            return found

        told = b"(this repeats itself; Ctrl-C ends the answer, not the conversation)"
        read_until(b"> ")
        for message in (b"hello", b"hello again"):
            os.write(terminal, message + b"\r")
            read_until(told)
            os.write(terminal, b"\x03")
            self.assertNotIn(told, read_until(b"> "))
        os.write(terminal, b"/exit\r")
        read_until(b"tokens/s\r\n")
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, seen[-400:])


if __name__ == "__main__":
    harness.main()
