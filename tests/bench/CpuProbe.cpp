// SPDX-License-Identifier: Apache-2.0
// cpu-probe [BYTES]: what this machine can do at most. For each line of input, `THREADS SECONDS
// NAME...`, it prints a JSON object: operations of each kind named, or bytes read from memory
// (`dram`: from a buffer of BYTES, 1 GiB by default), per second, all threads together. What the
// CPU lacks is left out.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <immintrin.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

/// Accumulators of one probe: enough to hide the latency of two units.
constexpr int chains = 16;
constexpr int rounds = 4096;

// In the loops below an empty piece of assembly that may change a value keeps the compiler from
// leaving work out.

__attribute__((target("avx512f"))) double fma() {
  __m512 sums[chains], a = _mm512_set1_ps(1.0f), b = _mm512_set1_ps(0.5f);
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  for (int round = 0; round < rounds; ++round) {
    asm volatile("" : "+v"(a));
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm512_fmadd_ps(a, b, sums[i]);
  }
  for (__m512 &sum : sums)
    asm volatile("" : "+v"(sum));
  return 2.0 * 16 * chains * rounds;
}

__attribute__((target("avx512f,avx512vnni"))) double vnni() {
  __m512i sums[chains], a = _mm512_set1_epi8(1), b = _mm512_set1_epi8(2);
  for (__m512i &sum : sums)
    sum = _mm512_setzero_si512();
  for (int round = 0; round < rounds; ++round) {
    asm volatile("" : "+v"(a));
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm512_dpbusd_epi32(sums[i], a, b);
  }
  for (__m512i &sum : sums)
    asm volatile("" : "+v"(sum));
  return 2.0 * 64 * chains * rounds;
}

__attribute__((target("avx512f,avx512bf16"))) double bf16() {
  __m512 sums[chains];
  __m512i bits = _mm512_set1_epi16(0x3F80);
  __m512bh a, b;
  std::memcpy(&a, &bits, sizeof a);
  b = a;
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  for (int round = 0; round < rounds; ++round) {
    asm volatile("" : "+v"(a));
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm512_dpbf16_ps(sums[i], a, b);
  }
  for (__m512 &sum : sums)
    asm volatile("" : "+v"(sum));
  return 2.0 * 32 * chains * rounds;
}

__attribute__((target("avx2,fma"))) double fmaAvx2() {
  __m256 sums[chains - 2], a = _mm256_set1_ps(1.0f), b = _mm256_set1_ps(0.5f);
  for (__m256 &sum : sums)
    sum = _mm256_setzero_ps();
  for (int round = 0; round < rounds; ++round) {
    asm volatile("" : "+x"(a));
#pragma GCC unroll 16
    for (int i = 0; i < chains - 2; ++i)
      sums[i] = _mm256_fmadd_ps(a, b, sums[i]);
  }
  for (__m256 &sum : sums)
    asm volatile("" : "+x"(sum));
  return 2.0 * 8 * (chains - 2) * rounds;
}

/// Products of two registers that do not change, added to `chains - 4` sums; `lanes` of each.
template <typename Multiply, typename Add>
[[gnu::always_inline, gnu::target("avx2")]] inline double sumAvx2(int lanes, Multiply multiply,
                                                                  Add add) {
  __m256i sums[chains - 4], a = _mm256_set1_epi8(1), b = _mm256_set1_epi8(2);
  for (__m256i &sum : sums)
    sum = _mm256_setzero_si256();
  for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (__m256i &sum : sums) {
      asm volatile("" : "+x"(a));
      sum = add(sum, multiply(a, b));
    }
  }
  for (__m256i &sum : sums)
    asm volatile("" : "+x"(sum));
  return 2.0 * lanes * (chains - 4) * rounds;
}

/// Of codes without sign by bytes, in sums of 16 bits.
__attribute__((target("avx2"))) double codesAvx2() {
  return sumAvx2(
      32,
      [](__m256i a, __m256i b)
          __attribute__((target("avx2"), always_inline)) { return _mm256_maddubs_epi16(a, b); },
      [](__m256i a, __m256i b)
          __attribute__((target("avx2"), always_inline)) { return _mm256_add_epi16(a, b); });
}

/// Of bytes as words of 16 bits.
__attribute__((target("avx2"))) double wordsAvx2() {
  return sumAvx2(
      16,
      [](__m256i a, __m256i b)
          __attribute__((target("avx2"), always_inline)) { return _mm256_madd_epi16(a, b); },
      [](__m256i a, __m256i b)
          __attribute__((target("avx2"), always_inline)) { return _mm256_add_epi32(a, b); });
}

/// Four products of tiles of 16 rows of 64 bytes, two by two, as a kernel keeps them in registers.
struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t columnBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

constexpr double tileProducts = 16.0 * 16 * 4 * rounds;

__attribute__((target("amx-tile"))) void fillTiles() {
  alignas(64) uint8_t zeros[1024] = {};
  TileShapes shapes;
  // Compilers that do not know what the next instruction reads leave `shapes` unwritten.
  asm volatile("" : : "r"(&shapes), "r"(zeros) : "memory");
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, zeros, 64);
  _tile_loadd(5, zeros, 64);
  _tile_loadd(6, zeros, 64);
  _tile_loadd(7, zeros, 64);
}

