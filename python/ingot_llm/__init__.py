# SPDX-License-Identifier: Apache-2.0
"""Ingot: engines of language models, generating in this process.

    from ingot_llm import LLM, SamplingParams
    with LLM("model.ingot") as llm:
        print(llm.generate("Once", SamplingParams(max_tokens=16))[0].outputs[0].text)
"""
from .chat import ChatStream
from .errors import IngotError
from .facts import EngineInfo, MemoryPlan, Statistics
from .llm import LLM
from .outputs import CompletionOutput, Logprob, RequestMetrics, RequestOutput, Score
from .params import SamplingParams, StructuredOutputsParams
from .stream import Stream

__all__ = ["LLM", "SamplingParams", "StructuredOutputsParams", "Stream", "ChatStream",
           "RequestOutput", "CompletionOutput", "RequestMetrics", "Logprob", "Score", "EngineInfo",
           "MemoryPlan", "Statistics", "IngotError"]
