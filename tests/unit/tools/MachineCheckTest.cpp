// SPDX-License-Identifier: Apache-2.0
// Whether this machine will run an engine: what each target lacks is said.
#include "runtime/tools/Commands.h"

#include <gmock/gmock.h>

using namespace ingot::runtime;
using testing::HasSubstr;

TEST(MachineCheckTest, NamesWhatEachTargetLacks) {
  const std::vector<TargetNeeds> needs = {{"one", "x86-64", {"quantum"}}, {"other", "vax", {}}};
  const Status status = checkMachine(needs);
  EXPECT_EQ(status.code(), "INGOT-E5016");
  EXPECT_THAT(
      status.toString(),
      HasSubstr("; target 'one' needs quantum; missing here: quantum; target 'other' is for "
                "vax, this device is x86-64"));
}

TEST(MachineCheckTest, OneThatRunsIsEnough) {
  const std::vector<TargetNeeds> needs = {{"one", "vax", {}}, {"other", "x86-64", {}}};
  EXPECT_TRUE(checkMachine(needs).ok());
}
