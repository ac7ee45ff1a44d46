// SPDX-License-Identifier: Apache-2.0
// Figures first, then the distributions behind them.
#include "runtime/tools/load/LoadReport.h"

#include "runtime/tools/Table.h"

namespace ingot::runtime {
namespace {

using nlohmann::ordered_json;

void addRow(Table &table, const char *name, const Distribution &values) {
  std::vector<std::string> cells = {name};
  for (double value : {values.mean, values.p50, values.p90, values.p95, values.p99, values.most})
    cells.push_back(values.count ? fixedPoint(value * 1000, 2) : "-");
  cells.push_back(grouped(values.count));
  table.add(std::move(cells));
}

ordered_json jsonOf(const Distribution &values) {
  return {{"count", values.count}, {"mean", values.mean}, {"p50", values.p50}, {"p90", values.p90},
          {"p95", values.p95},     {"p99", values.p99},   {"max", values.most}};
}

ordered_json jsonOf(const LoadRecord &record) {
  ordered_json json = {{"number", record.number},
                       {"due", record.due},
                       {"sent", record.sent},
                       {"end", record.end},
                       {"prompt_tokens", record.promptTokens},
                       {"cached_tokens", record.cachedTokens},
                       {"output_tokens", record.outputTokens}};
  if (record.first >= 0)
    json["time_to_first_token"] = record.timeToFirstToken();
  json["inter_token_latencies"] = record.gaps;
  json["text"] = record.text;
  if (!record.finish.empty())
    json["finish"] = record.finish;
  if (record.cancelled)
    json["cancelled"] = true;
  if (!record.failure.kind.empty()) {
    json["failure"] = record.failure.kind;
    json["error"] = record.failure.error.toString();
  }
  return json;
}

} // namespace

void printLoad(const LoadSummary &summary, const ServiceLimits &limits, FILE *stream) {
  std::fprintf(stream, "%s in %s s: %s answered, %s failed, %s cancelled\n",
               counted(summary.requests, "request").c_str(), fixedPoint(summary.seconds, 2).c_str(),
               grouped(summary.answered).c_str(), grouped(summary.failed).c_str(),
               grouped(summary.cancelled).c_str());
  std::fprintf(stream, "%s answers/s, %s output tokens/s, %s prompt tokens/s\n",
               fixedPoint(summary.perSecond(double(summary.answered)), 2).c_str(),
               fixedPoint(summary.perSecond(double(summary.outputTokens)), 1).c_str(),
               fixedPoint(summary.perSecond(double(summary.promptTokens)), 1).c_str());
  if (limits.any())
    std::fprintf(stream, "goodput: %s answers/s, %s of %s within the limits\n",
                 fixedPoint(summary.perSecond(double(summary.good)), 2).c_str(),
                 grouped(summary.good).c_str(), grouped(summary.requests).c_str());
  if (summary.cachedTokens)
    std::fprintf(stream, "%s of %s from the prefix cache\n",
                 grouped(uint64_t(summary.cachedTokens)).c_str(),
                 counted(uint64_t(summary.promptTokens), "prompt token").c_str());
  if (summary.counted)
    std::fprintf(stream, "%s without usage: their tokens are counted as they came\n",
                 counted(summary.counted, "answer").c_str());
  std::fputc('\n', stream);
  Table table({"milliseconds", ">mean", ">p50", ">p90", ">p95", ">p99", ">max", ">values"});
  addRow(table, "time to first token", summary.firstToken);
  addRow(table, "inter-token latency", summary.betweenTokens);
  addRow(table, "time per output token", summary.perToken);
  addRow(table, "end to end", summary.endToEnd);
  addRow(table, "delay of the client", summary.delay);
  table.print(stream);
  if (summary.failures.empty())
    return;
  std::fputc('\n', stream);
  Table failures({"failure", ">requests", "the first one"});
  for (const auto &[kind, entry] : summary.failures)
    failures.add({kind, grouped(entry.count), shortened(entry.example, 200)});
  failures.print(stream);
}

ordered_json jsonOfLoad(const ordered_json &subject, const LoadSummary &summary,
                        std::span<const LoadRecord> records) {
  ordered_json json = subject;
  json["seconds"] = summary.seconds;
  json["requests"] = {{"all", summary.requests},
                      {"answered", summary.answered},
                      {"failed", summary.failed},
                      {"cancelled", summary.cancelled},
                      {"within_limits", summary.good}};
  json["prompt_tokens"] = summary.promptTokens;
  json["cached_tokens"] = summary.cachedTokens;
  json["output_tokens"] = summary.outputTokens;
  json["per_second"] = {{"answers", summary.perSecond(double(summary.answered))},
                        {"goodput", summary.perSecond(double(summary.good))},
                        {"prompt_tokens", summary.perSecond(double(summary.promptTokens))},
                        {"output_tokens", summary.perSecond(double(summary.outputTokens))}};
  json["latencies"] = {{"time_to_first_token", jsonOf(summary.firstToken)},
                       {"inter_token_latency", jsonOf(summary.betweenTokens)},
                       {"time_per_output_token", jsonOf(summary.perToken)},
                       {"end_to_end", jsonOf(summary.endToEnd)},
                       {"client_delay", jsonOf(summary.delay)}};
  json["failures"] = ordered_json::object();
  for (const auto &[kind, entry] : summary.failures)
    json["failures"][kind] = {{"requests", entry.count}, {"first", entry.example}};
  json["records"] = ordered_json::array();
  for (const LoadRecord &record : records)
    json["records"].push_back(jsonOf(record));
  return json;
}

} // namespace ingot::runtime
