// SPDX-License-Identifier: Apache-2.0
// Opening an engine, and the loop of requests: submit, step, events.
#include "runtime/serving/Session.h"

#include "runtime/engine/TargetChoice.h"
#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"
#include "runtime/serving/Unicode.h"
#include "runtime/serving/pictures/PictureReader.h"
#include "runtime/serving/pictures/PictureWords.h"

#include <algorithm>
#include <limits>

namespace ingot::runtime {

namespace {

constexpr int32_t maxChoices = 128;
constexpr size_t maxSaltBytes = 1024;

Result<MemoryPlan> planFor(const EngineFile &file, const SessionOptions &options,
                           const Device &device, uint32_t &target) {
  const schema::Engine &engine = file.metadata();
  Result<uint32_t> chosen = chooseTarget(engine, device, options.target);
  if (!chosen.ok())
    return std::move(chosen).status();
  target = *chosen;
  MemoryRequest request = options.memory;
  if (request.memory == 0) {
    const schema::Target &plans = *engine.targets()->Get(target);
    uint64_t mapped = plans.memory()->weight_bytes() - madeWeightBytes(engine, plans);
    uint64_t available = device.availableMemory(mapped, request.fraction);
    request.memory = available == UINT64_MAX ? 0 : available;
  }
  return planMemory(engine, *engine.targets()->Get(target), device.dimension(schema::dim::threads),
                    request);
}

Status nothingLeft(const std::string &what) {
  return Status::error("INGOT-E6034",
                       what + ": its allowed tokens, bad words, min_tokens, "
                              "no_repeat_ngram_size and form leave no token that may come",
                       "exclude fewer tokens");
}

} // namespace

Result<std::unique_ptr<Device>> Session::deviceFor(const EngineFile &file,
                                                   const SessionOptions &options) {
  std::vector<std::string_view> architectures;
  for (const schema::Target *target : *file.metadata().targets())
    if (options.target.empty() || target->name()->string_view() == options.target)
      architectures.push_back(target->arch()->string_view());
  return openDevice(options.device, architectures);
}

Result<std::unique_ptr<Session>> Session::open(const std::string &path,
                                               const SessionOptions &options) {
  Result<std::shared_ptr<const EngineFile>> file =
      EngineFile::open(path, VerifyOptions{options.verifyWeights});
  if (!file.ok())
    return std::move(file).status();
  return create(std::move(*file), options);
}

Result<MemoryPlan> Session::plan(const EngineFile &file, const SessionOptions &options,
                                 uint32_t *target) {
  Result<std::unique_ptr<Device>> device = deviceFor(file, options);
  if (!device.ok())
    return std::move(device).status();
  uint32_t chosen = 0;
  Result<MemoryPlan> plan = planFor(file, options, **device, chosen);
  if (target)
    *target = chosen;
  return plan;
}

/// The engine on a device, by the plan that the options ask for.
static Result<std::unique_ptr<Executor>> loadOn(std::unique_ptr<Device> device,
                                                std::shared_ptr<const EngineFile> file,
                                                const SessionOptions &options) {
  uint32_t target = 0;
  Result<MemoryPlan> plan = planFor(*file, options, *device, target);
  if (!plan.ok())
    return std::move(plan).status();
  return Executor::create(std::move(file), target, std::move(device), *plan);
}

Result<std::unique_ptr<Executor>> Session::load(std::shared_ptr<const EngineFile> file,
                                                const SessionOptions &options) {
  Result<std::unique_ptr<Device>> device = deviceFor(*file, options);
  if (!device.ok())
    return std::move(device).status();
  return loadOn(std::move(*device), std::move(file), options);
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const EngineFile> file,
                                                 const SessionOptions &options) {
  Result<std::unique_ptr<Device>> device = deviceFor(*file, options);
  if (!device.ok())
    return std::move(device).status();
  return createOn(std::move(*device), std::move(file), options);
}

Result<std::unique_ptr<Session>> Session::createOn(std::unique_ptr<Device> device,
                                                   std::shared_ptr<const EngineFile> file,
                                                   const SessionOptions &options) {
  Result<std::unique_ptr<Executor>> executor = loadOn(std::move(device), std::move(file), options);
  if (!executor.ok())
    return std::move(executor).status();
  std::unique_ptr<Session> session(new Session());
  session->executor = std::move(*executor);
  if (Status status = session->bind(options); !status.ok())
    return status;
  return session;
}

Status Session::bind(const SessionOptions &options) {
  std::span<const uint8_t> section = file().sectionOfKind(schema::SectionKind::Tokenizer);
  if (!section.empty()) {
    Result<Tokenizer> loaded = Tokenizer::load(std::as_bytes(section));
    if (!loaded.ok())
      return std::move(loaded).status();
    textTokenizer = std::move(*loaded);
    forms =
        std::make_unique<AnswerForms>(*textTokenizer, file().metadata().serving()->vocabulary());
  }
  Result<StepProgram> step = StepProgram::bind(*executor);
  if (!step.ok())
    return std::move(step).status();
  stepProgram = std::move(*step);
  uint32_t vocabulary = file().metadata().serving()->vocabulary();
  // Results of a part of a model stand in the place of logits: nothing can be drawn from them.
  if (executor->findProgram(schema::program::sample))
    if (Status status = checkLogits(); !status.ok())
      return status;
  Result<SampleProgram> sample = SampleProgram::bind(*executor, vocabulary);
  if (sample.ok())
    sampleProgram = std::move(*sample);
  else
    sampleMissing = std::move(sample).status();
  if (images()) {
    Result<EncodeProgram> encode = EncodeProgram::bind(*executor, *images());
    if (!encode.ok())
      return std::move(encode).status();
    encodeProgram = std::move(*encode);
    keptPictures.emplace(options.pictureMemory);
  }
  cache.emplace(memoryPlan().groups);
  int64_t milliseconds = options.maxStepMilliseconds;
  if (milliseconds == 0)
    milliseconds = sampleProgram && sampleProgram->runsAhead() ? 50 : 200;
  SchedulerOptions scheduling = {options.neverPreempt, double(milliseconds) / 1000};
  scheduler.emplace(memoryPlan(), *cache, scheduling);
  for (AsyncStep &step : asyncSteps)
    step.rows.reserve(size_t(memoryPlan().maxLogitRows));
  return {};
}

/// Whether there is a logit for each token.
Status Session::checkLogits() const {
  uint32_t vocabulary = file().metadata().serving()->vocabulary();
  if (stepProgram->vocabulary() == int64_t(vocabulary))
    return {};
  return Status::error("INGOT-E5022",
                       "the engine states a vocabulary of " + std::to_string(vocabulary) +
                           " tokens but has " + std::to_string(stepProgram->vocabulary()) +
                           " columns of logits",
                       "rebuild the engine");
}

SamplingParameters Session::defaultSampling() const {
  const schema::Serving &serving = *file().metadata().serving();
  SamplingParameters sampling;
  sampling.temperature = serving.temperature();
  sampling.topK = serving.top_k();
  sampling.topP = serving.top_p();
  sampling.minP = serving.min_p();
  sampling.repetitionPenalty = serving.repetition_penalty();
  return sampling;
}

Result<std::vector<int32_t>> Session::promptTokens(const Request &request) const {
  if (!request.pictures.empty() && !encodeProgram)
    return noPictures();
  if (!request.tokens.empty())
    return request.tokens;
  if (!textTokenizer)
    return Status::error("INGOT-E6008", "the engine has no tokenizer",
                         "give the prompt as token ids");
  if (request.pictures.empty())
    return textTokenizer->encode(request.text, request.addSpecial, request.parseSpecial);
  std::vector<Span> literal;
  if (!request.parseSpecial)
    literal = outsidePlaceholders(request.text, *images());
  return encodeWithPictures(*textTokenizer, request.text, literal, request.addSpecial,
                            request.pictures, *images());
}

/// What is wrong with the pictures of a request whose prompt is known; else they have their places.
Status Session::placePictures(Request &request) const {
  if (request.pictures.empty())
    return {};
  Result<std::shared_ptr<const SequencePictures>> placed =
      SequencePictures::place(request.tokens, request.pictures, *images());
  if (!placed.ok())
    return std::move(placed).status();
  for (const std::shared_ptr<const PromptPicture> &picture : request.pictures)
    if (Status status = encodeProgram->fits(*picture); !status.ok())
      return status;
  if ((*placed)->seesAhead())
    for (const PictureRun &run : (*placed)->runs())
      if (run.end - run.begin > memoryPlan().maxTokens)
        return Status::error("INGOT-E6813",
                             "a picture has " + std::to_string(run.end - run.begin) +
                                 " tokens, which see each other, and a step takes " +
                                 std::to_string(memoryPlan().maxTokens),
                             "raise --max-batch-tokens");
  request.placed = std::move(*placed);
  return {};
}

/// What may not be generated, spelled in tokens. A word is spelled in one way at the start of a
/// text and in another behind a space.
Result<std::vector<std::vector<int32_t>>>
Session::badSequences(const SamplingParameters &sampling) const {
  std::vector<std::vector<int32_t>> sequences = sampling.badSequences;
  if (!sampling.badWords.empty() && !textTokenizer)
    return Status::error("INGOT-E6008", "the engine has no tokenizer",
                         "give bad words as token ids");
  for (const std::string &word : sampling.badWords) {
    std::string bare = word.substr(std::min(word.find_first_not_of(' '), word.size()));
    for (const std::string &text : {bare, " " + bare}) {
      Result<std::vector<int32_t>> tokens = textTokenizer->encode(text, false, false);
      if (!tokens.ok())
        return std::move(tokens).status().in("bad_words");
      sequences.push_back(std::move(*tokens));
    }
  }
  // A tokenizer may know tokens that the model does not: what has one cannot come.
  std::erase_if(sequences, [&](const std::vector<int32_t> &tokens) {
    auto outside = [&](int32_t token) { return token < 0 || token >= stepProgram->vocabulary(); };
    return tokens.empty() || std::any_of(tokens.begin(), tokens.end(), outside);
  });
  std::sort(sequences.begin(), sequences.end());
  sequences.erase(std::unique(sequences.begin(), sequences.end()), sequences.end());
  return sequences;
}

Status Session::checkPrompt(std::span<const int32_t> tokens, int64_t limit,
                            bool hasPictures) const {
  if (tokens.empty())
    return Status::error("INGOT-E6003", "the prompt has no tokens", "give a text or token ids");
  if (int64_t(tokens.size()) > limit)
    return Status::error("INGOT-E6004",
                         "the prompt has " + std::to_string(tokens.size()) +
                             " tokens, the context holds " + std::to_string(limit),
                         "shorten the prompt or raise --max-context");
  uint32_t vocabulary = file().metadata().serving()->vocabulary();
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || uint32_t(tokens[i]) >= vocabulary)
      return Status::error("INGOT-E6007",
                           "token id " + std::to_string(tokens[i]) + " at position " +
                               std::to_string(i) + " is not in the vocabulary of " +
                               std::to_string(vocabulary),
                           "give ids of this model's tokenizer");
  const auto *placeholders = file().metadata().serving()->placeholders();
  for (int32_t token : tokens)
    if (placeholders && !(hasPictures && token == int32_t(images()->token_id())) &&
        std::find(placeholders->begin(), placeholders->end(), token) != placeholders->end())
      return Status::error("INGOT-E6026",
                           "token id " + std::to_string(token) +
                               " stands for an image or sound, which this engine does not read",
                           "leave it out of the prompt");
  return {};
}