__attribute__((target("amx-tile,amx-int8"))) double amxInt8() {
  fillTiles();
  for (int round = 0; round < rounds; ++round) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  _tile_release();
  return 2 * 64 * tileProducts;
}

__attribute__((target("amx-tile,amx-bf16"))) double amxBf16() {
  fillTiles();
  for (int round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return 2 * 32 * tileProducts;
}

/// Whether the kernel lets this process use tiles; threads started later may use them too.
bool mayUseTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

/// Reads `bytes` from `data` in 64-byte parts.
void read(const uint8_t *data, uint64_t bytes) {
  using Wide = uint64_t __attribute__((vector_size(64), aligned(64)));
  const Wide *wide = reinterpret_cast<const Wide *>(data);
  Wide sums[4] = {};
  for (uint64_t i = 0; i < bytes / sizeof(Wide); i += 4)
    for (uint64_t lane = 0; lane < 4; ++lane)
      sums[lane] += wide[i + lane];
  Wide sum = sums[0] + sums[1] + sums[2] + sums[3];
  asm volatile("" : : "r"(sum[0]), "r"(sum[1]));
}

/// Calls `work(thread)` on every thread again and again for that many seconds; the sum of what it
/// returns, per second.
template <typename Work> double perSecond(int threads, double seconds, Work work) {
  std::atomic<int> waiting = threads;
  std::vector<double> rates(threads);
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      work(thread);
      for (--waiting; waiting > 0;)
        std::this_thread::yield();
      const Clock::time_point start = Clock::now();
      double done = 0, passed = 0;
      while (passed < seconds) {
        done += work(thread);
        passed = std::chrono::duration<double>(Clock::now() - start).count();
      }
      rates[thread] = done / passed;
    });
  double sum = 0;
  for (int thread = 0; thread < threads; ++thread) {
    running[thread].join();
    sum += rates[thread];
  }
  return sum;
}

/// A buffer larger than the caches, filled once.
class Buffer {
public:
  explicit Buffer(uint64_t bytes) : pieces(bytes / piece) {
    memory =
        mmap(nullptr, pieces * piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!ok())
      return;
    madvise(memory, pieces * piece, MADV_HUGEPAGE);
    std::memset(memory, 1, pieces * piece);
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() {
    if (ok())
      munmap(memory, pieces * piece);
  }

  bool ok() const { return memory != MAP_FAILED; }

  /// Each thread reads its own part, a piece at a time.
  double readPerSecond(int threads, double seconds) {
    const uint64_t part = pieces / threads;
    if (part == 0)
      return 0;
    // Where each thread is, on a cache line of its own. The next call goes on from there.
    places.resize(size_t(threads) * lineNumbers);
    return perSecond(threads, seconds, [&](int thread) {
      const uint64_t place = places[size_t(thread) * lineNumbers]++ % part + thread * part;
      read(static_cast<uint8_t *>(memory) + place * piece, piece);
      return double(piece);
    });
  }

private:
  static constexpr uint64_t piece = 1 << 20;
  static constexpr size_t lineNumbers = 8;
  void *memory = MAP_FAILED;
  uint64_t pieces;
  std::vector<uint64_t> places;
};

struct Probe {
  const char *name;
  bool available;
  double (*work)();
};

} // namespace

int main(int count, char **arguments) {
  const uint64_t bytes = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : uint64_t{1} << 30;
  if (count > 2 || bytes == 0) {
    std::fprintf(stderr, "usage: cpu-probe [BYTES], and lines `THREADS SECONDS NAME...` to it\n");
    return 1;
  }
  Buffer buffer(bytes);
  if (!buffer.ok()) {
    std::fprintf(stderr, "cpu-probe: there is no memory for a buffer to read\n");
    return 1;
  }
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f");
  const bool narrow = !wide && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool tiles = __builtin_cpu_supports("amx-tile") && mayUseTiles();
  const Probe probes[] = {
      {"fp32", wide, fma},
      {"avx2_fp32", narrow, fmaAvx2},
      {"avx2_codes", narrow, codesAvx2},
      {"avx2_words", narrow, wordsAvx2},
      {"vnni_int8", wide && __builtin_cpu_supports("avx512vnni"), vnni},
      {"avx512_bf16", wide && __builtin_cpu_supports("avx512bf16"), bf16},
      {"amx_int8", tiles && __builtin_cpu_supports("amx-int8"), amxInt8},
      {"amx_bf16", tiles && __builtin_cpu_supports("amx-bf16"), amxBf16},
  };
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    int threads = 0;
    double seconds = 0;
    if (!(words >> threads >> seconds) || threads < 1) {
      std::fprintf(stderr, "cpu-probe: a line is `THREADS SECONDS NAME...`, not `%s`\n",
                   line.c_str());
      return 1;
    }
    std::printf("{\"threads\": %d", threads);
    for (std::string name; words >> name;) {
      if (name == "dram")
        std::printf(", \"dram\": %.4g", buffer.readPerSecond(threads, seconds));
      for (const Probe &probe : probes)
        if (probe.available && name == probe.name)
          std::printf(", \"%s\": %.4g", probe.name,
                      perSecond(threads, seconds, [&](int) { return probe.work(); }));
    }
    std::printf("}\n");
    std::fflush(stdout);
  }
  return 0;
}
