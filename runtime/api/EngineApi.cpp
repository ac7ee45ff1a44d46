// SPDX-License-Identifier: Apache-2.0
// The part of ingot.h about engines: opening, facts, memory, tokens and text, measuring.
#include "runtime/api/Boundary.h"

#include "runtime/api/Version.h"

using namespace ingot::runtime;

namespace ingot::runtime {

ingot_error *toError(const Status &status) {
  if (status.ok())
    return nullptr;
  return new (std::nothrow) ingot_error{std::string(status.code()), std::string(status.message())};
}

Status misuse(const std::string &what) {
  return Status::error("INGOT-E6017", what, "see the comments in ingot.h");
}

Status checkOwned(const ingot_engine *engine) {
  if (!engine)
    return misuse("the engine is NULL");
  return engine->owned ? Status() : misuse("the engine belongs to a loop");
}

Status unknownLayout(const char *name, size_t size) {
  return Status::error("INGOT-E6050",
                       std::string("this library (API ") + std::to_string(INGOT_API_VERSION) +
                           ") knows no " + name + " of " + std::to_string(size) + " bytes",
                       "set its size, and compile with the ingot.h of this library or an older "
                       "one of the same API version");
}

} // namespace ingot::runtime

namespace {

Status readOptions(const ingot_options *given, SessionOptions &options) {
  ingot_options full = {};
  if (given)
    if (Status status = readSized(given, full); !status.ok())
      return status;
  options.memory.memory = full.memory;
  options.memory.maxSequences = full.max_sequences;
  options.memory.maxContext = full.max_context;
  options.memory.maxTokens = full.max_batch_tokens;
  options.memory.maxLogitRows = full.max_logit_rows;
  options.memory.fraction = full.memory_fraction;
  options.memory.kvBlocks = full.kv_blocks;
  options.neverPreempt = full.guaranteed_no_evict;
  options.maxStepMilliseconds = full.max_step_ms;
  options.device.threads = full.threads;
  options.device.simulate = full.simulate ? full.simulate : "";
  options.device.simulatedSms = full.simulated_sms;
  options.device.simulateStrictly = full.simulate_strictly;
  options.target = full.target ? full.target : "";
  options.verifyWeights = full.verify_weights;
  if (!(full.memory_fraction >= 0 && full.memory_fraction <= 1))
    return misuse("memory_fraction is no part of the memory (0 to 1)");
  if (full.kv_blocks < 0 || full.max_step_ms < 0)
    return misuse("kv_blocks or max_step_ms is negative");
  return full.threads < 0 ? misuse("threads is negative") : Status();
}

ingot_memory_plan toC(const MemoryPlan &plan) {
  ingot_memory_plan out = {};
  out.total_bytes = plan.totalBytes();
  out.weight_bytes = plan.weightBytes;
  out.made_bytes = plan.madeBytes;
  out.arena_bytes = plan.arenaBytes;
  out.state_bytes = plan.stateBytes;
  out.scratch_bytes = plan.scratchBytes;
  out.kv_bytes = plan.kvBytes;
  out.kv_blocks = plan.groups.empty() ? 0 : plan.groups[0].blocks;
  out.kv_block_tokens = plan.groups.empty() ? 0 : plan.groups[0].blockTokens;
  out.max_sequences = plan.maxSequences;
  out.max_context = plan.maxContext;
  out.max_batch_tokens = plan.maxTokens;
  out.max_logit_rows = plan.maxLogitRows;
  out.threads = plan.threads;
  return out;
}

const char *orEmpty(const flatbuffers::String *text) { return text ? text->c_str() : ""; }

Result<const Tokenizer *> tokenizerOf(const ingot_engine *engine) {
  if (!engine)
    return misuse("the engine is NULL");
  if (!engine->session->tokenizer())
    return Status::error("INGOT-E6008", "the engine has no tokenizer", "work with token ids");
  return engine->session->tokenizer();
}

} // namespace

