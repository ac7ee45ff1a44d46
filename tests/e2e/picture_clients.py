#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The official clients of OpenAI and Anthropic (from scripts/setup --full) ask `ingot-server` about
two pictures with a text between: the answer is transformers', whole and streamed."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for client in ("openai", "anthropic"):
    for packages in (ROOT / "build" / client).glob("lib/python3*/site-packages"):
        sys.path.insert(0, str(packages))
try:
    import anthropic
    import openai
except ImportError:
    print("SKIP picture_clients: scripts/setup --full installs the clients")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import harness
from pictures import GOLDENS, MODELS, PictureEngines, expected
from served_pictures import anthropic_part, chat_part, messages, responses_part
from server_process import Server


class PictureClients(PictureEngines):
    def test_two_pictures_and_a_text_between(self):
        for model in MODELS:
            case = GOLDENS[model]["cases"]["two"]
            kinds = [part["type"] for part in case["messages"][-1]["content"]]
            self.assertIn("image text image", " ".join(kinds))
            with self.subTest(model):
                server = Server(self.engine(model), "--served-model-name", "m")
                self.addCleanup(server.stop)
                _, _, said = server.request("POST", "/detokenize", {"tokens": expected(case)})
                text = json.loads(said)["prompt"]
                self.ask_openai(server, case, text)
                self.ask_anthropic(server, case, text)

    def ask_openai(self, server, case, text):
        client = openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0)
        self.addCleanup(client.close)
        greedy = {"model": "m", "temperature": 0,
                  "extra_body": {"ignore_eos": True, "skip_special_tokens": False}}
        tokens = len(expected(case))
        chat = {**greedy, "messages": messages(case, chat_part), "max_tokens": tokens}
        whole = client.chat.completions.create(**chat)
        self.assertEqual(whole.choices[0].message.content, text)
        self.assertEqual(whole.usage.prompt_tokens, len(case["input_ids"]))
        pieces = client.chat.completions.create(stream=True, **chat)
        self.assertEqual("".join(piece.choices[0].delta.content or "" for piece in pieces
                                 if piece.choices), text)
        response = client.responses.create(input=messages(case, responses_part),
                                           max_output_tokens=tokens, **greedy)
        self.assertEqual(response.output_text, text)

    def ask_anthropic(self, server, case, text):
        client = anthropic.Anthropic(base_url=server.address, api_key="none", max_retries=0)
        self.addCleanup(client.close)
        asked = {"model": "m", "messages": messages(case, anthropic_part),
                 "max_tokens": len(expected(case)),
                 "extra_body": {"temperature": 0, "ignore_eos": True, "skip_special_tokens": False}}
        self.assertEqual(client.messages.create(**asked).content[0].text, text)
        with client.messages.stream(**asked) as stream:
            self.assertEqual(stream.get_final_text(), text)


if __name__ == "__main__":
    harness.main()
