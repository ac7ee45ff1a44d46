# SPDX-License-Identifier: Apache-2.0
"""Pictures through the Python package, and so through the C interface: prompts and answers are
transformers', however a picture is given."""
import sys

import harness
import python_tree
import served_pictures
from pictures import DATA, GOLDENS, MODELS, PictureEngines, expected
from served_pictures import chat_part, messages


class Saved:
    """What Pillow's pictures have of which the package makes use."""

    def __init__(self, path):
        self._path = path

    def save(self, file, format):  # pylint: disable=redefined-builtin
        assert format == "PNG"
        file.write(self._path.read_bytes())


class PythonPictures(PictureEngines):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        python_tree.install(cls.kept_folder())
        sys.path.insert(0, str(cls.kept_folder()))
        cls.addClassCleanup(sys.path.remove, str(cls.kept_folder()))

    def opened(self, model):
        import ingot_llm
        llm = ingot_llm.LLM(self.engine(model), threads=2, max_context=512)
        self.addCleanup(llm.close)
        return llm

    def params(self, case):
        import ingot_llm
        return ingot_llm.SamplingParams(temperature=0, max_tokens=len(expected(case)),
                                        ignore_eos=True, skip_special_tokens=False)

    def check(self, case, output):
        self.assertEqual(output.prompt_token_ids, case["input_ids"])
        self.assertEqual(output.outputs[0].token_ids, expected(case))

    def test_prompts(self):
        for model in MODELS:
            llm = self.opened(model)
            for name, case in GOLDENS[model]["cases"].items():
                with self.subTest(f"{model}, {name}"):
                    paths = [DATA / "images" / image for image in case["images"]]
                    prompt = {"prompt": case["prompt"], "multi_modal_data": {"image": paths}}
                    self.check(case, llm.generate(prompt, self.params(case))[0])
                    ids = {**prompt, "prompt_token_ids": case["input_ids"]}
                    del ids["prompt"]
                    self.check(case, llm.generate([ids], self.params(case))[0])
                    self.check(case, llm.chat(messages(case, chat_part), self.params(case))[0])

    def test_kinds(self):
        model = MODELS[0]
        llm, case = self.opened(model), GOLDENS[model]["cases"]["one"]
        path = DATA / "images" / case["images"][0]
        for image in (path, str(path), path.read_bytes(), served_pictures.url(path.name),
                      Saved(path)):
            prompt = {"prompt": case["prompt"], "multi_modal_data": {"image": image}}
            self.check(case, llm.generate(prompt, self.params(case))[0])
        text = "".join(piece.text for piece in llm.stream(prompt, self.params(case)))
        self.assertEqual(text, llm.detokenize(expected(case)))
        answer = llm.create_chat_completion(
            messages(case, chat_part), temperature=0, max_tokens=len(expected(case)),
            ignore_eos=True)
        self.assertEqual(answer["usage"]["prompt_tokens"], len(case["input_ids"]))

    def test_refusals(self):
        import ingot_llm
        model = MODELS[0]
        llm, other = self.opened(model), self.opened(MODELS[-1])
        case = GOLDENS[model]["cases"]["one"]
        picture = (DATA / "images" / case["images"][0]).read_bytes()
        for images, code in (([picture] * 2, "INGOT-E6811"), ([], "INGOT-E6026"),
                             ([b"no picture"], "INGOT-E6801"), (["data:,a"], "INGOT-E6815"),
                             (["data:image/png;base64,a"], "INGOT-E6815"),
                             (["data:image/png;base64,\u00e9==="], "INGOT-E6815")):
            prompt = {"prompt": case["prompt"], "multi_modal_data": {"image": images}}
            with self.assertRaises(ingot_llm.IngotError) as raised:
                llm.generate(prompt, self.params(case))
            self.assertRegex(raised.exception.code, code)
        with self.assertRaises(TypeError):
            llm.generate({"prompt": "a", "multi_modal_data": {"video": picture}})
        # A picture that another model's engine has read.
        from ingot_llm._prompts import Picture, Start
        read = Picture(other._engine, picture)
        with self.assertRaises(ingot_llm.IngotError) as raised:
            llm._start(Start(None, case["input_ids"], [read.handle], read), self.params(case))
        self.assertEqual(raised.exception.code, "INGOT-E6017")


if __name__ == "__main__":
    harness.main()