const char *ingot_error_code(const ingot_error *error) { return error ? error->code.c_str() : ""; }

const char *ingot_error_message(const ingot_error *error) {
  return error ? error->message.c_str() : "";
}

void ingot_error_free(ingot_error *error) { delete error; }

int ingot_api_version(void) { return INGOT_API_VERSION; }

const char *ingot_version(void) { return versionText; }

ingot_error *ingot_options_init(ingot_options *options, size_t size) {
  return guarded([&] { return initSized(ingot_options{}, options, size); });
}

ingot_error *ingot_open(const char *path, const ingot_options *options, ingot_engine **engine) {
  return guarded([&]() -> Status {
    if (!path || !engine)
      return misuse("the path or the result pointer is NULL");
    *engine = nullptr;
    SessionOptions chosen;
    if (Status status = readOptions(options, chosen); !status.ok())
      return status;
    Result<std::unique_ptr<Session>> session = Session::open(path, chosen);
    if (!session.ok())
      return std::move(session).status();
    auto opened = std::make_unique<ingot_engine>();
    opened->owned = std::move(*session);
    opened->session = opened->owned.get();
    opened->taps = opened->session->taps();
    opened->pictures = PictureReader::of(opened->session->images());
    *engine = opened.release();
    return {};
  });
}

void ingot_close(ingot_engine *engine) { delete engine; }

ingot_error *ingot_plan(const char *path, const ingot_options *options, ingot_memory_plan *plan) {
  return guarded([&]() -> Status {
    if (!path)
      return misuse("the path is NULL");
    SessionOptions chosen;
    if (Status status = readOptions(options, chosen); !status.ok())
      return status;
    Result<std::shared_ptr<const EngineFile>> file =
        EngineFile::open(path, VerifyOptions{chosen.verifyWeights});
    if (!file.ok())
      return std::move(file).status();
    Result<MemoryPlan> planned = Session::plan(**file, chosen);
    if (!planned.ok())
      return std::move(planned).status();
    return writeSized(toC(*planned), plan);
  });
}

ingot_error *ingot_get_memory_plan(const ingot_engine *engine, ingot_memory_plan *plan) {
  return guarded([&]() -> Status {
    if (!engine)
      return misuse("the engine is NULL");
    return writeSized(toC(engine->session->memoryPlan()), plan);
  });
}

ingot_error *ingot_get_info(const ingot_engine *engine, ingot_info *info) {
  return guarded([&]() -> Status {
    if (!engine)
      return misuse("the engine is NULL");
    const ingot::schema::Engine &metadata = engine->session->file().metadata();
    ingot_info full = {};
    full.name = orEmpty(metadata.name());
    full.architecture = orEmpty(metadata.architecture());
    full.target = orEmpty(engine->session->engine().target().name());
    full.compiler = orEmpty(metadata.provenance()->compiler());
    full.vocabulary = int32_t(metadata.serving()->vocabulary());
    full.bos = metadata.serving()->bos();
    full.has_tokenizer = engine->session->tokenizer() != nullptr;
    if (const auto *eos = metadata.serving()->eos()) {
      full.eos = eos->data();
      full.eos_count = eos->size();
    }
    return writeSized(full, info);
  });
}

ingot_error *ingot_tokenize(const ingot_engine *engine, const char *text, size_t bytes,
                            bool add_special, bool parse_special, int32_t *tokens, size_t capacity,
                            size_t *count) {
  return guarded([&]() -> Status {
    Result<const Tokenizer *> tokenizer = tokenizerOf(engine);
    if (!tokenizer.ok())
      return std::move(tokenizer).status();
    if ((!text && bytes) || (!tokens && capacity) || !count)
      return misuse("a pointer is NULL");
    Result<std::vector<int32_t>> ids =
        (*tokenizer)->encode(std::string_view(text, bytes), add_special, parse_special);
    if (!ids.ok())
      return std::move(ids).status();
    writeUpTo(*ids, capacity, tokens, count);
    return {};
  });
}

