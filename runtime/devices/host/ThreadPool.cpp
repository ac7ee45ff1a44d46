// SPDX-License-Identifier: Apache-2.0
// The loop of each thread, the hand-out of tiles, and the barrier of SPMD kernels.
#include "runtime/devices/host/ThreadPool.h"

#include "runtime/devices/host/CpuCount.h"

#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ingot::runtime {
namespace {

/// About 50 microseconds: longer than the gap between two launches of a step, far shorter than
/// the gap between two requests.
constexpr int spinRounds = 2000;

/// Claims that a thread has of a launch with many tiles, at least; less than twice as many.
constexpr int64_t claimsOfThread = 16;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Returns once `value` is no longer `seen`: spins first, then parks.
template <class T> void waitWhile(const std::atomic<T> &value, T seen) {
  for (int i = 0; i < spinRounds; ++i) {
    if (value.load(std::memory_order_acquire) != seen)
      return;
    pause();
  }
  while (value.load(std::memory_order_acquire) == seen)
    value.wait(seen, std::memory_order_acquire);
}

void pinTo(pthread_t thread, int cpu) {
  size_t bytes = CPU_ALLOC_SIZE(size_t(cpu) + 1);
  cpu_set_t *set = CPU_ALLOC(size_t(cpu) + 1);
  if (!set)
    return;
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(size_t(cpu), bytes, set);
  pthread_setaffinity_np(thread, bytes, set); // a hint: without it the system places the thread
  CPU_FREE(set);
}

} // namespace

void ThreadPool::Part::set(uint64_t first, uint64_t end) {
  left.store(end << 32 | first, std::memory_order_relaxed);
}

int64_t ThreadPool::Part::takeFront() {
  uint64_t now = left.load(std::memory_order_relaxed);
  while (uint32_t(now) < now >> 32)
    if (left.compare_exchange_weak(now, now + 1, std::memory_order_relaxed))
      return int64_t(uint32_t(now));
  return -1;
}

int64_t ThreadPool::Part::takeBack() {
  uint64_t now = left.load(std::memory_order_relaxed);
  while (uint32_t(now) < now >> 32)
    if (left.compare_exchange_weak(now, now - (uint64_t{1} << 32), std::memory_order_relaxed))
      return int64_t(now >> 32) - 1;
  return -1;
}

ThreadPool::ThreadPool(int64_t threads, std::vector<void *> scratch)
    : threadCount(threads), scratch(std::move(scratch)), parts(size_t(threads)) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::start(int64_t threads,
                                                      std::vector<void *> scratch) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads, std::move(scratch)));
  if (Status status = pool->startThreads(); !status.ok())
    return status;
  return pool;
}

Status ThreadPool::startThreads() {
  std::vector<int> cpus = affinityCpus();
  bool pin = int64_t(cpus.size()) == threadCount && usableCpus() == threadCount;
  workers.reserve(size_t(threadCount - 1));
  for (int64_t thread = 1; thread < threadCount; ++thread) {
    try {
      workers.emplace_back([this, thread] { work(thread); });
    } catch (const std::system_error &error) {
      return Status::error("INGOT-E6014",
                           "cannot start thread " + std::to_string(thread) + " of " +
                               std::to_string(threadCount) + ": " + error.what(),
                           "ask for fewer threads");
    }
    if (pin)
      pinTo(workers.back().native_handle(), cpus[size_t(thread)]);
  }
  return {};
}

