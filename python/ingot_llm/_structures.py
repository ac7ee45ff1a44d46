# SPDX-License-Identifier: Apache-2.0
"""The structures and functions of `ingot.h`, API version 2, field by field in its order and under
its names. `tests/e2e/python_layouts.py` compares all of them with the header."""
from __future__ import annotations

import ctypes
from ctypes import (POINTER, c_bool, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)
from typing import Any

API_VERSION = 2


class Options(ctypes.Structure):
    """ingot_options"""
    _fields_ = [
        ("size", c_size_t),
        ("memory", c_uint64),
        ("max_sequences", c_int64),
        ("max_context", c_int64),
        ("max_batch_tokens", c_int64),
        ("max_logit_rows", c_int64),
        ("threads", c_int64),
        ("target", c_char_p),
        ("verify_weights", c_bool),
        ("simulate", c_char_p),
        ("simulated_sms", c_uint32),
        ("simulate_strictly", c_bool),
        ("guaranteed_no_evict", c_bool),
        ("memory_fraction", c_double),
        ("kv_blocks", c_int64),
        ("max_step_ms", c_int64),
    ]


class MemoryPlan(ctypes.Structure):
    """ingot_memory_plan"""
    _fields_ = [
        ("size", c_size_t),
        ("total_bytes", c_uint64),
        ("weight_bytes", c_uint64),
        ("made_bytes", c_uint64),
        ("arena_bytes", c_uint64),
        ("state_bytes", c_uint64),
        ("scratch_bytes", c_uint64),
        ("kv_bytes", c_uint64),
        ("kv_blocks", c_int64),
        ("kv_block_tokens", c_int64),
        ("max_sequences", c_int64),
        ("max_context", c_int64),
        ("max_batch_tokens", c_int64),
        ("max_logit_rows", c_int64),
        ("threads", c_int64),
    ]


class Info(ctypes.Structure):
    """ingot_info"""
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("architecture", c_char_p),
        ("target", c_char_p),
        ("compiler", c_char_p),
        ("vocabulary", c_int32),
        ("bos", c_int32),
        ("has_tokenizer", c_bool),
        ("eos", POINTER(c_int32)),
        ("eos_count", c_size_t),
    ]


class Bias(ctypes.Structure):
    """ingot_bias"""
    _fields_ = [("token", c_int32), ("value", c_float)]


class Tokens(ctypes.Structure):
    """ingot_tokens"""
    _fields_ = [("tokens", POINTER(c_int32)), ("count", c_size_t)]


class Sampling(ctypes.Structure):
    """ingot_sampling"""
    _fields_ = [
        ("size", c_size_t),
        ("temperature", c_float),
        ("top_k", c_int32),
        ("top_p", c_float),
        ("min_p", c_float),
        ("typical_p", c_float),
        ("repetition_penalty", c_float),
        ("presence_penalty", c_float),
        ("frequency_penalty", c_float),
        ("seed", c_uint64),
        ("logprobs", c_int32),
        ("prompt_logprobs", c_int32),
        ("max_tokens", c_int64),
        ("min_tokens", c_int64),
        ("ignore_eos", c_bool),
        ("include_stop", c_bool),
        ("bias", POINTER(Bias)),
        ("bias_count", c_size_t),
        ("allowed", POINTER(c_int32)),
        ("allowed_count", c_size_t),
        ("bad_words", POINTER(c_char_p)),
        ("bad_word_count", c_size_t),
        ("bad_sequences", POINTER(Tokens)),
        ("bad_sequence_count", c_size_t),
        ("no_repeat_ngram_size", c_int32),
        ("stop_tokens", POINTER(c_int32)),
        ("stop_token_count", c_size_t),
        ("stop_strings", POINTER(c_char_p)),
        ("stop_string_count", c_size_t),
    ]


