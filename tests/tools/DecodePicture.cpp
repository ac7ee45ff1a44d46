// SPDX-License-Identifier: Apache-2.0
// decode-picture: pictures through the decoding process, for tests. A line of input is `FILE OUT
// [WIDTH HEIGHT FILTER]`; the RGB bytes go to OUT, and a line of output says what the picture is,
// or what is wrong.
#include "runtime/images/PictureDecoder.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

using namespace ingot::runtime;
using namespace ingot::runtime::images;

static std::vector<uint8_t> readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int main() {
  PictureDecoder decoder;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string from, to;
    uint32_t width = 0, height = 0, filter = 0;
    words >> from >> to >> width >> height >> filter;
    const Result<DecodedPicture> picture =
        decoder.decode(readBytes(from), [&](const PictureFacts &facts) -> Result<Rendering> {
          if (width == 0)
            return Rendering{{}, {{0, 0, 0, facts.width, facts.height}}};
          return Rendering{{{0, width, height, Filter(filter)}}, {{1, 0, 0, width, height}}};
        });
    if (!picture.ok()) {
      std::cout << picture.status().toString() << std::endl;
      continue;
    }
    const Pixels &pixels = picture->crops[0];
    std::ofstream(to, std::ios::binary)
        .write(reinterpret_cast<const char *>(pixels.rgb.data()),
               std::streamsize(pixels.rgb.size()));
    std::cout << formatName(picture->facts.format) << ' ' << picture->facts.width << ' '
              << picture->facts.height << ' ' << notesText(picture->facts.notes) << std::endl;
  }
  return 0;
}
