// SPDX-License-Identifier: Apache-2.0
// Turns of a conversation: lines become messages, answers are printed as they come.
#include "runtime/tools/Chat.h"

#include "runtime/chat/AnswerBlocks.h"
#include "runtime/tools/LineEditor.h"
#include "runtime/tools/PictureArguments.h"
#include "runtime/tools/RepetitionWatch.h"
#include "runtime/tools/SessionArguments.h"

#include <cstdio>

namespace ingot::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr char help[] =
    "/reset           forget what was said\n"
    "/system TEXT     what the model is told first; forgets the rest\n"
    "/image FILE      puts a picture before what you say next\n"
    "/retry           another answer to what you said last\n"
    "/help            this\n"
    "/exit, Ctrl-D    the end\n"
    "//TEXT           says /TEXT\n"
    "Ctrl-C           ends an answer\n"
    "A line that ends with \\ goes on in the next; lines between \"\"\" and \"\"\" "
    "are one message.\n";

class Chat {
public:
  Chat(LoopReader &reader, const Dialogue &dialogue, const Request &each,
       const ChatOptions &options)
      : reader(reader), dialogue(dialogue), each(each), options(options),
        pictureArguments(reader.loop().images()), system(options.system) {
    reset();
  }

  Status run();

private:
  bool readMessage(std::string &text, bool &isCommand);
  bool obey(const std::string &line, bool &answers);
  void addPicture(const std::string &file);
  Json said(const std::string &text);
  void reset();
  Status answer();
  Status printAnswer(uint64_t id, AnswerBlocks &blocks);
  void print(const AnswerBlocks &blocks, const AnswerBlocks::Change &change);
  void keep(const AnswerBlocks &blocks);
  const char *style(const char *code) const { return editor.atTerminal() ? code : ""; }

  LoopReader &reader;
  const Dialogue &dialogue;
  const Request &each;
  const ChatOptions &options;
  LineEditor editor;
  PictureArguments pictureArguments;
  PromptPictures pictures; ///< of the conversation, which names them by their index
  size_t saidPictures = 0; ///< those of them that are in messages
  std::string system;
  Json messages;
};

void Chat::reset() {
  messages = Json::array();
  pictures.clear();
  saidPictures = 0;
  if (!system.empty())
    messages.push_back({{"role", "system"}, {"content", system}});
}

/// The next message, of one line or several, or a command, which is a line; false at the end of the
/// input.
bool Chat::readMessage(std::string &text, bool &isCommand) {
  constexpr std::string_view quotes = "\"\"\"";
  text.clear();
  bool quoted = false, goesOn = false, isQuotedOrLong = false;
  std::string line;
  while (true) {
    switch (editor.next(quoted || goesOn ? ". " : "> ", line)) {
    case LineEditor::Next::End:
      isCommand = false;
      return !text.empty();
    case LineEditor::Next::Interrupted:
      std::puts("\n(/exit or Ctrl-D ends)");
      text.clear();
      quoted = goesOn = isQuotedOrLong = false;
      continue;
    case LineEditor::Next::Line:
      break;
    }
    if (!quoted && !goesOn && line.starts_with(quotes)) {
      quoted = true;
      line.erase(0, quotes.size());
    }
    bool closes = quoted && line.ends_with(quotes);
    if (closes)
      line.resize(line.size() - quotes.size());
    goesOn = !quoted && line.ends_with('\\');
    if (goesOn)
      line.pop_back();
    isQuotedOrLong |= quoted || goesOn;
    text += line;
    if (closes || (!quoted && !goesOn))
      break;
    text += '\n';
  }
  const bool isSlashed = !isQuotedOrLong && text.starts_with('/');
  isCommand = isSlashed && !text.starts_with("//");
  if (isSlashed && !isCommand)
    text.erase(0, 1);
  // What stands alone on the lines of the quotes is no part of the message.
  if (quoted && text.starts_with('\n'))
    text.erase(0, 1);
  if (quoted && text.ends_with('\n'))
    text.pop_back();
  return true;
}

/// Reads the picture once: the conversation keeps what it was then.
void Chat::addPicture(const std::string &file) {
  Request read;
  if (Status status = pictureArguments.read({file}, read); !status.ok()) {
    reportError(status);
    return;
  }
  pictures.push_back(std::move(read.pictures.front()));
  const PromptPicture &picture = *pictures.back();
  std::printf("%s, %u x %u, %llu tokens; it comes before what you say next.\n",
              images::formatName(picture.facts.format), picture.facts.width, picture.facts.height,
              static_cast<unsigned long long>(picture.tokens()));
}

/// What was said, behind the pictures that were given before it.
Json Chat::said(const std::string &text) {
  if (saidPictures == pictures.size())
    return text;
  Json parts = Json::array();
  for (; saidPictures < pictures.size(); ++saidPictures)
    parts.push_back({{"type", "image"}, {"image", std::to_string(saidPictures)}});
  parts.push_back({{"type", "text"}, {"text", text}});
  return parts;
}