class Request(ctypes.Structure):
    """ingot_request"""
    _fields_ = [
        ("size", c_size_t),
        ("text", c_char_p),
        ("text_bytes", c_size_t),
        ("tokens", POINTER(c_int32)),
        ("token_count", c_size_t),
        ("add_special", c_bool),
        ("parse_special", c_bool),
        ("skip_special", c_bool),
        ("sampling", POINTER(Sampling)),
        ("choices", c_int32),
        ("priority", c_int32),
        ("deadline", c_double),
        ("cache_salt", c_char_p),
        ("adapter", c_char_p),
        ("json_schema", c_char_p),
        ("regex", c_char_p),
        ("choice_texts", POINTER(c_char_p)),
        ("choice_text_count", c_size_t),
        ("turn", c_void_p),
        ("grammar", c_char_p),
        ("pictures", POINTER(c_void_p)),
        ("picture_count", c_size_t),
    ]


# ingot_finish
FINISH_NONE, FINISH_END_TOKEN, FINISH_STOP_STRING, FINISH_LENGTH, FINISH_CONTEXT, \
    FINISH_CANCELLED, FINISH_FAILED, FINISH_DEADLINE = range(8)


class Logprob(ctypes.Structure):
    """ingot_logprob"""
    _fields_ = [("token", c_int32), ("logprob", c_float)]


class PromptLogprob(ctypes.Structure):
    """ingot_prompt_logprob"""
    _fields_ = [
        ("token", c_int32),
        ("logprob", c_float),
        ("top", POINTER(Logprob)),
        ("top_count", c_size_t),
    ]


class Event(ctypes.Structure):
    """ingot_event; `text` is an address, as a token may stand for a zero byte"""
    _fields_ = [
        ("size", c_size_t),
        ("request", c_uint64),
        ("choice", c_int32),
        ("token", c_int32),
        ("text", c_void_p),
        ("text_bytes", c_size_t),
        ("logprob", c_float),
        ("top", POINTER(Logprob)),
        ("top_count", c_size_t),
        ("prompt_tokens", c_int64),
        ("finish", c_int),
        ("error_code", c_char_p),
        ("error_message", c_char_p),
        ("prompt_logprobs", POINTER(PromptLogprob)),
        ("prompt_logprob_count", c_size_t),
    ]


# ingot_part_kind
PART_TEXT, PART_REASONING, PART_CALL, PART_ARGUMENTS, PART_CALL_END = range(5)


class Part(ctypes.Structure):
    """ingot_part"""
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("call", c_int32),
        ("text", c_void_p),
        ("text_bytes", c_size_t),
        ("id", c_char_p),
        ("whole", c_bool),
    ]


class LoopOptions(ctypes.Structure):
    """ingot_loop_options"""
    _fields_ = [("size", c_size_t), ("queue_limit", c_int64)]


class LoopStatistics(ctypes.Structure):
    """ingot_loop_statistics"""
    _fields_ = [
        ("size", c_size_t),
        ("waiting", c_int64),
        ("running", c_int64),
        ("kv_blocks", c_int64),
        ("kv_blocks_used", c_int64),
        ("answer_limit", c_int64),
        ("prompt_tokens", c_int64),
        ("generated_tokens", c_int64),
        ("prefix_queries", c_int64),
        ("prefix_hits", c_int64),
        ("preemptions", c_int64),
        ("draining", c_bool),
        ("broken", c_bool),
    ]


STRUCTURES = (Options, MemoryPlan, Info, Bias, Tokens, Sampling, Request, Logprob, PromptLogprob,
              Event, Part, LoopOptions, LoopStatistics)

# ingot_tap_callback: user, tap, position of the first row, values, their number
TapCallback = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_int64, POINTER(c_float), c_size_t)

_ENGINE = _LOOP = _TURN = _ANSWER = _PICTURE = _ERROR = c_void_p
_OUT = POINTER(c_void_p)
_COUNT = POINTER(c_size_t)
_IDS = POINTER(c_int32)

