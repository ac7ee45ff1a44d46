# SPDX-License-Identifier: Apache-2.0
"""The Python package with a toy engine: answers, streams for threads and asyncio, errors, forks,
the end of a process, memory. With --full memory is watched for longer."""
import asyncio
import ctypes
import gc
import itertools
import pickle
import subprocess
import sys
import threading
import time

import harness
from python_tree import PackageTest

ROUNDS = 2000 if "--full" in sys.argv else 60
STREAMS = 200


class Answers(PackageTest):
    def setUp(self):
        import ingot_llm
        self.package = ingot_llm
        self.llm = self.open()

    def params(self, **fields):
        return self.package.SamplingParams(**{"temperature": 0, "ignore_eos": True, **fields})

    def refused(self, code, call, *arguments, **fields):
        with self.assertRaises(self.package.IngotError) as caught:
            call(*arguments, **fields)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception

    def test_batch(self):
        prompts = ["abc", "b", [2, 3], {"prompt": "abc"}, {"prompt_token_ids": [0, 1, 2]}]
        found = self.llm.generate(prompts, self.params())
        self.assertEqual([one.prompt for one in found], ["abc", "b", None, "abc", None])
        self.assertEqual(found[0].prompt_token_ids, self.llm.tokenize("abc"))
        for one in found:
            self.assertTrue(one.finished)
            answer, = one.outputs
            self.assertEqual(len(answer.token_ids), 16)
            self.assertEqual(answer.finish_reason, "length")
            self.assertEqual(self.llm.detokenize(answer.token_ids, skip_special=True), answer.text)
            self.assertLessEqual(one.metrics.arrival_time, one.metrics.first_token_time)
            self.assertLessEqual(one.metrics.first_token_time, one.metrics.finished_time)
        self.assertEqual(found[0].outputs, found[3].outputs)
        alone, = self.llm.generate("b", self.params())
        self.assertEqual(alone.outputs, found[1].outputs)
        self.assertEqual(self.llm.generate([]), [])
        own = self.llm.generate(["a", "a"], [self.params(max_tokens=2), self.params(max_tokens=3)])
        self.assertEqual([len(one.outputs[0].token_ids) for one in own], [2, 3])
        ids, = self.llm.generate([0, 1, 2], self.params())
        self.assertEqual(ids.outputs, found[4].outputs)

    def test_many_more_than_run_together(self):
        found = self.llm.generate(["a"] * 1500, self.params(max_tokens=1))
        self.assertEqual(len({one.outputs[0].text for one in found}), 1)

    def test_logprobs(self):
        params = self.params(max_tokens=4, logprobs=3, prompt_logprobs=0)
        one, = self.llm.generate("abc", params)
        answer, = one.outputs
        self.assertEqual(len(answer.logprobs), 4)
        total = 0
        for token, entry in zip(answer.token_ids, answer.logprobs):
            self.assertEqual(next(iter(entry)), token)
            self.assertEqual(sorted(each.rank for each in entry.values()), [1, 2, 3])
            self.assertEqual(entry[token].rank, 1)
            self.assertEqual(entry[token].decoded_token,
                             self.llm.detokenize([token, token])[len(
                                 self.llm.detokenize([token])):])
            total += entry[token].logprob
        self.assertAlmostEqual(answer.cumulative_logprob, total)
        self.assertEqual(len(one.prompt_logprobs), len(one.prompt_token_ids))
        self.assertIsNone(one.prompt_logprobs[0])
        self.assertEqual([list(entry) for entry in one.prompt_logprobs[1:]],
                         [[token] for token in one.prompt_token_ids[1:]])
        plain, = self.llm.generate("abc", self.params(max_tokens=4))
        self.assertIsNone(plain.outputs[0].logprobs)

    def test_choices_and_seeds(self):
        params = self.params(temperature=1, n=3, seed=5, max_tokens=12)
        one, other = self.llm.generate(["a", "a"], params)
        self.assertEqual(one.outputs, other.outputs)
        self.assertEqual([answer.index for answer in one.outputs], [0, 1, 2])
        self.assertGreater(len({answer.text for answer in one.outputs}), 1)
        free = self.params(temperature=1, max_tokens=30)
        drawn = {self.llm.generate("a", free)[0].outputs[0].text for _ in range(4)}
        self.assertGreater(len(drawn), 1)

    def test_ends(self):
        whole = self.llm.generate("a", self.params())[0].outputs[0]
        text, token = whole.text[3:5], whole.token_ids[2]
        for stop in (text, ["~~", text]):
            answer = self.llm.generate("a", self.params(stop=stop))[0].outputs[0]
            self.assertEqual((answer.finish_reason, answer.stop_reason), ("stop", text))
            self.assertEqual(answer.text, whole.text[:whole.text.index(text)])
            answer = self.llm.generate("a", self.params(
                stop=stop, include_stop_str_in_output=True))[0].outputs[0]
            self.assertEqual(answer.stop_reason, text)
            self.assertTrue(answer.text.endswith(text))
        answer = self.llm.generate("a", self.params(stop_token_ids=[token]))[0].outputs[0]
        self.assertEqual((answer.finish_reason, answer.stop_reason), ("stop", token))
        self.assertEqual(answer.token_ids, whole.token_ids[:whole.token_ids.index(token) + 1])
        late = self.llm.generate("a", self.params(max_tokens=None, deadline=1e-3))[0].outputs[0]
        self.assertEqual(late.finish_reason, "deadline")

    def test_forms_and_exclusions(self):
        form = self.package.StructuredOutputsParams
        for one, expected in ((form(choice=["ba", "ca"]), "^(ba|ca)$"),
                              (form(regex="[xy]{4}"), "^[xy]{4}$"),
                              (form(grammar="root ::= [xy]{3}"), "^[xy]{3}$")):
            for ignore_eos in (False, True):
                answer = self.llm.generate("a", self.params(
                    structured_outputs=one, ignore_eos=ignore_eos))[0].outputs[0]
                self.assertRegex(answer.text, expected)
        one = self.params(allowed_token_ids=[3, 4], logit_bias={3: -100.0})
        self.assertEqual(set(self.llm.generate("a", one)[0].outputs[0].token_ids), {4})
        banned = self.llm.generate("a", self.params())[0].outputs[0].text[0]
        answer = self.llm.generate("a", self.params(bad_words=[banned]))[0].outputs[0]
        self.assertNotIn(banned, answer.text)

    def test_errors(self):
        generate = self.llm.generate
        for code, fields in (("INGOT-E6006", {"temperature": -1}), ("INGOT-E6006", {"n": 0}),
                             ("INGOT-E6006", {"top_k": 1 << 40}), ("INGOT-E6006", {"seed": -1}),
                             ("INGOT-E6006", {"max_tokens": 0}), ("INGOT-E6006", {"logprobs": -1}),
                             ("INGOT-E6006", {"stop": "a\0b"}),
                             ("INGOT-E6007", {"stop_token_ids": [1 << 33]}),
                             ("INGOT-E6006", {"allowed_token_ids": [64]}),
                             ("INGOT-E6053", {"deadline": -1.0})):
            with self.subTest(**fields):
                self.refused(code, generate, ["a", "b"], self.params(**fields))
        self.refused("INGOT-E6003", generate, [[]])
        self.refused("INGOT-E6007", generate, [[1 << 31]])
        self.refused("INGOT-E6004", generate, "a" * 5000)
        self.refused("INGOT-E6007", self.llm.detokenize, [64])
        self.refused("INGOT-E6074", self.llm.chat, [{"role": "user", "content": "a"}])
        two = self.package.StructuredOutputsParams(regex="a", choice=["b"])
        self.refused("INGOT-E6006", generate, "a", self.params(structured_outputs=two))
        for call in (lambda: self.params(temprature=1), lambda: generate("a", self.params(stop=3)),
                     lambda: generate([{"text": "a"}]), lambda: self.package.LLM("a", maximum=1),
                     lambda: generate("a", self.params(bad_words="a"))):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaises(ValueError):
            generate(["a", "b"], [self.params()])
        error = self.refused("INGOT-E7101", self.package.LLM, self.folder / "none.ingot")
        self.assertEqual(pickle.loads(pickle.dumps(error)).code, error.code)
        # None of them was left behind.
        self.assertEqual((self.llm.statistics().waiting, self.llm.statistics().running), (0, 0))

    def test_the_library(self):
        self.refused("INGOT-E6082", self.package.LLM, self.engine, library="none.so")
        stub = self.folder / "stub.c"
        stub.write_text("int ingot_api_version(void) { return 1; }\n", encoding="ascii")
        library = self.folder / "stub.so"
        subprocess.run(["cc", "-shared", "-o", library, stub], check=True, timeout=harness.LIMIT)
        error = self.refused("INGOT-E6082", self.package.LLM, self.engine, library=library)
        self.assertIn("version 1", str(error))

    def test_queue_limit(self):
        llm = self.open(queue_limit=0, max_sequences=1)
        self.refused("INGOT-E6030", llm.generate, ["a"] * 20, self.params(max_tokens=None))
        self.idle(llm)
        self.assertTrue(llm.generate("a", self.params())[0].finished)

    def test_properties(self):
        self.assertEqual(self.llm.info.vocabulary, 64)
        self.assertTrue(self.llm.info.has_tokenizer)
        plan = self.open(max_sequences=3, max_context=100).memory_plan
        self.assertEqual((plan.max_sequences, plan.max_context, plan.threads), (3, 100, 2))
        self.assertGreater(plan.total_bytes, plan.kv_bytes)

    def test_stream(self):
        whole, = self.llm.generate("abc", self.params(n=2, logprobs=1))
        stream = self.llm.stream("abc", self.params(n=2, logprobs=1))
        pieces = list(stream)
        for answer, also in zip(whole.outputs, stream.output.outputs):
            own = [piece for piece in pieces if piece.index == answer.index]
            self.assertEqual("".join(piece.text for piece in own), answer.text)
            self.assertEqual([token for piece in own for token in piece.token_ids],
                             answer.token_ids)
            self.assertEqual(own[-1].cumulative_logprob, answer.cumulative_logprob)
            self.assertEqual([piece.finish_reason for piece in own[:-1]], [None] * (len(own) - 1))
            self.assertEqual((also.text, also.finish_reason), (answer.text, answer.finish_reason))
        self.assertEqual(list(stream), [])

    def idle(self, llm=None):
        """Waits until no request is left; how many tokens were drawn."""
        end = time.monotonic() + harness.LIMIT
        while (now := (llm or self.llm).statistics()).running + now.waiting:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        return now.generated_tokens

    def test_streams_that_are_left(self):
        long = self.params(max_tokens=None)
        with self.llm.stream("a", long) as stream:
            next(stream)
        self.assertLess(self.idle(), 4000)
        self.assertEqual(list(stream), [])
        for piece in self.llm.stream("a", long):
            self.assertTrue(piece.token_ids)
            break
        self.idle()
        stream = self.llm.stream("a", long)
        del stream
        self.assertLess(self.idle(), 8000)

    def test_threads(self):
        expected = self.llm.generate(["a", "b", "c"], self.params())
        found = {}

        def work(number):
            for _ in range(5):
                found[number] = self.llm.stream("abc"[number % 3], self.params()).result()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(9):
            self.assertEqual(found[number].outputs, expected[number % 3].outputs)

    def test_steps_do_not_wait_for_python(self):
        """While one thread keeps the interpreter to itself."""
        stream = self.llm.stream("a", self.params(max_tokens=100))
        next(stream)
        ctypes.PyDLL(None).usleep(500_000)
        self.assertGreaterEqual(self.llm.statistics().generated_tokens, 100)
        self.assertEqual(len(stream.result().outputs[0].token_ids), 100)


