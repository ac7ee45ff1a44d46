// SPDX-License-Identifier: Apache-2.0
// SHA-256 after FIPS 180-4: a portable block function and one for the x86 SHA extensions.
#include "runtime/core/Sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace ingot::runtime {
namespace {

alignas(16) constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void hashPortable(uint32_t *state, const uint8_t *data, size_t blocks) {
  for (; blocks; --blocks, data += 64) {
    uint32_t words[64];
    for (int i = 0; i < 16; ++i)
      words[i] = uint32_t(data[4 * i]) << 24 | uint32_t(data[4 * i + 1]) << 16 |
                 uint32_t(data[4 * i + 2]) << 8 | uint32_t(data[4 * i + 3]);
    for (int i = 16; i < 64; ++i) {
      uint32_t low = words[i - 15], high = words[i - 2];
      words[i] = words[i - 16] + (std::rotr(low, 7) ^ std::rotr(low, 18) ^ low >> 3) +
                 words[i - 7] + (std::rotr(high, 17) ^ std::rotr(high, 19) ^ high >> 10);
    }
    uint32_t s[8];
    std::copy_n(state, 8, s);
    for (int i = 0; i < 64; ++i) {
      uint32_t first = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + roundConstants[i] + words[i];
      uint32_t second = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                        ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      std::copy_backward(s, s + 7, s + 8);
      s[4] += first;
      s[0] = first + second;
    }
    for (int i = 0; i < 8; ++i)
      state[i] += s[i];
  }
}

#if defined(__x86_64__)
/// The instructions keep the state as two registers, words (a b e f) and (c d g h).
__attribute__((target("sha,ssse3,sse4.1"))) void hashX86(uint32_t *state, const uint8_t *data,
                                                         size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  __m128i abef = _mm_set_epi32(int(state[0]), int(state[1]), int(state[4]), int(state[5]));
  __m128i cdgh = _mm_set_epi32(int(state[2]), int(state[3]), int(state[6]), int(state[7]));
  for (; blocks; --blocks, data += 64) {
    __m128i words[4];
    for (int i = 0; i < 4; ++i)
      words[i] =
          _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data + 16 * i)), swap);
    __m128i abefBefore = abef, cdghBefore = cdgh;
    for (int group = 0; group < 16; ++group) {
      __m128i now = words[0];
      __m128i sum = _mm_add_epi32(
          now, _mm_load_si128(reinterpret_cast<const __m128i *>(roundConstants + 4 * group)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(words[0], words[1]),
                                   _mm_alignr_epi8(words[3], words[2], 4));
      next = _mm_sha256msg2_epu32(next, words[3]);
      words[0] = words[1];
      words[1] = words[2];
      words[2] = words[3];
      words[3] = next;
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  state[0] = uint32_t(_mm_extract_epi32(abef, 3));
  state[1] = uint32_t(_mm_extract_epi32(abef, 2));
  state[4] = uint32_t(_mm_extract_epi32(abef, 1));
  state[5] = uint32_t(_mm_extract_epi32(abef, 0));
  state[2] = uint32_t(_mm_extract_epi32(cdgh, 3));
  state[3] = uint32_t(_mm_extract_epi32(cdgh, 2));
  state[6] = uint32_t(_mm_extract_epi32(cdgh, 1));
  state[7] = uint32_t(_mm_extract_epi32(cdgh, 0));
}

bool hasShaInstructions() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
    return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29));
}
#endif

void hashBlocks(uint32_t *state, const uint8_t *data, size_t blocks) {
#if defined(__x86_64__)
  static const bool accelerated = hasShaInstructions();
  if (accelerated)
    return hashX86(state, data, blocks);
#endif
  hashPortable(state, data, blocks);
}

} // namespace

Sha256::Sha256()
    : state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::update(const void *data, size_t bytes) {
  const uint8_t *next = static_cast<const uint8_t *>(data);
  size_t held = total % 64;
  total += bytes;
  if (held) {
    size_t taken = std::min(bytes, 64 - held);
    std::copy_n(next, taken, pending + held);
    next += taken;
    bytes -= taken;
    if (held + taken < 64)
      return;
    hashBlocks(state, pending, 1);
  }
  hashBlocks(state, next, bytes / 64);
  std::copy_n(next + bytes / 64 * 64, bytes % 64, pending);
}

Digest Sha256::finish() {
  uint64_t bits = total * 8;
  uint8_t padding[72] = {0x80};
  size_t zeros = (119 - total % 64) % 64 + 1;
  for (int i = 0; i < 8; ++i)
    padding[zeros + i] = uint8_t(bits >> (56 - 8 * i));
  update(padding, zeros + 8);
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest sha256(const void *data, size_t bytes) {
  Sha256 hash;
  hash.update(data, bytes);
  return hash.finish();
}

std::string toHex(const Digest &digest) {
  std::string text;
  for (uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

} // namespace ingot::runtime
