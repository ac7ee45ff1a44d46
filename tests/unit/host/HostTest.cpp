// SPDX-License-Identifier: Apache-2.0
// CPU counting, the thread pool, and what kernel libraries may look like.
#include "runtime/devices/host/CpuCount.h"
#include "runtime/devices/host/HostCpu.h"
#include "runtime/devices/host/HostDevice.h"
#include "runtime/devices/host/MemoryNodes.h"
#include "tests/unit/engine/ToyEngine.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <set>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

class FakeRoot {
public:
  FakeRoot() : root(fs::path(testing::TempDir()) / "fake-root") { fs::remove_all(root); }
  ~FakeRoot() { fs::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  int quota() const { return quotaCpus(root.string()); }
  std::vector<int> nodes(const std::vector<int> &cpus) const {
    return memoryNodes(cpus, root.string());
  }

private:
  fs::path root;
};

TEST(CpuCountTest, ReadsTheTightestQuotaOfVersion2) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(root.quota(), 0);
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(root.quota(), 0);
  root.write("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(root.quota(), 3);
  root.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(root.quota(), 1);
}

TEST(CpuCountTest, ReadsVersion1) {
  FakeRoot root;
  root.write("proc/self/cgroup", "4:memory:/\n3:cpu,cpuacct:/job\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.quota(), 0);
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.quota(), 4);
}

TEST(CpuCountTest, UsableCpusAreWithinTheAffinity) {
  EXPECT_GE(usableCpus(), 1);
  EXPECT_LE(size_t(usableCpus()), affinityCpus().size());
  EXPECT_GT(availableMemory(), 0u);
}

TEST(MemoryNodesTest, ThoseOfTheCpusInAnyOrder) {
  FakeRoot root;
  EXPECT_EQ(root.nodes({0, 1}), std::vector<int>());
  for (auto [cpu, node] : {std::pair(0, 2), {1, 2}, {8, 0}, {9, 11}})
    root.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/node" + std::to_string(node) +
                   "/cpulist",
               "");
  root.write("sys/devices/system/cpu/cpu9/nodes", "");
  root.write("sys/devices/system/cpu/cpu9/topology/core_id", "");
  EXPECT_EQ(root.nodes({0, 1}), std::vector<int>{2});
  EXPECT_EQ(root.nodes({9, 1, 8, 77}), (std::vector<int>{0, 2, 11}));
}

TEST(MemoryNodesTest, SpreadMemorySaysSo) {
  const std::vector<int> nodes = memoryNodes(affinityCpus());
  constexpr size_t bytes = 1 << 16;
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(base, MAP_FAILED);
  auto policy = [](void *address) {
    int mode = -1;
    syscall(SYS_get_mempolicy, &mode, nullptr, 0, address, MPOL_F_ADDR);
    return mode;
  };
  const int before = policy(base);
  const bool spread = spreadOverNodes(base, bytes, nodes);
  // Containers may refuse, and a kernel may know no nodes.
  EXPECT_EQ(policy(base), spread ? MPOL_INTERLEAVE : before);
  EXPECT_FALSE(spreadOverNodes(base, bytes, {1023}));
  EXPECT_FALSE(spreadOverNodes(base, bytes, {1024}));
  EXPECT_FALSE(spreadOverNodes(base, bytes, {-1}));
  munmap(base, bytes);
}

TEST(CpuFeaturesTest, ListIsSortedAndHasTheBaseline) {
  auto features = detectCpuFeatures();
  EXPECT_TRUE(std::is_sorted(features.begin(), features.end()));
  EXPECT_TRUE(std::binary_search(features.begin(), features.end(), "sse2"));
  EXPECT_EQ(std::binary_search(features.begin(), features.end(), "avx2"),
            bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(std::binary_search(features.begin(), features.end(), "avx512vnni"),
            bool(__builtin_cpu_supports("avx512vnni")));
}

class LaunchTest : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    library = toyLibrary();
    ASSERT_TRUE(device.start(GetParam(), 128).ok());
    auto loaded = device.loadLibrary(library, "toy");
    ASSERT_TRUE(loaded.ok()) << loaded.status().toString();
    index = *loaded;
  }

  HostDevice device;
  std::vector<uint8_t> library;
  size_t index = 0;
};

TEST_P(LaunchTest, EveryTileRunsOnce) {
  auto kernel = device.kernel(index, "toy_count", {.spmd = false});
  ASSERT_TRUE(kernel.ok()) << kernel.status().toString();
  std::vector<int32_t> counters(7 * 13 * 5);
  void *buffers[] = {counters.data()};
  constexpr int rounds = 200;
  for (int round = 0; round < rounds; ++round)
    device.launch({&*kernel, buffers, {}, {7, 13, 5}});
  EXPECT_EQ(std::count(counters.begin(), counters.end(), rounds), long(counters.size()));
  device.launch({&*kernel, buffers, {}, {7, 0, 5}});
  EXPECT_EQ(counters[0], rounds) << "an empty grid runs nothing";
}

