// SPDX-License-Identifier: Apache-2.0
// inspect: what is in an engine, as tables for people or JSON for programs.
#include "runtime/tools/Commands.h"
#include "runtime/tools/EngineOverview.h"
#include "runtime/tools/EngineSummary.h"
#include "runtime/tools/SessionArguments.h"
#include "runtime/tools/Table.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ingot::runtime {
namespace {

using nlohmann::json;

std::string cell(const json &object, const char *key) { return plainText(object.at(key)); }
uint64_t number(const json &object, const char *key) { return object.at(key).get<uint64_t>(); }

/// "T 1..512, S 1..8"
std::string rangesText(const json &ranges) {
  std::string text;
  for (const json &range : ranges)
    text += (text.empty() ? "" : ", ") + cell(range, "dim") + " " + cell(range, "min") + ".." +
            cell(range, "max");
  return text.empty() ? "any" : text;
}

template <class List> std::string joined(const List &values, const char *separator) {
  std::string text;
  for (const json &value : values)
    text += (text.empty() ? "" : separator) + plainText(value);
  return text;
}

void heading(const std::string &title) { std::printf("\n%s\n", printable(title).c_str()); }

void line(const char *name, const std::string &value) {
  std::printf("  %-26s %s\n", name, printable(value).c_str());
}

void forEachTarget(const json &engine, const char *what, void (*show)(const json &target)) {
  for (const json &target : engine.at("targets")) {
    std::string name = cell(target, "name");
    if (number(target, "ranks") > 1)
      name += ", rank " + cell(target, "rank") + " of " + cell(target, "ranks");
    heading(std::string(what) + " of target " + name);
    show(target);
  }
}

void showSections(const json &engine) {
  heading("sections");
  Table table({"name", "kind", "file", ">offset", ">bytes", "sha256"});
  uint64_t total = 0;
  for (const json &section : engine.at("sections")) {
    total += number(section, "bytes");
    std::string file = cell(section, "file");
    table.add({cell(section, "name"), cell(section, "kind"), file.empty() ? "this" : file,
               grouped(number(section, "offset")), grouped(number(section, "bytes")),
               cell(section, "digest").substr(0, 16)});
  }
  table.addTotal({"total", "", "", "", grouped(total), ""});
  table.print(stdout);
}

void showDims(const json &engine) {
  heading("dims");
  Table table({"name", "known", ">min", ">max"});
  for (const json &dim : engine.at("dims"))
    table.add({cell(dim, "name"), cell(dim, "source"), cell(dim, "min"), cell(dim, "max")});
  table.print(stdout);
}

/// Kernels that an instruction may run; what a copy or call does otherwise.
std::string actionText(const json &instruction) {
  if (instruction.contains("variants")) {
    std::string text;
    for (const json &variant : instruction.at("variants"))
      text += (text.empty() ? "" : " | ") + cell(variant, "kernel");
    return text;
  }
  if (instruction.contains("function"))
    return cell(instruction, "function");
  std::string kind =
      instruction.contains("collective") ? cell(instruction, "collective") + " " : "";
  return kind + cell(instruction, "source") + " -> " + cell(instruction, "destination");
}

void showPrograms(const json &target) {
  for (const json &program : target.at("programs")) {
    std::printf("  program %s over (%s): %s -> %s\n", printable(cell(program, "name")).c_str(),
                printable(joined(program.at("dims"), ", ")).c_str(),
                printable(joined(program.at("inputs"), ", ")).c_str(),
                printable(joined(program.at("outputs"), ", ")).c_str());
    Table table({">#", "segment", "instruction", "kind", "runs"});
    std::map<std::string, size_t> kinds;
    size_t index = 0;
    for (const json &instruction : program.at("instructions")) {
      std::string segment;
      for (const json &candidate : program.at("segments"))
        if (index >= number(candidate, "first") &&
            index - number(candidate, "first") < number(candidate, "count"))
          segment = cell(candidate, "name");
      ++kinds[cell(instruction, "kind")];
      table.add({std::to_string(index++), segment, cell(instruction, "name"),
                 cell(instruction, "kind"), actionText(instruction)});
    }
    std::string totals;
    for (const auto &[kind, times] : kinds)
      totals += (totals.empty() ? "" : ", ") + std::to_string(times) + " " + kind;
    table.addTotal({std::to_string(index), "", "total", "", totals});
    table.print(stdout);
  }
}

void showKernels(const json &target) {
  std::map<std::string, size_t> uses;
  for (const json &program : target.at("programs"))
    for (const json &instruction : program.at("instructions"))
      if (instruction.contains("variants"))
        for (const json &variant : instruction.at("variants"))
          ++uses[cell(variant, "kernel")];
  Table table({"kernel", "template", "correct for", ">launches", ">scratch", "library"});
  size_t launches = 0;
  for (const json &kernel : target.at("kernels")) {
    std::string name = cell(kernel, "name");
    launches += uses[name];
    table.add({name, cell(kernel, "source"), rangesText(kernel.at("guards")),
               std::to_string(uses[name]), grouped(number(kernel, "scratch_bytes")),
               cell(kernel, "library")});
  }
  table.addTotal(
      {counted(target.at("kernels").size(), "kernel"), "", "", std::to_string(launches), "", ""});
  table.print(stdout);
}

void showWeights(const json &engine) {
  heading("weights");
  Table table({"name", "type", "format", "shape", "layout", ">bytes"});
  std::map<std::string, std::pair<size_t, uint64_t>> formats;
  uint64_t total = 0;
  for (const json &weight : engine.at("weights")) {
    uint64_t bytes = number(weight, "bytes");
    std::string format = cell(weight, "format");
    auto &[weights, sum] = formats[format.empty() ? cell(weight, "dtype") : format];
    ++weights;
    sum += bytes;
    total += bytes;
    table.add({cell(weight, "name"), cell(weight, "dtype"), format, joined(weight.at("shape"), "x"),
               shortened(cell(weight, "layout"), 32), grouped(bytes)});
  }
  for (const auto &[format, sum] : formats)
    table.addTotal({counted(sum.first, "weight"), "", format, "", "", grouped(sum.second)});
  table.addTotal({"total", "", "", "", "", grouped(total)});
  table.print(stdout);
}

/// Over all groups.
std::string kvBytesPerToken(const json &target) {
  double sum = 0;
  for (const json &group : target.at("kv_groups"))
    sum += group.at("bytes_per_token").get<double>();
  return sum == std::floor(sum) ? grouped(uint64_t(sum)) : fixedPoint(sum, 1);
}

void showMemory(const json &target) {
  const json &memory = target.at("memory");
  line("weights", inBytes(number(memory, "weight_bytes")));
  line("state per sequence", inBytes(number(memory, "state_bytes_per_sequence")));
  line("scratch per thread", inBytes(number(memory, "scratch_bytes_per_thread")));
  if (number(memory, "slot_bytes"))
    line("slots", inBytes(number(memory, "slot_bytes")));
  Table tiers({">tier", "holds steps of", ">arena bytes"});
  size_t index = 0;
  for (const json &tier : memory.at("tiers"))
    tiers.add(
        {std::to_string(index++), rangesText(tier.at("limits")), grouped(number(tier, "bytes"))});
  tiers.print(stdout);
  Table groups(
      {"KV group", "kind", ">window", ">block tokens", ">block bytes", ">bytes per token"});
  for (const json &group : target.at("kv_groups"))
    groups.add(
        {cell(group, "name"), cell(group, "kind"),
         number(group, "window") ? cell(group, "window") : "all", cell(group, "block_tokens"),
         grouped(number(group, "block_bytes")),
         // Recurrent state does not grow with the tokens.
         group.at("bytes_per_token") == 0
             ? "-"
             : perPosition(number(group, "block_bytes"), group.at("block_tokens").get<int64_t>())});
  groups.addTotal({"total", "", "", "", "", kvBytesPerToken(target)});
  groups.print(stdout);
}

void showProvenance(const json &engine) {
  const json &provenance = engine.at("provenance");
  heading("provenance");
  line("compiler", cell(provenance, "compiler"));
  line("revision", cell(provenance, "revision"));
  line("toolchain", cell(provenance, "toolchain"));
  Table inputs({"input", ">bytes", "sha256"});
  uint64_t total = 0;
  for (const json &input : provenance.at("inputs")) {
    total += number(input, "bytes");
    inputs.add({cell(input, "name"), grouped(number(input, "bytes")), cell(input, "digest")});
  }
  inputs.addTotal({"total", grouped(total), ""});
  inputs.print(stdout);
  Table options({"option", "asked", "effective", "reason"});
  for (const json &option : provenance.at("options"))
    options.add({cell(option, "name"), cell(option, "asked"), cell(option, "effective"),
                 cell(option, "reason")});
  options.print(stdout);
  for (const char *name : {"recipe", "tuning"}) {
    std::string text = cell(provenance, name);
    if (!text.empty())
      std::printf("  %s\n", name);
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find('\n', at), text.size());
      std::printf("    %s\n", printable(text.substr(at, end - at)).c_str());
      at = end + 1;
    }
  }
}

