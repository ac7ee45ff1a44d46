// SPDX-License-Identifier: Apache-2.0
// The part of ingot.h about conversations.
#include "runtime/api/Boundary.h"
#include "runtime/chat/ChatTemplates.h"

#include <mutex>

using namespace ingot::runtime;

namespace ingot::runtime {

/// The chat templates of an engine, compiled when they are first asked for. Threads may share it.
class ChatOfEngine {
public:
  const ChatTemplates &of(const Tokenizer &tokenizer) {
    std::call_once(made, [&] { templates = ChatTemplates::of(tokenizer); });
    return templates;
  }

private:
  std::once_flag made;
  ChatTemplates templates;
};

std::shared_ptr<ChatOfEngine> makeChat() { return std::make_shared<ChatOfEngine>(); }

} // namespace ingot::runtime

namespace {

Result<RenderedPrompt> render(const ingot_engine *engine, const char *body, size_t bytes,
                              const char *name) {
  if (!engine || !body)
    return misuse("the engine or the body is NULL");
  const Tokenizer *tokenizer = engine->session->tokenizer();
  if (!tokenizer)
    return Status::error("INGOT-E6008", "the engine has no tokenizer", "work with token ids");
  const Result<nlohmann::ordered_json> parsed = Conversation::parse({body, bytes});
  if (!parsed.ok())
    return parsed.status();
  RenderSettings settings;
  if (const auto now = parsed->find("now"); now != parsed->end()) {
    const Result<std::tm> time =
        parseTime(now->is_string() ? now->get<std::string>() : now->dump());
    if (!time.ok())
      return time.status();
    settings.now = *time;
  }
  return engine->chat->of(*tokenizer).render(*parsed, settings, name ? name : "");
}

} // namespace

ingot_error *ingot_apply_chat_template(const ingot_engine *engine, const char *body,
                                       size_t body_bytes, const char *name, char *text,
                                       size_t capacity, size_t *bytes) {
  return guarded([&]() -> Status {
    if ((!text && capacity) || !bytes)
      return misuse("a pointer is NULL");
    const Result<RenderedPrompt> prompt = render(engine, body, body_bytes, name);
    if (!prompt.ok())
      return prompt.status();
    std::copy_n(prompt->text.begin(), std::min(capacity, prompt->text.size()), text);
    *bytes = prompt->text.size();
    return {};
  });
}

ingot_error *ingot_tokenize_chat(const ingot_engine *engine, const char *body, size_t body_bytes,
                                 const char *name, int32_t *tokens, size_t capacity,
                                 size_t *count) {
  return guarded([&]() -> Status {
    if ((!tokens && capacity) || !count)
      return misuse("a pointer is NULL");
    const Result<RenderedPrompt> prompt = render(engine, body, body_bytes, name);
    if (!prompt.ok())
      return prompt.status();
    const Result<std::vector<int32_t>> ids =
        engine->session->tokenizer()->encodePrompt(prompt->text, prompt->input);
    if (!ids.ok())
      return ids.status();
    std::copy_n(ids->begin(), std::min(capacity, ids->size()), tokens);
    *count = ids->size();
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
