# SPDX-License-Identifier: Apache-2.0
"""A running `ingot-server`, and clients that speak HTTP to it over bare sockets."""
import http.client
import json
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import harness

LIMIT = 60  # Seconds for whatever is waited for.

MALFORMED = [
    b"GARBAGE\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n{}",
    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"zz\r\n{}\r\n0\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: a\r\nno colon here\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: a\r\nA: \x00\x01\r\n\r\n",
    b"GET\t/health HTTP/1.1\r\nHost: a\r\n\r\n",
]


def allow_connections(count):
    """Raises the limit of descriptors of this process; False when the system does not let it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < count + 100:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, count + 1000), most))
    return True


class Server:
    """A server process; what it says is read by threads."""

    def __init__(self, engine, *options, wait=True):
        # AddressSanitizer keeps what was freed, which would look like growth.
        kept = f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=4"
        self.process = subprocess.Popen(
            [harness.programs / "ingot-server", engine, "--port", "0", *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "ASAN_OPTIONS": kept})
        self.log = []
        self.lines = queue.SimpleQueue()
        self.readers = [threading.Thread(target=read, daemon=True) for read in
                        (lambda: self.log.extend(self.process.stderr), self._read_lines)]
        for reader in self.readers:
            reader.start()
        # It says where before the engine is open, and that it serves when it does.
        self.address = self.line().rpartition(" for ")[2].strip()
        match = re.search(r":(\d+)$", self.address)
        self.port = int(match.group(1)) if match else None
        if wait:
            assert self.line().startswith("serving "), self.log

    def _read_lines(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def line(self):
        """The next line of standard output; empty at its end."""
        try:
            return self.lines.get(timeout=LIMIT)
        except queue.Empty:
            raise AssertionError("the server says nothing") from None

    def connect(self, receive_buffer=None):
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(LIMIT)
        client.connect(("127.0.0.1", self.port))
        return client

    def request(self, method, path, body=None, **headers):
        """One request on a connection of its own: status, headers and text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        if isinstance(body, dict):
            body = json.dumps(body)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()
        finally:
            connection.close()

    def complete(self, **fields):
        """A completion that must be answered: its body, or the events of a stream."""
        status, _, text = self.request("POST", "/v1/completions", {"prompt": "abc", **fields})
        assert status == 200, text
        return events(text) if fields.get("stream") else json.loads(text)

    def start_stream(self, receive_buffer=None, **fields):
        """Sends a request for a stream and reads up to its first event; the open socket."""
        client = self.connect(receive_buffer)
        body = json.dumps({"prompt": "abc", "stream": True, **fields}).encode()
        client.sendall(post("/v1/completions", body))
        wait_for(lambda: b"data: " in client.recv(1 << 16, socket.MSG_PEEK))
        return client

    def metric(self, name, **labels):
        """The sum of a metric's samples that have these labels."""
        _, _, text = self.request("GET", "/metrics")
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        values = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                  if line.startswith(name + "{") and all(pair in line for pair in wanted)]
        assert values, f"no metric {name}"
        return sum(values)

    def is_idle(self):
        return all(self.metric(f"vllm:{name}") == 0 for name in
                   ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"))

    def threads(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"Threads:\s+(\d+)", status).group(1))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident(self):
        """Bytes of memory that are the process's own."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()
        return (int(fields[1]) - int(fields[2])) * resource.getpagesize()

    def stop(self):
        """Drains; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(LIMIT)
        finally:
            self.end()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


def post(path, body, *headers):
    """The bytes of a request."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json",
             f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def events(text):
    """The JSON of a stream's events, which must end as it should."""
    parts = [part for part in text.split("\n\n") if part and not part.startswith(":")]
    assert parts[-1] == "data: [DONE]", text[-200:]
    return [json.loads(part.removeprefix("data: ")) for part in parts[:-1]]


def unchunked(body):
    """A body that was sent in chunks."""
    parts = []
    while body:
        size, _, body = body.partition(b"\r\n")
        parts.append(body[:int(size, 16)])
        body = body[int(size, 16) + 2:]
    return b"".join(parts)


def read_all(client):
    """Everything up to the end of the connection."""
    parts = []
    while True:
        try:
            part = client.recv(1 << 16)
        except ConnectionResetError:
            break
        if not part:
            break
        parts.append(part)
    client.close()
    return b"".join(parts)


def reads_on(client):
    """The socket of a slow reader that is slow no more. A window of less than a segment would be
    filled at the pace of the sender's probes, five a second."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    return client


def wait_for(is_so):
    end = time.monotonic() + LIMIT
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError("it never comes")
        time.sleep(0.01)


class ServerTest(unittest.TestCase):
    """Tests with a toy engine: 64 tokens, the first of which are the letters a to z."""

    CONTEXT, SEQUENCES = 4096, 8
    MORE = ()  # further arguments of make-toy-engine

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-server-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.engine = cls.folder / "toy.ingot"
        cls.make_engine()

    @classmethod
    def make_engine(cls):
        subprocess.run([harness.tools / "make-toy-engine", cls.engine, str(cls.CONTEXT),
                        str(cls.SEQUENCES), *cls.MORE], check=True, timeout=LIMIT)

    def start(self, *options, **more):
        server = Server(self.engine, *options, **more)
        self.addCleanup(lambda: self.assertNotIn("Sanitizer", "".join(server.log)))
        self.addCleanup(server.end)
        return server
