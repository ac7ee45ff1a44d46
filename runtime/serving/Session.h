// SPDX-License-Identifier: Apache-2.0
// An opened engine that serves: requests in, tokens and text out, step by step.
#pragma once

#include "runtime/devices/OpenDevice.h"
#include "runtime/serving/AnswerForm.h"
#include "runtime/serving/SampleProgram.h"
#include "runtime/serving/StepProgram.h"
#include "runtime/serving/pictures/EncodeProgram.h"
#include "runtime/serving/pictures/LruCache.h"

#include <deque>
#include <functional>

namespace ingot::runtime {

struct SessionOptions {
  MemoryRequest memory; ///< memory.memory 0: what the machine has available
  DeviceRequest device;
  std::string target; ///< empty: the best that runs here
  bool verifyWeights = false;
  bool neverPreempt = false; ///< see SchedulerOptions
  /// Of steps that compute prompts beside running answers; 0: 200 on CPUs, 50 on GPUs.
  int64_t maxStepMilliseconds = 0;
  uint64_t pictureMemory = uint64_t(256) << 20; ///< bytes of encoded pictures that are kept
};

/// A prompt as text or as ids, and what to do with it.
struct Request {
  std::string text; ///< used when `tokens` is empty
  std::vector<int32_t> tokens;
  /// Of which the text has placeholders, or the tokens what stands for them.
  PromptPictures pictures;
  std::shared_ptr<const SequencePictures> placed = nullptr; ///< made by Session::prepare
  bool addSpecial = true;                ///< put the model's prefix (BOS) before text
  bool parseSpecial = false;             ///< recognise special tokens written in text
  bool skipSpecial = true;               ///< leave special tokens out of the generated text
  std::vector<int32_t> keptSpecial = {}; ///< but for these
  SamplingParameters sampling;
  AnswerForm form = {};               ///< of the answer
  guided::AnswerMarkers markers = {}; ///< what may stand around it where it has a form
  /// What the form is held to; made by Session::prepare.
  std::shared_ptr<guided::GrammarMasks> formMasks = nullptr;
  bool promptOnly =
      false; ///< the prompt is computed, and scored where asked for: no token is drawn
  bool cachePrompt = true; ///< take what the KV cache already holds of the prompt
  int32_t choices = 1;     ///< answers, at most 128; those after the first have seeds of their own
  int32_t priority = 0;    ///< lower ones are served first; equal ones in the order they came
  /// When it ends with FinishReason::Deadline, wherever it is.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// Prompts share cached work with those of the same salt only; at most 1024 bytes.
  std::string cacheSalt;
  std::string adapter; ///< empty: none, as no engine has adapters yet
};

enum class FinishReason {
  None,       ///< goes on
  EndToken,   ///< the model ended the text, or one of the request's stop tokens came
  StopString, ///< a stop string came; it is not part of the text
  Length,     ///< the request's token limit
  Context,    ///< the context is full
  Cancelled,
  Failed,   ///< the request's error says why; others of its steps are well
  Deadline, ///< its time was over
};

/// One generated token, or the end of an answer, or both. A request has ended when all its answers
/// have.
struct Event {
  uint64_t request = 0;
  int32_t choice = 0; ///< which of the request's answers
  int32_t token = -1; ///< -1: none (cancelled before it came)
  std::string text;   ///< complete UTF-8; may lag behind the tokens
  /// Where the token's own text begins in that of the answer, in characters, counting what is held
  /// back; inside a character: where that begins.
  int64_t textOffset = 0;
  float logprob = 0; ///< of the token; only when log-probabilities were asked for
  std::vector<TokenLogprob> top;
  /// When asked for: one for each token of the prompt, in an event without a token, before the
  /// first token of the request's first answer.
  std::vector<PromptLogprob> promptLogprobs;
  FinishReason finish = FinishReason::None;
  std::string stop; ///< the stop string, where that is the reason
  int64_t promptTokens = 0;
  int64_t cachedTokens = 0; ///< of the prompt, that were in the KV cache; 0 until they are computed
  std::chrono::steady_clock::duration
      queued{}; ///< from `submit` to the first step that computed it
  Status error; ///< of a request that failed: INGOT-E6013, E6024, E6034
};

/// What a session has computed so far: started steps, and tokens of finished ones that somebody
/// wanted.
struct SessionCounters {
  int64_t steps = 0;
  int64_t promptTokens = 0;
  int64_t generatedTokens = 0;
  int64_t continuedTokens = 0; ///< of them, all but the first of each answer
  int64_t preemptions = 0;
  int64_t prefixQueries = 0; ///< tokens of prompts that were begun
  int64_t prefixHits = 0;    ///< of them, those whose K and V were in the cache
  int64_t encodedPictures = 0;
};

/// What is going on in a session.
struct SessionGauges {
  int64_t waiting = 0, running = 0;       ///< answers; those in progress are running
  int64_t kvBlocks = 0, kvBlocksUsed = 0; ///< of the first KV group; those only kept are not used
};

/// Not thread-safe: calls come from one thread at a time.
class Session {
public:
  /// The device for the engine's targets, or for the one that the user named. INGOT-E65xx.
  static Result<std::unique_ptr<Device>> deviceFor(const EngineFile &file,
                                                   const SessionOptions &options);
  /// Opens, verifies and loads an engine. INGOT-E5xxx, E6xxx or E71xx.
  static Result<std::unique_ptr<Session>> open(const std::string &path,
                                               const SessionOptions &options);
  /// The same for a file that is already open.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const EngineFile> file,
                                                 const SessionOptions &options);
  /// The same on a device of the caller's choice.
  static Result<std::unique_ptr<Session>> createOn(std::unique_ptr<Device> device,
                                                   std::shared_ptr<const EngineFile> file,
                                                   const SessionOptions &options);
  /// The engine alone, loaded by the same rules.
  static Result<std::unique_ptr<Executor>> load(std::shared_ptr<const EngineFile> file,
                                                const SessionOptions &options);
  /// What `create` would allocate, without allocating.
  static Result<MemoryPlan> plan(const EngineFile &file, const SessionOptions &options,
                                 uint32_t *target = nullptr);

