// SPDX-License-Identifier: Apache-2.0
// Results find their calls by id; those without one by their place.
#include "runtime/chat/ToolTurns.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;

std::string stringIn(const Json &object, const char *name) {
  return object.contains(name) && object[name].is_string() ? object[name].get<std::string>() : "";
}

std::string nameOf(const Json &call) {
  return stringIn(call.contains("function") ? call["function"] : call, "name");
}

/// The calls of one message, each with its result.
class Exchange {
public:
  explicit Exchange(Json &calls) : calls(calls), results(calls.size()) {}

  /// Takes `turns`, all of them results. INGOT-E6071: see pairResults.
  Status take(Turns turns) {
    std::unordered_map<std::string, std::deque<size_t>> open;
    for (size_t i = 0; i < calls.size(); ++i)
      open[stringIn(calls[i], "id")].push_back(i);
    Turns nameless;
    for (Turn &turn : turns) {
      const std::string id = stringIn(turn.message, "tool_call_id");
      const auto call = open.find(id);
      if (!id.empty() && call != open.end() && !call->second.empty()) {
        results[call->second.front()] = std::move(turn);
        call->second.pop_front();
      } else if (id.empty() || (calls.size() == 1 && turns.size() == 1)) {
        nameless.push_back(std::move(turn));
      } else {
        return Status::error("INGOT-E6071",
                             "messages[" + std::to_string(turn.index) +
                                 "].tool_call_id must be the id of a call before it that has no "
                                 "other result; '" +
                                 id + "' is none",
                             "change the request");
      }
    }
    size_t next = 0;
    for (Turn &turn : nameless) {
      while (next < calls.size() && results[next])
        ++next;
      if (next < calls.size())
        results[next] = std::move(turn);
      else
        others.push_back(std::move(turn));
    }
    sort();
    return Status::success();
  }

  /// The results in order, and those that are of no call.
  void give(Turns &out) {
    for (std::optional<Turn> &result : results)
      if (result)
        out.push_back(std::move(*result));
    std::ranges::move(others, std::back_inserter(out));
  }

private:
  /// Calls without a result come last, so that no other's takes its place.
  void sort() {
    Json sorted = Json::array(), open = Json::array();
    for (size_t i = 0; i < calls.size(); ++i) {
      if (results[i])
        name(calls[i], results[i]->message);
      (results[i] ? sorted : open).push_back(std::move(calls[i]));
    }
    for (Json &call : open)
      sorted.push_back(std::move(call));
    calls = std::move(sorted);
    std::erase(results, std::nullopt);
  }

  static void name(const Json &call, Json &result) {
    if (!nameOf(call).empty() && stringIn(result, "name").empty())
      result["name"] = nameOf(call);
    if (!stringIn(call, "id").empty())
      result["tool_call_id"] = call["id"];
  }

  Json &calls;
  std::vector<std::optional<Turn>> results;
  Turns others;
};

/// Nine letters and digits for any id, which are equal where ids are.
std::string shortId(std::string_view id) {
  static constexpr std::string_view letters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (const char c : id)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string made;
  for (int i = 0; i < 9; ++i, hash /= letters.size())
    made += letters[hash % letters.size()];
  return made;
}

void shortenIds(Json &message) {
  auto shorten = [](Json &object, const char *name) {
    if (const std::string id = stringIn(object, name); !id.empty() && id.size() != 9)
      object[name] = shortId(id);
  };
  shorten(message, "tool_call_id");
  if (message.contains("tool_calls"))
    for (Json &call : message["tool_calls"])
      shorten(call, "id");
}

/// Takes what is said beside calls out of their message.
std::string takeText(Json &message) {
  std::string text = contentText(message);
  if (!isBlank(text))
    message["content"] = "";
  else
    text.clear();
  return text;
}

/// Puts what is said beside calls into messages before them.
void sayBefore(Turns &turns) {
  Turns out;
  for (Turn &turn : turns) {
    if (turn.hasCalls())
      if (std::string text = takeText(turn.message); !text.empty())
        out.push_back({{{"role", "assistant"}, {"content", std::move(text)}}, turn.index});
    out.push_back(std::move(turn));
  }
  turns = std::move(out);
}

