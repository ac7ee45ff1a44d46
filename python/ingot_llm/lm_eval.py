# SPDX-License-Identifier: Apache-2.0
"""lm-evaluation-harness with this package: `python -m ingot_llm.lm_eval run --model ingot
--model_args pretrained=model.ingot --tasks ...`. All else is `lm_eval`'s own command line."""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lm_eval import utils
from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model

from .llm import LLM
from .params import SamplingParams

_TOKENS = 256  # of an answer, where the task does not say


@register_model("ingot")
class IngotLM(TemplateLM):  # type: ignore[misc]
    """`pretrained`: what LLM takes; `max_length`: tokens of a window, by default those of the
    engine's context; `options`: other arguments of LLM. Requests of a task run together."""

    def __init__(self, pretrained: str, max_length: int | None = None,
                 max_gen_toks: int = _TOKENS, batch_size: Any = None,
                 max_batch_size: Any = None, device: Any = None, **options: Any) -> None:
        super().__init__()
        self._llm = LLM(pretrained, **options)
        self._longest = max_length or self._llm.memory_plan.max_context
        self._answer = max_gen_toks

    @property
    def max_length(self) -> int:
        """Tokens of a window."""
        return self._longest

    @property
    def eot_token_id(self) -> int:
        """The model's first end token."""
        return self._llm.info.eos[0]

    @property
    def prefix_token_id(self) -> int:
        """What stands before a text that has nothing before it."""
        bos = self._llm.info.bos
        return self.eot_token_id if bos is None else bos

    @property
    def tokenizer_name(self) -> str:
        """For the names of what lm_eval keeps."""
        return self._llm.name

    def tok_encode(self, string: str, add_special_tokens: bool | None = None,
                   **_: Any) -> list[int]:
        """The ids of a text, in which special tokens are recognised."""
        ids = self._llm.tokenize(string, add_special=add_special_tokens is not False,
                                 parse_special=True)
        # A chat template has written the prefix already.
        if add_special_tokens is None and ids[:2] == [self.prefix_token_id] * 2:
            del ids[0]
        return ids

    def apply_chat_template(self, chat_history: list[dict[str, str]],
                            add_generation_prompt: bool = True) -> str:
        """The prompt of a conversation."""
        return self._llm.apply_chat_template(
            chat_history, add_generation_prompt=add_generation_prompt,
            continue_final_message=not add_generation_prompt)

    def _loglikelihood_tokens(self, requests: Sequence[tuple[Any, list[int], list[int]]],
                              **_: Any) -> list[tuple[float, bool]]:
        pairs = []
        for _, context, continuation in requests:
            # The whole continuation, and as much before it as there is room for.
            room = max(self._longest - len(continuation), 1)
            pairs.append((context[-room:], continuation))
        return [(score.logprob, score.is_greedy) for score in self._llm.scores(pairs)]

    def loglikelihood_rolling(self, requests: Sequence[Any],
                              disable_tqdm: bool = False) -> list[float]:
        """Of whole texts, in windows that share no scored token."""
        windows, counts = [], []
        for request in requests:
            text, = request.args
            own = [utils.make_disjoint_window(window) for window in utils.get_rolling_token_windows(
                token_list=self.tok_encode(text, add_special_tokens=False),
                prefix_token=self.prefix_token_id, max_seq_len=self._longest - 1, context_len=1)]
            windows += [(None, *window) for window in own]
            counts.append(len(own))
        scored = iter(self._loglikelihood_tokens(windows))
        return [sum(next(scored)[0] for _ in range(count)) for count in counts]

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Answers up to the texts at which a task ends them."""
        prompts, params = [], []
        for request in requests:
            context, asked = request.args
            own = dict(asked)
            until = own.pop("until", None) or []
            most = own.pop("max_gen_toks", self._answer)
            draws = own.pop("do_sample", None)
            temperature = own.pop("temperature", 0.0) if draws is not False else 0.0
            own.pop("temperature", None)
            params.append(SamplingParams(
                temperature=temperature, max_tokens=most,
                stop=[until] if isinstance(until, str) else list(until), **own))
            prompts.append(self.tok_encode(context)[-max(self._longest - most, 1):])
        return [output.outputs[0].text for output in self._llm.generate(prompts, params)]


if __name__ == "__main__":
    cli_evaluate()