# Symbol -> what it returns and takes. Those that return an error take NULL for success.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "ingot_error_code": (c_char_p, [_ERROR]),
    "ingot_error_message": (c_char_p, [_ERROR]),
    "ingot_error_free": (None, [_ERROR]),
    "ingot_api_version": (c_int, []),
    "ingot_version": (c_char_p, []),
    "ingot_options_init_v2": (_ERROR, [POINTER(Options), c_size_t]),
    "ingot_open_v2": (_ERROR, [c_char_p, POINTER(Options), _OUT]),
    "ingot_close": (None, [_ENGINE]),
    "ingot_get_memory_plan_v2": (_ERROR, [_ENGINE, POINTER(MemoryPlan)]),
    "ingot_get_info_v2": (_ERROR, [_ENGINE, POINTER(Info)]),
    "ingot_tokenize": (_ERROR, [_ENGINE, c_char_p, c_size_t, c_bool, c_bool, _IDS, c_size_t,
                                _COUNT]),
    "ingot_detokenize": (_ERROR, [_ENGINE, _IDS, c_size_t, c_bool, c_char_p, c_size_t, _COUNT]),
    "ingot_apply_chat_template": (_ERROR, [_ENGINE, c_char_p, c_size_t, c_char_p, c_char_p,
                                           c_size_t, _COUNT]),
    "ingot_tokenize_chat": (_ERROR, [_ENGINE, c_char_p, c_size_t, c_char_p, _IDS, c_size_t,
                                     _COUNT]),
    "ingot_picture_read": (_ERROR, [_ENGINE, c_char_p, c_size_t, _OUT]),
    "ingot_picture_close": (None, [_PICTURE]),
    "ingot_turn_begin": (_ERROR, [_ENGINE, c_char_p, c_size_t, c_char_p, _OUT]),
    "ingot_turn_close": (None, [_TURN]),
    "ingot_turn_tokens": (_IDS, [_TURN, _COUNT]),
    "ingot_turn_pictures": (_OUT, [_TURN, _COUNT]),
    "ingot_answer_begin": (_ERROR, [_TURN, c_bool, _OUT]),
    "ingot_answer_feed": (_ERROR, [_ANSWER, c_char_p, c_size_t, c_bool]),
    "ingot_answer_next": (_ERROR, [_ANSWER, POINTER(Part), POINTER(c_bool)]),
    "ingot_answer_is_cut": (c_bool, [_ANSWER]),
    "ingot_answer_close": (None, [_ANSWER]),
    "ingot_sampling_init_v2": (_ERROR, [_ENGINE, POINTER(Sampling), c_size_t]),
    "ingot_request_init_v2": (_ERROR, [POINTER(Request), c_size_t]),
    "ingot_tokenize_request": (_ERROR, [_ENGINE, POINTER(Request), _IDS, c_size_t, _COUNT]),
    "ingot_loop_options_init": (_ERROR, [POINTER(LoopOptions), c_size_t]),
    "ingot_loop_start": (_ERROR, [_ENGINE, POINTER(LoopOptions), _OUT]),
    "ingot_loop_close": (None, [_LOOP]),
    "ingot_loop_submit": (_ERROR, [_LOOP, POINTER(Request), c_void_p, c_void_p, c_size_t,
                                   POINTER(c_uint64)]),
    "ingot_loop_cancel": (_ERROR, [_LOOP, c_uint64]),
    "ingot_loop_next_events": (_ERROR, [_LOOP, c_double, POINTER(Event), c_size_t, c_size_t,
                                        _COUNT]),
    "ingot_record": (_ERROR, [_ENGINE, _IDS, c_size_t, POINTER(c_float), c_size_t,
                              POINTER(c_char_p), c_size_t, TapCallback, c_void_p]),
    "ingot_loop_get_statistics": (_ERROR, [_LOOP, POINTER(LoopStatistics)]),
}
