// SPDX-License-Identifier: Apache-2.0
// Scales and offsets that are stored as codes: for every stage each warp decodes those of its own
// rows into shared memory behind the stages, each lane other groups of its row, so that the four
// lanes of a row need not do it four times.
#pragma once

#include "MatmulPipeline.cuh"

namespace matmul {

/// Of a group, for rows g and g + 8.
struct GroupNumbers {
  float scale[2], offset[2];
};

/// Weights of less than a byte are taken less the middle of their range; offsets make up for it.
INGOT_DEVICE void moveToMiddle(GroupNumbers &numbers) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
    if constexpr (kAddsOffsets)
      numbers.offset[i] = __fmaf_rn(numbers.scale[i], float(kMiddle), numbers.offset[i]);
}

/// Two codes of `record`, a tile's: of group `group` for rows `row` and row + 8.
template <i64 Code>
INGOT_DEVICE void loadCodes(u32 (&codes)[2], const u8 *record, int row, int group) {
  constexpr int bits = elementBits(Code);
  static_assert(bits == 4 || bits == 6 || bits == 8);
  int place = row * kCodeGroups + group; // of pairs
  if constexpr (bits == 8) {
    u32 pair = reinterpret_cast<const u16 *>(record)[place];
    codes[0] = pair & 255;
    codes[1] = pair >> 8;
  } else {
    u32 pair = record[place];
    codes[0] = pair & 15;
    codes[1] = pair >> 4;
    if constexpr (bits == 6) {
      u32 upper = record[planesOf(6).lowBytes() + place / 2] >> (place % 2 * 4);
      codes[0] |= (upper & 3) << 4;
      codes[1] |= (upper & 12) << 2;
    }
  }
}

/// What a code of a block stands for, exact.
template <i64 Code> INGOT_DEVICE float codeNumber(u32 code) {
  // 2^23 + code is a float; codes of i8 are signed.
  constexpr u32 sign = Code == kI8 ? 0x80 : 0;
  constexpr float middle = kAddsOffsets ? 0.0f : float(middleOf(Code));
  return __uint_as_float(0x4b000000u | (code ^ sign)) - (8388608.0f + float(sign) + middle);
}

/// The decoded numbers of a warp; the last one's end is in shared_bytes.
template <int RowTiles> class DecodedScales {
public:
  /// `warp`: its index in the block.
  static __device__ u32 begin(int warp) { return kStages * kStageBytes + warp * kBytes; }

  /// Decodes the groups of the stage at `stage`, whose columns begin at `k`, for the tiles from
  /// `firstTile` on. All lanes call it.
  static __device__ void decode(u8 *shared, u32 stage, int warp, int firstTile, int k,
                                const float *table) {
    int lane = int(threadIdx.x) % 32, row = lane / 4;
    int first = k / kGroup % kCodeGroups;
    constexpr int all = RowTiles * kStageGroups;
#pragma unroll
    for (int base = 0; base < all; base += 4) {
      int r = base / kStageGroups + (kStageGroups < 4 ? lane % 4 / kStageGroups : 0);
      int group = base % kStageGroups + lane % 4 % kStageGroups;
      if (all < 4 && r >= RowTiles)
        continue;
      GroupNumbers numbers = decodeGroup(shared + stage, firstTile + r, row, first + group, table);
      float *to = place(shared, warp, r, group, row);
      if constexpr (kAddsOffsets)
        *reinterpret_cast<float4 *>(to) = {numbers.scale[0], numbers.scale[1], numbers.offset[0],
                                           numbers.offset[1]};
      else
        *reinterpret_cast<float2 *>(to) = {numbers.scale[0], numbers.scale[1]};
    }
    __syncwarp();
  }

  /// Of group `group` of the stage, for the lane's rows.
  static __device__ GroupNumbers load(u8 *shared, int warp, int r, int group) {
    const float *from = place(shared, warp, r, group, int(threadIdx.x) % 32 / 4);
    if constexpr (kAddsOffsets) {
      float4 numbers = *reinterpret_cast<const float4 *>(from);
      return {{numbers.x, numbers.y}, {numbers.z, numbers.w}};
    } else {
      float2 numbers = *reinterpret_cast<const float2 *>(from);
      return {{numbers.x, numbers.y}, {}};
    }
  }

private:
  static constexpr int kEach = 2 * kParts;
  static constexpr int kBytes = RowTiles * kStageGroups * 8 * kEach * 4;
  static_assert(!kScaleCodes ||
                    kStages * kStageBytes + kThreads / 32 * kBytes <= constants::shared_bytes,
                "the provider counts alike");

  static __device__ float *place(u8 *shared, int warp, int r, int group, int row) {
    return reinterpret_cast<float *>(shared + begin(warp)) +
           ((r * kStageGroups + group) * 8 + row) * kEach;
  }

  static __device__ GroupNumbers decodeGroup(const u8 *stage, int tile, int row, int group,
                                             const float *table) {
    GroupNumbers numbers = {};
    u32 codes[2];
    loadCodes<constants::scale_type>(codes, stage + kScalesOffset + tile * Scales::kTileBytes, row,
                                     group);
    if constexpr (constants::scale_form == kTableScales) {
      numbers.scale[0] = table[codes[0]];
      numbers.scale[1] = table[codes[1]];
      return numbers;
    }
    float superScales[2 * kParts];
    loadElements<constants::super_type>(stage + kSuperScalesOffset + tile * SuperScales::kTileBytes,
                                        row * (2 * kParts), superScales);
#pragma unroll
    for (int i = 0; i < 2; ++i)
      numbers.scale[i] = superScales[i * kParts] * codeNumber<constants::scale_type>(codes[i]);
    if constexpr (kAddsOffsets) {
      loadCodes<constants::scale_type>(codes, stage + kZerosOffset + tile * Zeros::kTileBytes, row,
                                       group);
#pragma unroll
      for (int i = 0; i < 2; ++i)
        numbers.offset[i] =
            superScales[i * kParts + 1] * codeNumber<constants::scale_type>(codes[i]);
    }
    moveToMiddle(numbers);
    return numbers;
  }
};

} // namespace matmul
