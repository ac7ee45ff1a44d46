#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Structured outputs and calls that must be right of the clients of OpenAI, Anthropic and LangChain
(build/langchain_openai has them all, from scripts/setup --full), with Pydantic's models, against
the example model."""
import pathlib
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
for packages in (ROOT / "build" / "langchain_openai").glob("lib/python3*/site-packages"):
    sys.path.insert(0, str(packages))
try:
    import anthropic
    import langchain.agents
    import langchain.agents.structured_output
    import langchain_anthropic
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


TEMPLATE = ("{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}"
            "{% for m in messages %}{{ m.content }} {% endfor %}{# <tool_call> #}")


class Calls(harness.FablesTest):
    """Of a model that has no idea of tools: that calls come, and are right, is the server's."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        file = cls.shared.folder / "calls.jinja"
        file.write_text(TEMPLATE)
        cls.server = Server(cls.engine, "--served-model-name", "m", "--chat-template", file,
                            "--tool-parser", "hermes")
        cls.address = cls.server.address

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        super().tearDownClass()

    def test_openai(self):
        client = openai.OpenAI(base_url=f"{self.address}/v1", api_key="none", max_retries=0)
        self.addCleanup(client.close)
        tool = openai.pydantic_function_tool(Trip, name="travel")
        self.assertTrue(tool["function"]["strict"])
        for choice in ("required", {"type": "function", "function": {"name": "travel"}}):
            answer = client.chat.completions.parse(
                model="m", messages=ASKED, tools=[tool], tool_choice=choice, temperature=1.0,
                seed=2, max_tokens=LIMIT, parallel_tool_calls=False)
            call, = answer.choices[0].message.tool_calls
            self.assertIsInstance(call.function.parsed_arguments, Trip)
        answer = client.responses.create(
            model="m", input="Once upon a time", temperature=1.0, max_output_tokens=LIMIT,
            tools=[{"type": "function", "name": "travel", "strict": True,
                    "parameters": tool["function"]["parameters"]}], tool_choice="required",
            parallel_tool_calls=False)
        call, = answer.output
        Trip.model_validate_json(call.arguments)

    def test_anthropic(self):
        client = anthropic.Anthropic(base_url=self.address, api_key="none", max_retries=0)
        self.addCleanup(client.close)
        tool = {"name": "travel", "input_schema": Trip.model_json_schema()}
        for choice in ({"type": "any"}, {"type": "tool", "name": "travel"}):
            with client.messages.stream(
                    model="m", messages=ASKED, max_tokens=LIMIT, tools=[tool],
                    tool_choice={**choice, "disable_parallel_tool_use": True}) as stream:
                call, = stream.get_final_message().content
            Trip.model_validate(call.input)

    def models(self):
        return (
            langchain_openai.ChatOpenAI(model="m", base_url=f"{self.address}/v1", api_key="none",
                                        max_retries=0, temperature=1.0, max_tokens=LIMIT, seed=3),
            langchain_anthropic.ChatAnthropic(model="m", base_url=self.address, api_key="none",
                                              max_retries=0, max_tokens=LIMIT))

    def test_langchain(self):
        for model in self.models():
            bound = model.bind_tools([Trip], tool_choice="any", parallel_tool_calls=False)
            call, = bound.invoke("Once").tool_calls
            self.assertEqual(call["name"], "Trip")
            Trip.model_validate(call["args"])
            told = model.with_structured_output(Trip).invoke("Once")
            self.assertIsInstance(told, Trip)

    def test_agent(self):
        """It ends once the answer's form, which is a tool to it, is called: at the first turn."""
        model = langchain_openai.ChatOpenAI(
            model="m", base_url=f"{self.address}/v1", api_key="none", max_retries=0, seed=4,
            temperature=1.0, max_tokens=LIMIT, model_kwargs={"parallel_tool_calls": False})
        agent = langchain.agents.create_agent(
            model, tools=[],
            response_format=langchain.agents.structured_output.ToolStrategy(Trip))
        state = agent.invoke({"messages": ASKED}, {"recursion_limit": 4})
        self.assertIsInstance(state["structured_response"], Trip)


if __name__ == "__main__":
    harness.main()
