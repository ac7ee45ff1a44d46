// SPDX-License-Identifier: Apache-2.0
// The part of ingot.h about conversations.
#include "runtime/api/Boundary.h"
#include "runtime/chat/AnswerBlocks.h"
#include "runtime/chat/CallFormat.h"
#include "runtime/chat/Dialogue.h"
#include "runtime/chat/FormMarkers.h"

#include <deque>
#include <mutex>

using namespace ingot::runtime;
using Json = nlohmann::ordered_json;

namespace ingot::runtime {

/// How an engine holds conversations, found when it is first asked for. Threads may share it.
class ChatOfEngine {
public:
  Result<const Dialogue *> of(const Session &session) {
    std::call_once(
        made, [&] { dialogue.emplace(Dialogue::make(session.tokenizer(), {}, session.images())); });
    if (!dialogue->ok())
      return dialogue->status();
    return &**dialogue;
  }

private:
  std::once_flag made;
  std::optional<Result<Dialogue>> dialogue;
};

std::shared_ptr<ChatOfEngine> makeChat() { return std::make_shared<ChatOfEngine>(); }

} // namespace ingot::runtime

struct ingot_turn {
  explicit ingot_turn(Dialogue::Turn begun) : turn(std::move(begun)) {
    for (const std::shared_ptr<const PromptPicture> &picture : turn.pictures)
      pictures.push_back({picture});
    for (const ingot_picture &picture : pictures)
      handles.push_back(&picture);
  }
  ingot_turn(const ingot_turn &) = delete;

  Dialogue::Turn turn;
  std::vector<ingot_picture> pictures;
  std::vector<const ingot_picture *> handles; ///< of those
};

struct ingot_answer {
  AnswerBlocks blocks;
  std::deque<AnswerBlocks::Change> changes;
  AnswerBlocks::Change handed = {};
  bool ended = false;
};

namespace {

/// The body of a chat request as `ingot_apply_chat_template` takes it.
struct Asked {
  const Dialogue *dialogue;
  Json body;
  RenderSettings settings;
};

Result<Asked> read(const ingot_engine *engine, const char *body, size_t bytes) {
  if (!engine || !body)
    return misuse("the engine or the body is NULL");
  Result<const Dialogue *> dialogue = engine->chat->of(*engine->session);
  if (!dialogue.ok())
    return std::move(dialogue).status();
  Result<Json> parsed = Conversation::parse({body, bytes});
  if (!parsed.ok())
    return std::move(parsed).status();
  Asked asked = {*dialogue, *std::move(parsed), {}};
  if (const auto now = asked.body.find("now"); now != asked.body.end()) {
    const Result<std::tm> time =
        parseTime(now->is_string() ? now->get<std::string>() : now->dump());
    if (!time.ok())
      return time.status();
    asked.settings.now = *time;
  }
  return asked;
}

Result<RenderedPrompt> render(const ingot_engine *engine, const char *body, size_t bytes,
                              const char *name) {
  const Result<Asked> asked = read(engine, body, bytes);
  if (!asked.ok())
    return asked.status();
  return asked->dialogue->render(asked->body, asked->settings, name ? name : "");
}

Result<Dialogue::Turn> begin(const ingot_engine *engine, const Asked &asked,
                             AnswerSettings settings, const char *name) {
  ReadPicture pictures;
  if (engine->pictures)
    pictures = engine->pictures->ofConversation(engine->session->memoryPlan().maxContext);
  return asked.dialogue->begin(asked.body, std::move(settings), asked.settings, name ? name : "",
                               pictures);
}

/// How answers to a conversation are read: for calls of its tools, unless it wants none.
Result<AnswerSettings> settingsOf(const Json &body) {
  AnswerSettings settings;
  settings.parallel = body.value("parallel_tool_calls", Json(true)) != false;
  const Json tools = body.value("tools", Json());
  const Json choice = body.value("tool_choice", Json());
  if (tools.is_null() || choice == "none")
    return settings;
  for (size_t i = 0; i < tools.size(); ++i) {
    const Json function = tools[i].is_object() ? tools[i].value("function", Json()) : Json();
    if (!function.is_object() || !function.value("name", Json()).is_string())
      return Status::error(
          "INGOT-E6071", "tools[" + std::to_string(i) + "].function must be an object with a name",
          "change the request");
    settings.tools.push_back({function["name"].get<std::string>(),
                              function.value("parameters", Json()),
                              function.value("strict", Json()) == true});
  }
  if (choice.is_null() || choice == "auto")
    return settings;
  settings.mustCall = true;
  if (choice == "required" && !settings.tools.empty())
    return settings;
  const Json named = choice.is_object() ? choice.value("function", Json()) : Json();
  const Json name = named.is_object() ? named.value("name", Json()) : Json();
  if (name.is_string())
    settings.onlyTool = name.get<std::string>();
  if (std::ranges::find(settings.tools, settings.onlyTool, &AnswerTool::name) ==
      settings.tools.end())
    return Status::error("INGOT-E6071",
                         "tool_choice must be \"auto\", \"none\", \"required\" or an object with "
                         "the function of one of the tools",
                         "change the request");
  return settings;
}

/// `out` is of a change that `answer` keeps.
void fillPart(const ingot_answer &answer, ingot_part &out) {
  const AnswerBlocks::Change &change = answer.handed;
  const AnswerBlocks::Block &block = answer.blocks.blocks()[change.block];
  const bool opens = change.kind == AnswerBlocks::Change::Kind::Opened;
  const std::string &text = opens ? block.name : change.piece;
  out.text = text.c_str();
  out.text_bytes = text.size();
  out.call = -1;
  if (!block.isCall()) {
    out.kind = block.kind == AnswerEvent::Kind::Text ? INGOT_PART_TEXT : INGOT_PART_REASONING;
    return;
  }
  for (size_t i = 0; i <= change.block; ++i)
    out.call += answer.blocks.blocks()[i].isCall();
  if (opens)
    out.id = block.id.c_str();
  out.whole = block.whole;
  out.kind = opens                                                 ? INGOT_PART_CALL
             : change.kind == AnswerBlocks::Change::Kind::Extended ? INGOT_PART_ARGUMENTS
                                                                   : INGOT_PART_CALL_END;
}

} // namespace

