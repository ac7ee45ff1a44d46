// SPDX-License-Identifier: Apache-2.0
// Opening a GGUF model that is split into several files.
#include "compiler/checkpoint/gguf/Gguf.h"

#include "compiler/checkpoint/files/Entry.h"
#include "compiler/checkpoint/files/JsonFields.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace ingot::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t mostParts = 4096;

/// What a file says about the model it is a part of.
struct Split {
  uint64_t number = 0; ///< from 0
  uint64_t count = 1;
  std::optional<uint64_t> tensors; ///< of all parts
};

Expected<Split> readSplit(const Json &metadata) {
  JsonFields fields(metadata);
  Split split;
  split.count = fields.unsignedIntegerOr("split.count", 1, 0, mostParts);
  if (split.count > 1) {
    split.number = fields.unsignedInteger("split.no", 0, split.count - 1);
    if (fields.has("split.tensors.count"))
      split.tensors = fields.unsignedInteger("split.tensors.count", 0, uint64_t{1} << 32);
  }
  if (fields.error())
    return *fields.error();
  return split;
}

/// NAME-00002-of-00003.gguf: NAME, 2 and 3.
struct PartName {
  std::string stem;
  uint64_t number = 0, count = 0;
};

std::optional<PartName> parsePartName(const std::string &name) {
  constexpr size_t digits = 5;
  constexpr std::string_view between = "-of-", suffix = ".gguf";
  constexpr size_t tail = 1 + digits + between.size() + digits + suffix.size();
  if (name.size() <= tail || !name.ends_with(suffix))
    return std::nullopt;
  const size_t dash = name.size() - tail;
  auto number = [&](size_t at) -> std::optional<uint64_t> {
    uint64_t value = 0;
    const char *begin = name.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + digits, value);
    return error == std::errc() && end == begin + digits ? std::optional(value) : std::nullopt;
  };
  const auto first = number(dash + 1), second = number(dash + 1 + digits + between.size());
  if (name[dash] != '-' || name.compare(dash + 1 + digits, between.size(), between) != 0 ||
      !first || !second)
    return std::nullopt;
  return PartName{name.substr(0, dash), *first, *second};
}

std::string partName(const PartName &of, uint64_t number) {
  auto padded = [](uint64_t value) {
    const std::string text = std::to_string(value);
    return std::string(5 - std::min<size_t>(text.size(), 5), '0') + text;
  };
  return of.stem + "-" + padded(number) + "-of-" + padded(of.count) + ".gguf";
}

Error disagree(const fs::path &path, std::string what) {
  return {"INGOT-E1109", std::move(what), printable(path.string()),
          "download all parts of the model again, together, and keep their names"};
}

/// Opens `path` as part `number` of a model; the model's first part where there is none yet.
Outcome addPart(const fs::path &path, uint64_t number, const Split &expected,
                std::optional<GgufModel> &model) {
  auto file = File::open(path);
  if (!file)
    return file.error();
  auto part = readGguf(*file, static_cast<uint32_t>(number));
  if (!part)
    return part.error();
  auto split = readSplit(part->metadata);
  if (!split)
    return split.error();
  if (split->count != expected.count || split->number != number)
    return disagree(path, message("split.no ", split->number, " of split.count ", split->count,
                                  " where part ", number, " of ", expected.count, " is expected"));
  if (!model)
    model.emplace(GgufModel{part->metadata, {}, {}});
  model->files.push_back(*std::move(file));
  std::move(part->tensors.begin(), part->tensors.end(), std::back_inserter(model->tensors));
  return {};
}

/// Opens the files beside `path` that belong to it.
Expected<GgufModel> openParts(const fs::path &path, const Split &split) {
  const auto name = parsePartName(path.filename().string());
  if (!name || name->count != split.count)
    return disagree(path, message("the file is one of ", split.count,
                                  ", but its name does not say so: NAME-00001-of-0000N.gguf"));
  std::optional<GgufModel> model;
  for (uint64_t number = 0; number < split.count; ++number) {
    const fs::path part = path.parent_path() / partName(*name, number + 1);
    if (!isThere(part))
      return Error{"INGOT-E1110",
                   message("part ", number + 1, " of ", split.count, ", ",
                           inQuotes(part.filename().string()), ", is missing"),
                   printable(path.string()), "download the missing part"};
    if (auto added = addPart(part, number, split, model); !added)
      return added.error();
  }
  if (split.tensors && *split.tensors != model->tensors.size())
    return disagree(path, message("split.tensors.count is ", *split.tensors,
                                  ", but the parts hold ", model->tensors.size(), " tensors"));
  std::set<std::string_view> names;
  for (const Tensor &tensor : model->tensors)
    if (!names.insert(tensor.name).second)
      return Error{"INGOT-E1105", message("tensor ", inQuotes(tensor.name), " is in two parts"),
                   printable(model->files[tensor.fileIndex].path().string()),
                   "download all parts of the model again, together"};
  return *std::move(model);
}

} // namespace

Expected<GgufModel> openGguf(const fs::path &path) {
  auto file = File::open(path);
  if (!file)
    return file.error();
  auto only = readGguf(*file);
  if (!only)
    return only.error();
  auto split = readSplit(only->metadata);
  if (!split)
    return split.error();
  if (split->count > 1)
    return openParts(path, *split);
  GgufModel model{only->metadata, {}, std::move(only->tensors)};
  model.files.push_back(*std::move(file));
  return model;
}

} // namespace ingot::checkpoint