ingot_error *ingot_detokenize(const ingot_engine *engine, const int32_t *tokens, size_t count,
                              bool skip_special, char *text, size_t capacity, size_t *bytes) {
  return guarded([&]() -> Status {
    Result<const Tokenizer *> tokenizer = tokenizerOf(engine);
    if (!tokenizer.ok())
      return std::move(tokenizer).status();
    if ((!tokens && count) || (!text && capacity) || !bytes)
      return misuse("a pointer is NULL");
    if (Status status = (*tokenizer)->checkIds({tokens, count}); !status.ok())
      return status;
    std::string decoded =
        (*tokenizer)
            ->decode({tokens, count}, DecodeOptions{skip_special, (*tokenizer)->cleansUpSpaces()});
    writeUpTo(decoded, capacity, text, bytes);
    return {};
  });
}

ingot_error *ingot_score(ingot_engine *engine, const int32_t *tokens, size_t count,
                         float *logprobs) {
  return guarded([&]() -> Status {
    if (!engine || (!tokens && count) || (!logprobs && count))
      return misuse("a pointer is NULL");
    if (Status status = checkOwned(engine); !status.ok())
      return status;
    Result<std::vector<float>> scores = engine->session->score({tokens, count});
    if (!scores.ok())
      return std::move(scores).status();
    std::copy(scores->begin(), scores->end(), logprobs);
    return {};
  });
}

size_t ingot_tap_count(const ingot_engine *engine) { return engine ? engine->taps.size() : 0; }

const char *ingot_tap_name(const ingot_engine *engine, size_t index) {
  return index < ingot_tap_count(engine) ? engine->taps[index].c_str() : nullptr;
}

ingot_error *ingot_read_tap(ingot_engine *engine, const int32_t *tokens, size_t count,
                            const char *tap, float *output, size_t capacity, size_t *values) {
  return guarded([&]() -> Status {
    if (!engine || (!tokens && count) || !tap || (!output && capacity) || !values)
      return misuse("a pointer is NULL");
    if (Status status = checkOwned(engine); !status.ok())
      return status;
    std::string_view name = tap;
    *values = 0;
    auto take = [&](size_t, int64_t, std::span<const float> rows) {
      std::copy_n(rows.begin(), std::min(capacity - std::min(capacity, *values), rows.size()),
                  output + std::min(capacity, *values));
      *values += rows.size();
    };
    return engine->session->record({tokens, count}, {}, {&name, 1}, take);
  });
}

ingot_error *ingot_record(ingot_engine *engine, const int32_t *tokens, size_t count,
                          const float *embeddings, size_t embedding_count, const char *const *taps,
                          size_t tap_count, ingot_tap_callback callback, void *user) {
  return guarded([&]() -> Status {
    if (!engine || (!tokens && count) || (!embeddings && embedding_count) || (!taps && tap_count) ||
        !callback)
      return misuse("a pointer is NULL");
    if (Status status = checkOwned(engine); !status.ok())
      return status;
    std::vector<std::string_view> names;
    for (size_t i = 0; i < tap_count; ++i) {
      if (!taps[i])
        return misuse("the name of a tap is NULL");
      names.emplace_back(taps[i]);
    }
    auto take = [&](size_t tap, int64_t position, std::span<const float> values) {
      callback(user, tap, position, values.data(), values.size());
    };
    return engine->session->record({tokens, count}, {embeddings, embedding_count}, names, take);
  });
}

ingot_error *ingot_get_counters(const ingot_engine *engine, ingot_counters *counters) {
  return guarded([&]() -> Status {
    if (Status status = checkOwned(engine); !status.ok())
      return status;
    const SessionCounters totals = engine->session->counters();
    return writeSized(ingot_counters{0, totals.steps, totals.promptTokens, totals.generatedTokens,
                                     engine->session->engine().launches(), totals.prefixQueries,
                                     totals.prefixHits, totals.preemptions},
                      counters);
  });
}