/// What is wrong with a request beside its prompt.
Status Session::checkRequest(const Request &request) const {
  if (!request.adapter.empty())
    return Status::error("INGOT-E6051",
                         "there is no adapter '" + request.adapter.substr(0, 100) + "'",
                         "leave the adapter out; one is merged by 'ingot build --lora'");
  if (request.cacheSalt.size() > maxSaltBytes)
    return Status::error(
        "INGOT-E6052", "the cache salt has " + std::to_string(request.cacheSalt.size()) + " bytes",
        "give at most " + std::to_string(maxSaltBytes));
  if (request.choices < 1 || request.choices > maxChoices)
    return Status::error("INGOT-E6006",
                         "the number of choices is " + std::to_string(request.choices),
                         "ask for 1 to " + std::to_string(maxChoices));
  uint32_t vocabulary = file().metadata().serving()->vocabulary();
  if (Status status = request.sampling.validate(vocabulary); !status.ok())
    return status;
  return sampleProgram->supports(request.sampling);
}

Result<Request> Session::prepare(Request request) const {
  if (!sampleProgram)
    return sampleMissing;
  if (Status status = prepareForm(request); !status.ok())
    return status;
  if (Status status = checkRequest(request); !status.ok())
    return status;
  Result<std::vector<int32_t>> tokens = promptTokens(request);
  if (!tokens.ok())
    return std::move(tokens).status();
  request.tokens = std::move(*tokens);
  if (Status status =
          checkPrompt(request.tokens, memoryPlan().maxContext, !request.pictures.empty());
      !status.ok())
    return status;
  if (Status status = placePictures(request); !status.ok())
    return status;
  if (Status status = scheduler->fits(int64_t(request.tokens.size()) + newTokens(request) - 1);
      !status.ok())
    return status;
  Result<std::vector<std::vector<int32_t>>> bad = badSequences(request.sampling);
  if (!bad.ok())
    return std::move(bad).status();
  request.sampling.badSequences = std::move(*bad);
  request.sampling.badWords.clear();
  if (!request.sampling.usesMask())
    return request;
  // What depends on the prompt is found where its token is drawn: others of a batch have more.
  Sequence first;
  first.sampling = request.sampling;
  first.sampling.noRepeatNgramSize = 0;
  first.sampling.hasForm = false;
  first.endTokens = endTokens(request.sampling);
  if (!request.promptOnly && excludesAll(first, 0))
    return nothingLeft("the request");
  return request;
}

