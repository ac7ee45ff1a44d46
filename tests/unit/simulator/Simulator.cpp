// SPDX-License-Identifier: Apache-2.0
// Opening the simulated device, loading PTX and launching, for the tests.
#include "tests/unit/simulator/Simulator.h"

#include <fstream>
#include <sstream>

namespace ingot::test {

std::string lastError() {
  const char *text = nullptr;
  ingotSimulatorLastError(&text);
  return text ? text : "";
}

std::string findings() {
  size_t needed = 0;
  ingotSimulatorFindings(nullptr, 0, &needed);
  std::string text(needed, '\0');
  ingotSimulatorFindings(text.data(), needed, nullptr);
  text.resize(needed - 1);
  return text;
}

void Simulator::configure(SimulatorOptions options) {
  closeDevice();
  options.structBytes = sizeof options;
  ASSERT_EQ(ingotSimulatorConfigure(&options), DriverResult::Success) << lastError();
  ASSERT_EQ(ingotSimulatorReset(), DriverResult::Success);
  ASSERT_EQ(cuInit(0), DriverResult::Success) << lastError();
  Context context;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), DriverResult::Success) << lastError();
  ASSERT_EQ(cuCtxSetCurrent(context), DriverResult::Success);
  open = true;
}

void Simulator::closeDevice() {
  for (Library library : libraries)
    EXPECT_EQ(cuLibraryUnload(library), DriverResult::Success);
  libraries.clear();
  if (open)
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), DriverResult::Success);
  open = false;
}

Kernel Simulator::load(const std::string &ptx, const char *name) {
  Library library = nullptr;
  Kernel kernel = nullptr;
  EXPECT_EQ(cuLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            DriverResult::Success)
      << lastError();
  if (!library)
    return nullptr;
  libraries.push_back(library);
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, name), DriverResult::Success) << lastError();
  return kernel;
}

std::string Simulator::refusal(const std::string &ptx) {
  Library library = nullptr;
  DriverResult result =
      cuLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (result == DriverResult::Success) {
    libraries.push_back(library);
    return "";
  }
  return lastError();
}

DriverResult Simulator::launch(Kernel kernel, const Shape &run, std::vector<void *> arguments) {
  Function function;
  EXPECT_EQ(cuKernelGetFunction(&function, kernel), DriverResult::Success);
  if (run.dynamicShared > 48 * 1024)
    EXPECT_EQ(cuKernelSetAttribute(FunctionAttribute::MaxDynamicSharedBytes,
                                   int32_t(run.dynamicShared), kernel, 0),
              DriverResult::Success)
        << lastError();
  LaunchAttribute cluster{};
  cluster.id = LaunchAttributeId::ClusterDimension;
  cluster.value.clusterDimension = {run.cluster, 1, 1};
  LaunchConfig config{};
  config.gridDimX = run.grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = run.block;
  config.blockDimY = config.blockDimZ = 1;
  config.dynamicSharedBytes = run.dynamicShared;
  config.attributes = &cluster;
  config.attributeCount = 1;
  return cuLaunchKernelEx(&config, function, arguments.data(), nullptr);
}

std::string Simulator::kernel(const std::string &body, int parameters, const std::string &target) {
  std::string text = ".version 8.6\n.target " + target +
                     "\n.address_size 64\n"
                     ".visible .entry test(";
  for (int i = 0; i < parameters; ++i)
    text += std::string(i ? ", " : "") + ".param .u64 p" + std::to_string(i);
  text += ")\n{\n.reg .pred %p<32>; .reg .b16 %h<64>; .reg .b32 %r<512>; .reg .f32 %f<512>;"
          ".reg .b64 %d<64>; .reg .f64 %fd<32>;\n";
  for (int i = 0; i < parameters; ++i)
    text += "ld.param.u64 %d" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
  return text + body + "\nret;\n}\n";
}

std::string inputFile(const std::string &name) {
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/unit/simulator/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace ingot::test
