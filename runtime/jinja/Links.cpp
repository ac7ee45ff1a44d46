// SPDX-License-Identifier: Apache-2.0
// The filter urlize: addresses in a text become links.
#include "runtime/jinja/Links.h"

#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"
#include "runtime/serving/Regex.h"

#include <algorithm>
#include <set>

namespace ingot::runtime::jinja {

namespace {

Regex compiled(std::string_view pattern) {
  Result<Regex> regex = Regex::compile(pattern);
  if (!regex.ok())
    fail(std::string(regex.status().message()));
  return *std::move(regex);
}

bool matches(const Regex &regex, std::string_view text) {
  std::vector<Span> found;
  if (const Status status = regex.findAll(text, found); !status.ok())
    fail(std::string(status.message()));
  return !found.empty();
}

/// One word of a text, in the parts that a link is made of.
struct Word {
  Text head, middle, tail;
};

class LinkMaker {
public:
  LinkMaker(Interpreter &interpreter, const Bound &bound)
      : heap(interpreter.heap),
        web(compiled(R"((?i:\A(?:(?:https?://|www\.)(?:(?:[\w%-]+\.)+)?)"
                     R"((?:[a-z]{2,63}|xn--[\w%]{2,59})|(?:[\w%-]{2,63}\.)+)"
                     R"((?:com|net|int|edu|gov|org|info|mil)|https?://)"
                     R"((?:\d{1,3}(?:\.\d{1,3}){3}|\[(?:[\da-f]{0,4}:){2})"
                     R"((?:[\da-f]{0,4}:?){1,6}\]))(?::\d{1,5})?(?:[/?#]\S*)?\z))")),
        mail(compiled(R"(\A\S+@\w[\w.-]*\.\w+\z)")), limit(bound[0]) {
    if (!limit.isNone())
      bound.integer(0);
    std::set<std::string> relations{"noopener"};
    if (const String *given = bound.optionalString(3))
      addWords(given->text.view(), relations);
    if (bound.truth(1, false))
      relations.insert("nofollow");
    std::string all;
    for (const std::string &relation : relations)
      all += (all.empty() ? "" : " ") + relation;
    attributes.append(" rel=\"");
    attributes.append(escapedHtml(heap, Text(all)));
    attributes.append("\"");
    if (const String *target = bound.optionalString(2); target && !target->text.empty()) {
      attributes.append(" target=\"");
      attributes.append(escapedHtml(heap, target->text));
      attributes.append("\"");
    }
    if (bound.has(4) && !bound[4].isNone())
      readSchemes(bound[4]);
  }

