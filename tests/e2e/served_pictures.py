# SPDX-License-Identifier: Apache-2.0
"""Pictures in conversations through `ingot-server` and `ingot-run --chat`: prompts and answers are
transformers' in every form that clients write, and what cannot be served is refused by name."""
import base64
import json
import mimetypes
import subprocess

import harness
from pictures import DATA, GOLDENS, MODELS, PictureEngines, expected
from server_process import Server


def encoded(name):
    return base64.b64encode((DATA / "images" / name).read_bytes()).decode()


def url(name):
    return f"data:{mimetypes.guess_type(name)[0]};base64,{encoded(name)}"


def chat_part(part):
    return part if part["type"] == "text" else {
        "type": "image_url", "image_url": {"url": url(part["image"]), "detail": "auto"}}


def anthropic_part(part):
    return part if part["type"] == "text" else {"type": "image", "source": {
        "type": "base64", "media_type": mimetypes.guess_type(part["image"])[0],
        "data": encoded(part["image"])}}


def responses_part(part):
    return {"type": "input_text", "text": part["text"]} if part["type"] == "text" else {
        "type": "input_image", "image_url": url(part["image"])}


def messages(case, part):
    return [{**message, "content": [part(one) for one in message["content"]]}
            for message in case["messages"]]


class ServedPictures(PictureEngines):
    def start(self, model, *options):
        server = Server(self.engine(model), "--served-model-name", "m", *options)
        self.addCleanup(server.stop)
        return server

    def ask(self, server, path, body, status=200):
        got, _, text = server.request("POST", path, body)
        self.assertEqual(got, status, text)
        return json.loads(text)

    def test_prompts_and_answers(self):
        for model in MODELS:
            server = self.start(model)
            for name, case in GOLDENS[model]["cases"].items():
                with self.subTest(f"{model}, {name}"):
                    self.check(server, case)

    def check(self, server, case):
        tokens = len(case["input_ids"])
        sure = expected(case)
        greedy = {"temperature": 0, "ignore_eos": True, "skip_special_tokens": False}
        chat = self.ask(server, "/v1/chat/completions", {
            "messages": messages(case, chat_part), "max_tokens": len(sure), **greedy})
        self.assertEqual(chat["usage"]["prompt_tokens"], tokens)
        text = chat["choices"][0]["message"]["content"]
        self.assertEqual(text, self.ask(server, "/detokenize", {"tokens": sure})["prompt"])
        body = {"messages": messages(case, anthropic_part)}
        counted = self.ask(server, "/v1/messages/count_tokens", body)
        self.assertEqual(counted["input_tokens"], tokens)
        message = self.ask(server, "/v1/messages", {**body, **greedy, "max_tokens": len(sure)})
        self.assertEqual(message["usage"]["input_tokens"]
                         + message["usage"].get("cache_read_input_tokens", 0), tokens)
        response = self.ask(server, "/v1/responses", {
            "input": messages(case, responses_part), "max_output_tokens": len(sure),
            **greedy})
        self.assertEqual(response["usage"]["input_tokens"], tokens)
        self.assertEqual(message["content"][0]["text"], text)
        self.assertEqual(response["output"][0]["content"][0]["text"], text)

    def test_what_is_said_of_engines(self):
        server = self.start(MODELS[0])
        meta = json.loads(server.request("GET", "/v1/models")[2])["data"][0]["meta"]
        self.assertIs(meta["images"], True)
        self.assertTrue(json.loads(server.request("GET", "/engine")[2])["images"])

    def test_refusals(self):
        server = self.start(MODELS[0])
        picture, text = chat_part({"type": "image", "image": "a.png"}), {"type": "text",
                                                                          "text": "a"}
        cases = [([{"type": "image_url", "image_url": {"url": source}}], code)
                 for source, code in (("http://127.0.0.1/a.png", "INGOT-E6815"),
                                      ("file:///etc/passwd", "INGOT-E6815"),
                                      ("/etc/passwd", "INGOT-E6815"),
                                      ("data:image/png,abc", "INGOT-E6815"),
                                      ("data:image/png;base64,aGVsbG8=", "INGOT-E6801"),
                                      (picture["image_url"]["url"][:60], "INGOT-E680"))]
        cases.append(([picture] * 100, "INGOT-E6004"))
        for content, code in cases:
            answer = self.ask(server, "/v1/chat/completions", {
                "messages": [{"role": "user", "content": [text, *content]}]}, 400)
            self.assertTrue(answer["error"]["ingot_code"].startswith(code), answer)
            self.assertEqual(answer["error"]["param"],
                             "prompt" if code == "INGOT-E6004" else "messages")
        # A server that was asked all that goes on, and what users write makes no picture.
        case = GOLDENS[MODELS[0]]["cases"]["one"]
        self.check(server, case)
        words = {"messages": [{"role": "user", "content": case["prompt"]}], "max_tokens": 1}
        self.ask(server, "/v1/chat/completions", words)
        self.ask(server, "/v1/completions", {"prompt": case["input_ids"]}, 400)

    def test_engines_without(self):
        server = self.start(MODELS[0], "--max-body", "1000000")
        self.ask(server, "/v1/chat/completions", {"messages": [
            {"role": "user", "content": "x" * 1_100_000}]}, 413)
        blind = Server(self.engine(MODELS[0], "x86-64-v3", "--no-vision"))
        self.addCleanup(blind.stop)
        case = GOLDENS[MODELS[0]]["cases"]["one"]
        for path in ("/v1/chat/completions", "/apply-template"):
            answer = self.ask(blind, path, {"messages": messages(case, chat_part)}, 400)
            self.assertEqual(answer["error"]["ingot_code"], "INGOT-E6814")
        self.assertIsNone(json.loads(blind.request("GET", "/engine")[2])["images"])

    def test_terminal(self):
        for model in MODELS:
            case = GOLDENS[model]["cases"]["one"]
            picture = DATA / "images" / case["images"][0]
            said = subprocess.run(
                [harness.programs / "ingot-run", self.engine(model), "--chat", "--greedy",
                 "--ignore-eos", "-n", "16"], capture_output=True, text=True, errors="replace",
                timeout=harness.LIMIT, check=False,
                input=f"/image {picture}\n/image nowhere\nWhat is in this picture?\n")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertRegex(said.stdout, r"JPEG, \d+ x \d+, \d+ tokens")
            self.assertIn("INGOT-E7101", said.stderr)
            self.assertIn(f"{len(case['input_ids'])} ", said.stderr)


if __name__ == "__main__":
    harness.main()