Result<uint64_t> Session::submit(const Request &request) {
  Result<Request> prepared = prepare(request);
  if (!prepared.ok())
    return std::move(prepared).status();
  return submitPrepared(*prepared);
}

Result<uint64_t> Session::submitPrepared(const Request &prepared) {
  Sequence *leader = nullptr;
  for (int32_t choice = 0; choice < prepared.choices; ++choice) {
    std::unique_ptr<Sequence> sequence = makeSequence(prepared, choice);
    sequence->leader = leader;
    Sequence *first = leader ? leader : sequence.get();
    if (Status status = scheduler->add(std::move(sequence)); !status.ok())
      return status; // Only the first can fail: they are alike.
    leader = first;
  }
  return nextId++;
}

/// The most tokens that a request may generate.
int64_t Session::newTokens(const Request &prepared) const {
  int64_t room = memoryPlan().maxContext - int64_t(prepared.tokens.size()) + 1;
  int64_t wanted = prepared.promptOnly           ? 1
                   : prepared.sampling.maxTokens ? prepared.sampling.maxTokens
                                                 : room;
  return std::min(wanted, room);
}

/// Any of which ends an answer: the request's and the model's.
std::vector<int32_t> Session::endTokens(const SamplingParameters &sampling) const {
  std::vector<int32_t> tokens = sampling.stopTokens;
  if (const auto *eos = file().metadata().serving()->eos(); eos && !sampling.ignoreEos)
    for (int32_t token : *eos)
      if (token >= 0 && token < stepProgram->vocabulary())
        tokens.push_back(token);
  return tokens;
}

