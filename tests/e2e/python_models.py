# SPDX-License-Identifier: Apache-2.0
"""The Python package with the example model, as an engine, a folder and a GGUF file: the session
that users type, chats, scores, logits and a server."""
import asyncio
import contextlib
import io
import json
import math
import os
import shutil
import sys
import types
import urllib.request

import harness
import python_tree
from gguf_files import file_tensors, gguf, metadata
from qwen2_family import read_tensors

np = harness.numpy()
HELLO = [{"role": "user", "content": "Tell me of a fox."}]
BUILD = ["--target", "reference"]


def gguf_file(path):
    """The example model as a converter writes it."""
    config = json.loads((harness.FABLES / "config.json").read_text())
    tensors = file_tensors(config, read_tensors(harness.FABLES / "model.safetensors"), True)
    path.write_bytes(gguf(metadata("llama", config, harness.FABLES), tensors))
    return path


class Models(harness.FablesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        root = cls.shared.folder
        python_tree.install(root)
        sys.path.insert(0, str(root))
        cls.addClassCleanup(sys.path.remove, str(root))
        # Where `ingot` keeps engines, and where the package finds the programs.
        kept = {name: os.environ.get(name) for name in ("XDG_CACHE_HOME", "PATH")}
        os.environ["XDG_CACHE_HOME"] = str(root / "cache")
        os.environ["PATH"] = f"{harness.programs}:{os.environ['PATH']}"
        for name, value in kept.items():
            cls.addClassCleanup(os.environ.__setitem__ if value else os.environ.pop, name, value)
        (root / "cache").mkdir(mode=0o700)
        cls.gguf = gguf_file(root / "fables.gguf")
        cls.llm = cls.opened(cls.engine)
        cls.addClassCleanup(cls.llm.close)

    @classmethod
    def opened(cls, model, **more):
        import ingot_llm
        return ingot_llm.LLM(model, threads=2, max_sequences=8, max_context=256, **more)

    def params(self, **fields):
        import ingot_llm
        return ingot_llm.SamplingParams(**{"temperature": 0, "max_tokens": 16, **fields})

    def test_session(self):
        """The same answer of all three, by all ways to ask."""
        expected = self.ingot_run(self.engine, "-p", "Once", "-n", "16", "--greedy").stdout
        for model in (self.engine, harness.FABLES, self.gguf):
            options = {} if model == self.engine else {"build_options": BUILD}
            said = io.StringIO()
            with self.subTest(model=model), contextlib.redirect_stderr(said), \
                    self.opened(model, **options) as llm:
                self.assertEqual("wrote " in said.getvalue(), model != self.engine)
                text = llm.generate(["Once"], self.params())[0].outputs[0].text
                self.assertIn(text.strip(), expected)
                self.assertEqual("".join(piece.text for piece in llm.stream("Once", self.params())),
                                 text)

                async def read():
                    return "".join([piece.text async for piece in llm.stream("Once",
                                                                             self.params())])

                self.assertEqual(asyncio.run(read()), text)
                self.assertTrue(llm.chat(HELLO, self.params())[0].finished)
                if options:  # another time it is there
                    again = io.StringIO()
                    with contextlib.redirect_stderr(again), self.opened(model, **options) as other:
                        self.assertEqual(other.path, llm.path)
                    self.assertNotIn("wrote ", again.getvalue())

    def test_refused_builds(self):
        import ingot_llm
        for code, model, options in (("INGOT-E2103", harness.FABLES, ["--port", "1"]),
                                     ("INGOT-E7001", self.fresh("empty"), BUILD)):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(ingot_llm.IngotError) as found:
                self.opened(model, build_options=options)
            self.assertEqual(found.exception.code, code)
            self.assertIn(found.exception.message, said.getvalue())
        with self.assertRaises(ValueError):
            self.opened(self.engine, build_options=BUILD)

    def test_programs(self):
        """Nothing finds them where PATH has none."""
        import ingot_llm
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = str(self.folder)
        for call in (lambda: self.opened(harness.FABLES), self.llm.serve(port=0).__enter__):
            with self.assertRaises(ingot_llm.IngotError) as found:
                call()
            self.assertEqual(found.exception.code, "INGOT-E6083")

    def test_chats(self):
        answer, = self.llm.chat(HELLO, self.params())
        self.assertEqual(answer.prompt, self.llm.apply_chat_template(HELLO,
                                                                     add_generation_prompt=True))
        self.assertEqual(answer.prompt_token_ids, self.llm.tokenize_chat(HELLO))
        both = self.llm.chat([HELLO, HELLO], self.params())
        self.assertEqual([one.outputs for one in both], [answer.outputs] * 2)
        create = self.llm.create_chat_completion
        whole = create(HELLO, max_tokens=16, temperature=0, logprobs=True, top_logprobs=2)
        choice, = whole["choices"]
        self.assertEqual(choice["message"], {"role": "assistant", "refusal": None,
                                             "content": answer.outputs[0].text})
        self.assertEqual((choice["finish_reason"], whole["usage"]["completion_tokens"]),
                         ("length", 16))
        tokens = choice["logprobs"]["content"]
        self.assertEqual("".join(token["token"] for token in tokens), answer.outputs[0].text)
        self.assertTrue(all(len(token["top_logprobs"]) == 2 for token in tokens))
        fields = {"max_completion_tokens": 16, "temperature": 0, "n": 2, "stream": True,
                  "stream_options": {"include_usage": True}}

        async def read():
            return [chunk async for chunk in create(HELLO, **fields)]

        for chunks in (list(create(HELLO, **fields)), asyncio.run(read())):
            for index in range(2):
                own = [chunk["choices"][0] for chunk in chunks[:-1]
                       if chunk["choices"][0]["index"] == index]
                self.assertEqual(own[0]["delta"], {"role": "assistant", "content": ""})
                self.assertEqual("".join(one["delta"].get("content", "") for one in own),
                                 answer.outputs[0].text)
                self.assertEqual([one["finish_reason"] for one in own[:-1]],
                                 [None] * (len(own) - 1))
                self.assertEqual(own[-1]["finish_reason"], "length")
            self.assertEqual(chunks[-1]["usage"]["completion_tokens"], 32)
        form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"enum": [[7]]}}}
        self.assertEqual(json.loads(create(HELLO, response_format=form)["choices"][0]["message"]
                                    ["content"]), [7])
        with self.assertRaises(TypeError):
            create(HELLO, temprature=0)

    def test_calls(self):
        """An answer with thoughts and a call, in pieces and whole, as the server tells it."""
        from ingot_llm import chat
        from ingot_llm._turns import Turn
        from ingot_llm.outputs import CompletionOutput
        model = self.fresh("tools") / "model"
        shutil.copytree(harness.FABLES, model)
        config = json.loads((model / "tokenizer_config.json").read_text())
        config["chat_template"] = (
            "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
            "{% if tools %}{{ tools | tojson }} <tool_call>{% endif %}<think></think>")
        (model / "tokenizer_config.json").write_text(json.dumps(config))
        tools = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
        text = ('<think>\nhm\n</think>\nso <tool_call>{"name": "add", "arguments": {"a": 1}}'
                '</tool_call>')
        with self.opened(model, build_options=BUILD) as llm:
            answer = llm.create_chat_completion(HELLO, tools=tools, max_tokens=4, ignore_eos=True)
            self.assertEqual(answer["choices"][0]["finish_reason"], "length")
            turn = Turn(llm._engine, json.dumps({"messages": HELLO, "tools": tools}).encode())
            for said, reason, arguments in ((text, "tool_calls", '{"a": 1}'),
                                            (text[:-14], "length", '{"a": 1')):
                output = types.SimpleNamespace(prompt_token_ids=turn.token_ids(), outputs=[
                    CompletionOutput(0, said, [1], None, None, "stop")])
                choice, = chat.completion(output, turn, "m")["choices"]
                message = choice["message"]
                self.assertEqual((choice["finish_reason"], message["reasoning_content"]),
                                 (reason, "hm"))
                if said == text:
                    call, = message["tool_calls"]
                    self.assertEqual(call["function"], {"name": "add", "arguments": arguments})
                    self.assertEqual(message["content"], "so")
                pieces = [CompletionOutput(0, piece, [1], None, None) for piece in said]
                pieces[-1].finish_reason = "stop"
                told = list(chat.ChatStream(iter(pieces), turn, "m", False))
                deltas = [one["choices"][0]["delta"] for one in told]
                self.assertEqual("".join(one.get("reasoning", "") for one in deltas), "hm")
                self.assertEqual("".join(one.get("content", "") for one in deltas), "so")
                calls = [call for one in deltas for call in one.get("tool_calls", [])]
                self.assertEqual(calls[0]["function"]["name"], "add")
                self.assertEqual("".join(call["function"]["arguments"] for call in calls),
                                 arguments)
                self.assertEqual(told[-1]["choices"][0]["finish_reason"], reason)

    def test_scores_and_logits(self):
        prompt, behind = "Once upon a", " time, a clever fox"
        score = self.llm.score(prompt, behind)
        ids = self.llm.tokenize(prompt + behind)
        self.assertEqual(ids[-len(score.token_ids):], score.token_ids)
        logits = self.llm.logits(prompt + behind)
        self.assertEqual((logits.shape, logits.dtype),
                         ((len(ids), self.llm.info.vocabulary), np.float32))
        rows = logits.astype(np.float64)
        rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
        first = len(ids) - len(score.token_ids)
        for place, (token, value) in enumerate(zip(score.token_ids, score.token_logprobs), first):
            self.assertAlmostEqual(rows[place - 1][token], value, delta=1e-4)
        self.assertAlmostEqual(score.logprob, math.fsum(score.token_logprobs))
        self.assertEqual(score.is_greedy, all(
            rows[place].argmax() == token for place, token in enumerate(ids[first:], first - 1)))
        self.assertTrue(self.llm.score("Once upon a", " time").is_greedy)
        self.assertEqual(self.llm.score(ids[:first], ids[first:]), score)
        most = self.llm.memory_plan.max_context
        self.assertEqual(len(self.llm.score([0], [5] * (most - 1)).token_ids), most - 1)

    def test_server(self):
        with self.llm.serve(port=0, options=["--no-log"]) as url:
            body = {"messages": HELLO, "max_tokens": 16, "temperature": 0}
            request = urllib.request.Request(f"{url}/v1/chat/completions",
                                             json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})
            served = json.load(urllib.request.urlopen(request, timeout=harness.LIMIT))
            own = self.llm.create_chat_completion(HELLO, max_tokens=16, temperature=0)
            self.assertEqual(served["choices"], own["choices"])
            self.assertEqual(served["model"], own["model"])
            with urllib.request.urlopen(f"{url}/v1/models", timeout=harness.LIMIT) as models:
                self.assertEqual(json.load(models)["data"][0]["max_model_len"], 256)
        with self.assertRaises(OSError):
            urllib.request.urlopen(f"{url}/health", timeout=harness.LIMIT)


if __name__ == "__main__":
    harness.main()
