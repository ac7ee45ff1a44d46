// SPDX-License-Identifier: Apache-2.0
// Reading the index of a sharded checkpoint.
#include "compiler/checkpoint/files/ShardIndex.h"

#include "compiler/checkpoint/files/File.h"

#include <map>

namespace ingot::checkpoint {

static constexpr uint64_t longestIndex = uint64_t{64} << 20;
static constexpr size_t mostShards = 4096;

/// Whether `name` is a file of the directory itself.
static bool isPlainShardName(std::string_view name) {
  constexpr std::string_view suffix = ".safetensors";
  return name.size() > suffix.size() && name.ends_with(suffix) && name.front() != '.' &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

Expected<ShardIndex> ShardIndex::parse(std::string_view text, const std::string &fileName) {
  JsonLimits limits;
  limits.maxBytes = longestIndex;
  limits.maxDepth = 8;
  auto root = Json::parse(text, fileName, limits);
  if (!root)
    return root.error();
  auto map = root->at("weight_map");
  if (!map)
    return map.error();
  if (!map->isObject())
    return map->wrongType("an object of file names");

  std::map<std::string, std::vector<std::string>> tensorsOf;
  for (const std::string &tensor : map->keys()) {
    Json entry = *map->find(tensor);
    auto shard = entry.string();
    if (!shard)
      return shard.error();
    if (!isPlainShardName(*shard))
      return entry.error("INGOT-E1032",
                         message(inQuotes(*shard), " is not the plain name of a safetensors file"),
                         "shards must lie beside the index; correct the name");
    tensorsOf[*shard].push_back(tensor);
    if (tensorsOf.size() > mostShards)
      return map->error("INGOT-E1002", message("more than ", mostShards, " weight files"),
                        "no known checkpoint needs that");
  }
  ShardIndex index;
  std::map<std::string, uint32_t> fileOf;
  for (const auto &[file, tensors] : tensorsOf) {
    for (const std::string &tensor : tensors)
      fileOf.emplace(tensor, static_cast<uint32_t>(index.files.size()));
    index.files.push_back(file);
  }
  index.tensors.assign(fileOf.begin(), fileOf.end());
  return index;
}

Expected<ShardIndex> ShardIndex::read(const std::filesystem::path &path) {
  auto text = readText(path, longestIndex);
  if (!text)
    return text.error();
  return parse(*text, path.string());
}

} // namespace ingot::checkpoint