/// Does what a line that begins with / says; false: it ends the conversation.
bool Chat::obey(const std::string &line, bool &answers) {
  constexpr std::string_view systemWord = "/system ", imageWord = "/image ";
  if (line == "/exit" || line == "/quit" || line == "/bye")
    return false;
  if (line == "/reset") {
    reset();
  } else if (line.starts_with(systemWord)) {
    system = line.substr(systemWord.size());
    reset();
  } else if (line.starts_with(imageWord)) {
    addPicture(line.substr(imageWord.size()));
  } else if (line == "/retry" && !messages.empty() && messages.back()["role"] == "assistant") {
    messages.erase(messages.size() - 1);
    answers = true;
  } else if (line == "/help") {
    std::fputs(help, stdout);
  } else {
    std::printf("There is no %s; /help tells what there is, and /%s says it.\n", line.c_str(),
                line.c_str());
  }
  return true;
}

void Chat::print(const AnswerBlocks &blocks, const AnswerBlocks::Change &change) {
  using Kind = AnswerBlocks::Change::Kind;
  const AnswerBlocks::Block &block = blocks.blocks()[change.block];
  bool reasons = block.kind == AnswerEvent::Kind::Reasoning;
  if (change.kind == Kind::Opened && reasons)
    std::fputs(style("\033[2m"), stdout);
  if (change.kind == Kind::Opened && block.isCall())
    std::printf("%s[%s ", change.block ? "\n" : "", block.name.c_str());
  if (change.kind == Kind::Extended)
    std::fwrite(change.piece.data(), 1, change.piece.size(), stdout);
  if (change.kind == Kind::Closed && block.isCall())
    std::fputs("]", stdout);
  if (change.kind == Kind::Closed && reasons)
    std::printf("%s\n\n", style("\033[0m"));
}

/// Prints an answer as it comes, up to its end or an interrupt.
Status Chat::printAnswer(uint64_t id, AnswerBlocks &blocks) {
  bool cancelled = false;
  RepetitionWatch watch;
  while (true) {
    std::optional<Event> event =
        reader.take(std::chrono::steady_clock::now() + std::chrono::milliseconds(100));
    if (editor.interrupted() && !cancelled) {
      reader.cancel(id);
      cancelled = true;
    }
    if (!event)
      continue;
    bool ends = event->finish != FinishReason::None;
    // What came before the loop heard of the interrupt is no longer wanted.
    if (cancelled)
      event->text.clear();
    for (const AnswerBlocks::Change &change : blocks.take(event->text, ends))
      print(blocks, change);
    if (!cancelled && event->token >= 0 && watch.add(event->token)) {
      std::fflush(stdout);
      sayRepetition("Ctrl-C ends the answer, not the conversation");
    }
    if (ends && event->finish != FinishReason::Failed) {
      const char *why = cancelled                                ? ""
                        : event->finish == FinishReason::Length  ? " (the limit of --max-tokens)"
                        : event->finish == FinishReason::Context ? " (the context is full)"
                                                                 : "";
      std::printf("%s%s%s\n", style("\033[2m"), why, style("\033[0m"));
    }
    if (Status written = flushOutput(); !written.ok())
      return written;
    if (ends)
      return std::move(event->error);
  }
}

/// The answer as a message of what was said.
void Chat::keep(const AnswerBlocks &blocks) {
  Json message = {{"role", "assistant"}, {"content", blocks.textOf(AnswerEvent::Kind::Text)}};
  std::string reasoning = blocks.textOf(AnswerEvent::Kind::Reasoning);
  if (!reasoning.empty())
    message["reasoning_content"] = reasoning;
  messages.push_back(std::move(message));
}

Status Chat::answer() {
  Json conversation = {{"messages", messages}};
  auto pictureOf = [&](const std::string &index) -> Result<std::shared_ptr<const PromptPicture>> {
    return pictures[std::stoul(index)];
  };
  Result<Dialogue::Turn> turn = dialogue.begin(conversation, {}, {}, {}, pictureOf);
  if (!turn.ok())
    return std::move(turn).status();
  Request request = each;
  request.tokens = std::move(turn->tokens);
  request.pictures = std::move(turn->pictures);
  request.keptSpecial = std::move(turn->keptSpecial);
  if (!options.seeded)
    request.sampling.seed = SamplingParameters::randomSeed();
  Result<uint64_t> id = reader.submit(std::move(request));
  if (!id.ok())
    return std::move(id).status();
  AnswerBlocks blocks(turn->families, turn->settings);
  Status status = printAnswer(*id, blocks);
  keep(blocks);
  return status;
}

Status Chat::run() {
  if (editor.atTerminal())
    std::puts("Say something; /help tells the commands.");
  std::string text;
  bool isCommand = false;
  while (readMessage(text, isCommand)) {
    bool answers = false;
    if (isCommand) {
      if (!obey(text, answers))
        break;
    } else if (text.find_first_not_of(" \t\n") != std::string::npos) {
      messages.push_back({{"role", "user"}, {"content", said(text)}});
      answers = true;
    }
    if (!answers)
      continue;
    size_t said = messages.size();
    Status status = answer();
    if (status.ok())
      continue;
    // At a terminal one may go on: a conversation that is too long, say, can be reset.
    if (!editor.atTerminal() || reader.loop().state() == LoopState::Broken)
      return status;
    reportError(status);
    messages.erase(messages.begin() + int64_t(said) - 1, messages.end());
  }
  return {};
}

} // namespace

int holdChat(LoopReader &reader, const Dialogue &dialogue, const Request &each,
             const ChatOptions &options) {
  Status status = Chat(reader, dialogue, each, options).run();
  reader.report();
  return status.ok() ? 0 : reportError(status);
}

} // namespace ingot::runtime