Status ingot::runtime::takeTurn(const ingot_turn &turn, Request &request) {
  request.tokens = turn.turn.tokens;
  request.pictures = turn.turn.pictures;
  request.keptSpecial = turn.turn.keptSpecial;
  if (Status status = bindCalls(turn.turn.families, turn.turn.settings, request.form); !status.ok())
    return status;
  if (request.form.isFree())
    return {};
  Result<guided::AnswerMarkers> markers = formMarkers(turn.turn.families, turn.turn.settings);
  if (!markers.ok())
    return std::move(markers).status();
  request.markers = *std::move(markers);
  return {};
}

ingot_error *ingot_apply_chat_template(const ingot_engine *engine, const char *body,
                                       size_t body_bytes, const char *name, char *text,
                                       size_t capacity, size_t *bytes) {
  return guarded([&]() -> Status {
    if ((!text && capacity) || !bytes)
      return misuse("a pointer is NULL");
    const Result<RenderedPrompt> prompt = render(engine, body, body_bytes, name);
    if (!prompt.ok())
      return prompt.status();
    writeUpTo(prompt->text, capacity, text, bytes);
    return {};
  });
}

ingot_error *ingot_tokenize_chat(const ingot_engine *engine, const char *body, size_t body_bytes,
                                 const char *name, int32_t *tokens, size_t capacity,
                                 size_t *count) {
  return guarded([&]() -> Status {
    if ((!tokens && capacity) || !count)
      return misuse("a pointer is NULL");
    const Result<Asked> asked = read(engine, body, body_bytes);
    if (!asked.ok())
      return asked.status();
    const Result<Dialogue::Turn> turn = begin(engine, *asked, {}, name);
    if (!turn.ok())
      return turn.status();
    writeUpTo(turn->tokens, capacity, tokens, count);
    return {};
  });
}

ingot_error *ingot_check_chat_template(const char *name, const char *text, size_t bytes) {
  return guarded([&]() -> Status {
    if (!name || (!text && bytes))
      return misuse("a pointer is NULL");
    return ChatTemplate::compile(name, {text, bytes}).status();
  });
}

ingot_error *ingot_turn_begin(const ingot_engine *engine, const char *body, size_t body_bytes,
                              const char *name, ingot_turn **turn) {
  return guarded([&]() -> Status {
    if (!turn)
      return misuse("the result pointer is NULL");
    const Result<Asked> asked = read(engine, body, body_bytes);
    if (!asked.ok())
      return asked.status();
    Result<AnswerSettings> settings = settingsOf(asked->body);
    if (!settings.ok())
      return std::move(settings).status();
    Result<Dialogue::Turn> begun = begin(engine, *asked, *std::move(settings), name);
    if (!begun.ok())
      return std::move(begun).status();
    *turn = new ingot_turn(*std::move(begun));
    return {};
  });
}

void ingot_turn_close(ingot_turn *turn) { delete turn; }

const int32_t *ingot_turn_tokens(const ingot_turn *turn, size_t *count) {
  if (count)
    *count = turn ? turn->turn.tokens.size() : 0;
  return turn ? turn->turn.tokens.data() : nullptr;
}

const ingot_picture *const *ingot_turn_pictures(const ingot_turn *turn, size_t *count) {
  if (count)
    *count = turn ? turn->handles.size() : 0;
  return turn ? turn->handles.data() : nullptr;
}

ingot_error *ingot_answer_begin(const ingot_turn *turn, bool streamed, ingot_answer **answer) {
  return guarded([&]() -> Status {
    if (!turn || !answer)
      return misuse("a pointer is NULL");
    AnswerSettings settings = turn->turn.settings;
    settings.streamed = streamed;
    *answer = new ingot_answer{AnswerBlocks(turn->turn.families, std::move(settings)), {}};
    return {};
  });
}

ingot_error *ingot_answer_feed(ingot_answer *answer, const char *text, size_t bytes, bool ends) {
  return guarded([&]() -> Status {
    if (!answer || (!text && bytes))
      return misuse("a pointer is NULL");
    if (answer->ended)
      return misuse("the answer has ended");
    answer->ended = ends;
    for (AnswerBlocks::Change &change : answer->blocks.take({text ? text : "", bytes}, ends)) {
      const bool ofCall = answer->blocks.blocks()[change.block].isCall();
      if (ofCall || change.kind == AnswerBlocks::Change::Kind::Extended)
        answer->changes.push_back(std::move(change));
    }
    return {};
  });
}

ingot_error *ingot_answer_next(ingot_answer *answer, ingot_part *part, bool *taken) {
  return guarded([&]() -> Status {
    if (!answer || !taken)
      return misuse("a pointer is NULL");
    *taken = false;
    if (Status status = checkSize(part); !status.ok() || answer->changes.empty())
      return status;
    answer->handed = std::move(answer->changes.front());
    answer->changes.pop_front();
    ingot_part full = {};
    fillPart(*answer, full);
    *taken = true;
    return writeSized(full, part);
  });
}

bool ingot_answer_is_cut(const ingot_answer *answer) {
  return answer && answer->blocks.endedInCall();
}

void ingot_answer_close(ingot_answer *answer) { delete answer; }