std::unique_ptr<Sequence> Session::makeSequence(const Request &prepared, int32_t choice) const {
  auto sequence = std::make_unique<Sequence>();
  sequence->id = nextId;
  sequence->choice = choice;
  sequence->priority = prepared.priority;
  sequence->deadline = prepared.deadline;
  sequence->submitted = Clock::now();
  // Whose log-probabilities are wanted, that is computed.
  sequence->cachePrompt = prepared.cachePrompt && prepared.sampling.promptLogprobs < 0;
  sequence->root = rootHash(prepared.cacheSalt);
  sequence->tokens = prepared.tokens;
  sequence->pictures = prepared.placed;
  sequence->promptTokens = int64_t(sequence->tokens.size());
  sequence->maxNewTokens = newTokens(prepared);
  sequence->cutByContext = sequence->maxNewTokens != prepared.sampling.maxTokens;
  sequence->promptOnly = prepared.promptOnly;
  sequence->sampling = prepared.sampling;
  sequence->sampling.seed += uint64_t(choice);
  if (prepared.sampling.promptLogprobs >= 0 && choice == 0)
    for (int32_t token : sequence->tokens)
      sequence->promptLogprobs.push_back({token, 0, {}});
  sequence->endTokens = endTokens(prepared.sampling);
  sequence->stopText = StopText(prepared.sampling.stopStrings, prepared.sampling.includeStop);
  sequence->tokens.reserve(size_t(sequence->promptTokens + sequence->maxNewTokens));
  if (textTokenizer) {
    sequence->detokenizer.emplace(
        *textTokenizer,
        DecodeOptions{prepared.skipSpecial, textTokenizer->cleansUpSpaces(), prepared.keptSpecial});
    sequence->detokenizer->follow(sequence->tokens);
  }
  if (prepared.sampling.hasForm)
    addConstraint(prepared, *sequence);
  return sequence;
}

