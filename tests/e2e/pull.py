# SPDX-License-Identifier: Apache-2.0
"""`ingot pull` from a Hub on this machine, with everything that a network and a hostile repository
can do: never a damaged file under its name, never the token elsewhere."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import shutil
import unittest

import harness
import hub_server

WEIGHTS = bytes(range(256)) * 1200
FOLDER = {
    "config.json": b'{"architectures": ["LlamaForCausalLM"]}', "tokenizer.json": b"{}",
    "chat_template.jinja": b"{{ messages }}", "README.md": b"# A model",
    "model.safetensors.index.json": json.dumps({"weight_map": {
        "a": "model-00001-of-00002.safetensors",
        "b": "model-00002-of-00002.safetensors"}}).encode(),
    "model-00001-of-00002.safetensors": WEIGHTS,
    "model-00002-of-00002.safetensors": WEIGHTS[::-1],
    "consolidated.safetensors": WEIGHTS, "pytorch_model.bin": b"a pickle", "modeling_evil.py": b"1",
    "onnx/model.safetensors": WEIGHTS, "empty.json": b"",
}
KEPT = {name for name in FOLDER if name.endswith((".json", ".jinja"))} | {
    "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}
TOKEN = "hf_secret"
NAMES = ("HF_", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "XDG_")


class PullTest(unittest.TestCase):
    files = FOLDER

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-pull-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.hub = hub_server.HubServer(self.files)
        self.addCleanup(self.hub.close)
        self.home = self.folder / "home"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(NAMES)}
        self.environment |= {"HF_HOME": str(self.home), "HF_ENDPOINT": self.hub.url,
                             "HF_TOKEN": TOKEN}

    def pull(self, name="org/model", *options, retries=1, **more):
        return subprocess.run(
            [harness.programs / "ingot-pull", name, "--retries", str(retries), *map(str, options)],
            env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False, **more)

    def pulled(self, *arguments, **options):
        """The path that is printed; everything under its name is whole, and the token is safe."""
        result = self.pull(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_sound()
        return pathlib.Path(result.stdout.rstrip("\n")), result.stderr

    def refuse(self, code, *arguments, says="", **options):
        result = self.pull(*arguments, **options)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(f"error: {code}", result.stderr)
        self.assertIn(says, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertNotIn(TOKEN, result.stderr)
        self.assert_sound()
        return result.stderr

    @property
    def cache(self):
        return self.home / "hub" / "models--org--model"

    def assert_sound(self):
        """Each blob has the digest that it is named by, each link leads to one, all is below the
        folder, and the token was said to the endpoint alone."""
        for blob in (self.cache / "blobs").glob("*"):
            if blob.suffix != ".incomplete":
                data = blob.read_bytes()
                self.assertIn(blob.name, (hashlib.sha256(data).hexdigest(),
                                          hub_server.blob_id(data)))
        for link in (self.cache / "snapshots").rglob("*"):
            if not link.is_dir():
                self.assertTrue(link.is_symlink() and not os.readlink(link).startswith("/"))
                self.assertEqual(link.resolve().parent, (self.cache / "blobs").resolve())
        self.assertLessEqual({path.name for path in self.folder.iterdir()},
                             {"home", "other", "tls", "token"})
        for port, path, token, _ in self.hub.seen:
            self.assertEqual(token, f"Bearer {TOKEN}" if port == "hub" else None, path)

    def names(self, folder):
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


class Folders(PullTest):
    def test_a_folder_is_what_other_programs_expect(self):
        path, said = self.pulled()
        self.assertEqual(path, self.cache / "snapshots" / hub_server.COMMIT)
        self.assertEqual(self.names(path), KEPT)
        for name in KEPT:
            self.assertEqual((path / name).read_bytes(), FOLDER[name])
            self.assertEqual(os.readlink(path / name),
                             "../../blobs/" + hub_server.digest(name, FOLDER[name]))
        self.assertEqual((self.cache / "refs" / "main").read_text(), hub_server.COMMIT)
        self.assertRegex(said, "not fetched.*pytorch_model.bin.*modeling_evil.py")
        # What is there is not fetched again, and offline nothing is asked.
        count = len(self.hub.seen)
        self.assertEqual(self.pulled()[0], path)
        self.assertEqual(len(self.hub.seen), count + 1)
        for option in "--offline", "--if-missing":
            self.assertEqual(self.pulled("org/model", option)[0], path)
        self.assertEqual(len(self.hub.seen), count + 1)

    def test_another_commit_shares_what_is_equal(self):
        self.pulled()
        self.hub.commit = "f" * 40
        self.hub.files["config.json"] = b'{"other": 1}'
        count = len(self.hub.asked("elsewhere"))
        path, _ = self.pulled("org/model", "--if-missing")
        self.assertEqual(path.name, hub_server.COMMIT)
        path, _ = self.pulled()
        self.assertEqual(path.name, "f" * 40)
        self.assertEqual((path / "config.json").read_bytes(), b'{"other": 1}')
        self.assertEqual(len(self.hub.asked("elsewhere")), count)
        for revision in "refs/pr/1", "f" * 40:
            self.assertEqual(self.pulled(f"org/model@{revision}")[0], path)
        self.assertEqual((self.cache / "refs" / "refs" / "pr" / "1").read_text(), "f" * 40)

    def test_offline_takes_only_what_is_whole(self):
        self.refuse("INGOT-E7317", "org/model", "--offline")
        path, _ = self.pulled()
        (path / "model-00002-of-00002.safetensors").unlink()
        self.refuse("INGOT-E7317", "org/model", "--offline", says="as a whole")
        self.assertEqual(self.pulled("org/model", "--if-missing")[0], path)
        self.assertEqual(self.names(path), KEPT)

    def test_options_come_before_the_environment(self):
        self.environment |= {"HF_ENDPOINT": "https://example.com", "HF_TOKEN": "other"}
        (self.folder / "token").write_text(TOKEN + "\n")
        path, _ = self.pulled("org/model", "--endpoint", self.hub.url + "/", "--token-file",
                              self.folder / "token", "--cache-dir", self.folder / "other")
        self.assertEqual(path.parent.parent.parent, self.folder / "other")
        self.environment |= {"HF_ENDPOINT": self.hub.url, "HF_TOKEN": ""}
        self.home.mkdir()
        (self.home / "token").write_text(TOKEN)
        self.pulled()
        self.environment["HF_TOKEN"] = "a\nX-Field: b"
        self.refuse("INGOT-E7319")


class Faults(PullTest):
    WEIGHT = "model-00001-of-00002.safetensors"

    def kept(self, name):
        """What is left of a file that is not whole."""
        path = self.cache / "blobs" / (hub_server.digest(name, FOLDER[name]) + ".incomplete")
        return path.stat().st_size if path.exists() else None

    def test_cut_connections_go_on(self):
        self.hub.faults = {self.WEIGHT: ["cut"] * 3, "config.json": ["cut"]}
        path, said = self.pulled(retries=5)
        self.assertEqual(self.names(path), KEPT)
        self.assertIn("try 1 of 5", said)
        half = len(WEIGHTS) // 2
        self.assertIn(f"bytes={half}-", [asked for _, _, _, asked in self.hub.seen])
        # An earlier process's part is used too.
        shutil.rmtree(self.cache)
        self.hub.faults = {self.WEIGHT: ["cut"]}
        self.refuse("INGOT-E7310", retries=0)
        self.assertEqual(self.kept(self.WEIGHT), half)
        self.hub.seen.clear()
        self.pulled()
        self.assertIn(f"bytes={half}-", [asked for _, _, _, asked in self.hub.seen])

    def test_ranges_that_a_server_does_not_serve(self):
        for fault in "no ranges", "other range":
            with self.subTest(fault):
                shutil.rmtree(self.cache, ignore_errors=True)
                self.hub.faults = {self.WEIGHT: ["cut", fault]}
                if fault == "no ranges":
                    self.pulled()
                else:
                    self.refuse("INGOT-E7304")

    def test_what_an_earlier_process_left_is_digested(self):
        self.pulled()
        name = hub_server.digest(self.WEIGHT, WEIGHTS)
        for left in b"other bytes", b"x" * len(WEIGHTS), b"x" * (len(WEIGHTS) + 1):
            (self.cache / "blobs" / name).unlink(missing_ok=True)
            (self.cache / "blobs" / (name + ".incomplete")).write_bytes(left)
            self.pulled()
        # A link in its place is not followed.
        (self.cache / "blobs" / name).unlink()
        (self.folder / "other").write_bytes(b"")
        (self.cache / "blobs" / (name + ".incomplete")).symlink_to(self.folder / "other")
        self.refuse("INGOT-E7313")
        self.assertEqual((self.folder / "other").read_bytes(), b"")

    def test_bytes_that_were_not_published(self):
        for fault in "wrong", "longer":
            for name in self.WEIGHT, "config.json":
                with self.subTest(fault=fault, name=name):
                    shutil.rmtree(self.cache, ignore_errors=True)
                    self.hub.faults = {name: [fault]}
                    self.refuse("INGOT-E7311", says=name)
                    self.assertFalse(self.kept(name))
                    self.assertFalse((self.cache / "refs" / "main").exists())
        self.pulled()

    def test_answers_that_refuse(self):
        for status, code in ((401, "E7306"), (403, "E7306"), (404, "E7307"), (400, "E7309"),
                             (429, "E7308"), (503, "E7309")):
            for name in "api", "config.json":
                with self.subTest(status=status, name=name):
                    shutil.rmtree(self.cache, ignore_errors=True)
                    self.hub.faults = {name: [(status, {"X_Error_Message": "why\x1b it is"})] * 2}
                    said = self.refuse("INGOT-" + code, says="why")
                    self.assertNotIn("\x1b", said)
        # An address elsewhere may have expired: the endpoint is asked for another.
        self.hub.faults = {self.WEIGHT: [(403, {})]}
        self.pulled()

    def test_a_server_that_asks_for_time_gets_it(self):
        self.hub.faults = {"api": [(429, {"Retry_After": "1"})], "config.json": [(503, {})]}
        _, said = self.pulled()
        self.assertIn("in 1000 ms", said)
        self.hub.faults = {"api": [(429, {"Retry_After": "3600"})]}
        self.refuse("INGOT-E7308", says="in 3600 seconds")

    def test_nobody_there(self):
        self.hub.close()
        self.refuse("INGOT-E7310", retries=0, says="127.0.0.1")

    def test_answers_that_make_no_sense(self):
        listed = self.hub.listed()
        first = listed["siblings"][0]
        for listing in ([], {}, {**listed, "sha": "../.."}, {**listed, "siblings": None},
                        {**listed, "siblings": [{**first, "size": -1}]},
                        {**listed, "siblings": [{**first, "blobId": "../../x"}]},
                        {**listed, "siblings": [first, first]}):
            with self.subTest(listing):
                self.hub.listing = listing
                self.refuse("INGOT-E7304")

    def test_space_is_asked_for_first(self):
        listing = self.hub.listed()
        for entry in listing["siblings"]:
            if entry["rfilename"] == self.WEIGHT:
                entry["lfs"]["size"] = 1 << 49
        self.hub.listing = listing
        self.refuse("INGOT-E7312", says="512.0 TiB")
        self.assertEqual(self.hub.asked("elsewhere"), [])
        # A disk that fills meanwhile: a limit stands for it.
        self.hub.listing = None

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        self.refuse("INGOT-E7312", preexec_fn=limit)
        self.assertLessEqual(self.kept(self.WEIGHT) or 0, 100_000)
        self.pulled()

    def test_without_libcurl_the_package_is_named(self):
        (self.folder / "other").mkdir()
        (self.folder / "other" / "libcurl.so.4").write_bytes(b"")
        self.environment["LD_LIBRARY_PATH"] = str(self.folder / "other")
        self.refuse("INGOT-E7302", says="libcurl4")

    def test_folders_that_cannot_be_written(self):
        self.home.write_text("a file")
        self.refuse("INGOT-E7313")

    def test_two_pulls_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: self.pull(), range(4)))
        self.assertEqual([result.returncode for result in results], [0] * 4, results)
        self.assert_sound()
        fetched = [path for path in self.hub.asked("elsewhere")]
        self.assertEqual(len(fetched), len(set(fetched)))

    def test_a_pull_that_is_killed_leaves_nothing_damaged(self):
        self.hub.faults = {self.WEIGHT: ["cut"] * 20}
        process = subprocess.Popen(
            [harness.programs / "ingot-pull", "org/model", "--retries", "20"],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.assertIn("try 1", "".join(process.stderr.readline() for _ in range(2)))
        process.kill()
        process.communicate()
        self.hub.faults = {}
        self.assert_sound()
        self.pulled()


@unittest.skipUnless(shutil.which("openssl"), "openssl makes the certificate")
class Tls(PullTest):
    def setUp(self):
        super().setUp()
        (self.folder / "tls").mkdir()
        self.certificate, key = self.folder / "tls" / "cert.pem", self.folder / "tls" / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
                        self.certificate, "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        self.plain = self.hub
        self.hub = hub_server.HubServer(self.files, (self.certificate, key))
        self.addCleanup(self.hub.close)
        self.environment["HF_ENDPOINT"] = self.hub.url

    def test_authorities_are_those_that_are_named(self):
        self.refuse("INGOT-E7318", says="certificate")
        self.assertEqual(self.hub.seen, [])
        self.environment["SSL_CERT_FILE"] = str(self.certificate)
        path, _ = self.pulled()
        self.assertEqual(self.names(path), KEPT)
        self.environment["SSL_CERT_FILE"] = str(self.folder / "no-file")
        self.refuse("INGOT-E7318", says="SSL_CERT_FILE")
        # From https nothing leads to http, also on this machine.
        shutil.rmtree(self.cache)
        self.environment["SSL_CERT_FILE"] = str(self.certificate)
        self.hub.faults = {"location config.json": [self.plain.url + "/config.json"]}
        self.refuse("INGOT-E7303")
        self.assertEqual(self.plain.seen, [])

    def test_a_proxy_is_asked_for_https_alone(self):
        self.environment |= {"SSL_CERT_FILE": str(self.certificate),
                             "HTTPS_PROXY": "http://127.0.0.1:1"}
        self.pulled()  # this machine has no need of one
        self.environment["HF_ENDPOINT"] = "https:" "//0.0.0.0:2"
        self.refuse("INGOT-E7310", retries=0, says="127.0.0.1 port 1 ")
        self.environment["NO_PROXY"] = "0.0.0.0"
        self.refuse("INGOT-E7310", retries=0, says="0.0.0.0 port 2 ")


class Hostile(PullTest):
    def test_names_that_leave_the_folder(self):
        for name in ("../evil", "/etc/evil", "a/../../evil", "a//b", ".", "..", "a/..", "a\\..\\b",
                     "a\nb", "a\x1b[2J", "a\u0085b", "", "a" * 300, "./config.json"):
            with self.subTest(name):
                listing = self.hub.listed()
                listing["siblings"].append({"rfilename": name, "size": 1, "blobId": "0" * 40})
                self.hub.listing = listing
                said = self.refuse("INGOT-E7305")
                self.assertNotIn("\x1b", said)
                self.hub.listing = None
        self.assertEqual(self.hub.asked("elsewhere"), [])

    def test_a_file_where_a_folder_must_be(self):
        self.hub.files = {"q/m-Q4_0.gguf": WEIGHTS, "other.gguf": WEIGHTS[::-1]}
        self.pulled("org/model:Q4_0")
        folder = self.cache / "snapshots" / hub_server.COMMIT / "q"
        shutil.rmtree(folder)
        (self.folder / "other").mkdir()
        folder.symlink_to(self.cache / "blobs" / hub_server.digest("a.gguf", WEIGHTS))
        self.assertEqual(self.pull("org/model:Q4_0").returncode, 1)

    def test_redirects_that_lead_astray(self):
        name = "model-00001-of-00002.safetensors"
        for location, code in (
                ("http:" "//192.0.2.1/evil", "E7303"), ("file:///etc/passwd", "E7303"),
                ("ftp://127.0.0.1/", "E7303"), ("gopher://127.0.0.1/", "E7303"),
                ("http://127.0.0.1@192.0.2.1/", "E7303"), ("http:" "//0177.0.0.1/", "E7303"),
                ("http:" "//127.1/", "E7303"), ("http:" "//127.0.0.1.example.com/", "E7303"),
                ("https:" "//u:p@example.com/", "E7303"), (self.hub.url + "/a b", "E7303"),
                ("/org/model/resolve/" + hub_server.COMMIT + "/" + name, "E7304")):
            with self.subTest(location):
                self.hub.faults = {"location " + name: [location] * 20}
                self.refuse("INGOT-" + code)

    def test_a_token_is_dropped_at_another_port(self):
        # Small files come from the endpoint, which must have the token; large ones from elsewhere.
        self.pulled()
        self.assertEqual({port for port, *_ in self.hub.seen}, {"hub", "elsewhere"})
        # The endpoint under another name is elsewhere too.
        shutil.rmtree(self.cache)
        self.hub.seen.clear()
        port = self.hub.endpoint.server_port
        direct = f"/api/resolve-cache/models/org/model/{hub_server.COMMIT}/config.json"
        self.hub.faults = {"location config.json": [f"http://localhost:{port}{direct}"]}
        self.assertEqual(self.pull().returncode, 0)
        tokens = [token for _, path, token, _ in self.hub.seen if path == direct]
        self.assertEqual(tokens, [None])

    def test_names_that_are_none(self):
        for name in ("model", "a/b/c", "../a", "a/..", "-a/b", "a/b@../c", "a/b:../c", "a/b:/c",
                     "a--b/c", "a/b\n", "https:/a/b", "a/b@", "a/b:"):
            with self.subTest(name):
                self.refuse("INGOT-E7301", name) if not name.startswith("-") else None
        self.environment["HF_ENDPOINT"] = "http://example.com"
        self.refuse("INGOT-E7303")


class Ggufs(PullTest):
    files = {f"m-{name}.gguf": bytes([i]) * (1000 + 1000 * i) for i, name in enumerate(
        ("Q2_K", "Q4_K_M", "Q8_0", "BF16"))} | {
            "split/m-Q6_K-0000%d-of-00002.gguf" % i: b"%d" % i * 1000 for i in (1, 2)} | {
            "mmproj-m-F16.gguf": b"a projector"}

    def test_a_quantization_by_name(self):
        for part, expected in (("Q8_0", "m-Q8_0.gguf"), ("q2_k", "m-Q2_K.gguf"),
                               ("m-BF16.gguf", "m-BF16.gguf"),
                               ("Q6_K", "split/m-Q6_K-00001-of-00002.gguf")):
            with self.subTest(part):
                path, _ = self.pulled("org/model:" + part)
                folder = self.cache / "snapshots" / hub_server.COMMIT
                self.assertEqual(path, folder / expected)
                self.assertEqual(path.read_bytes(), self.files[expected])
                self.assertEqual(self.pulled("org/model:" + part, "--offline")[0], path)
        self.assertTrue((folder / "split" / "m-Q6_K-00002-of-00002.gguf").is_file())
        self.assertFalse((folder / "mmproj-m-F16.gguf").exists())
        self.refuse("INGOT-E7315", "org/model:Q5_K", says="Q8_0")

    def test_a_page_of_the_hub_is_a_name(self):
        path, _ = self.pulled(f"{self.hub.url}/org/model/blob/main/m-Q8_0.gguf?download=true")
        self.assertEqual(path.name, "m-Q8_0.gguf")
        self.refuse("INGOT-E7301", "https://example.com/org/model")

    def test_what_fits_is_chosen_and_said(self):
        gibibyte = 1 << 30
        for memory, expected in ((gibibyte + 2500, "Q4_K_M"), (gibibyte + 1500, "Q2_K")):
            path, said = self.pulled("org/model", "--memory", memory)
            self.assertEqual(path.name, f"m-{expected}.gguf")
            self.assertIn(expected + " is chosen", said)
        self.refuse("INGOT-E7316", "org/model", "--memory", gibibyte, says="Q2_K")

    def test_repositories_without_a_model(self):
        self.hub.files = {"pytorch_model.bin": b"", "config.json": b"{}"}
        self.refuse("INGOT-E7314", says="pytorch_model.bin")
        self.hub.files = {"README.md": b""}
        self.refuse("INGOT-E7314")


if __name__ == "__main__":
    harness.main()
