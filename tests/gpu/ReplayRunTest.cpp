// SPDX-License-Identifier: Apache-2.0
// Faults that are planted in the simulator: each costs its own launch, which is named, and no
// other.
#include "tests/gpu/ReplayRun.h"
#include "tests/gpu/SimulatedDevice.h"
#include "tests/gpu/SmallRecord.h"
#include "tests/gpu/Supervisor.h"

#include <csignal>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::record;
using nlohmann::json;
using test::openSimulated;
using testing::HasSubstr;

namespace {

class ReplayRun : public testing::Test {
protected:
  /// Adds a launch like the first, of a kernel with this body.
  void plant(const std::string &source, const std::string &body) {
    auto launch = std::make_unique<LaunchT>(*record.launches.front());
    launch->kernel = test::addKernel(record, source, body);
    launch->case_name = source;
    record.launches.push_back(std::move(launch));
  }
  void addGood() { record.launches.push_back(std::make_unique<LaunchT>(*record.launches.front())); }

  /// The lines of all launches by their index, and those of graphs.
  void replay() {
    ReplayOptions options;
    options.launchLimit = 3;
    auto device = replayAll(record, openSimulated, options, [&](const json &line) {
      if (line.contains("graph"))
        graphs.push_back(line);
      else
        lines[line["launch"]] = line;
    });
    ASSERT_TRUE(device.ok()) << device.status().toString();
    EXPECT_THAT(*device, HasSubstr("sm_80"));
  }

  RecordT record = test::smallRecord();
  std::map<size_t, json> lines;
  std::vector<json> graphs;
};

} // namespace

TEST_F(ReplayRun, FaultsCostTheirOwnLaunch) {
  plant("NeverEnds", "$L_loop:\n bra.uni $L_loop;\n");
  addGood();
  plant("Traps", "trap;\n ret;\n");
  plant("WrongElement", R"(
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p_1];
    st.global.u32 [%rd1+28], 17;
    ret;
  )");
  addGood();
  replay();
  ASSERT_EQ(lines.size(), 6u);
  for (size_t good : {0, 2, 5}) {
    EXPECT_EQ(lines[good]["verdict"], "bit-equal") << lines[good].dump();
    EXPECT_GT(lines[good]["seconds"].get<double>(), 0);
  }
  EXPECT_THAT(textOf(lines[1]), HasSubstr("failed NeverEnds 100 (NeverEnds): no end within 3 s"));
  EXPECT_THAT(textOf(lines[3]), HasSubstr("failed Traps 100 (Traps): INGOT-E65"));
  EXPECT_THAT(textOf(lines[4]), HasSubstr("failed WrongElement 100 (WrongElement): argument 1"));
  EXPECT_EQ(lines[4]["grid"], json({4, 1, 1}));
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0]["launches"], 3);
  EXPECT_EQ(graphs[0]["verdict"], "bit-equal");
}

TEST_F(ReplayRun, WithoutADeviceThereIsAnError) {
  auto none = [] {
    return runtime::Result<std::unique_ptr<runtime::Device>>(
        runtime::Status::error("INGOT-E6501", "no driver"));
  };
  auto device = replayAll(record, none, {}, [](const json &) { FAIL(); });
  EXPECT_EQ(device.status().code(), "INGOT-E6501");
  EXPECT_EQ(device.status().message(), "no driver");
}

namespace {

/// What became of each of five items; `work` is of one item.
struct Supervised {
  std::map<size_t, std::string> results;
  std::string device, error;

  explicit Supervised(const std::function<ChildEnd(size_t item, const Say &say)> &work,
                      bool opens = true) {
    SupervisedItems items;
    items.count = 5;
    items.openLimit = items.itemLimit = 0.5;
    items.work = [&](size_t first, const Say &say) {
      if (!opens && first > 0)
        return ChildEnd::CannotOpen;
      say({{"opened", "a device"}});
      for (size_t i = first; i < items.count; ++i)
        if (ChildEnd end = work(i, say); end != ChildEnd::Done)
          return end;
      return ChildEnd::Done;
    };
    items.take = [&](const json &line) { results[line["item"]] = "done"; };
    items.lost = [&](size_t index, const std::string &reason) { results[index] = reason; };
    device = supervise(items, error);
  }
};

} // namespace

TEST(Supervisor, GoesOnBehindWhatEndsItsChild) {
  Supervised ended([](size_t item, const Say &say) {
    if (item == 0)
      raise(SIGKILL);
    if (item == 1)
      _exit(77);
    if (item == 2)
      sleep(60);
    say({{"item", item}});
    return item == 3 ? ChildEnd::GoOn : ChildEnd::Done;
  });
  EXPECT_EQ(ended.device, "a device");
  EXPECT_THAT(ended.results[0], HasSubstr("Killed"));
  EXPECT_THAT(ended.results[1], HasSubstr("status 77"));
  EXPECT_THAT(ended.results[2], HasSubstr("no end within 0.5 s"));
  EXPECT_EQ(ended.results[3], "done");
  EXPECT_EQ(ended.results[4], "done");
}

TEST(Supervisor, NeverRunsAnItemTwice) {
  // A child that ends as if all were done, or as if it had done one.
  for (ChildEnd end : {ChildEnd::Done, ChildEnd::GoOn}) {
    Supervised ended([&](size_t item, const Say &say) {
      if (item == 2)
        _exit(int(end));
      say({{"item", item}});
      return ChildEnd::Done;
    });
    EXPECT_THAT(ended.results[2], HasSubstr("ended with status"));
    EXPECT_EQ(ended.results[4], "done");
  }
}

TEST(Supervisor, LosesWhatIsLeftWithoutADevice) {
  Supervised ended(
      [](size_t item, const Say &say) {
        say({{"item", item}});
        return ChildEnd::GoOn;
      },
      false);
  EXPECT_EQ(ended.results[0], "done");
  EXPECT_THAT(ended.results[1], HasSubstr("not run"));
  EXPECT_THAT(ended.results[4], HasSubstr("not run"));
}
