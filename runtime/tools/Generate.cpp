// SPDX-License-Identifier: Apache-2.0
// ingot-run model.ingot -p "...": streams text; with --prompts, many requests in flight at once.
#include "runtime/tools/Chat.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/DialogueArguments.h"
#include "runtime/tools/GrammarOption.h"
#include "runtime/tools/PictureArguments.h"
#include "runtime/tools/Prompts.h"
#include "runtime/tools/RepetitionWatch.h"
#include "runtime/tools/SessionArguments.h"

#include <csignal>
#include <cstdio>

namespace ingot::runtime {
namespace {

constexpr const char *examples = "examples:\n"
                                 "  ingot-run model.ingot -p \"Once upon a time\" -n 64 --temp 0.8";

std::string about() {
  std::string text = "Runs engines made by 'ingot build'. Commands, each with --help:";
  for (const Command *command = allCommands(); command->name; ++command) {
    std::string name = command->name;
    name.resize(10, ' ');
    text += "\n  " + name + " " + command->summary;
  }
  return text;
}

struct GenerateOptions {
  std::string engine;
  std::string prompt;
  std::string promptsFile;
  std::vector<int32_t> promptIds;
  bool greedy = false;
  bool printIds = false;
  bool echo = false;
  bool noSpecial = false;
  bool chat = false;
  ChatOptions chatting;
  DialogueArguments dialogue;
  SessionOptions session;
  std::vector<std::string> images; ///< of the prompt: paths or data: URLs
  std::string schema, regex;       ///< of the answer; a file, and an expression
  std::vector<std::string> grammar;
  Request request;
};

void addSamplingOptions(CommandLine &app, GenerateOptions &options) {
  SamplingParameters &sampling = options.request.sampling;
  const char *group = "Sampling (default: the engine's, or llama.cpp's where its model names none)";
  CommandOption greedy =
      app.addFlag("--greedy", options.greedy, "always the likeliest token; the same as --temp 0")
          .group(group);
  app.addOption("--temp", sampling.temperature, "temperature; 0 = greedy")
      .group(group)
      .frequent()
      .excludes(greedy);
  app.addOption("--top-k", sampling.topK, "the k likeliest; 0 = off").group(group);
  app.addOption("--top-p", sampling.topP, "the likeliest of this mass; 1 = off").group(group);
  app.addOption("--min-p", sampling.minP, "above this share of the best; 0 = off").group(group);
  app.addOption("--typical-p", sampling.typicalP, "locally typical mass; 1 = off").group(group);
  app.addOption("--repeat-penalty", sampling.repetitionPenalty, "1 = off").group(group);
  app.addOption("--presence-penalty", sampling.presencePenalty, "0 = off").group(group);
  app.addOption("--frequency-penalty", sampling.frequencyPenalty, "0 = off").group(group);
  app.addOption("--seed", sampling.seed, "random stream of the request; default: a random one")
      .group(group)
      .frequent();
  app.addOption("--bad-word", sampling.badWords, "text that may not come; may be repeated")
      .oneValueEach()
      .group(group);
  app.addOption("--no-repeat-ngram-size", sampling.noRepeatNgramSize,
                "no run of so many tokens comes twice; 0 = off")
      .group(group);
  app.addOption("--logprobs", sampling.logprobs, "log-probabilities with so many alternatives")
      .group(group);
  app.addOption("--prompt-logprobs", sampling.promptLogprobs, "the same of the prompt's tokens")
      .group(group);
  app.addOption("-n,--max-tokens", sampling.maxTokens, "tokens to generate; 0 = up to the context")
      .group("Text")
      .frequent();
  app.addOption("--stop", sampling.stopStrings, "text that ends the answer; may be repeated")
      .oneValueEach()
      .group("Text");
  app.addOption("--min-tokens", sampling.minTokens, "tokens before anything may end the answer")
      .group("Text");
  app.addFlag("--ignore-eos", sampling.ignoreEos, "go on after the model's end token")
      .group("Text");
  app.addFlag("--include-stop", sampling.includeStop,
              "print what ends the answer, --stop's text or the end token, too")
      .group("Text");
}

void addFormOptions(CommandLine &app, GenerateOptions &options) {
  CommandOption schema =
      app.addOption("--json-schema", options.schema,
                    "a file with a JSON Schema, of which the answer is a JSON text")
          .file(FileUse::Reads)
          .group("Text");
  CommandOption regex = app.addOption("--regex", options.regex,
                                      "an expression of ECMA-262 that the whole answer matches")
                            .excludes(schema)
                            .group("Text");
  addGrammarOption(app, options.grammar).excludes(schema).excludes(regex).group("Text");
}

/// The form that the options ask for.
Status readForm(const GenerateOptions &options, AnswerForm &form) {
  if (!options.regex.empty())
    form = {AnswerForm::Kind::Regex, options.regex, {}};
  if (!options.grammar.empty()) {
    Result<AnswerForm> read = readGrammarForm(options.grammar);
    if (!read.ok())
      return std::move(read).status();
    form = *std::move(read);
  }
  if (options.schema.empty())
    return {};
  Result<std::string> text = readTextFile(options.schema, AnswerForm::mostBytes);
  if (!text.ok())
    return std::move(text).status();
  form = {AnswerForm::Kind::JsonSchema, *std::move(text), {}};
  return {};
}

void addOptions(CommandLine &app, GenerateOptions &options) {
  app.addOption("engine", options.engine, "engine file").required();
  CommandOption text =
      app.addOption("-p,--prompt", options.prompt, "prompt").mayBeEmpty().group("Text").frequent();
  CommandOption ids = app.addOption("--prompt-ids", options.promptIds, "prompt as token ids")
                          .separatedBy(',')
                          .group("Text");
  CommandOption file = app.addOption("--prompts", options.promptsFile,
                                     "requests, each a line of JSON; '-': from standard input")
                           .file(FileUse::Reads)
                           .group("Text")
                           .frequent();
  CommandOption chat =
      app.addFlag("--chat", options.chat, "a conversation; /help there tells its commands")
          .group("Conversations")
          .frequent();
  app.addOption("--image", options.images,
                "a picture, for the prompt's placeholder; may be repeated")
      .oneValueEach()
      .needs(text)
      .group("Text");
  text.excludes(ids).excludes(file).excludes(chat);
  ids.excludes(file).excludes(chat);
  file.excludes(chat);
  app.addOption("--system", options.chatting.system, "what the model is told first")
      .needs(chat)
      .group("Conversations");
  addDialogueOptions(app, options.dialogue);
  app.addFlag("--parse-special", options.request.parseSpecial,
              "recognise special tokens written in the prompt")
      .group("Text");
  app.addFlag("--no-special", options.noSpecial,
              "leave out the model's prefix (BOS), as where the prompt has it")
      .group("Text");
  app.addFlag("--ids", options.printIds, "print token ids instead of text").group("Text");
  app.addFlag("--echo", options.echo, "print the prompt before the answer").group("Text");
  addSamplingOptions(app, options);
  addFormOptions(app, options);
  addSessionOptions(app, options.session);
}

/// Parses, and checks what needs no engine; the exit status where the command ends here.
std::optional<int> readOptions(CommandLine &app, GenerateOptions &options, int argc, char **argv) {
  addOptions(app, options);
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  if (!options.chat && app.count("--prompts") == 0 && app.count("--prompt") == 0 &&
      app.count("--prompt-ids") == 0)
    return reportError(usageError(
        app.name(), "there is no prompt: -p, --prompt-ids, --prompts or --chat gives one"));
  constexpr uint32_t largestVocabulary = INT32_MAX; // the engine's is not known yet
  Status usable = options.request.sampling.validate(largestVocabulary);
  if (usable.ok())
    usable = checkDialogue(options.dialogue);
  if (usable.ok())
    usable = readForm(options, options.request.form);
  return usable.ok() ? std::nullopt : std::optional(reportError(usable));
}

/// The engine's; of a model that names none those of llama.cpp's programs, with which models that
/// were made without any are tried (decision 0083).
SamplingParameters defaultSampling(const Loop &loop) {
  SamplingParameters defaults = loop.defaultSampling();
  if (loop.namesSampling())
    return defaults;
  defaults.temperature = 0.8f;
  defaults.topK = 40;
  defaults.topP = 0.95f;
  defaults.minP = 0.05f;
  return defaults;
}

/// Parameters not given on the command line come from the engine.
void applyDefaults(const CommandLine &app, const Loop &loop, GenerateOptions &options) {
  SamplingParameters defaults = defaultSampling(loop);
  SamplingParameters &sampling = options.request.sampling;
  auto fill = [&](const char *option, auto &value, auto fallback) {
    if (app.count(option) == 0)
      value = fallback;
  };
  fill("--temp", sampling.temperature, options.greedy ? 0 : defaults.temperature);
  fill("--top-k", sampling.topK, defaults.topK);
  fill("--top-p", sampling.topP, defaults.topP);
  fill("--min-p", sampling.minP, defaults.minP);
  fill("--repeat-penalty", sampling.repetitionPenalty, defaults.repetitionPenalty);
  fill("--seed", sampling.seed, SamplingParameters::randomSeed());
  options.request.addSpecial = !options.noSpecial;
}

void printEvent(const Event &event, const GenerateOptions &options, bool first) {
  if (options.printIds && event.token >= 0)
    std::printf("%s%d", first ? "" : " ", event.token);
  else if (!options.printIds)
    std::fwrite(event.text.data(), 1, event.text.size(), stdout);
  std::fflush(stdout);
}

template <class Logprob> void printLogprob(const Logprob &logprob) {
  std::fprintf(stderr, "%d %.6f", logprob.token, double(logprob.logprob));
  for (const TokenLogprob &entry : logprob.top)
    std::fprintf(stderr, " %d:%.6f", entry.token, double(entry.logprob));
  std::fputc('\n', stderr);
}

/// Prints the events of the only request; `failure`: why it failed, if it did.
Status printAnswer(LoopReader &reader, const GenerateOptions &options, Status &failure) {
  bool first = true, open = true;
  RepetitionWatch watch;
  while (open) {
    Event event = reader.take();
    printEvent(event, options, first);
    first &= event.token < 0;
    for (const PromptLogprob &logprob : event.promptLogprobs)
      printLogprob(logprob);
    if (options.request.sampling.logprobs >= 0 && event.token >= 0)
      printLogprob(event);
    failure = std::move(event.error);
    open = event.finish == FinishReason::None;
    if (Status written = flushOutput(); !written.ok())
      return written;
    if (event.token >= 0 && watch.add(event.token))
      sayRepetition("Ctrl-C ends it, -n limits it");
  }
  std::fputc('\n', stdout);
  return flushOutput();
}

/// `seeded`: the seed is the user's, who need not be told.
int streamOne(LoopReader &reader, GenerateOptions &options, bool seeded) {
  options.request.text = options.prompt;
  options.request.tokens = options.promptIds;
  PictureArguments pictures(reader.loop().file().metadata().images());
  Status encoded = pictures.read(options.images, options.request);
  if (encoded.ok())
    encoded = encodePrompt(reader.loop().tokenizer(), options.request, "the prompt");
  if (!encoded.ok())
    return reportError(encoded);
  Result<uint64_t> id = reader.submit(options.request);
  if (!id.ok())
    return reportError(id.status());
  if (!seeded && options.request.sampling.temperature > 0)
    std::fprintf(stderr, "seed: %llu\n",
                 static_cast<unsigned long long>(options.request.sampling.seed));
  if (options.echo && !options.printIds)
    std::fputs(options.prompt.c_str(), stdout);
  Status failure;
  if (Status status = printAnswer(reader, options, failure); !status.ok())
    return reportError(status);
  reader.report();
  return failure.ok() ? 0 : reportError(failure);
}

int chatWith(LoopReader &reader, const GenerateOptions &options) {
  Result<Dialogue> dialogue =
      makeDialogue(reader.loop().tokenizer(), options.dialogue, reader.loop().images());
  if (!dialogue.ok())
    return reportError(dialogue.status());
  return holdChat(reader, *dialogue, options.request, options.chatting);
}

} // namespace

std::optional<int> refuseGenerate(int argc, char **argv) {
  GenerateOptions options;
  CommandLine app(about(), "ingot-run", examples);
  return readOptions(app, options, argc, argv);
}

int runGenerate(int argc, char **argv) {
  GenerateOptions options;
  CommandLine app(about(), "ingot-run", examples);
  if (std::optional<int> status = readOptions(app, options, argc, argv))
    return *status;
  // A pipe whose reader is gone is an error of writing, with a code, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  bool fromFile = app.count("--prompts") != 0;
  Result<std::unique_ptr<Session>> session = Session::open(options.engine, options.session);
  if (!session.ok())
    return reportError(session.status());
  if ((*session)->memoryPlan().madeBytes)
    std::fputs("warning: the weights of this engine are random numbers; its text means nothing\n",
               stderr);
  int64_t most = mostInFlight((*session)->memoryPlan());
  LoopReader reader(std::move(*session), most);
  applyDefaults(app, reader.loop(), options);
  options.chatting.seeded = app.count("--seed") != 0;
  int result = options.chat ? chatWith(reader, options)
               : fromFile   ? answerPrompts(reader, options.promptsFile, options.request,
                                            options.chatting.seeded)
                            : streamOne(reader, options, options.chatting.seeded);
  Status unchanged = reader.loop().file().unchanged();
  return unchanged.ok() ? result : reportError(unchanged);
}

} // namespace ingot::runtime
