// SPDX-License-Identifier: Apache-2.0
// CPUID and XGETBV after the Intel SDM, volume 2, and AMX permission after the Linux x86 ABI.
#include "runtime/devices/host/HostCpu.h"

#include <algorithm>
#include <cpuid.h>
#include <cstring>
#include <elf.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ingot::runtime {

const CpuArchitecture kHostArchitecture = {"x86-64", EM_X86_64};

namespace {

enum Register { Eax, Ebx, Ecx, Edx };
/// Which state the operating system must save for the feature to be usable.
enum State { Plain, Avx, Avx512, Amx };

struct FeatureBit {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  State state;
};

constexpr FeatureBit featureBits[] = {
    {"sse3", 1, 0, Ecx, 0, Plain},
    {"pclmul", 1, 0, Ecx, 1, Plain},
    {"ssse3", 1, 0, Ecx, 9, Plain},
    {"fma", 1, 0, Ecx, 12, Avx},
    {"cx16", 1, 0, Ecx, 13, Plain},
    {"sse4.1", 1, 0, Ecx, 19, Plain},
    {"sse4.2", 1, 0, Ecx, 20, Plain},
    {"movbe", 1, 0, Ecx, 22, Plain},
    {"popcnt", 1, 0, Ecx, 23, Plain},
    {"aes", 1, 0, Ecx, 25, Plain},
    {"avx", 1, 0, Ecx, 28, Avx},
    {"f16c", 1, 0, Ecx, 29, Avx},
    {"sse2", 1, 0, Edx, 26, Plain},
    {"bmi", 7, 0, Ebx, 3, Plain},
    {"avx2", 7, 0, Ebx, 5, Avx},
    {"bmi2", 7, 0, Ebx, 8, Plain},
    {"avx512f", 7, 0, Ebx, 16, Avx512},
    {"avx512dq", 7, 0, Ebx, 17, Avx512},
    {"avx512ifma", 7, 0, Ebx, 21, Avx512},
    {"avx512cd", 7, 0, Ebx, 28, Avx512},
    {"sha", 7, 0, Ebx, 29, Plain},
    {"avx512bw", 7, 0, Ebx, 30, Avx512},
    {"avx512vl", 7, 0, Ebx, 31, Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, Avx512},
    {"avx512vbmi2", 7, 0, Ecx, 6, Avx512},
    {"gfni", 7, 0, Ecx, 8, Plain},
    {"vaes", 7, 0, Ecx, 9, Avx},
    {"vpclmulqdq", 7, 0, Ecx, 10, Avx},
    {"avx512vnni", 7, 0, Ecx, 11, Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Avx512},
    {"amx-bf16", 7, 0, Edx, 22, Amx},
    {"avx512fp16", 7, 0, Edx, 23, Avx512},
    {"amx-tile", 7, 0, Edx, 24, Amx},
    {"amx-int8", 7, 0, Edx, 25, Amx},
    {"avxvnni", 7, 1, Eax, 4, Avx},
    {"avx512bf16", 7, 1, Eax, 5, Avx512},
    {"amx-fp16", 7, 1, Eax, 21, Amx},
    {"avxifma", 7, 1, Eax, 23, Avx},
    {"avxvnniint8", 7, 1, Edx, 4, Avx},
    {"avxneconvert", 7, 1, Edx, 5, Avx},
    {"avxvnniint16", 7, 1, Edx, 10, Avx},
    {"lzcnt", 0x80000001, 0, Ecx, 5, Plain},
    {"fma4", 0x80000001, 0, Ecx, 16, Avx},
};

uint64_t enabledState() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// Linux gives tile data state only to processes that ask (arch_prctl ARCH_REQ_XCOMP_PERM).
bool amxPermitted() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

bool stateSaved(State state, uint64_t enabled, bool amx) {
  constexpr uint64_t avxBits = 0x6, avx512Bits = 0xe6, amxBits = 0x60000;
  switch (state) {
  case Plain:
    return true;
  case Avx:
    return (enabled & avxBits) == avxBits;
  case Avx512:
    return (enabled & avx512Bits) == avx512Bits;
  case Amx:
    return amx && (enabled & amxBits) == amxBits;
  }
  return false;
}

} // namespace

std::vector<std::string_view> detectCpuFeatures() {
  uint64_t enabled = enabledState();
  unsigned words[4];
  bool tiles = __get_cpuid_count(7, 0, words, words + 1, words + 2, words + 3) &&
               (words[Edx] >> 24 & 1) && amxPermitted();
  std::vector<std::string_view> features;
  for (const FeatureBit &feature : featureBits) {
    if (feature.leaf == 7 && feature.subleaf == 1 &&
        (!__get_cpuid_count(7, 0, words, words + 1, words + 2, words + 3) || words[Eax] < 1))
      continue;
    if (__get_cpuid_count(feature.leaf, feature.subleaf, words, words + 1, words + 2, words + 3) &&
        (words[feature.reg] >> feature.bit & 1) && stateSaved(feature.state, enabled, tiles))
      features.push_back(feature.name);
  }
  std::sort(features.begin(), features.end());
  return features;
}

std::string cpuModelName() {
  unsigned words[12];
  if (__get_cpuid_max(0x80000000, nullptr) < 0x80000004)
    return "unknown CPU";
  for (unsigned i = 0; i < 3; ++i)
    __get_cpuid(0x80000002 + i, words + 4 * i, words + 4 * i + 1, words + 4 * i + 2,
                words + 4 * i + 3);
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  return text[0] ? text : "unknown CPU";
}

} // namespace ingot::runtime
