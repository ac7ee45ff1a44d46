// SPDX-License-Identifier: Apache-2.0
// The Hub's JSON: `sha`, and of each of `siblings` name, size and digest.
#include "compiler/hub/RepositoryListing.h"

#include "compiler/checkpoint/files/Json.h"
#include "compiler/hub/ModelName.h"

#include <set>

using namespace ingot::checkpoint;

namespace ingot::hub {
namespace {

constexpr size_t kMostFiles = 100'000;
constexpr uint64_t kMostBytes = uint64_t{1} << 50; // of one file; none has a thousandth

Error unexpected(const Json &at, std::string what) {
  return at.error("INGOT-E7304", std::move(what), "check that the endpoint is one of a Hub");
}

std::string textOf(const std::optional<Json> &value) {
  if (value)
    if (auto text = value->string())
      return *text;
  return "";
}

Expected<RemoteFile> readFile(const Json &entry) {
  auto name = entry.at("rfilename");
  if (!name)
    return unexpected(entry, "a file has no name");
  auto text = name->string();
  if (!text)
    return unexpected(*name, "a file's name is no text");
  if (!isSafeFileName(*text))
    return Error{"INGOT-E7305",
                 "the name of a file of the repository could lead out of the model's folder",
                 inQuotes(*text), "nothing was fetched; do not trust this repository"};
  RemoteFile file;
  file.name = *text;
  auto lfs = entry.find("lfs");
  const bool isLarge = lfs && lfs->isObject();
  auto size = isLarge && lfs->find("size") ? lfs->find("size") : entry.find("size");
  if (!size)
    return unexpected(entry, "a file has no size");
  auto bytes = size->unsignedInteger(0, kMostBytes);
  if (!bytes)
    return unexpected(*size, "a file's size is no number of bytes");
  file.bytes = *bytes;
  file.digest.kind = isLarge ? PublishedDigest::Kind::Sha256 : PublishedDigest::Kind::GitBlob;
  file.digest.hex = textOf(isLarge ? lfs->find("sha256") : entry.find("blobId"));
  if (!isHex(file.digest.hex, isLarge ? 64 : 40))
    return unexpected(entry, "a file has no digest");
  return file;
}

} // namespace

Expected<RepositoryListing> RepositoryListing::parse(std::string_view text, std::string where) {
  auto root = Json::parse(text, std::move(where));
  if (!root)
    return root.error();
  RepositoryListing listing;
  listing.commit = textOf(root->find("sha"));
  if (!isHex(listing.commit, 40))
    return unexpected(*root, "there is no commit `sha`");
  auto siblings = root->find("siblings");
  if (!siblings || !siblings->isArray() || siblings->size() > kMostFiles)
    return unexpected(*root, "there is no list `siblings` of files");
  std::set<std::string> names;
  for (size_t i = 0; i < siblings->size(); ++i) {
    auto file = readFile(siblings->element(i));
    if (!file)
      return file.error();
    if (!names.insert(file->name).second)
      return unexpected(siblings->element(i), "a file is listed twice");
    listing.files.push_back(*std::move(file));
  }
  return listing;
}

} // namespace ingot::hub
