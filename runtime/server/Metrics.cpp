// SPDX-License-Identifier: Apache-2.0
// Each metric of serving has two names: the project's, and the one dashboards and endpoint pickers
// read.
#include "runtime/server/Metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ingot::runtime {
namespace {

std::string numberText(double value) {
  char text[32];
  bool whole = value == std::floor(value) && std::fabs(value) < 1e15;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.9g", value);
  return text;
}

/// A label's value between its quotes.
std::string escaped(const std::string &value) {
  std::string out;
  for (char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out;
}

void sample(std::string &out, const std::string &name, const std::string &labels, double value) {
  out += name + '{' + labels + "} " + numberText(value) + '\n';
}

/// Writes metrics under both names.
class Page {
public:
  explicit Page(const std::string &model)
      : labels("model_name=\"" + escaped(model) + "\",engine=\"0\"") {}

  void value(const std::string &name, const char *type, const char *help, double value) {
    for (const char *prefix : prefixes) {
      head(prefix + name, type, help);
      sample(text, prefix + name, labels, value);
    }
  }
  void gauge(const std::string &name, const char *help, double amount) {
    value(name, "gauge", help, amount);
  }
  void counter(const std::string &name, const char *help, double amount) {
    value(name, "counter", help, amount);
  }
  void histogram(const std::string &name, const char *help, const Histogram &values) {
    for (const char *prefix : prefixes) {
      head(prefix + name, "histogram", help);
      values.write(text, prefix + name, labels);
    }
  }
  /// One sample for each value of a further label.
  template <class Key>
  void labelled(const std::string &name, const char *help, const char *label,
                const std::map<Key, int64_t> &samples, bool both) {
    for (const char *prefix : prefixes) {
      head(prefix + name, "counter", help);
      for (const auto &[key, count] : samples)
        sample(text, prefix + name, labels + ',' + label + "=\"" + textOf(key) + '"',
               double(count));
      if (!both)
        return;
    }
  }
  /// A metric whose value is in its labels.
  void info(const std::string &name, const char *help, const std::string &more) {
    for (const char *prefix : prefixes) {
      head(prefix + name, "gauge", help);
      sample(text, prefix + name, labels + ',' + more, 1);
    }
  }
  /// A metric of the project alone.
  void own(const std::string &name, const char *type, const char *help, double amount) {
    head(prefixes[0] + name, type, help);
    sample(text, prefixes[0] + name, labels, amount);
  }
  std::string take() { return std::move(text); }

private:
  static constexpr const char *prefixes[] = {"ingot_", "vllm:"};

  void head(const std::string &name, const char *type, const char *help) {
    text += "# HELP " + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
  }
  static std::string textOf(int key) { return std::to_string(key); }
  static std::string textOf(const std::string &key) { return escaped(key); }

  std::string labels, text;
};

void writeLoop(Page &page, const Loop &loop) {
  LoopStatistics now = loop.statistics();
  double used =
      now.gauges.kvBlocks ? double(now.gauges.kvBlocksUsed) / double(now.gauges.kvBlocks) : 0;
  page.gauge("num_requests_running", "Answers that steps compute.", double(now.gauges.running));
  page.gauge("num_requests_waiting", "Answers that wait for a place in a step.",
             double(now.gauges.waiting));
  page.gauge("kv_cache_usage_perc", "Share of KV blocks in use, from 0 to 1.", used);
  // Scraped by either name.
  for (const char *suffix : {"", "_total"}) {
    page.counter(std::string("prefix_cache_queries") + suffix,
                 "Prompt tokens that were looked up in the prefix cache.",
                 double(now.counters.prefixQueries));
    page.counter(std::string("prefix_cache_hits") + suffix,
                 "Prompt tokens that the prefix cache had.", double(now.counters.prefixHits));
  }
  page.counter("num_preemptions_total", "Answers that gave their KV blocks to others.",
               double(now.counters.preemptions));
  page.own("steps_total", "counter", "Steps of the engine.", double(now.counters.steps));
  page.own("answers_limit", "gauge", "Answers that may run or wait; more are refused with 429.",
           double(now.answerLimit));
  if (!loop.memoryPlan().groups.empty()) {
    const KvGroupPlan &group = loop.memoryPlan().groups[0];
    std::string blocks = std::to_string(group.blocks);
    page.info("cache_config_info", "The KV cache.",
              "block_size=\"" + std::to_string(group.blockTokens) + "\",num_gpu_blocks=\"" +
                  blocks + '"');
  }
}

} // namespace

void Histogram::observe(double value) {
  size_t place = size_t(std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin());
  ++counts[place];
  sum += value;
}

void Histogram::write(std::string &out, const std::string &name, const std::string &labels) const {
  uint64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    std::string bound = i < bounds.size() ? numberText(bounds[i]) : "+Inf";
    sample(out, name + "_bucket", labels + ",le=\"" + bound + '"', double(total));
  }
  sample(out, name + "_sum", labels, sum);
  sample(out, name + "_count", labels, double(total));
}

Metrics::Metrics()
    : firstTokenSeconds({0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                         1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560}),
      interTokenSeconds({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3,
                         0.4,   0.5,    0.75,  1,    2.5,   5,    7.5,   10,  20,   40,  80}),
      endSeconds({0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                  30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680}),
      queueSeconds({0.001, 0.01, 0.1, 0.3, 0.5, 0.8, 1,   1.5, 2,   2.5, 5,    10,
                    15,    20,   30,  40,  50,  60,  120, 240, 480, 960, 1920, 7680}) {
  for (const char *reason : {"stop", "length", "abort", "error"})
    successes[reason] = 0;
}

void Metrics::firstToken(double seconds, double queued, int64_t tokens) {
  std::lock_guard lock(mutex);
  firstTokenSeconds.observe(seconds);
  queueSeconds.observe(queued);
  promptTokens += tokens;
  ++generatedTokens;
}

void Metrics::nextToken(double seconds) {
  std::lock_guard lock(mutex);
  interTokenSeconds.observe(seconds);
  ++generatedTokens;
}

void Metrics::ended(const std::string &reason, double seconds) {
  std::lock_guard lock(mutex);
  ++successes[reason];
  endSeconds.observe(seconds);
}

void Metrics::response(int status) {
  std::lock_guard lock(mutex);
  ++responses[status];
}

void Metrics::connections(int64_t change) {
  std::lock_guard lock(mutex);
  openConnections += change;
}

std::string Metrics::text(const Loop *loop, const std::string &model) const {
  Page page(model);
  if (loop)
    writeLoop(page, *loop);
  std::lock_guard lock(mutex);
  page.counter("prompt_tokens_total", "Tokens of prompts whose answer has begun.",
               double(promptTokens));
  page.counter("generation_tokens_total", "Tokens of answers.", double(generatedTokens));
  page.labelled("request_success_total", "Answers that have ended.", "finished_reason", successes,
                true);
  page.histogram("time_to_first_token_seconds", "From a request to an answer's first token.",
                 firstTokenSeconds);
  page.histogram("inter_token_latency_seconds", "From a token of an answer to the next one.",
                 interTokenSeconds);
  page.histogram("e2e_request_latency_seconds", "From a request to an answer's end.", endSeconds);
  page.histogram("request_queue_time_seconds", "From a request to the first step that computed it.",
                 queueSeconds);
  page.labelled("http_responses_total", "Responses of HTTP that have ended, by status.", "code",
                responses, false);
  page.own("http_connections", "gauge", "Connections that are open.", double(openConnections));
  return page.take();
}

} // namespace ingot::runtime
