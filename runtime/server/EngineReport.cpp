// SPDX-License-Identifier: Apache-2.0
// The long lists of an engine's description, counted.
#include "runtime/server/EngineReport.h"

#include "runtime/tools/EngineSummary.h"

#include <map>
#include <tuple>

namespace ingot::runtime {
namespace {

using nlohmann::json;

/// Weights by what they are stored in.
json weightFormats(const json &weights) {
  struct Sum {
    uint64_t count = 0, bytes = 0;
  };
  std::map<std::string, Sum> sums;
  for (const json &weight : weights) {
    std::string format = weight.at("format");
    Sum &sum = sums[format.empty() ? weight.at("dtype").get<std::string>() : format];
    ++sum.count;
    sum.bytes += weight.at("bytes").get<uint64_t>();
  }
  json formats = json::array();
  for (const auto &[format, sum] : sums)
    formats.push_back({{"format", format}, {"count", sum.count}, {"bytes", sum.bytes}});
  return formats;
}

/// Sites of fusions by what became of them and why; one of each is named.
json fusionsOf(const json &notes) {
  struct Sites {
    uint64_t count = 0;
    std::string first;
  };
  std::map<std::tuple<std::string, bool, std::string>, Sites> groups;
  for (const json &note : notes) {
    Sites &sites = groups[{note.at("pass"), note.at("applied").get<bool>(), note.at("reason")}];
    if (sites.count++ == 0)
      sites.first = note.at("site");
  }
  json fusions = json::array();
  for (const auto &[group, sites] : groups)
    fusions.push_back({{"pass", std::get<0>(group)},
                       {"applied", std::get<1>(group)},
                       {"reason", std::get<2>(group)},
                       {"sites", sites.count},
                       {"first_site", sites.first}});
  return fusions;
}

std::string reportOf(const Loop &loop) {
  json report = describeFile(loop.file());
  report["target"] = loop.target().name()->str();
  report["memory_plan"] = describePlan(loop.memoryPlan());
  report["weight_formats"] = weightFormats(report.at("weights"));
  report.erase("weights");
  report.erase("golden");
  for (json &target : report.at("targets")) {
    target["fusions"] = fusionsOf(target.at("notes"));
    target["kernel_count"] = target.at("kernels").size();
    for (json &tier : target.at("memory").at("tiers"))
      tier.erase("offsets");
    for (const char *member : {"buffers", "coverage", "kernels", "notes", "programs"})
      target.erase(member);
  }
  return plainText(report);
}

} // namespace

const std::string &EngineReport::text(const Loop &loop) {
  std::call_once(made, [&] { report = reportOf(loop); });
  return report;
}

} // namespace ingot::runtime