// A thread goes through its part from the front; others take what is left from the back. Scratch
// memory is kept from one tile to the next, and the first one is told.
TEST_P(LaunchTest, EachThreadBeginsItsOwnPart) {
  auto kernel = device.kernel(index, "toy_who", {.spmd = false});
  ASSERT_TRUE(kernel.ok()) << kernel.status().toString();
  constexpr int64_t part = 16;
  const int64_t threads = GetParam();
  std::vector<int32_t> who(size_t(threads * part)), place(who.size());
  void *buffers[] = {who.data(), place.data()};
  for (int64_t slow = 0; slow < threads; ++slow) {
    std::fill(who.begin(), who.end(), -1);
    device.launch({&*kernel, buffers, {{slow}}, {threads * part, 1, 1}});
    for (int64_t thread = 0; thread < threads; ++thread) {
      auto first = who.begin() + thread * part, end = first + part;
      auto taken = std::find_if(first, end, [&](int32_t other) { return other != thread; });
      EXPECT_EQ(std::find(taken, end, int32_t(thread)), end) << "part of thread " << thread;
      EXPECT_EQ(std::count(first, end, -1), 0);
      std::set<int32_t> places;
      for (size_t tile = 0; tile < who.size(); ++tile)
        if (who[tile] == thread)
          EXPECT_TRUE(places.insert(place[tile]).second);
      EXPECT_TRUE(places.empty() || *places.rbegin() == int32_t(places.size()) - 1);
    }
  }
}

TEST_P(LaunchTest, SpmdThreadsMeetAtTheBarrier) {
  auto kernel = device.kernel(index, "toy_spmd", {.spmd = true});
  ASSERT_TRUE(kernel.ok());
  const size_t threads = size_t(GetParam());
  std::vector<int64_t> numbers(threads), sums(threads);
  void *buffers[] = {numbers.data(), sums.data()};
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = int64_t(i) + round;
    int64_t expected = 0;
    for (int64_t number : numbers)
      expected += 2 * number;
    device.launch({&*kernel, buffers, {}, {1, 1, 1}});
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(sums[i], expected);
      ASSERT_EQ(numbers[i], expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, LaunchTest, testing::Values(1, 2, 3, 7));

TEST(HostDeviceTest, MissingSymbolIsNamed) {
  HostDevice device(1);
  auto loaded = device.loadLibrary(toyLibrary(), "toy");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(device.kernel(*loaded, "absent", {.spmd = false}).status().code(), "INGOT-E5021");
}

TEST(SharedObjectTest, RefusesOrdinaryLibraries) {
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void *>(&std::getenv), &info), 0);
  std::ifstream file(info.dli_fname, std::ios::binary);
  std::vector<uint8_t> code{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(code.empty());
  EXPECT_EQ(verifySharedObject(code, "ordinary").code(), "INGOT-E5015");
}

TEST(SharedObjectTest, RefusesWritableCodeAndForeignMachines) {
  std::vector<uint8_t> good = toyLibrary(), bad = good;
  EXPECT_EQ(verifySharedObject(good, "toy").toString(), "ok");
  Elf64_Ehdr header;
  std::memcpy(&header, good.data(), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    size_t at = header.e_phoff + i * sizeof segment;
    std::memcpy(&segment, good.data() + at, sizeof segment);
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
      continue;
    segment.p_flags |= PF_W;
    bad = good;
    std::memcpy(bad.data() + at, &segment, sizeof segment);
    EXPECT_EQ(verifySharedObject(bad, "toy").code(), "INGOT-E5015");
  }
  header.e_machine = EM_AARCH64;
  bad = good;
  std::memcpy(bad.data(), &header, sizeof header);
  EXPECT_EQ(verifySharedObject(bad, "toy").code(), "INGOT-E5015");
  EXPECT_EQ(verifySharedObject({}, "empty").code(), "INGOT-E5015");
  EXPECT_EQ(verifySharedObject(std::span(good).first(200), "cut").code(), "INGOT-E5015");
}

TEST(SharedObjectTest, TwoLibrariesAtOnceStayApart) {
  std::vector<uint8_t> code = toyLibrary();
  auto first = SharedObject::load(code, "first"), second = SharedObject::load(code, "second");
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_NE(first->symbol("toy_count"), nullptr);
  EXPECT_NE(first->symbol("toy_count"), second->symbol("toy_count"));
}

} // namespace
