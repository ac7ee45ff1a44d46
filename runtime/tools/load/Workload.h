// SPDX-License-Identifier: Apache-2.0
// The requests of a load: when each is due, its prompt, and how much it asks for.
#pragma once

#include "runtime/tools/load/RandomStream.h"
#include "runtime/tools/load/ShareGptFile.h"
#include "runtime/tools/load/TraceFile.h"

#include <limits>
#include <optional>
#include <string_view>

namespace ingot::runtime {

/// Numbers of tokens, both ends included; each is as likely as the others.
struct LengthRange {
  int64_t least = 1, most = 1;

  /// "128" or "64..512", of 1 to 16777216; nothing for other words.
  static std::optional<LengthRange> parse(std::string_view word);
};

/// Tokens that stand before the own ones of some prompts.
struct SharedPrefix {
  int64_t tokens = 0; ///< 0: there is none
  int64_t groups = 1; ///< different prefixes

  /// "1500" or "1500:4", tokens and groups; nothing for other words.
  static std::optional<SharedPrefix> parse(std::string_view word);
};

struct WorkloadOptions {
  uint64_t seed = 0;
  int64_t requests = 0; ///< how many; 0: as many as are asked for, or all of the trace
  /// Arrivals per second, by a Poisson process; infinity: all at once; nothing: when the trace says
  /// so, or all at once.
  std::optional<double> rate;
  std::string trace, shareGpt;            ///< files; at most one of them
  LengthRange prompt = {128, 128};        ///< tokens, without a file
  LengthRange output = {64, 64};          ///< likewise
  double timeScale = 1, lengthScale = 1;  ///< multiply times and lengths of a trace
  int64_t maxContext = 0;                 ///< of prompt and output together; 0: no bound
  SharedPrefix prefix;                    ///< its tokens are not counted by `prompt`
  double prefixShare = 1;                 ///< of the requests
  bool words = false;                     ///< prompts are text, a word for each token
  double cancelShare = 0;                 ///< of the requests, cancelled somewhere in their answer
  int64_t vocabulary = defaultVocabulary; ///< ids are drawn from its middle
  static constexpr int64_t defaultVocabulary = 1000;
};

/// What is asked of a server or session.
struct LoadRequest {
  int64_t number = 0;          ///< from 0 up; names the request among equal workloads
  double due = 0;              ///< seconds after the start of the load
  std::vector<int32_t> tokens; ///< the prompt, or empty
  std::string text;            ///< the prompt, where there are no tokens
  int64_t outputTokens = 1;    ///< at most so many
  /// After how many chunks or tokens of the answer the client goes away, if it does.
  std::optional<int64_t> cancelAfter;
};

/// A sequence of requests that depends on nothing but the options and the files they name.
class Workload {
public:
  /// Bytes of text that count as a token where no tokenizer is at hand.
  static constexpr int64_t bytesPerToken = 4;

  /// Reads the files. INGOT-E7101, E7241, E7242; INGOT-E7244: the bound of the context leaves no
  /// request.
  static Result<Workload> create(const WorkloadOptions &options);

  /// Nothing after the last request.
  std::optional<LoadRequest> next();

private:
  struct Lengths {
    int64_t prompt, output;
  };

  explicit Workload(const WorkloadOptions &options) : options(options), random(options.seed) {}
  Status takeFiles();
  Status checkContext() const;
  Lengths lengths();
  void clip(Lengths &lengths, int64_t prefix) const;
  void takeTime(LoadRequest &request);
  void addTokens(RandomStream &stream, int64_t count, std::vector<int32_t> &tokens) const;
  void addWords(RandomStream &stream, int64_t count, std::string &text) const;

  WorkloadOptions options;
  RandomStream random;
  std::vector<TraceRow> rows;
  std::vector<ShareGptConversation> conversations;
  int64_t made = 0;
  double clock = 0;
};

} // namespace ingot::runtime