Status Session::cancel(uint64_t request) {
  Sequence *sequence = scheduler->find(request);
  if (!sequence)
    return Status::error("INGOT-E6011", "no request " + std::to_string(request) + " is in flight",
                         "it may have finished already");
  for (; sequence; sequence = scheduler->find(request))
    end(*sequence, FinishReason::Cancelled);
  return {};
}

void Session::hold(uint64_t request, bool held) {
  scheduler->forEach([&](Sequence &sequence) {
    if (sequence.id == request)
      sequence.held = held;
  });
}

SessionGauges Session::gauges() const {
  SessionGauges gauges;
  gauges.running = int64_t(scheduler->runningCount());
  gauges.waiting = int64_t(scheduler->active()) - gauges.running;
  if (!memoryPlan().groups.empty()) {
    gauges.kvBlocks = memoryPlan().groups[0].blocks;
    gauges.kvBlocksUsed = gauges.kvBlocks - cache->availableBlocks(0);
  }
  return gauges;
}

SessionCounters Session::counters() const {
  SessionCounters counters = totals;
  counters.preemptions = scheduler->counters().preemptions;
  counters.prefixQueries = scheduler->counters().prefixQueries;
  counters.prefixHits = scheduler->counters().prefixHits;
  return counters;
}

/// Ends the requests whose time is over.
void Session::endOverdue() {
  auto now = std::chrono::steady_clock::now();
  while (Sequence *sequence = scheduler->findIf(
             [&](const Sequence &entry) { return entry.deadline && *entry.deadline <= now; }))
    end(*sequence, FinishReason::Deadline);
}

/// What every event of a sequence says.
static Event eventOf(const Sequence &sequence) {
  Event event;
  event.request = sequence.id;
  event.choice = sequence.choice;
  event.promptTokens = sequence.promptTokens;
  event.cachedTokens = sequence.cachedTokens;
  event.queued = sequence.queued;
  return event;
}

/// Ends a request with an event that has no token.
void Session::end(Sequence &sequence, FinishReason finish, Status error) {
  Event event = eventOf(sequence);
  event.finish = finish;
  event.error = std::move(error);
  events.push_back(std::move(event));
  drop(sequence);
}

/// Whether no token may come behind the first `known` of a sequence. `form`: a mask of what its
/// form allows there, or nothing.
bool Session::excludesAll(const Sequence &sequence, int64_t known,
                          std::span<const uint32_t> form) const {
  if (!sequence.sampling.usesMask())
    return false;
  Sequence before;
  before.tokens.assign(sequence.tokens.begin(), sequence.tokens.begin() + known);
  before.promptTokens = sequence.promptTokens;
  before.sampling = sequence.sampling;
  before.endTokens = sequence.endTokens;
  std::vector<uint32_t> words((size_t(stepProgram->vocabulary()) + 31) / 32);
  TokenMask mask(words);
  mask.applyTo(before);
  if (!form.empty())
    mask.excludeOutside(form);
  return mask.leavesNone(stepProgram->vocabulary());
}

