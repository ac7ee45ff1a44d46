# SPDX-License-Identifier: Apache-2.0
"""What an opened engine says of itself."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """`vocabulary`: tokens. `bos`: the first token's id, or None. `eos`: ids of end tokens."""
    name: str
    architecture: str
    target: str
    compiler: str
    vocabulary: int
    bos: int | None
    eos: tuple[int, ...]
    has_tokenizer: bool


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What was allocated, in bytes, and the limits it is for.

    `made_bytes`: of the weights, random numbers in place of a checkpoint's.
    `kv_blocks`, `kv_block_tokens`: of the first KV group, and the positions of a block.
    """
    total_bytes: int
    weight_bytes: int
    made_bytes: int
    arena_bytes: int
    state_bytes: int
    scratch_bytes: int
    kv_bytes: int
    kv_blocks: int
    kv_block_tokens: int
    max_sequences: int
    max_context: int
    max_batch_tokens: int
    max_logit_rows: int
    threads: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Answers now (`waiting`, `running`, `answer_limit`), KV blocks, and what was done so far:
    tokens, of prompts those looked for in the KV cache and found there, and preemptions."""
    waiting: int
    running: int
    kv_blocks: int
    kv_blocks_used: int
    answer_limit: int
    prompt_tokens: int
    generated_tokens: int
    prefix_queries: int
    prefix_hits: int
    preemptions: int
    draining: bool
    broken: bool