  const EngineFile &file() const { return executor->file(); }
  Executor &engine() { return *executor; }
  const schema::Target &target() const { return executor->target(); }
  const MemoryPlan &memoryPlan() const { return executor->plan(); }
  /// The ids of a prompt, with those that stand for its pictures. INGOT-E6008: there is no
  /// tokenizer; E6814: the engine takes no pictures. Others: encodeWithPictures.
  Result<std::vector<int32_t>> promptTokens(const Request &request) const;
  /// What the engine says of pictures; null when it takes none.
  const schema::Images *images() const { return file().metadata().images(); }
  /// Null when the engine has no tokenizer.
  const Tokenizer *tokenizer() const { return textTokenizer ? &*textTokenizer : nullptr; }
  /// The engine's serving facts as sampling parameters.
  SamplingParameters defaultSampling() const;
  /// Whether they are the model's. Of one that names none they leave its distribution as it is.
  bool namesSampling() const { return !file().metadata().serving()->names_no_sampling(); }

  /// The request with its prompt as tokens, after every check that does not depend on other
  /// requests. May be called by any thread at any time; a form's grammar is made here. INGOT-E6003
  /// to E6008, E6012, E6034, E6051, E6052, E64xx, E66xx.
  Result<Request> prepare(Request request) const;
  /// Queues a request; the result names it in events. Errors as `prepare`, which it calls.
  Result<uint64_t> submit(const Request &request);
  /// The same for a request that `prepare` has given. INGOT-E6005.
  Result<uint64_t> submitPrepared(const Request &prepared);
  /// Ends a request at once; the last event of each answer says so. INGOT-E6011 when there is none
  /// of that id.
  Status cancel(uint64_t request);
  /// Stops computing a request until it is resumed, for a reader that is behind; what was drawn
  /// still becomes events. Nothing happens when it has ended.
  void hold(uint64_t request, bool held);
  /// Runs one step if there is work, or starts it and takes the tokens of the step before, on a
  /// device that works meanwhile. True while there may be more to do: held requests count as
  /// nothing to do.
  Result<bool> step();
  /// Requests' answers by what they are doing, and what of the KV cache is in use, now.
  SessionGauges gauges() const;
  /// The oldest event not yet taken, if any.
  std::optional<Event> nextEvent();
  /// The same of one request; the events of others stay in their order.
  std::optional<Event> nextEvent(uint64_t request);
  SessionCounters counters() const;

  /// Log-probability of each token given those before it; the first is 0. Runs beside requests as
  /// long as a slot and blocks are free (INGOT-E6016 otherwise).
  Result<std::vector<float>> score(std::span<const int32_t> tokens);

