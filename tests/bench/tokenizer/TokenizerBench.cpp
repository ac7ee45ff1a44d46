// SPDX-License-Identifier: Apache-2.0
// tokenizer-bench TOKENIZER TEXT [IDS]: encodes the file TEXT with the tokenizer of a file or of a
// checkpoint directory, once for every line that comes in, and prints CPU seconds and tokens each
// time. Writes the ids, four bytes each, to the file IDS. Encodes on one thread.
#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/tokenizer/TiktokenReader.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/engine_file/EngineWriterTokenizer.h"
#include "runtime/serving/Tokenizer.h"

#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>

using namespace ingot;

static checkpoint::Expected<checkpoint::TokenizerSpec> read(const std::filesystem::path &path) {
  if (std::filesystem::is_directory(path))
    return checkpoint::readTokenizer(path);
  checkpoint::Expected<std::string> bytes = checkpoint::readText(path, uint64_t{64} << 20);
  if (!bytes)
    return bytes.error();
  if (path.extension() == ".json")
    return checkpoint::parseTokenizerJson(*bytes, path.string());
  if (checkpoint::isTiktoken(*bytes))
    return checkpoint::parseTiktoken(*bytes, path.string(), /*allTokens=*/true);
  return checkpoint::parseSentencePiece(*bytes, path.string());
}

static int fail(const std::string &what) {
  std::fprintf(stderr, "tokenizer-bench: %s\n", what.c_str());
  return 1;
}

int main(int count, char **arguments) {
  if (count < 3 || count > 4)
    return fail("usage: tokenizer-bench TOKENIZER TEXT [IDS]");
  const auto spec = read(arguments[1]);
  if (!spec)
    return fail(spec.error().str());
  const auto text = checkpoint::readText(arguments[2], uint64_t{256} << 20);
  if (!text)
    return fail(text.error().str());
  const std::vector<uint8_t> section = compiler::writeTokenizer(*spec);
  std::vector<uint64_t> aligned((section.size() + 7) / 8);
  std::memcpy(aligned.data(), section.data(), section.size());
  const auto tokenizer = runtime::Tokenizer::load(
      {reinterpret_cast<const std::byte *>(aligned.data()), section.size()});
  if (!tokenizer.ok())
    return fail(tokenizer.status().toString());

  for (std::string line; std::getline(std::cin, line);) {
    const std::clock_t start = std::clock();
    const auto ids = tokenizer->encode(*text, /*addSpecial=*/false, /*parseSpecial=*/true);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (!ids.ok())
      return fail(ids.status().toString());
    std::printf("%.6f %zu\n", seconds, ids->size());
    std::fflush(stdout);
    if (count == 4)
      std::ofstream(arguments[3], std::ios::binary)
          .write(reinterpret_cast<const char *>(ids->data()),
                 static_cast<std::streamsize>(ids->size() * sizeof(int32_t)));
  }
}