  Text make(const Text &text) {
    const std::string_view bytes = text.view();
    Text out;
    for (size_t at = 0; at < bytes.size();) {
      const size_t begin = at;
      const bool isSpaceRun = isSpace(characterAt(bytes, at));
      while (at < bytes.size() && isSpace(characterAt(bytes, at)) == isSpaceRun)
        at += characterLength(bytes, at);
      heap.charge(at - begin);
      if (isSpaceRun)
        out.append(text, begin, at);
      else
        appendWord(out, text.slice(begin, at));
    }
    return out;
  }

private:
  static void addWords(std::string_view text, std::set<std::string> &into) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find_first_of(" \t\n\r\f\v", at), text.size());
      if (end > at)
        into.emplace(text.substr(at, end - at));
      at = end + 1;
    }
  }

  void readSchemes(const Value &given) {
    const Regex form = compiled(R"(\A[\w.+-]{2,}:/{0,2}\z)");
    for (const Value &scheme : iterate(heap, given)) {
      if (!scheme.isString() || !matches(form, scheme.view()))
        fail("urlize was given what is no prefix of an address");
      schemes.emplace_back(scheme.view());
    }
  }

  /// Takes the brackets before a word and the punctuation behind it away.
  static Word parts(const Text &word) {
    const std::string_view bytes = word.view();
    size_t begin = 0, end = bytes.size();
    auto startsWith = [&](std::string_view mark) { return bytes.substr(begin).starts_with(mark); };
    auto endsWith = [&](std::string_view mark) {
      return bytes.substr(begin, end - begin).ends_with(mark);
    };
    while (startsWith("(") || startsWith("<") || startsWith("&lt;"))
      begin += startsWith("&lt;") ? 4 : 1;
    while (endsWith(")") || endsWith(">") || endsWith(".") || endsWith(",") || endsWith("&gt;"))
      end -= endsWith("&gt;") ? 4 : 1;
    return {word.slice(0, begin), word.slice(begin, end), word.slice(end)};
  }

  static size_t countOf(std::string_view text, std::string_view mark) {
    size_t count = 0;
    for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size()))
      ++count;
    return count;
  }

  /// Brackets that the address opens belong to it.
  void balance(Word &word) {
    constexpr std::pair<std::string_view, std::string_view> brackets[] = {
        {"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}};
    for (const auto &[open, close] : brackets) {
      const size_t opened = countOf(word.middle.view(), open);
      if (opened <= countOf(word.middle.view(), close))
        continue;
      for (size_t i = std::min(opened, countOf(word.tail.view(), close)); i > 0; --i) {
        const size_t end = word.tail.view().find(close) + close.size();
        heap.step(1 + word.tail.size() / 16);
        word.middle.append(word.tail, 0, end);
        word.tail = word.tail.slice(end);
      }
    }
  }

  void link(Text &out, std::string_view scheme, const Text &address, const Text &shown,
            bool hasAttributes) {
    heap.charge(2 * address.size() + attributes.size());
    out.append("<a href=\"");
    out.append(scheme);
    out.append(address);
    out.append("\"");
    if (hasAttributes)
      out.append(attributes);
    out.append(">");
    out.append(shown);
    out.append("</a>");
  }

  Text shortened(const Text &address) const {
    if (limit.isNone() || int64_t(countCharacters(address.view())) <= limit.integer())
      return address;
    const int64_t length = limit.integer() < 0
                               ? int64_t(countCharacters(address.view())) + limit.integer()
                               : limit.integer();
    Text cut = address.slice(0, byteOffset(address.view(), size_t(std::max<int64_t>(length, 0))));
    cut.append("...");
    return cut;
  }

  void appendWord(Text &out, const Text &text) {
    Word word = parts(text);
    balance(word);
    const Text &middle = word.middle;
    const std::string_view bytes = middle.view();
    out.append(word.head);
    const bool hasScheme = bytes.starts_with("https://") || bytes.starts_with("http://");
    if (matches(web, bytes))
      link(out, hasScheme ? "" : "https://", middle, shortened(middle), true);
    else if (bytes.starts_with("mailto:") && matches(mail, bytes.substr(7)))
      link(out, "", middle, middle.slice(7), false);
    else if (bytes.find('@') != bytes.npos && !bytes.starts_with("www.") &&
             !bytes.starts_with('@') && bytes.find(':') == bytes.npos && matches(mail, bytes))
      link(out, "mailto:", middle, middle, false);
    else
      appendOther(out, middle);
    out.append(word.tail);
  }

  void appendOther(Text &out, const Text &middle) {
    for (const std::string &scheme : schemes)
      if (middle.view() != scheme && middle.view().starts_with(scheme))
        return link(out, "", middle, middle, true);
    out.append(middle);
  }

  Heap &heap;
  const Regex web, mail;
  const Value limit;
  Text attributes;
  std::vector<std::string> schemes;
};

} // namespace

Value linksInText(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound("urlize", arguments,
                    {"trim_url_limit", "nofollow", "target", "rel", "extra_schemes"});
  return makeString(heap, LinkMaker(interpreter, bound).make(htmlOf(heap, value)),
                    interpreter.autoescape);
}

} // namespace ingot::runtime::jinja