/// Why a token that was drawn for a request cannot be taken; success where it can.
Status Session::drawError(const SampleRow &sample, int32_t token) const {
  Sequence &sequence = *sample.sequence;
  if (uint32_t(token) < uint32_t(stepProgram->vocabulary()) || sequence.promptOnly)
    return {};
  std::string of = "request " + std::to_string(sequence.id);
  if (token != SampleProgram::noToken)
    return Status::error("INGOT-E6013", of + ": the engine drew a token outside its vocabulary",
                         "rebuild the engine and report this as an error of Ingot");
  std::span<const uint32_t> form;
  if (sequence.isMasked()) {
    const Result<std::span<const uint32_t>> allowed = sequence.constraint->mask();
    if (!allowed.ok())
      return Status(allowed.status()).in(of);
    form = *allowed;
  }
  if (excludesAll(sequence, sample.place, form))
    return nothingLeft(of + ", after " + std::to_string(sample.place - sequence.promptTokens) +
                       " tokens");
  return Status::error("INGOT-E6024",
                       of + ": no token can be drawn: its logits are NaN, or minus infinity "
                            "for all tokens it allows",
                       "see whether the checkpoint's weights are finite ('eval' tells), or "
                       "allow other tokens");
}

Result<bool> Session::step() {
  endOverdue();
  Result<bool> started = startStep();
  if (!started.ok())
    return started;
  // A device that runs ahead computes this step while the host takes the tokens of the one before.
  size_t ahead = *started && sampleProgram && sampleProgram->runsAhead() ? 1 : 0;
  while (startedSteps > ahead)
    if (Status status = synchronize(); !status.ok())
      return status;
  return startedSteps > 0 || scheduler->busy();
}

/// Calls visit for each picture whose rows a running sequence is still to take and has not; until
/// it says that a sequence's later ones can wait.
void Session::forEachUnencoded(const VisitPicture &visit) {
  scheduler->forEach([&](Sequence &sequence) {
    if (sequence.slot < 0 || sequence.held || !sequence.pictures)
      return;
    const PromptPictures &pictures = sequence.pictures->pictures();
    sequence.encoded.resize(pictures.size());
    for (const PictureRun &run : sequence.pictures->runs())
      if (run.end > sequence.computed && !sequence.encoded[run.picture] &&
          !visit(pictures[run.picture], sequence.encoded[run.picture]))
        return;
  });
}

/// Encodes pictures that the next step may come to: as many as one run of the encoder takes, those
/// of the first sequences first.
Status Session::encodePictures() {
  scheduler->admitWaiting();
  PromptPictures wanted;
  int64_t rows = 0;
  auto indexOf = [&](const BlockHash &name) {
    return size_t(std::find_if(wanted.begin(), wanted.end(),
                               [&](const auto &other) { return other->name == name; }) -
                  wanted.begin());
  };
  forEachUnencoded([&](const auto &picture, auto &encoded) {
    encoded = keptPictures->find(picture->name);
    if (encoded || indexOf(picture->name) < wanted.size())
      return true;
    auto own = int64_t(picture->tokens());
    if (!wanted.empty() && rows + own > encodeProgram->maxRows())
      return false;
    wanted.push_back(picture);
    rows += own;
    return true;
  });
  if (wanted.empty())
    return {};
  // Tokens that only the device knows would not outlive another program.
  if (Status status = settle(); !status.ok())
    return status;
  Result<std::vector<std::shared_ptr<const EncodedPicture>>> made = encodeProgram->run(wanted);
  if (!made.ok())
    return std::move(made).status();
  forEachUnencoded([&](const auto &picture, auto &encoded) {
    if (size_t index = indexOf(picture->name); index < wanted.size())
      encoded = (*made)[index];
    return true;
  });
  for (size_t i = 0; i < wanted.size(); ++i)
    keptPictures->keep(wanted[i]->name, (*made)[i]);
  totals.encodedPictures += int64_t(wanted.size());
  return {};
}

