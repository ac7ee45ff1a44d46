# SPDX-License-Identifier: Apache-2.0
"""A Hub on this machine: its API, small files that it serves itself, large ones that it sends to
another port for, and faults that a test asks for."""
import hashlib
import http.server
import json
import re
import ssl
import threading
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = (".safetensors", ".gguf", ".bin")


def blob_id(data):
    """git's name of a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def digest(name, data):
    """The digest that is published of a file."""
    return hashlib.sha256(data).hexdigest() if name.endswith(LARGE) else blob_id(data)


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self, name, data, fault):
        """A file, with the range that is asked for; `fault` spoils it."""
        if isinstance(fault, tuple):  # a status and fields
            return self.answer(fault[0], b"refused", **fault[1])
        if fault == "wrong":
            data = bytes(byte ^ 1 for byte in data)
        if fault == "longer":
            data += b"more"
        first, status, fields = 0, 200, {}
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked and fault != "no ranges":
            first, status = int(asked.group(1)), 206
            if first >= len(data):
                return self.answer(416)
            start = first + 1 if fault == "other range" else first
            fields["Content_Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        body = data[first:]
        if fault != "cut":
            return self.answer(status, body, **fields)
        self.send_response(status)
        for field, value in fields.items():
            self.send_header(field.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2])
        self.wfile.flush()
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients that go are what is tested."""


class HubServer:
    """`files`: of the one repository, org/model. `faults`: lists of what is wrong with the next
    answers, by the file's name or "api"; `tls`: files of a certificate and its key."""

    def __init__(self, files, tls=None):
        self.files, self.faults, self.commit = dict(files), {}, COMMIT
        self.listing = None  # in place of the true one
        self.seen = []  # (port's name, path, Authorization, Range)
        self.lock = threading.Lock()
        self.scheme = "https" if tls else "http"
        hub = self

        class Endpoint(Quiet):
            def do_GET(self):
                hub.note("hub", self)
                path, _, query = self.path.partition("?")
                path = urllib.parse.unquote(path)
                if path.startswith("/api/models/org/model/revision/"):
                    fault = hub.fault("api")
                    if fault:
                        return self.answer(fault[0], b"refused", **fault[1])
                    revision = path.rpartition("/revision/")[2]
                    if revision not in ("main", "refs/pr/1", hub.commit) or query != "blobs=true":
                        return self.answer(404)
                    return self.answer(200, json.dumps(hub.listed()).encode())
                prefix = f"/org/model/resolve/{hub.commit}/"
                direct = f"/api/resolve-cache/models/org/model/{hub.commit}/"
                name = path.removeprefix(direct if path.startswith(direct) else prefix)
                if name not in hub.files:
                    return self.answer(404)
                if path.startswith(direct):
                    return self.serve(name, hub.files[name], hub.fault(name))
                quoted = urllib.parse.quote(name)
                to = (f"{hub.scheme}://127.0.0.1:{hub.elsewhere.server_port}/{quoted}?Signature=a~b"
                      if name.endswith(LARGE) else direct + quoted)
                return self.answer(302, Location=hub.fault("location " + name) or to)

        class Elsewhere(Quiet):
            def do_GET(self):
                hub.note("elsewhere", self)
                name = urllib.parse.unquote(self.path.partition("?")[0])[1:]
                return self.serve(name, hub.files[name], hub.fault(name))

        self.endpoint, self.elsewhere = (
            Server(("127.0.0.1", 0), handler)
            for handler in (Endpoint, Elsewhere))
        for server in self.endpoint, self.elsewhere:
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*tls)
                server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"{self.scheme}://127.0.0.1:{self.endpoint.server_port}"

    def close(self):
        for server in self.endpoint, self.elsewhere:
            server.shutdown()
            server.server_close()

    def note(self, port, request):
        with self.lock:
            self.seen.append((port, request.path, request.headers.get("Authorization"),
                              request.headers.get("Range")))

    def fault(self, name):
        with self.lock:
            left = self.faults.get(name)
            return left.pop(0) if left else None

    def listed(self):
        """What the API tells of the repository."""
        if self.listing is not None:
            return self.listing
        siblings = []
        for name, data in self.files.items():
            entry = {"rfilename": name, "size": len(data), "blobId": blob_id(data)}
            if name.endswith(LARGE):
                entry["lfs"] = {"sha256": digest(name, data), "size": len(data), "pointerSize": 134}
            siblings.append(entry)
        return {"id": "org/model", "sha": self.commit, "gated": False, "siblings": siblings}

    def asked(self, port):
        """What was asked for at a port."""
        return [path for where, path, _, _ in self.seen if where == port]
