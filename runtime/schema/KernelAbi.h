/* SPDX-License-Identifier: Apache-2.0
 * The binary interface between the host device and the kernels inside an engine, shared by the
 * runtime and by the kernel sources under codegen. Part of the contract, like Engine.fbs. */
#ifndef INGOT_RUNTIME_SCHEMA_KERNELABI_H
#define INGOT_RUNTIME_SCHEMA_KERNELABI_H

#include <stdint.h>

/** Raised whenever a structure below changes, or what any kernel is handed; an engine states the
 *  version it was built for. 2: kernels may have tensor maps. 3: `isFirst`. */
#define INGOT_KERNEL_ABI_VERSION 3

/** Every buffer handed to a kernel is aligned to this many bytes, and is readable for as many
 *  bytes past its end, so that vector loads may run over. */
#define INGOT_BUFFER_ALIGNMENT 64

/** One call of a kernel: the work of one tile of the launch grid. All pointers are owned by the
 *  caller and live for the call. */
typedef struct IngotLaunch {
  void *const *buffers;   /**< base addresses, in the order of the launch's buffer arguments */
  const int64_t *scalars; /**< values of the launch's scalar arguments, in order */
  int64_t grid[3];        /**< number of tiles along x, y, z */
  int64_t tile[3];        /**< this tile; 0 <= tile[i] < grid[i] */
  void *scratch;          /**< this thread's scratch memory, of the kernel's declared size; what a
                               tile leaves there is there for this thread's next one */
  int64_t isFirst;        /**< 1: this thread has run no tile of the launch yet, and scratch may
                               hold anything; otherwise 0 */
  int64_t thread;         /**< index of the calling thread, 0 <= thread < threads */
  int64_t threads;        /**< threads executing this launch */
  void (*barrier)(void *state); /**< all threads of the launch meet; SPMD kernels only */
  void *barrierState;
} IngotLaunch;

/** A kernel's entry point. Kernels import nothing and never allocate. */
typedef void (*IngotKernel)(const IngotLaunch *launch);

/** Sampling parameters of one logit row: input "sample_params" of the program "sample". */
typedef struct IngotSampleParams {
  float temperature;       /**< 0 = greedy */
  int32_t topK;            /**< 0 = off */
  float topP;              /**< 1 = off */
  float minP;              /**< 0 = off */
  float typicalP;          /**< 1 = off */
  float repetitionPenalty; /**< 1 = off; over prompt and generated tokens */
  float presencePenalty;   /**< 0 = off; over generated tokens */
  float frequencyPenalty;  /**< 0 = off; over generated tokens */
  uint64_t seed;           /**< random stream of the sequence */
  uint64_t step;           /**< index of the token to draw within the stream */
  int32_t countsSlot;      /**< row of the state "token_counts"; -1 = no penalties */
  int32_t biasCount;       /**< entries used in this row of bias_ids / bias_values */
  int32_t useMask;         /**< 1 = this row of allow_mask restricts the tokens */
  int32_t logprobs;        /**< top alternatives wanted, 0 ... INGOT_MAX_LOGPROBS; -1 = none */
} IngotSampleParams;

#define INGOT_MAX_LOGPROBS 20
#define INGOT_MAX_BIAS 304

/** Entries of the state "token_counts" [slots, vocabulary], u32: generated occurrences in the low
 *  31 bits; the top bit says that the token occurs in the prompt. */
#define INGOT_COUNT_IN_PROMPT 0x80000000u

#endif
