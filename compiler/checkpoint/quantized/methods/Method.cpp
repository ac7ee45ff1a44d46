// SPDX-License-Identifier: Apache-2.0
// What the readers of configurations share.
#include "compiler/checkpoint/quantized/methods/Method.h"

#include <algorithm>

namespace ingot::checkpoint {

void MethodReader::refuse(std::string_view key, const std::string &what, std::string_view fix) {
  fields.fail(key, "INGOT-E1054", what + " is not supported", std::string(fix));
}

void MethodReader::refuseUnlessOff(std::string_view key, std::string_view fix) {
  if (!fields.isOff(key))
    refuse(key, std::string(key), fix);
}

void MethodReader::take(std::string_view key, const std::optional<Error> &error) {
  if (error)
    fields.fail(key, error->code, error->what, error->fix);
}

const StoredFormat *MethodReader::format(std::string_view key, std::string_view name,
                                         std::string_view shown) {
  const StoredFormat *found = findFormat(formats, name);
  if (found && found->isRead()) {
    config.packing = found->reader;
    return found;
  }
  std::vector<std::string_view> known;
  for (const StoredFormat &format : formats)
    for (std::string_view packing : format.packings)
      if (format.isRead() && !packing.empty() &&
          std::find(known.begin(), known.end(), packing) == known.end())
        known.push_back(packing);
  std::string fix = known.empty() ? "use the unquantized checkpoint and let the recipe quantize it"
                                  : "supported: ";
  for (std::string_view packing : known)
    fix += message(packing == known.front() ? "" : ", ", packing);
  refuse(key, message(shown, " ", inQuotes(name), found ? message(" (", found->refusal, ")") : ""),
         found && !found->instead.empty() ? found->instead : fix);
  return nullptr;
}

std::optional<uint64_t> MethodReader::group(std::string_view key) {
  auto member = object.find(key);
  if (!member)
    return std::nullopt;
  if (member->isNull() || member->number(-1, -1))
    return 0;
  return fields.unsignedIntegerOr(key, 0, 1, mostColumns);
}

void MethodReader::readBlock(JsonFields &own, std::string_view key) {
  auto sizes = own.unsignedIntegers(key, 1, mostColumns);
  if (!sizes)
    return;
  if (sizes->size() != config.block.size())
    return own.fail(key, "INGOT-E1054",
                    message("a block of ", sizes->size(), " sizes is not supported"),
                    "give rows and columns");
  std::copy(sizes->begin(), sizes->end(), config.block.begin());
}

void MethodReader::declineActivations(std::string what, std::string stated) {
  config.deviations.push_back({std::move(what), std::move(stated), "activations as they are stored",
                               "no kernel quantizes them this way"});
}

void MethodReader::declineCache(std::string stated) {
  config.kvCache = KvCache::Declined;
  config.deviations.push_back({"KV cache", std::move(stated), "as the recipe says",
                               "no kernel stores keys and values this way"});
}

} // namespace ingot::checkpoint