void showFusions(const json &target) {
  Table table({"pass", "site", "result", "reason"});
  size_t applied = 0;
  for (const json &note : target.at("notes")) {
    applied += note.at("applied").get<bool>();
    table.add({cell(note, "pass"), cell(note, "site"),
               note.at("applied").get<bool>() ? "applied" : "declined", cell(note, "reason")});
  }
  size_t all = target.at("notes").size();
  table.addTotal(
      {counted(all, "site"), "",
       std::to_string(applied) + " applied, " + std::to_string(all - applied) + " declined", ""});
  table.print(stdout);
}

void showCoverage(const json &target) {
  Table table({"program", "instruction", "covered over", "by"});
  for (const json &row : target.at("coverage"))
    table.add({cell(row, "program"), cell(row, "instruction"), rangesText(row.at("ranges")),
               joined(row.at("kernels"), " | ")});
  table.addTotal({counted(table.rows(), "proof"),
                  "checked again from kernel guards when the file was opened", "", ""});
  table.print(stdout);
}

void showServing(const json &engine) {
  heading("serving");
  for (const auto &[key, value] : engine.at("serving").items())
    line(key.c_str(), plainText(value));
  if (engine.at("images").is_null())
    return;
  heading("pictures");
  for (const auto &[key, value] : engine.at("images").items())
    line(key.c_str(), plainText(value));
}