class Asyncio(PackageTest):
    def test_many_streams(self):
        """In two loops of two threads; every third one is cancelled, by its task or by close."""
        import ingot_llm
        llm = self.open()
        params = ingot_llm.SamplingParams(temperature=0, max_tokens=40, ignore_eos=True)
        prompts = ["abcdefghijklm"[: 1 + number % 13] for number in range(STREAMS)]
        expected = [one.outputs[0].text for one in llm.generate(prompts, params)]
        texts, ends = {}, []

        async def read(number):
            texts[number] = ""
            async with llm.stream(prompts[number], params) as stream:
                async for piece in stream:
                    texts[number] += piece.text
                    if number % 6 == 3 and len(piece.token_ids):
                        await stream.aclose()
                    if number % 6 == 0:
                        await asyncio.sleep(harness.LIMIT)
                ends.append(stream.output.finished)

        async def read_all(numbers):
            tasks = {number: asyncio.create_task(read(number)) for number in numbers}
            await asyncio.sleep(0.05)
            for number in numbers:
                if number % 6 == 0:
                    tasks[number].cancel()
            return await asyncio.gather(*tasks.values(), return_exceptions=True)

        results = {}

        def run(half):
            results[half] = asyncio.run(read_all(range(half, STREAMS, 2)))

        threads = [threading.Thread(target=run, args=(half,)) for half in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(harness.LIMIT)
            self.assertFalse(thread.is_alive())
        for number in range(STREAMS):
            result = results[number % 2][number // 2]
            if number % 6 == 0:
                self.assertIsInstance(result, asyncio.CancelledError)
            else:
                self.assertIsNone(result)
            if number % 3:
                self.assertEqual(texts[number], expected[number])
            self.assertTrue(expected[number].startswith(texts[number]))
        self.assertEqual(ends.count(True), STREAMS - STREAMS // 3 - 1)

    def test_errors_and_timeouts(self):
        import ingot_llm
        llm = self.open()

        async def work():
            with self.assertRaises(ingot_llm.IngotError):
                async for _ in llm.stream("a", ingot_llm.SamplingParams(temperature=-1)):
                    pass
            stream = llm.stream("a", ingot_llm.SamplingParams(max_tokens=None, ignore_eos=True,
                                                              deadline=30))
            with self.assertRaises(asyncio.TimeoutError):
                async def read():
                    async for _ in stream:
                        pass
                await asyncio.wait_for(read(), 0.02)
            self.assertEqual([piece async for piece in stream], [])
            return "done"

        self.assertEqual(asyncio.run(work()), "done")


class Ends(PackageTest):
    OPEN = "import sys, os, threading, time\nllm = LLM(sys.argv[1], threads=2)\n" \
           "long = SamplingParams(max_tokens=None, ignore_eos=True)\n"

    def test_processes_end(self):
        """Whatever is under way, and whoever did not close what."""
        for code, status in (
                ("llm.generate('a')", 0), ("stream = llm.stream('a', long)\nnext(stream)", 0),
                ("threading.Thread(target=llm.generate, args=('a', long), daemon=True).start()\n"
                 "time.sleep(0.05)", 0),
                ("for piece in llm.stream('a', long): sys.exit(7)", 7),
                ("llm.stream('a', long)\nraise KeyboardInterrupt", 130),
                ("llm.keep = llm\ndel llm", 0),
                ("import asyncio\nasync def f():\n async for p in llm.stream('a', long): return\n"
                 "asyncio.run(f())", 0)):
            with self.subTest(code=code):
                run = self.python(self.OPEN + code)
                self.assertIn(run.returncode, (status, -2 if status == 130 else status),
                              run.stderr)
                if status == 0:
                    self.assertEqual(run.stderr, "")

    def test_fork(self):
        run = self.python(self.OPEN + """
stream = llm.stream('a', long)
next(stream)
child = os.fork()
if child == 0:
    for call in (lambda: llm.generate('b'), lambda: llm.info, lambda: llm.tokenize('a')):
        try:
            call()
        except IngotError as error:
            print(error.code, flush=True)
    llm.close()
    again = LLM(sys.argv[1], threads=2)
    print(len(again.generate('b', SamplingParams(max_tokens=3))[0].outputs[0].token_ids))
    sys.exit(3)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), len(llm.generate('b')))
""")
        self.assertEqual(run.stdout.split(), ["INGOT-E6081"] * 3 + ["3", "3", "1"], run.stderr)

    def test_closed(self):
        import ingot_llm
        with self.open() as llm:
            stream = llm.stream("a", ingot_llm.SamplingParams(max_tokens=None, ignore_eos=True))
            waiting = threading.Thread(target=stream.result)
            next(stream)
            waiting.start()
        waiting.join(harness.LIMIT)
        self.assertFalse(waiting.is_alive())
        self.assertEqual(stream.output.outputs[0].finish_reason, "abort")
        llm.close()
        for call in (lambda: llm.generate("a"), llm.statistics, lambda: llm.memory_plan):
            with self.assertRaises(ingot_llm.IngotError) as caught:
                call()
            self.assertEqual(caught.exception.code, "INGOT-E6080")


def resident():
    """Bytes of this process in memory, and its threads."""
    with open("/proc/self/status", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmRSS"].split()[0]) * 1024, int(fields["Threads"])


class Memory(PackageTest):
    def rise(self, work):
        """By how many bytes so many rounds of work grow the process, after as many before."""
        for _ in range(ROUNDS // 2):
            work()
        gc.collect()
        before, threads = resident()
        for _ in range(ROUNDS):
            work()
        gc.collect()
        after, also = resident()
        self.assertEqual(also, threads)
        return after - before

    def test_opening(self):
        import ingot_llm
        closed = itertools.cycle([True, False])  # or left to the collector of garbage

        def work():
            llm = ingot_llm.LLM(self.engine, threads=2, max_sequences=8, max_context=512)
            llm.generate("a", ingot_llm.SamplingParams(max_tokens=2))
            if next(closed):
                llm.close()

        self.assertLess(self.rise(work), 8 << 20)

    def test_requests(self):
        import ingot_llm
        llm = self.open()
        params = ingot_llm.SamplingParams(max_tokens=4, logprobs=1, stop=["~"], bad_words=["zz"])

        def work():
            llm.generate(["abc"] * 5, params)
            next(llm.stream("abc", params))

        self.assertLess(self.rise(work), 4 << 20)


if __name__ == "__main__":
    harness.main()