/// Starts the next step and its draw; false when there is nothing to compute.
Result<bool> Session::startStep() {
  if (encodeProgram)
    if (Status status = encodePictures(); !status.ok())
      return status;
  std::span<const BatchEntry> batch = scheduler->planStep();
  if (batch.empty())
    return false;
  AsyncStep &step = asyncSteps[(oldestStep + startedSteps) % std::size(asyncSteps)];
  step.started = Clock::now();
  for (const BlockCopy &copy : cache->copies())
    executor->copyBlock(copy.group, copy.from, copy.to);
  cache->copies().clear();
  for (const BatchEntry &entry : batch)
    if (entry.sequence->needsState) {
      if (entry.sequence->queued == Clock::duration::zero())
        entry.sequence->queued = Clock::now() - entry.sequence->submitted;
      sampleProgram->admit(*entry.sequence);
    }
  if (Status status = stepProgram->prepare(batch, *cache, sampleProgram->tokens()); !status.ok())
    return status;
  stepProgram->run();
  ++totals.steps;

  step.rows.clear();
  step.promptTokens = step.decodes = 0;
  for (const BatchEntry &entry : batch) {
    Sequence &sequence = *entry.sequence;
    bool isDecode = sequence.generated() > 0 && entry.tokens == 1;
    (isDecode ? step.decodes : step.promptTokens) += entry.tokens;
    sequence.computed += entry.tokens;
    if (sequence.pictures && !sequence.pictures->firstBehind(sequence.computed))
      sequence.encoded.clear();
    for (int64_t behind = entry.logitRows; behind-- > 0;) {
      int64_t place = sequence.computed - behind;
      step.rows.push_back({&sequence, place, place < int64_t(sequence.tokens.size())});
    }
  }
  step.draw = sampleProgram->start(step.rows);
  for (size_t row = 0; row < step.rows.size(); ++row) {
    if (step.rows[row].known)
      continue;
    step.rows[row].sequence->tokens.push_back(unknownToken);
    step.rows[row].sequence->drawRow = int64_t(row);
  }
  ++startedSteps;
  return true;
}

/// Finishes the oldest step: its tokens become events. Those of requests that have ended since it
/// was started are dropped, and a request without a token ends alone.
Status Session::synchronize() {
  AsyncStep &step = asyncSteps[oldestStep];
  oldestStep = (oldestStep + 1) % std::size(asyncSteps);
  --startedSteps;
  if (Status status = sampleProgram->finish(step.draw); !status.ok())
    return status;
  Clock::time_point now = Clock::now();
  std::chrono::duration<double> took = now - std::max(step.started, lastSynchronized);
  lastSynchronized = now;
  scheduler->stepTook(step.promptTokens, step.decodes, took.count());
  totals.promptTokens += step.promptTokens;
  for (size_t row = 0; row < step.rows.size(); ++row) {
    Sequence *sequence = step.rows[row].sequence;
    if (!sequence)
      continue;
    if (step.rows[row].known) {
      keepScore(step.rows[row], row);
      continue;
    }
    if (Status error = drawError(step.rows[row], sampleProgram->token(row)); !error.ok()) {
      end(*sequence, FinishReason::Failed, std::move(error));
      continue;
    }
    totals.generatedTokens += !sequence->promptOnly;
    totals.continuedTokens += step.rows[row].place > sequence->promptTokens;
    accept(step.rows[row], row);
  }
  return {};
}

/// Finishes all started steps.
Status Session::settle() {
  while (startedSteps > 0)
    if (Status status = synchronize(); !status.ok())
      return status;
  return {};
}

/// Forgets a sequence. A step that still computes it does no harm: what uses its blocks and its
/// slot next comes after that step.
void Session::drop(Sequence &sequence) {
  for (AsyncStep &step : asyncSteps)
    for (SampleRow &row : step.rows)
      if (row.sequence == &sequence)
        row.sequence = nullptr;
  scheduler->remove(sequence);
}