void showSummary(const json &engine) {
  std::vector<OverviewRow> rows = overviewOf(engine);
  rows.push_back({"file", inBytes(number(engine, "file_bytes")), {}});
  rows.push_back({"digest", cell(engine, "digest"), {}});
  printOverview(rows);
}

void showTargets(const json &engine) {
  heading("targets");
  Table table({"target", "arch", ">preference", ">programs", ">kernels", ">fusions applied",
               ">weight bytes", ">KV bytes/token", "features"});
  for (const json &target : engine.at("targets")) {
    size_t applied = 0;
    for (const json &note : target.at("notes"))
      applied += note.at("applied").get<bool>();
    table.add({cell(target, "name"), cell(target, "arch"), cell(target, "preference"),
               std::to_string(target.at("programs").size()),
               std::to_string(target.at("kernels").size()),
               std::to_string(applied) + " of " + std::to_string(target.at("notes").size()),
               grouped(number(target.at("memory"), "weight_bytes")), kvBytesPerToken(target),
               shortened(joined(target.at("features"), " "), 48)});
  }
  table.print(stdout);
}

/// A selector of --section: what it prints, and which keys of the JSON it keeps. `key` belongs to
/// the engine where `ofEngine` prints it, otherwise to each target.
struct View {
  const char *name;
  void (*ofEngine)(const json &engine);
  void (*ofTarget)(const json &target);
  std::vector<const char *> keys;
};