  /// Computes `tokens` as one sequence in steps of steps[0], steps[1], ... tokens, in turn, each at
  /// most the plan's, and calls `visit` with the logits that stand at a position. Those of the last
  /// maxLogitRows tokens of a step are computed, in the order of positions. Fails as `score`.
  Status
  readLogits(std::span<const int32_t> tokens, std::span<const int64_t> steps,
             const std::function<void(int64_t position, std::span<const float> logits)> &visit);

  /// Names of the taps of the program "step".
  std::vector<std::string> taps() const;
  /// Gets the values of the tap `index` of those asked for, as f32, in the step whose first token
  /// stands at `position`.
  using TapVisitor =
      std::function<void(size_t index, int64_t position, std::span<const float> values)>;
  /// Runs `tokens` as one sequence and calls `visit` for each tap in each step. `embeddings`: a row
  /// for each token, for engines that read them; else empty. "logits" is a tap of every engine: a
  /// row for each token. Fails as `score`. INGOT-E6009: no such tap, or not of a type that becomes
  /// f32.
  Status record(std::span<const int32_t> tokens, std::span<const float> embeddings,
                std::span<const std::string_view> taps, const TapVisitor &visit);

private:
  using Clock = std::chrono::steady_clock;
  /// A step that has been started and whose tokens nobody has taken yet.
  struct AsyncStep {
    std::vector<SampleRow> rows;
    SampleDraw draw;
    int64_t promptTokens = 0, decodes = 0;
    Clock::time_point started;
  };

  Session() = default;
  Status bind(const SessionOptions &options);
  Status checkLogits() const;
  Result<std::vector<std::vector<int32_t>>> badSequences(const SamplingParameters &sampling) const;
  int64_t newTokens(const Request &prepared) const;
  std::unique_ptr<Sequence> makeSequence(const Request &prepared, int32_t choice) const;
  void endOverdue();
  Status checkPrompt(std::span<const int32_t> tokens, int64_t limit,
                     bool hasPictures = false) const;
  Status placePictures(Request &request) const;
  using VisitPicture = std::function<bool(const std::shared_ptr<const PromptPicture> &picture,
                                          std::shared_ptr<const EncodedPicture> &encoded)>;
  void forEachUnencoded(const VisitPicture &visit);
  Status encodePictures();
  Result<bool> startStep();
  Status synchronize();
  Status settle();
  void drop(Sequence &sequence);
  Status checkRequest(const Request &request) const;
  std::optional<Event> takeEvent(std::deque<Event>::iterator event);
  void end(Sequence &sequence, FinishReason finish, Status error = {});
  std::vector<int32_t> endTokens(const SamplingParameters &sampling) const;
  Status prepareForm(Request &request) const;
  void addConstraint(const Request &prepared, Sequence &sequence) const;
  Status advanceConstraint(Sequence &sequence, int32_t token);
  bool excludesAll(const Sequence &sequence, int64_t known,
                   std::span<const uint32_t> form = {}) const;
  Status drawError(const SampleRow &sample, int32_t token) const;
  void keepScore(const SampleRow &sample, size_t row);
  void givePromptLogprobs(Sequence &sequence);
  void accept(const SampleRow &sample, size_t row);
  FinishReason finishOf(const Sequence &sequence, int32_t token, int64_t generated) const;
  int64_t mostScored() const;
  Status runAlone(std::span<const int32_t> tokens, std::span<const int64_t> steps,
                  const std::function<Status(const BatchEntry &)> &run,
                  std::span<const float> embeddings = {});
  struct Tap;
  Result<Tap> findTap(std::string_view name) const;
  Status readTap(const Tap &tap, std::vector<float> &values);

  std::unique_ptr<Executor> executor;
  std::optional<Tokenizer> textTokenizer;
  std::unique_ptr<AnswerForms> forms; ///< where there is a tokenizer
  /// They make masks while the device computes.
  std::unique_ptr<Workers> workers = std::make_unique<Workers>(2);
  std::optional<StepProgram> stepProgram;
  std::optional<SampleProgram> sampleProgram;
  Status sampleMissing;                       ///< why there is no sampleProgram
  std::optional<EncodeProgram> encodeProgram; ///< of an engine that takes pictures
  std::optional<LruCache<EncodedPicture>> keptPictures;
  std::optional<KvCache> cache;
  std::optional<Scheduler> scheduler;
  AsyncStep asyncSteps[2]; ///< the oldest of `startedSteps`, and the next
  size_t oldestStep = 0, startedSteps = 0;
  Clock::time_point lastSynchronized;
  std::deque<Event> events;
  SessionCounters totals;
  uint64_t nextId = 1;
};

} // namespace ingot::runtime
