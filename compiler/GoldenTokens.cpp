// SPDX-License-Identifier: Apache-2.0
// Runs prompts greedily and records the tokens and the distances of the two best logits.
#include "compiler/GoldenTokens.h"

#include "ingot/ingot.hpp"

#include <cmath>

using namespace ingot;
using namespace ingot::compiler;

static constexpr const char *kPrompts[] = {"Once upon a time", "The capital of France is",
                                           "1, 2, 3,"};
static constexpr int64_t kTokens = 16;
static constexpr int64_t kContext = 128;
static constexpr float kMarginStep = 1.0f / 16;

static GoldenCase runPrompt(Engine &engine, const char *prompt) {
  GoldenCase golden;
  golden.prompt = engine.tokenize(prompt);
  ingot_request request;
  ingot_request_init(engine.get(), &request);
  ingot_sampling_init(nullptr, &request.sampling);
  request.tokens = golden.prompt.data();
  request.token_count = golden.prompt.size();
  request.sampling.max_tokens = kTokens;
  request.sampling.ignore_eos = true;
  request.sampling.logprobs = 2;
  engine.submit(request);
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<Event> event = engine.nextEvent()) {
      if (event->token < 0)
        continue;
      golden.tokens.push_back(event->token);
      // The normaliser cancels: differences of log probabilities are differences of logits.
      float margin = event->top.size() < 2 ? 0 : event->top[0].logprob - event->top[1].logprob;
      golden.margins.push_back(std::floor(margin / kMarginStep) * kMarginStep);
    }
  }
  return golden;
}

checkpoint::Expected<std::vector<GoldenCase>>
compiler::makeGoldenTokens(const std::filesystem::path &path, uint64_t memory) {
  try {
    Options options;
    options.memory = memory;
    options.max_sequences = 1;
    options.max_logit_rows = 1;
    options.max_tokens = kTokens;
    options.max_context = kContext;
    Engine engine(path.string(), options);
    std::vector<GoldenCase> cases;
    for (const char *prompt : kPrompts)
      cases.push_back(runPrompt(engine, prompt));
    return cases;
  } catch (const ingot::Error &error) {
    return checkpoint::Error{error.code(), error.what(), "golden tokens", ""};
  }
}
