# SPDX-License-Identifier: Apache-2.0
"""A server of /v1/completions that answers as the model's name says: well, or wrong in one way."""
import http.server
import json
import threading
import time

CROWD = 101  # Requests at once that "crowded" waits for, within an answer.
MODELS = ("good", "slow", "crowded", "no-usage", "no-done", "byte-by-byte", "until-closed",
          "status-429", "error-event", "cut", "cut-before", "stall", "malformed", "no-stream",
          "no-http", "huge")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        models = [{"id": name, "max_model_len": self.server.context,
                   "meta": {"n_vocab": self.server.vocabulary}} for name in MODELS]
        self.whole(200, {"object": "list", "data": models})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), body, time.monotonic()))
            self.server.running += 1
            self.server.most = max(self.server.most, self.server.running)
            if self.server.running >= CROWD:
                self.server.crowd.set()
        try:
            self.answer(body)
        except (BrokenPipeError, ConnectionResetError):
            with self.server.lock:
                self.server.hung_up += 1
        finally:
            with self.server.lock:
                self.server.running -= 1

    def whole(self, status, value):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def head(self, chunked=True):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def events(self, body):
        """The bytes of each event of a whole answer."""
        count, prompt = body["max_tokens"], body["prompt"]
        yield b": hello\r\n\r\n"
        for i in range(count):
            finish = "length" if i + 1 == count else None
            event = {"choices": [{"index": 0, "text": f"t{i} ", "finish_reason": finish}]}
            yield b"data: " + json.dumps(event).encode() + b"\n\n"
        if body["model"] != "no-usage":
            usage = {"prompt_tokens": len(prompt), "completion_tokens": count,
                     "prompt_tokens_details": {"cached_tokens": 2}}
            yield b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
        if body["model"] != "no-done":
            yield b"data: [DONE]\n\n"

    def answer(self, body):
        kind = body["model"]
        if kind == "status-429":
            return self.whole(429, {"error": {"message": "the queue is full", "code": 429}})
        if kind == "no-stream":
            return self.whole(200, {"choices": [{"text": "all at once"}]})
        if kind == "no-http":
            self.wfile.write(b"SSH-2.0-server\r\n\r\n")
            self.close_connection = True
            return None
        if kind == "cut-before":
            self.close_connection = True
            return None
        self.head(chunked=kind != "until-closed")
        write = self.wfile.write if kind == "until-closed" else self.chunk
        for index, event in enumerate(self.events(body)):
            if index == 3 and self.misbehave(kind):
                return None
            if kind == "byte-by-byte":
                for at in range(len(event)):
                    self.chunk(event[at:at + 1])
            else:
                write(event)
            if kind == "slow":
                time.sleep(0.01)
        if kind != "until-closed":
            self.chunk(b"")
        return None

    def misbehave(self, kind):
        """What goes wrong after two tokens; true: that was all."""
        if kind == "stall":
            self.server.over.wait(30)
        elif kind == "crowded":
            self.server.crowd.wait(60)
        elif kind == "error-event":
            self.chunk(b'data: {"error": {"message": "out of blocks"}}\n\n')
            self.chunk(b"")
        elif kind == "malformed":
            self.chunk(b"data: {never closed\n\n")
        elif kind == "huge":
            for _ in range(80):
                self.chunk(b"x" * 65536)
        return kind in ("stall", "error-event", "cut", "malformed", "huge")


class Server(http.server.ThreadingHTTPServer):
    """Listens at a free port of this machine; `requests` has what was asked."""
    daemon_threads = True
    request_queue_size = 1024
    vocabulary, context = 4000, 500

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.crowd = threading.Event()
        self.forget()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def forget(self):
        self.requests, self.running, self.most, self.hung_up = [], 0, 0, 0

    def stop(self):
        self.over.set()
        self.shutdown()
        self.server_close()
