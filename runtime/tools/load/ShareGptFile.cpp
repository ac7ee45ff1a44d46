// SPDX-License-Identifier: Apache-2.0
// Reads event by event: the files are large, and little of them is kept.
#include "runtime/tools/load/ShareGptFile.h"

#include "runtime/tools/SessionArguments.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime {
namespace {

constexpr uint64_t largestFile = uint64_t(1) << 30;
constexpr int deepest = 64;

/// Listens to the parser. Depths: 1 the list, 2 a conversation, 3 its turns, 4 a turn.
class ConversationListener : public nlohmann::json_sax<nlohmann::json> {
public:
  std::vector<ShareGptConversation> found;
  std::string problem; ///< empty: none

  bool start_object(size_t) override { return enter(false); }
  bool start_array(size_t) override { return enter(true); }
  bool end_array() override { return leave(); }
  bool end_object() override {
    if (depth == 4 && inTurns)
      endTurn();
    if (depth == 2 && question && reply && !question->empty() && *reply > 0)
      found.push_back({std::move(*question), *reply});
    return leave();
  }
  bool key(std::string &name) override {
    if (depth == 2)
      inTurns = name == "conversations";
    if (depth == 4)
      turnKey = name;
    return true;
  }
  bool string(std::string &value) override {
    if (depth == 4 && inTurns && turnKey == "from")
      from = std::move(value);
    else if (depth == 4 && inTurns && turnKey == "value")
      text = std::move(value);
    return scalar();
  }
  bool null() override { return scalar(); }
  bool boolean(bool) override { return scalar(); }
  bool number_integer(int64_t) override { return scalar(); }
  bool number_unsigned(uint64_t) override { return scalar(); }
  bool number_float(double, const std::string &) override { return scalar(); }
  bool binary(nlohmann::json::binary_t &) override { return scalar(); }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::json::exception &) override {
    problem = "it is no JSON at byte " + std::to_string(position);
    return false;
  }

private:
  bool refuse(std::string what) {
    problem = std::move(what);
    return false;
  }
  bool scalar() { return depth > 1 || refuse("it is no list of conversations"); }
  bool enter(bool isArray) {
    if (++depth > deepest)
      return refuse("it has more than " + std::to_string(deepest) + " levels of lists");
    if ((depth == 1) != isArray && depth <= 2)
      return refuse("it is no list of conversations");
    if (depth == 2) {
      inTurns = false;
      turns = 0;
      question.reset();
      reply.reset();
    }
    if (depth == 4) {
      turnKey.clear();
      from.clear();
      text.clear();
    }
    return true;
  }
  bool leave() {
    --depth;
    return true;
  }
  void endTurn() {
    ++turns;
    if (turns == 1 && (from == "human" || from == "user"))
      question = std::move(text);
    else if (turns == 2)
      reply = int64_t(text.size());
  }

  int depth = 0;
  bool inTurns = false;
  size_t turns = 0;
  std::string turnKey, from, text;
  std::optional<std::string> question;
  std::optional<int64_t> reply;
};

} // namespace

Result<std::vector<ShareGptConversation>> parseShareGpt(const std::string &text,
                                                        const std::string &name) {
  ConversationListener listener;
  bool read = nlohmann::json::sax_parse(text, &listener);
  if (read && listener.found.empty())
    listener.problem = "no conversation in it has a question and an answer";
  if (!listener.problem.empty())
    return Status::error("INGOT-E7242", name + ": " + listener.problem,
                         "give a list of objects with \"conversations\": [{\"from\": \"human\", "
                         "\"value\": ...}, {\"from\": \"gpt\", \"value\": ...}]");
  return std::move(listener.found);
}

Result<std::vector<ShareGptConversation>> readShareGpt(const std::string &path) {
  Result<std::string> text = readTextFile(path, largestFile);
  if (!text.ok())
    return std::move(text).status();
  return parseShareGpt(*text, path);
}

} // namespace ingot::runtime
