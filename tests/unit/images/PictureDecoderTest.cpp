// SPDX-License-Identifier: Apache-2.0
// The decoder with its process, and with processes that fail in every way that is known.
#include "runtime/images/PictureDecoder.h"
#include "runtime/images/decode/Sandbox.h"
#include "tests/unit/images/SmallPictures.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>

namespace ingot::runtime::images {
namespace {

using namespace test;
using std::chrono::milliseconds;

Result<Rendering> whole(const PictureFacts &facts) {
  return Rendering{{}, {{0, 0, 0, facts.width, facts.height}}};
}

PictureDecoder::Options real() {
  PictureDecoder::Options options;
  options.program = INGOT_IMAGES;
  return options;
}

TEST(PictureDecoder, DecodesResizesAndCrops) {
  PictureDecoder decoder(real());
  EXPECT_EQ(decoder.processId(), 0);
  const Pixels pixels = slopes(40, 30);
  const Result<DecodedPicture> picture =
      decoder.decode(pngOf(pixels), [](const PictureFacts &facts) -> Result<Rendering> {
        EXPECT_EQ(facts.width, 40u);
        EXPECT_EQ(facts.height, 30u);
        return Rendering{{{0, 20, 16, Filter::Lanczos}, {1, 8, 8, Filter::Bicubic}},
                         {{0, 3, 4, 5, 6}, {1, 10, 0, 10, 16}, {2, 0, 0, 8, 8}}};
      });
  ASSERT_TRUE(picture.ok()) << picture.status().toString();
  ASSERT_EQ(picture->crops.size(), 3u);
  const auto expectCrop = [&](size_t i, const Pixels &from, uint32_t x, uint32_t y) {
    const Pixels &crop = picture->crops[i];
    for (uint32_t v = 0; v < crop.height; ++v)
      for (uint32_t u = 0; u < crop.width * 3; ++u)
        ASSERT_EQ(crop.rgb[v * crop.width * 3 + u],
                  from.rgb[(size_t(y) + v) * from.width * 3 + x * 3 + u])
            << i;
  };
  const Pixels half = resize(pixels, 20, 16, Filter::Lanczos);
  expectCrop(0, pixels, 3, 4);
  expectCrop(1, half, 10, 0);
  expectCrop(2, resize(half, 8, 8, Filter::Bicubic), 0, 0);
  EXPECT_EQ(picture->crops[0].width, 5u);
  EXPECT_EQ(picture->crops[0].height, 6u);
}

TEST(PictureDecoder, OpensWithoutDecoding) {
  PictureDecoder decoder(real());
  const Result<PictureFacts> facts = decoder.open(turnedWebP());
  ASSERT_TRUE(facts.ok()) << facts.status().toString();
  EXPECT_EQ(facts->format, PictureFormat::WebP);
  EXPECT_EQ(facts->width, 2u);
  EXPECT_EQ(facts->height, 3u);
  EXPECT_EQ(notesText(facts->notes), "turned by its EXIF orientation");
}

TEST(PictureDecoder, ErrorsOfFilesArePassedOn) {
  PictureDecoder decoder(real());
  Bytes cut = jpegOf(slopes(40, 30));
  cut.resize(cut.size() / 2);
  EXPECT_EQ(decoder.decode(cut, whole).status().toString(),
            "INGOT-E6802: the JPEG picture ends early; send the whole file");
  EXPECT_EQ(decoder.decode(Bytes{'G', 'I', 'F', '8', '7', 'a'}, whole).status().code(),
            "INGOT-E6801");
  EXPECT_EQ(decoder.decode({}, whole).status().code(), "INGOT-E6801");
  const pid_t process = decoder.processId();
  EXPECT_TRUE(decoder.decode(pngOf(slopes(4, 4)), whole).ok());
  EXPECT_EQ(decoder.processId(), process);
}

TEST(PictureDecoder, RenderingsThatDoNotFitAreErrors) {
  PictureDecoder decoder(real());
  const Bytes png = pngOf(slopes(4, 4));
  for (const Rendering &rendering :
       std::vector<Rendering>{{{}, {{1, 0, 0, 4, 4}}},
                              {{}, {{0, 1, 0, 4, 4}}},
                              {{}, {{0, 0, 5, 1, 1}}},
                              {{}, {{0, 0, 0, 0, 1}}},
                              {{{1, 4, 4, Filter::Bicubic}}, {}},
                              {{{0, 0, 4, Filter::Bicubic}}, {}},
                              {{{0, 70000, 4, Filter::Bicubic}}, {}},
                              {{{0, 60000, 60000, Filter::Bicubic}}, {}},
                              {{{0, 4, 4, Filter(9)}}, {}},
                              {std::vector<Scaling>(9, {0, 4, 4, Filter::Bicubic}), {}},
                              {{}, std::vector<Crop>(257, {0, 0, 0, 4, 4})}}) {
    const auto choose = [&](const PictureFacts &) -> Result<Rendering> { return rendering; };
    EXPECT_EQ(decoder.decode(png, choose).status().code(), "INGOT-E6806");
  }
}

/// 3 MB that would be 4.8 GB: refused in the memory that is there, of which the other has too
/// little.
TEST(PictureDecoder, BombsNeedNoMemory) {
  PictureDecoder::Options options = real();
  options.memory = 16 << 20;
  PictureDecoder decoder(options);
  const Bytes bomb = pngOf(40'000, 40'000, 8, 2, {}, {{"juNK", Bytes(3'000'000)}});
  EXPECT_EQ(
      decoder.decode(bomb, whole).status().toString(),
      "INGOT-E6804: the PNG picture is 40000 x 40000 pixels; a side has at most 16384; send a "
      "smaller one");
  const Result<DecodedPicture> large = decoder.decode(
      pngOf(4000, 3000, 8, 2, Bytes(3000 * 12001)),
      [](const PictureFacts &) -> Result<Rendering> { return Rendering{{}, {{0, 0, 0, 1, 1}}}; });
  EXPECT_EQ(large.ok(), !locksUp) << large.status().toString();
  if (!large.ok()) {
    EXPECT_EQ(large.status().code(), "INGOT-E6808") << large.status().toString();
    EXPECT_NE(large.status().message().find("for want of memory"), std::string_view::npos);
  }
}

TEST(PictureDecoder, KilledProcessesAreStartedAnew) {
  PictureDecoder decoder(real());
  const Bytes png = pngOf(slopes(4, 4));
  ASSERT_TRUE(decoder.decode(png, whole).ok());
  const pid_t first = decoder.processId();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  // Dead, though nobody has waited for it.
  siginfo_t facts;
  ASSERT_EQ(::waitid(P_PID, id_t(first), &facts, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(decoder.decode(png, whole).ok());
  EXPECT_NE(decoder.processId(), first);
}

TEST(PictureDecoder, ThreadsShareOne) {
  PictureDecoder decoder(real());
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 6; ++i)
    threads.emplace_back([&decoder, i] {
      const Pixels pixels = slopes(20 + i, 10);
      for (int k = 0; k < 20; ++k) {
        const Result<DecodedPicture> picture = decoder.decode(pngOf(pixels), whole);
        ASSERT_TRUE(picture.ok()) << picture.status().toString();
        ASSERT_EQ(picture->crops[0].rgb, pixels.rgb);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(PictureDecoder, TheProgramMustBeThere) {
  PictureDecoder::Options options;
  options.program = "/none/ingot-images";
  EXPECT_EQ(PictureDecoder(options).decode(pngOf(slopes(4, 4)), whole).status().code(),
            "INGOT-E6807");
}

/// A decoder whose process has the fault of this name.
class Faulty {
public:
  explicit Faulty(const std::string &fault) {
    std::string pattern = testing::TempDir() + "/faulty-XXXXXX";
    folder = ::mkdtemp(pattern.data());
    std::filesystem::create_symlink(FAULTY_IMAGES, folder / fault);
    PictureDecoder::Options options;
    options.program = folder / fault;
    // Those that must answer get the time.
    options.startTime = milliseconds(fault == "silent" ? 200 : 20000);
    options.pictureTime = milliseconds(fault.starts_with("hung") ? 200 : 20000);
    decoder.emplace(options);
  }
  ~Faulty() { std::filesystem::remove_all(folder); }

  std::string codeOf() {
    return std::string(decoder->decode(Bytes{1, 2, 3}, whole).status().code());
  }

  std::optional<PictureDecoder> decoder;

private:
  std::filesystem::path folder;
};

TEST(PictureDecoder, WithoutFaultTheFaultyOneWorks) {
  Faulty faulty("works");
  const Result<DecodedPicture> picture = faulty.decoder->decode(Bytes{1, 2, 3}, whole);
  ASSERT_TRUE(picture.ok()) << picture.status().toString();
  EXPECT_EQ(picture->crops[0].rgb, Bytes(6, 7));
}

TEST(PictureDecoder, EveryFaultIsAnErrorOfItsPicture) {
  const std::pair<const char *, const char *> faults[] = {
      {"exits", "INGOT-E6807"},       {"silent", "INGOT-E6807"},      {"open-door", "INGOT-E6807"},
      {"hung", "INGOT-E6808"},        {"hung-render", "INGOT-E6808"}, {"dies", "INGOT-E6808"},
      {"dies-render", "INGOT-E6808"}, {"closes", "INGOT-E6808"},      {"memory", "INGOT-E6808"},
      {"huge", "INGOT-E6809"},        {"zero", "INGOT-E6809"},        {"many", "INGOT-E6809"},
      {"format", "INGOT-E6809"},      {"notes", "INGOT-E6809"},       {"other-size", "INGOT-E6809"},
      {"fewer", "INGOT-E6809"},       {"short", "INGOT-E6809"},       {"magic", "INGOT-E6809"},
      {"kind", "INGOT-E6809"},        {"error", "INGOT-E6809"}};
  for (const auto &[fault, code] : faults) {
    SCOPED_TRACE(fault);
    Faulty faulty(fault);
    EXPECT_EQ(faulty.codeOf(), code);
    EXPECT_EQ(faulty.decoder->processId(), 0) << "the process lives on";
    EXPECT_EQ(faulty.codeOf(), code); // of the next picture's process
  }
}

TEST(PictureDecoder, TextOfTheProcessIsNotTrusted) {
  Faulty faulty("text");
  EXPECT_EQ(faulty.decoder->decode(Bytes{1}, whole).status().toString(),
            "INGOT-E6803: " + std::string(255, '?'));
}

TEST(PictureDecoder, AProcessMayEndAfterAPicture) {
  Faulty faulty("last");
  EXPECT_EQ(faulty.codeOf(), "");
  EXPECT_EQ(faulty.decoder->processId(), 0);
  EXPECT_EQ(faulty.codeOf(), "");
}

} // namespace
} // namespace ingot::runtime::images
