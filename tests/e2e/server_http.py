#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as RFC 9110 and 9112 have it: raw bytes to `ingot-server`, each request with another one
behind it, so that a body whose end is in doubt would be answered as a request."""
import re
import select
import time

import harness
from server_process import ServerTest, post, read_all, wait_for

NEXT = b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def get(target="/version", *headers, host="localhost", version="1.1", method="GET"):
    lines = [f"{method} {target} HTTP/{version}", *([f"Host: {host}"] if host is not None else []),
             *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def body(*headers, data=b'{"prompt":"a"}', media="application/json", version="1.1"):
    """A request for tokens whose headers say where it ends."""
    return get("/tokenize", f"Content-Type: {media}", *headers, method="POST",
               version=version) + data


CHUNKED = "Transfer-Encoding: chunked"
CHUNKS = b'e\r\n{"prompt":"a"}\r\n0\r\n\r\n'

# What is answered so, before the next request is.
GOES_ON = [
    (200, b"\r\n" + get()), (200, b"\r\n\r\n\r\n" + get()),
    (200, get("http://localhost/version")), (200, get("HTTP://LOCALHOST:1/version?a=b")),
    (200, get("https://127.0.0.1/version", host="")), (200, get("http://localhost")),
    (200, get("http://localhost?a")), (404, get("//localhost/version")),
    (200, get("/version?a=http://localhost/&c=%zz")), (200, get("/%76ersion")), (404, get("/none")),
    (200, get(host="LocalHost.:8000")), (200, get(host="localhost:")),
    (200, get(host="[::1]:80")), (200, get(host="127.8.9.1")),
    (200, get("/version", "hOST: localhost", host=None)), (200, get(host="a.localhost")),
    (200, get("/version", "X-Folded: a\r\n b")), (200, get("/version", "X-Empty:")),
    (200, get("/version", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
              "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")),
    (200, get("/version", "Accept-Encoding: gzip, identity;q=0")),
    (200, get("/version", "Connection: keep-alive", version="1.0", host=None)),
    (200, get("/version", "Content-Length: 3") + b"abc"), (200, get(method="HEAD")),
    (204, get("*", method="OPTIONS")), (204, get("/tokenize", method="OPTIONS")),
    (405, get(method="PUT")), (405, get(method="DELETE")), (501, get(method="get")),
    (501, get(method="BREW")), (403, get(host="example.com")),
    (403, get("http://example.com/version")), (403, get(host="localhost.example.com:80")),
    (403, get(host="10.0.0.1")), (200, body("Content-Length: 14")),
    (200, body("Content-Length: 14", "content-LENGTH: 14")), (200, body("Content-Length: 14, 14")),
    (200, body(CHUNKED, data=CHUNKS)), (200, body("Transfer-Encoding: ,CHUNKED", data=CHUNKS)),
    (200, body(CHUNKED, data=b'0e ;a=b;c="d\\""\r\n{"prompt":"a"}\r\n000\r\n\r\n')),
    (200, body(CHUNKED, data=CHUNKS[:-2] + b"Connection: close\r\nHost: b\r\n\r\n")),
    (415, body(CHUNKED, data=CHUNKS[:-2] + b"Content-Type: application/json\r\n\r\n", media="")),
    (200, body("Content-Length: 14", media='Application/JSON ; a="b;c" ; Charset="UTF-8"')),
    (200, body("Content-Length: 14", media="application/json; charset=iso-8859-1")),
    (415, body("Content-Length: 15", media="application/json; charset=iso-8859-1",
               data='{"prompt":"aé"}'.encode("latin-1"))),
    (415, body("Content-Length: 14", media="application/jsonp")),
    (415, body("Content-Length: 14", media="text/plain; a=application/json")),
    (200, body("Content-Length: 14", "Content-Encoding: identity")),
]

# What ends the connection: nothing behind it is read.
ENDS = [
    (400, body("Transfer-Encoding: gzip", "Content-Length: 0", data=b"")),
    (400, body("Content-Length: 14", CHUNKED)), (400, body(CHUNKED, "Content-Length: 14")),
    *((400, body(f"Transfer-Encoding: {codings}", data=CHUNKS)) for codings in (
        "gzip", "chunked, gzip", "identity", "", "chunked;q=1", "xchunked", '"chunked"',
        "chunked x")),
    (400, body("Transfer-Encoding: gzip", "Transfer-Encoding: br")),
    (400, body(CHUNKED, CHUNKED, data=CHUNKS)), (400, body(CHUNKED, "Transfer-Encoding: gzip")),
    (400, body(CHUNKED, data=CHUNKS, version="1.0")),
    (501, body("Transfer-Encoding: gzip, chunked", data=CHUNKS)),
    (501, body("Transfer-Encoding: gzip", CHUNKED, data=CHUNKS)),
    *((400, body(f"Content-Length: {length}")) for length in (
        "", "-1", "+14", "0xe", "14,", "14 14", "14, 15", "14;a", "1e1", "9" * 20)),
    (400, body("Content-Length: 14", "Content-Length: 15")),
    *((400, body(CHUNKED, data=data)) for data in (
        b"zz\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"0x2\r\n{}\r\n0\r\n\r\n", b"2\n{}\r\n0\r\n\r\n",
        b" 2\r\n{}\r\n0\r\n\r\n", b"2\r\n{}0\r\n\r\n", b"2 x\r\n{}\r\n0\r\n\r\n",
        b'2;a="\n"\r\n{}\r\n0\r\n\r\n', b"fffffffffffffffff\r\n", CHUNKS[:-2] + b"a b\r\n\r\n",
        CHUNKS[:-2] + b"Transfer-Encoding: chunked\r\n\r\n")),
    (431, body(CHUNKED, data=b"".join(b"1;a=%s\r\n \r\n" % (b"b" * 4000) for _ in range(5)))),
    (413, body(CHUNKED, data=b"ffffffff\r\n")), (413, body("Content-Length: 4194305")),
    (417, body("Content-Length: 14", "Expect: 200-ok")),
    (417, body("Content-Length: 14", "Expect: 100-continue, other")),
    (415, body("Content-Length: 14", "Content-Encoding: gzip")),
    (400, get(host=None)), (400, get("/version", "Host: localhost")),
    (400, get("/version", "Host: localhost", version="1.0")),
    (400, get("http://localhost/version", host=None)),
    *((400, get(host=host)) for host in (
        "a b", "a,b", "user@localhost", "::1", "[::1", "[::1]x", "[a]", "localhost/x",
        "localhost:8x", "localhost:123456", "http://localhost", "lo\xe9")),
    *((400, get(target)) for target in (
        "version", "*", "http:///version", "http:" "//a@localhost/", "ftp://localhost/version",
        "localhost:80", "/%zz", "/%4", "http://localhost/%", "http://[::1/version")),
    (501, get("localhost:80", method="CONNECT")),
    (400, get("/version", "A : b")), (400, get("/version", " A: b", host=None)),
    (400, get("/version", "no colon")), (400, get("/version", ": b")),
    (400, get("/version", "A: b\rc")), (400, get("/version", "A: b\nC: d")),
    (400, get("/version", "A: \x00")), (400, get("/version", "A(: b")),
    (400, b"GET /version HTTP/1.1\nHost: localhost\n\n"), (400, b"GET /version\r\n\r\n"),
    (400, b"GET  /version HTTP/1.1\r\nHost: localhost\r\n\r\n"), (400, b"\n" + get()),
    (400, b"GET /version HTTP/1.1 \r\nHost: localhost\r\n\r\n"), (400, b"\r\r\n" + get()),
    (400, b" " + get()), (400, b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), (505, get(version="1.2")), (505, get(version="3")),
    (414, get("/" + "a" * 20_000)), (431, get("/version", "A: " + "a" * 20_000)),
    (431, get("/version", *(f"A{number}: b" for number in range(3_000)))),
    (200, get("/version", "Connection: other , Close")),
    (200, get("/version", version="1.0", host=None)),
    (200, get("/version", "Expect: 200-ok", version="1.0")),
    (200, get("/version", "Connection: keep-alive, close", version="1.0")),
]


class Http(ServerTest):
    def answers(self, server, data):
        """The status of each answer, up to the end of the connection; and everything."""
        client = server.connect()
        client.sendall(data)
        text = read_all(client)
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", text)], text

    def test_requests(self):
        server = self.start()
        for expected, data in GOES_ON:
            self.assertEqual(self.answers(server, data + NEXT)[0], [expected, 200], data)
        for expected, data in ENDS:
            statuses, text = self.answers(server, data + NEXT)
            self.assertEqual(statuses, [expected], data[:200])
            self.assertIn(b"Connection: close", text)
            if expected != 200:
                self.assertRegex(text, rb'"ingot_code":"INGOT-E72(09|10|11|13)"')
        self.assertEqual(server.stop(), 0)

    def test_answers_name_what_is_wrong(self):
        server = self.start()
        for data, wanted in (
                (get(host="example.com:80"), rb"start the server with --allowed-hosts example.com"),
                (get(method="PUT"), rb"\nAllow: GET, HEAD, OPTIONS\r"),
                (get("/tokenize"), rb"\nAllow: POST, OPTIONS\r"),
                (get("/tokenize", method="OPTIONS"), rb"\nAllow: POST, OPTIONS\r"),
                (body("Transfer-Encoding: gzip"), rb"transfer coding of the body is not chunked"),
                # The form of errors is the path's, also before its handler is asked.
                (get("/v1/messages", "Content-Length: 99999999", method="POST"),
                 rb'{"type":"error","error":{"type":"request_too_large"')):
            self.assertRegex(self.answers(server, data + NEXT)[1], wanted)
        # The head of what GET would answer, and nothing else.
        text = self.answers(server, get(method="HEAD", version="1.0"))[1]
        self.assertRegex(text, rb"\nContent-Length: [1-9][^{]*\r\n\r\n$")
        text = self.answers(server, get("/none", "Transfer-Encoding: x", method="HEAD"))[1]
        self.assertTrue(text.startswith(b"HTTP/1.1 400") and text.endswith(b"\r\n\r\n"), text)

    def test_hosts(self):
        def status(server, host):
            return self.answers(server, get("/version", "Connection: close", host=host))[0][0]
        server = self.start("--allowed-hosts", "llm.example", "--allowed-hosts", "*.corp.example")
        for host, expected in (("LLM.example:443", 200), ("a.b.corp.example", 200),
                               ("corp.example", 403), ("evilcorp.example", 403),
                               ("localhost", 200), ("a.llm.example", 403)):
            self.assertEqual(status(server, host), expected, host)
        server = self.start("--host", "0.0.0.0")
        self.assertEqual(status(server, "any.example"), 200)
        server = self.start("--host", "0.0.0.0", "--allowed-hosts", "llm.example")
        self.assertEqual([status(server, host) for host in ("llm.example", "b.example", "[::1]")],
                         [200, 403, 200])
        server = self.start("--allowed-hosts", "*")
        self.assertEqual(status(server, "any.example"), 200)

    def test_slow_bodies_keep_nobody_out(self):
        """What is announced takes no room."""
        server = self.start()
        request = post("/v1/completions", b" " * (4 << 20))
        slow = [server.connect() for _ in range(65)]
        for client in slow:
            client.sendall(request[:2000])
        wait_for(lambda: server.descriptors() > 65)
        self.assertEqual(server.complete(max_tokens=2)["usage"]["completion_tokens"], 2)
        for client in slow:
            client.close()

    def test_bodies_that_never_end_give_way(self):
        server = self.start("--max-body", 100_000, "--max-bodies", 250_000)
        request = post("/v1/completions", b" " * 100_000, "Connection: close")
        slow = [server.connect() for _ in range(2)]
        for client in slow:
            client.sendall(request[:-1])
        time.sleep(2)  # They have had their time.
        wait_for(lambda: server.request("POST", "/v1/completions", b" " * 60_000)[0] == 400 and
                 select.select(slow, [], [], 0)[0])
        [gone] = select.select(slow, [], [], 0)[0]
        text = read_all(gone)
        self.assertRegex(text, rb"^HTTP/1.1 503 [^{]*Retry-After[^{]*\r\n\r\n{.*INGOT-E7219")
        # The other had to give nothing.
        [left] = [client for client in slow if client is not gone]
        left.sendall(request[-1:])
        self.assertIn(b"HTTP/1.1 400", read_all(left))

    def test_errors_are_read_by_those_who_still_send(self):
        server = self.start("--max-connections", 4)
        client = server.connect()
        client.sendall(post("/v1/completions", b" " * (16 << 20)))
        self.assertRegex(read_all(client), rb"^HTTP/1.1 413 [^{]*\r\n\r\n{.*}$")
        idle = [server.connect() for _ in range(4)]
        client = server.connect()
        client.sendall(post("/v1/completions", b" " * (1 << 20)))
        self.assertIn(b"HTTP/1.1 503", read_all(client))
        for other in idle:
            other.close()
        wait_for(lambda: server.request("GET", "/health")[0] == 200)
        wait_for(lambda: any('"method":"POST","path":"/v1/completions","status":413' in line
                             for line in server.log))


if __name__ == "__main__":
    harness.main()