ThreadPool::~ThreadPool() {
  stopping.store(true, std::memory_order_relaxed);
  open();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::run(IngotKernel kernel, bool spmd, void *const *buffers, const int64_t *scalars,
                     const int64_t grid[3]) {
  tileCount = spmd ? threadCount : grid[0] * grid[1] * grid[2];
  if (tileCount <= 0)
    return;
  job.buffers = buffers;
  job.scalars = scalars;
  for (int axis = 0; axis < 3; ++axis)
    job.grid[axis] = spmd ? (axis == 0 ? threadCount : 1) : grid[axis];
  job.threads = threadCount;
  job.barrier = [](void *state) { static_cast<ThreadPool *>(state)->meet(); };
  job.barrierState = this;
  entry = kernel;
  jobIsSpmd = spmd;
  tilesPerClaim = std::max<int64_t>(1, tileCount / (threadCount * claimsOfThread));
  const int64_t claims = (tileCount + tilesPerClaim - 1) / tilesPerClaim;
  for (int64_t thread = 0; thread < threadCount; ++thread)
    parts[size_t(thread)].set(uint64_t(claims * thread / threadCount),
                              uint64_t(claims * (thread + 1) / threadCount));
  if (threadCount == 1 || (!spmd && tileCount == 1))
    return runTiles(0);

  unfinished.store(spmd ? threadCount - 1 : 0, std::memory_order_relaxed);
  open();
  runTiles(0);
  for (int64_t left; (left = unfinished.load(std::memory_order_acquire)) != 0;)
    waitWhile(unfinished, left);
  for (uint64_t state = gate.fetch_or(closed, std::memory_order_acq_rel) | closed;
       state & insideMask; state = gate.load(std::memory_order_acquire))
    waitWhile(gate, state);
}

void ThreadPool::open() {
  uint64_t generation = gate.load(std::memory_order_relaxed) / generationUnit;
  gate.store((generation + 1) * generationUnit, std::memory_order_release);
  gate.notify_all();
}

uint64_t ThreadPool::enter(uint64_t seen) {
  uint64_t state = gate.load(std::memory_order_acquire);
  while (true) {
    if (state / generationUnit == seen || state & closed) {
      waitWhile(gate, state);
      state = gate.load(std::memory_order_acquire);
    } else if (gate.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) {
      return state / generationUnit;
    }
  }
}

void ThreadPool::leave() {
  if (jobIsSpmd && unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1)
    unfinished.notify_all();
  uint64_t before = gate.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & insideMask) == 1 && before & closed)
    gate.notify_all();
}

void ThreadPool::work(int64_t thread) {
  uint64_t seen = 0;
  while (true) {
    seen = enter(seen);
    bool last = stopping.load(std::memory_order_relaxed);
    if (!last)
      runTiles(thread);
    leave();
    if (last)
      return;
  }
}

void ThreadPool::runTiles(int64_t thread) {
  IngotLaunch call = job;
  call.thread = thread;
  call.scratch = scratch[size_t(thread)];
  call.isFirst = 1;
  if (jobIsSpmd) {
    call.tile[0] = thread;
    entry(&call);
    return;
  }
  for (int64_t claim; (claim = parts[size_t(thread)].takeFront()) >= 0;)
    runClaim(claim, call);
  for (int64_t i = 1; i < threadCount; ++i)
    for (int64_t claim; (claim = parts[size_t((thread + i) % threadCount)].takeBack()) >= 0;)
      runClaim(claim, call);
}

void ThreadPool::runClaim(int64_t claim, IngotLaunch &call) const {
  const int64_t first = claim * tilesPerClaim;
  for (int64_t tile = first; tile < std::min(first + tilesPerClaim, tileCount); ++tile) {
    call.tile[0] = tile % call.grid[0];
    call.tile[1] = tile / call.grid[0] % call.grid[1];
    call.tile[2] = tile / call.grid[0] / call.grid[1];
    entry(&call);
    call.isFirst = 0;
  }
}

void ThreadPool::meet() {
  uint32_t phase = barrierPhase.load(std::memory_order_acquire);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) == threadCount - 1) {
    arrived.store(0, std::memory_order_relaxed);
    barrierPhase.fetch_add(1, std::memory_order_release);
    barrierPhase.notify_all();
  } else {
    waitWhile(barrierPhase, phase);
  }
}

} // namespace ingot::runtime