FinishReason Session::finishOf(const Sequence &sequence, int32_t token, int64_t generated) const {
  if (std::find(sequence.endTokens.begin(), sequence.endTokens.end(), token) !=
      sequence.endTokens.end())
    return FinishReason::EndToken;
  if (generated >= sequence.maxNewTokens)
    return sequence.cutByContext ? FinishReason::Context : FinishReason::Length;
  return FinishReason::None;
}

/// Takes the log-probabilities of a token that was known, where they are wanted.
void Session::keepScore(const SampleRow &sample, size_t row) {
  if (size_t(sample.place) >= sample.sequence->promptLogprobs.size())
    return;
  PromptLogprob &entry = sample.sequence->promptLogprobs[size_t(sample.place)];
  bool canCome = sampleProgram->token(row) == entry.token;
  entry.logprob = canCome ? sampleProgram->logprob(row) : -std::numeric_limits<float>::infinity();
  entry.top = sampleProgram->top(row, sample.sequence->sampling.promptLogprobs);
}

void Session::givePromptLogprobs(Sequence &sequence) {
  Event event = eventOf(sequence);
  event.promptLogprobs = std::move(sequence.promptLogprobs);
  sequence.promptLogprobs.clear();
  events.push_back(std::move(event));
}

/// Takes the token drawn in `row`: event, text, and the end of the request if it is one.
void Session::accept(const SampleRow &sample, size_t row) {
  Sequence &sequence = *sample.sequence;
  if (!sequence.promptLogprobs.empty())
    givePromptLogprobs(sequence);
  if (sequence.promptOnly)
    return end(sequence, FinishReason::Length);
  Event event = eventOf(sequence);
  event.token = sampleProgram->token(row);
  if (sequence.sampling.logprobs >= 0) {
    event.logprob = sampleProgram->logprob(row);
    event.top = sampleProgram->top(row, sequence.sampling.logprobs);
  }
  sequence.tokens[size_t(sample.place)] = event.token;
  int64_t generated = sample.place + 1 - sequence.promptTokens;
  event.finish = finishOf(sequence, event.token, generated);
  // The token that completes a form ends an answer too, and is part of it.
  const bool isText = event.finish != FinishReason::EndToken || sequence.sampling.includeStop;
  bool mayStop = generated > sequence.sampling.minTokens;
  if (sequence.constraint) {
    if (Status error = advanceConstraint(sequence, event.token); !error.ok())
      return end(sequence, FinishReason::Failed, std::move(error));
  }
  if (sequence.constraint) {
    mayStop &= sequence.constraint->mayEnd();
    if (event.finish == FinishReason::None && sequence.endTokens.empty() &&
        sequence.constraint->mustEnd())
      event.finish = FinishReason::EndToken;
    // Only now: whoever asks while a worker makes the mask waits for it.
    if (event.finish == FinishReason::None && sequence.isMasked())
      sequence.constraint->prepare(*workers);
  }
  if (sequence.detokenizer) {
    std::string piece;
    event.textOffset = sequence.characters;
    if (isText) {
      piece = sequence.detokenizer->push(event.token);
      event.textOffset += int64_t(sequence.detokenizer->earlier());
    }
    sequence.characters += int64_t(countCharacters(piece));
    if (event.finish != FinishReason::None)
      piece += sequence.detokenizer->finish();
    if (sequence.stopText.push(piece, event.text, mayStop)) {
      event.finish = FinishReason::StopString;
      event.stop = sequence.stopText.found();
    } else if (event.finish != FinishReason::None) {
      sequence.stopText.finish(event.text);
    }
  }
  bool finished = event.finish != FinishReason::None;
  events.push_back(std::move(event));
  if (finished)
    drop(sequence);
}

std::optional<Event> Session::nextEvent() { return takeEvent(events.begin()); }

std::optional<Event> Session::nextEvent(uint64_t request) {
  return takeEvent(std::find_if(events.begin(), events.end(),
                                [&](const Event &event) { return event.request == request; }));
}

std::optional<Event> Session::takeEvent(std::deque<Event>::iterator event) {
  if (event == events.end())
    return std::nullopt;
  Event taken = std::move(*event);
  events.erase(event);
  return taken;
}

} // namespace ingot::runtime
