// SPDX-License-Identifier: Apache-2.0
// Windows are drawn without replacement by a generator that is the same everywhere.
#include "compiler/quantize/CalibrationText.h"

#include "compiler/checkpoint/files/Digest.h"
#include "compiler/checkpoint/files/File.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Outcome;
using json = nlohmann::ordered_json;

/// A text is read whole; what a calibration needs of it is far less.
static constexpr uint64_t kLongestText = uint64_t{64} << 20;

namespace {

/// The tokens of all documents, one after the other.
class Tokens {
public:
  Tokens(std::span<const int32_t> prefix, const TokenizeDocument &tokenize)
      : prefix(prefix), tokenize(tokenize) {}

  Outcome addFile(const std::filesystem::path &file, const std::string &name, std::string text) {
    auto digest = checkpoint::sha256(text);
    if (!digest)
      return digest.error();
    const size_t bytes = text.size();
    auto documents = documentsOf(file, std::move(text));
    if (!documents)
      return documents.error();
    for (const Document &document : *documents) {
      auto ids = tokenize(document);
      if (!ids)
        return ids.error();
      std::span<const int32_t> own = *ids;
      if (document.isConversation && own.size() >= prefix.size() &&
          std::equal(prefix.begin(), prefix.end(), own.begin()))
        own = own.subspan(prefix.size());
      all.insert(all.end(), own.begin(), own.end());
    }
    files.push_back({{"name", name},
                     {"bytes", bytes},
                     {"sha256", checkpoint::hex(*digest)},
                     {"documents", documents->size()}});
    return {};
  }

  std::vector<int32_t> all;
  json files = json::array();

private:
  std::span<const int32_t> prefix;
  const TokenizeDocument &tokenize;
};

/// Numbers of windows, in order.
std::vector<size_t> chooseWindows(size_t count, const TextOptions &options) {
  std::vector<size_t> windows(count);
  std::iota(windows.begin(), windows.end(), size_t{0});
  std::mt19937_64 random(options.seed);
  // std::shuffle is not the same in every library.
  for (size_t i = windows.size() - 1; i > 0; --i)
    std::swap(windows[i], windows[random() % (i + 1)]);
  windows.resize(std::min(windows.size(), static_cast<size_t>(options.samples)));
  std::sort(windows.begin(), windows.end());
  return windows;
}

} // namespace

std::string quantize::describeText(const json &record) {
  std::string names;
  for (const json &file : record["files"])
    names += (names.empty() ? "" : ", ") + file["name"].get<std::string>();
  return message(record["sequences"].get<int64_t>(), " sequences of ",
                 record["length"].get<int64_t>(), " tokens, of ", record["tokens"].get<int64_t>(),
                 " in ", names, ", seed ", record["seed"].get<uint64_t>(), ", SHA-256 ",
                 record["ids_sha256"].get<std::string>());
}

Outcome quantize::checkLength(const TextOptions &text, size_t prefix, int64_t longest) {
  const int64_t least = std::max<int64_t>(2, static_cast<int64_t>(prefix) + 1);
  if (text.length >= least && text.length <= longest && text.samples >= 1)
    return {};
  const std::string what =
      text.length < least && prefix > 0
          ? message("sequences of ", text.length, " tokens have no room behind the ", prefix,
                    " that the model's texts begin with")
          : message(text.samples, " sequences of ", text.length, " tokens are not possible");
  return Error{"INGOT-E2113", what, std::string(text.lengthOption),
               longest < least ? message("the model takes sequences of ", longest)
                               : message("choose a length of ", least, " to ", longest)};
}

/// What there is too little of.
static Error tooShort(const TextOptions &options, uint64_t count, const char *unit,
                      const std::filesystem::path &first) {
  return {"INGOT-E2120",
          message("the calibration text has ", count, " ", unit, ", a sequence has ",
                  options.length, " tokens"),
          first.empty() ? "the built-in text" : first.string(),
          options.lengthOption.empty()
              ? "give more text"
              : message("give more text, or a smaller ", options.lengthOption)};
}

Outcome quantize::checkTexts(const TextOptions &options, size_t prefix) {
  auto files = textFiles(options.files);
  if (!files)
    return files.error();
  uint64_t bytes = 0;
  bool isPlain = true;
  for (const std::filesystem::path &file : *files) {
    auto text = checkpoint::readText(file, kLongestText);
    if (!text)
      return text.error();
    auto documents = documentsOf(file, *std::move(text));
    if (!documents)
      return documents.error();
    for (const Document &document : *documents) {
      bytes += document.words.size() + 1;  // some tokenizers put a space in front
      isPlain &= !document.isConversation; // a template adds to those
    }
  }
  if (isPlain && !files->empty() && bytes < static_cast<uint64_t>(options.length) - prefix)
    return tooShort(options, bytes, "bytes", files->front());
  return {};
}

Expected<CalibrationText> quantize::readCalibrationText(const TextOptions &options,
                                                        std::span<const int32_t> prefix,
                                                        const TokenizeDocument &tokenize) {
  if (auto checked = checkLength(options, prefix.size(), std::numeric_limits<int64_t>::max());
      !checked)
    return checked.error();
  auto files = textFiles(options.files);
  if (!files)
    return files.error();
  Tokens tokens(prefix, tokenize);
  for (const std::filesystem::path &file : *files) {
    auto text = checkpoint::readText(file, kLongestText);
    if (!text)
      return text.error();
    if (auto added = tokens.addFile(file, file.filename().string(), *std::move(text)); !added)
      return added.error();
  }
  if (files->empty())
    if (auto added = tokens.addFile({}, "built-in", std::string(builtInText())); !added)
      return added.error();
  const auto own = static_cast<size_t>(options.length) - prefix.size();
  const size_t count = tokens.all.size() / own;
  if (count == 0)
    return tooShort(options, tokens.all.size(), "tokens",
                    files->empty() ? std::filesystem::path() : files->front());
  CalibrationText text;
  checkpoint::Sha256 digest;
  for (size_t window : chooseWindows(count, options)) {
    std::vector<int32_t> sequence(prefix.begin(), prefix.end());
    auto first = tokens.all.begin() + static_cast<std::ptrdiff_t>(window * own);
    sequence.insert(sequence.end(), first, first + static_cast<std::ptrdiff_t>(own));
    digest.update(std::as_bytes(std::span(sequence)));
    text.sequences.push_back(std::move(sequence));
  }
  auto ids = digest.finish();
  if (!ids)
    return ids.error();
  text.record = {{"files", std::move(tokens.files)},
                 {"tokens", tokens.all.size()},
                 {"samples", options.samples},
                 {"length", options.length},
                 {"seed", options.seed},
                 {"sequences", text.sequences.size()},
                 {"ids_sha256", checkpoint::hex(*ids)}};
  return text;
}
