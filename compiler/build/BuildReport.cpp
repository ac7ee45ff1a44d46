// SPDX-License-Identifier: Apache-2.0
// The report for --report.
#include "compiler/build/BuildReport.h"

#include "dialects/engine/EngineOps.h"
#include <fstream>
#include <nlohmann/json.hpp>

using namespace ingot;
using namespace ingot::compiler;
using Json = nlohmann::ordered_json;

static Json targetJson(BuildReport::TargetReport &target) {
  Json notes = Json::array();
  for (mlir::Operation *op : target.notes) {
    auto note = mlir::cast<engine::NoteOp>(op);
    Json entry{{"pass", note.getPass().str()},
               {"site", note.getSite().str()},
               {"applied", note.getApplied()}};
    if (!note.getApplied())
      entry["because"] = note.getReason().str();
    notes.push_back(std::move(entry));
  }
  return {{"name", target.name},
          {"kernels", target.kernels},
          {"launches", target.launches},
          {"library_bytes", target.libraryBytes},
          {"fusions", std::move(notes)}};
}

static Json provenanceJson(const Provenance &provenance) {
  Json inputs = Json::array(), options = Json::array();
  for (const InputFile &input : provenance.inputs)
    inputs.push_back(
        {{"name", input.name}, {"bytes", input.bytes}, {"sha256", checkpoint::hex(input.digest)}});
  for (const OptionRecord &option : provenance.options)
    options.push_back({{"name", option.name},
                       {"asked", option.asked},
                       {"effective", option.effective},
                       {"reason", option.reason}});
  return {{"compiler", provenance.compiler},   {"revision", provenance.revision},
          {"toolchain", provenance.toolchain}, {"recipe", provenance.recipe},
          {"inputs", std::move(inputs)},       {"options", std::move(options)}};
}

static Json cacheJson(const BuildReport::CacheReport &cache) {
  if (cache.folder.empty())
    return {{"folder", nullptr}, {"because", cache.whyNone}};
  return {{"folder", cache.folder}, {"hits", cache.hits}, {"misses", cache.misses}};
}

static checkpoint::Error notWritable(const std::filesystem::path &path) {
  return {"INGOT-E7020", "the report cannot be written", path.string(),
          "choose a writable path for --report"};
}

checkpoint::Outcome compiler::writeReport(BuildReport &report, const std::filesystem::path &path) {
  Json targets = Json::array();
  for (BuildReport::TargetReport &target : report.targets)
    targets.push_back(targetJson(target));
  Json json{{"engine", report.description.name},
            {"architecture", report.description.architecture},
            {"file_bytes", report.fileBytes},
            {"weight_bytes", report.weightBytes},
            {"peak_memory_bytes", report.peakMemory},
            {"minimum_memory_bytes", report.minimumMemory},
            {"seconds", report.seconds},
            {"cache", cacheJson(report.cache)},
            {"unread_tensors", report.unreadTensors},
            {"provenance", provenanceJson(report.description.provenance)},
            {"targets", std::move(targets)}};
  std::ofstream stream(path);
  stream << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  stream.close();
  if (!stream)
    return notWritable(path);
  return {};
}