const std::vector<View> &allViews() {
  static const std::vector<View> views = {
      {"summary",
       showSummary,
       nullptr,
       {"name", "architecture", "digest", "file_bytes", "chat_templates", "serving", "targets"}},
      {"targets", showTargets, nullptr, {"targets"}},
      {"sections", showSections, nullptr, {"sections"}},
      {"dims", showDims, nullptr, {"dims"}},
      {"programs", nullptr, showPrograms, {"programs", "buffers"}},
      {"kernels", nullptr, showKernels, {"kernels", "libraries"}},
      {"weights", showWeights, nullptr, {"weights"}},
      {"memory", nullptr, showMemory, {"memory", "kv_groups"}},
      {"provenance", showProvenance, nullptr, {"provenance"}},
      {"serving", showServing, nullptr, {"serving", "images", "golden"}},
      {"fusions", nullptr, showFusions, {"notes"}},
      {"coverage", nullptr, showCoverage, {"coverage"}},
  };
  return views;
}

/// The parts of the description that a view shows; of targets also the name.
void select(const json &engine, const View &view, json &out) {
  for (const char *key : view.keys) {
    if (view.ofEngine && std::string_view(key) != "targets") {
      out[key] = engine.at(key);
      continue;
    }
    for (size_t i = 0; i < engine.at("targets").size(); ++i) {
      const json &target = engine.at("targets")[i];
      out["targets"][i]["name"] = target.at("name");
      if (view.ofTarget)
        out["targets"][i][key] = target.at(key);
    }
  }
}

} // namespace

int runInspect(int argc, char **argv) {
  CommandLine app("Shows what is in an engine.", argv[0],
                  "examples:\n"
                  "  {} model.ingot\n"
                  "  {} model.ingot --section kernels --section memory\n"
                  "  {} model.ingot --json | jq '.targets[].kernels[].name'");
  std::string path;
  std::vector<std::string> chosen;
  bool asJson = false;
  std::vector<std::string> names = {"all"};
  for (const View &view : allViews())
    names.push_back(view.name);
  app.addOption("engine", path, "engine file").required();
  app.addOption("--section", chosen,
                "what to show; may be repeated; default: summary (with --json: all)")
      .oneOf(names)
      .oneValueEach();
  app.addFlag("--json", asJson, "print JSON");
  int exitStatus = 0;
  if (!parseArguments(app, argc, argv, exitStatus))
    return exitStatus;
  Result<std::shared_ptr<const EngineFile>> file = EngineFile::open(path);
  if (!file.ok())
    return reportError(file.status());
  json engine = describeFile(**file);
  const bool isBrief = chosen.empty() && !asJson;
  if (isBrief)
    chosen = {"summary"};
  auto wanted = [&](const char *name) {
    return chosen.empty() || std::count(chosen.begin(), chosen.end(), name) ||
           std::count(chosen.begin(), chosen.end(), "all");
  };
  json selected = json::object();
  for (const View &view : allViews()) {
    if (!wanted(view.name))
      continue;
    if (asJson)
      select(engine, view, selected);
    else if (view.ofEngine)
      view.ofEngine(engine);
    else
      forEachTarget(engine, view.name, view.ofTarget);
  }
  if (asJson)
    std::printf("%s\n", jsonText(std::count(chosen.begin(), chosen.end(), "all") || chosen.empty()
                                     ? engine
                                     : selected)
                            .c_str());
  if (isBrief) {
    std::string others;
    for (const View &view : allViews())
      if (std::string_view(view.name) != "summary")
        others += (others.empty() ? "" : ", ") + std::string(view.name);
    std::printf("\nmore by --section: %s, all\n", others.c_str());
  }
  Status written = flushOutput();
  return written.ok() ? 0 : reportError(written);
}

} // namespace ingot::runtime
