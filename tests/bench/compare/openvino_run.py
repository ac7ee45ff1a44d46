# SPDX-License-Identifier: Apache-2.0
"""openvino_run.py MODEL THREADS VOCABULARY PRECISION: loads a GGUF file with OpenVINO GenAI, to be
computed in that precision or the `default` one, and measures what each line of input asks for:
 {"prompt": N} or {"sequences": N, "depth": N, "steps": N}. Prints
`RESULT` and tokens per second (seconds where there are no steps) for each."""
import json
import random
import re
import sys
import time

import numpy
import openvino
import openvino_genai

MOST_SEQUENCES = 64
MOST_TOKENS = 4096


def peak_bytes():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read()).group(1)) * 1024


def step_seconds(pipeline, sequences, prompt, new, vocabulary):
    """Seconds of each step of that many sequences, none of which the cache has seen."""
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = new
    config.ignore_eos = True
    config.do_sample = False
    handles = []
    for number in range(sequences):
        ids = numpy.array([[random.randrange(vocabulary) for _ in range(prompt)]], numpy.int64)
        handles.append(pipeline.add_request(number, openvino.Tensor(ids), config))
    seconds = []
    while pipeline.has_non_finished_requests():
        start = time.perf_counter()
        pipeline.step()
        seconds.append(time.perf_counter() - start)
    for handle in handles:
        made = len(handle.read_all()[0].generated_ids)
        if made != new:
            sys.exit(f"asked for {new} tokens, got {made}")
    return seconds


def main():
    model, threads, vocabulary = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    scheduler = openvino_genai.SchedulerConfig()
    scheduler.max_num_batched_tokens = MOST_TOKENS
    scheduler.max_num_seqs = MOST_SEQUENCES
    scheduler.enable_prefix_caching = False
    properties = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    if sys.argv[4] != "default":
        properties["INFERENCE_PRECISION_HINT"] = sys.argv[4]
    pipeline = openvino_genai.ContinuousBatchingPipeline(model, scheduler, "CPU", properties)
    for line in sys.stdin:
        asked = json.loads(line)
        if "prompt" in asked:
            seconds = step_seconds(pipeline, 1, asked["prompt"], 1, vocabulary)
            value = asked["prompt"] / sum(seconds)
        else:
            sequences, steps = asked["sequences"], asked["steps"]
            seconds = step_seconds(pipeline, sequences, asked["depth"], steps + 1, vocabulary)
            # The first step is the prompts'.
            value = sequences * steps / sum(seconds[1:]) if steps else sum(seconds)
        print("RESULT " + json.dumps({"value": value, "peak_bytes": peak_bytes()}), flush=True)


if __name__ == "__main__":
    main()