/// Puts what is said beside calls into the answer to their results; where there is none yet, into
/// one message before the first of the calls.
void sayAfter(Turns &turns) {
  Turns out, run; // calls and results with nothing between them
  std::optional<Turn> said;
  auto settle = [&] {
    if (said)
      out.push_back(std::move(*said));
    said.reset();
    std::ranges::move(run, std::back_inserter(out));
    run.clear();
  };
  for (Turn &turn : turns) {
    const bool belongs = turn.hasCalls() || (turn.is("tool") && !run.empty());
    if (turn.hasCalls())
      if (std::string text = takeText(turn.message); !text.empty()) {
        const Turn more = {{{"role", "assistant"}, {"content", std::move(text)}}, turn.index};
        if (said)
          appendText(*said, more);
        else
          said = more;
      }
    if (turn.is("assistant") && !belongs && said) {
      appendText(*said, turn);
      turn.message["content"] = std::move(said->message["content"]);
      said.reset();
    }
    if (!belongs)
      settle();
    (belongs ? run : out).push_back(std::move(turn));
  }
  settle();
  turns = std::move(out);
}

/// A message for each call, the first with all else of `turn`, each before its result. `results`
/// are those of the calls, as pairResults has left them.
void split(const Turn &turn, Turns results, Turns &out) {
  const Json &calls = turn.message["tool_calls"];
  for (size_t i = 0; i < calls.size(); ++i) {
    Turn one = turn;
    if (i > 0)
      one.message = {{"role", "assistant"}, {"content", ""}};
    one.message["tool_calls"] = Json::array({calls[i]});
    out.push_back(std::move(one));
    if (i < results.size())
      out.push_back(std::move(results[i]));
  }
  if (results.size() > calls.size())
    std::move(results.begin() + int64_t(calls.size()), results.end(), std::back_inserter(out));
}

} // namespace

Status pairResults(Turns &turns) {
  Turns paired;
  for (size_t i = 0; i < turns.size();) {
    Turn caller = std::move(turns[i++]);
    if (!caller.hasCalls()) {
      paired.push_back(std::move(caller));
      continue;
    }
    Json &calls = caller.message["tool_calls"];
    for (size_t call = 0; call < calls.size(); ++call)
      if (stringIn(calls[call], "id").empty())
        calls[call]["id"] = shortId(std::to_string(caller.index) + "." + std::to_string(call));
    Turns results, others;
    for (; i < turns.size() && !turns[i].hasCalls(); ++i)
      (turns[i].is("tool") ? results : others).push_back(std::move(turns[i]));
    Exchange exchange(calls);
    if (Status status = exchange.take(std::move(results)); !status.ok())
      return status;
    paired.push_back(std::move(caller));
    exchange.give(paired);
    std::ranges::move(others, std::back_inserter(paired));
  }
  turns = std::move(paired);
  return Status::success();
}

void separateCalls(Turns &turns, const TemplateTraits &traits) {
  if (!traits.takesTextWithCalls && traits.takesTextBeforeCalls)
    sayBefore(turns);
  else if (!traits.takesTextWithCalls)
    sayAfter(turns);
  Turns out;
  for (size_t i = 0; i < turns.size();) {
    Turn turn = std::move(turns[i++]);
    if (!traits.takesAnyId)
      shortenIds(turn.message);
    if (!turn.hasCalls()) {
      out.push_back(std::move(turn));
      continue;
    }
    if (traits.takesParallelCalls || turn.message["tool_calls"].size() < 2) {
      out.push_back(std::move(turn));
      continue;
    }
    Turns results;
    for (; i < turns.size() && turns[i].is("tool"); ++i) {
      if (!traits.takesAnyId)
        shortenIds(turns[i].message);
      results.push_back(std::move(turns[i]));
    }
    split(turn, std::move(results), out);
  }
  turns = std::move(out);
}

} // namespace ingot::runtime
