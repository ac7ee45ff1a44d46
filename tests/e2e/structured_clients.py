#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Structured outputs of the clients of OpenAI, Anthropic and LangChain (build/langchain_openai has
them all, from scripts/setup --full), with Pydantic's models, against the example model."""
import pathlib
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
for packages in (ROOT / "build" / "langchain_openai").glob("lib/python3*/site-packages"):
    sys.path.insert(0, str(packages))
try:
    import anthropic
    import langchain_openai
    import openai
    import pydantic
except ImportError:
    print("SKIP langchain_openai: scripts/setup --full installs it")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

import harness
from server_process import Server


class Closed(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")


class Place(Closed):
    city: typing.Literal["Rome", "Oslo"]
    height: typing.Optional[typing.Annotated[int, pydantic.Field(ge=-50, le=9000)]]


class Trip(Closed):
    """Somewhere."""
    to: Place
    kind: typing.Literal["car", "train"]


ASKED = [{"role": "user", "content": "Once upon a time"}]
LIMIT = 600


class Structured(harness.FablesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(cls.engine, "--served-model-name", "m")
        cls.address = cls.server.address

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        super().tearDownClass()

    def open_ai(self):
        client = openai.OpenAI(base_url=f"{self.address}/v1", api_key="none", max_retries=0)
        self.addCleanup(client.close)
        return client

    def test_openai_chats(self):
        for seed in range(4):
            answer = self.open_ai().chat.completions.parse(
                model="m", messages=ASKED, response_format=Trip, temperature=1.0, seed=seed,
                max_tokens=LIMIT)
            self.assertIsInstance(answer.choices[0].message.parsed, Trip)
        with self.open_ai().chat.completions.stream(
                model="m", messages=ASKED, response_format=Trip, temperature=1.0, seed=1,
                max_tokens=LIMIT) as stream:
            self.assertIsInstance(stream.get_final_completion().choices[0].message.parsed, Trip)

    def test_openai_responses(self):
        answer = self.open_ai().responses.parse(
            model="m", input="Once upon a time", text_format=Trip, temperature=1.0,
            max_output_tokens=LIMIT)
        self.assertIsInstance(answer.output_parsed, Trip)

    def test_anthropic(self):
        client = anthropic.Anthropic(base_url=self.address, api_key="none", max_retries=0)
        self.addCleanup(client.close)
        answer = client.messages.parse(model="m", messages=ASKED, max_tokens=LIMIT,
                                       output_format=Trip)
        self.assertIsInstance(answer.parsed_output, Trip)

    def test_langchain(self):
        for more in ({"seed": 5}, {"use_responses_api": True}):
            model = langchain_openai.ChatOpenAI(
                model="m", base_url=f"{self.address}/v1", api_key="none", max_retries=0,
                temperature=1.0, max_tokens=LIMIT, **more)
            for kind in (Trip, Trip.model_json_schema()):
                answer = model.with_structured_output(kind, method="json_schema").invoke("Once")
                self.assertIsInstance(Trip.model_validate(answer), Trip)


if __name__ == "__main__":
    harness.main()
