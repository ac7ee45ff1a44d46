// SPDX-License-Identifier: Apache-2.0
// The simulated driver with planted faults: stands in its place under its name, beside a file
// `faults`, and passes everything else on to it. One fault a line:
//
//   hang KERNEL                    it never ends
//   trap KERNEL                    it ends the context, as an illegal address does
//   flip KERNEL ARGUMENT BYTE      it leaves one bit of an argument's memory wrong
//   overlap KERNEL ARGUMENT BYTE   the same where it may start before the kernel ahead has ended
//   fail FUNCTION RESULT           that function of the driver returns this code
//   memory BYTES                   the device has no more
//
// KERNEL is a name, or NAME@XxYxZ with the grid that it must have.
#include "runtime/devices/cuda/DriverApi.h"

#include <dlfcn.h>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace ingot::cuda;

namespace {

struct Fault {
  std::string kind, what;
  uint64_t first = 0, second = 0;
};

/// What a launch does beside its work.
struct Deed {
  std::string kind;
  DevicePointer byte = 0;
};

struct State {
  std::vector<Fault> faults;
  std::map<Kernel, std::string> kernels;
  std::map<Function, std::string> functions;
  std::map<Graph, std::vector<Deed>> graphs;
  std::map<GraphExec, std::vector<Deed>> executables;
  uint64_t allocated = 0;
  bool broken = false; ///< the context, for good
  bool hung = false;   ///< the device is at work, for good
  bool atWork = false; ///< something was launched that nobody has waited for
};

State readFaults() {
  State state;
  Dl_info self;
  dladdr(reinterpret_cast<void *>(&readFaults), &self);
  std::string path = self.dli_fname;
  std::ifstream file(path.substr(0, path.find_last_of('/') + 1) + "faults");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Fault fault;
    words >> fault.kind >> fault.what >> fault.first >> fault.second;
    state.faults.push_back(fault);
  }
  return state;
}

State &state() {
  static State only = readFaults();
  return only;
}

/// The real function of that name.
#define REAL(name) reinterpret_cast<decltype(DriverFunctions::name)>(dlsym(RTLD_NEXT, #name))

/// The code that a function must return; Success: none.
DriverResult planted(const char *function) {
  for (const Fault &fault : state().faults)
    if (fault.kind == "fail" && fault.what == function)
      return DriverResult(fault.first);
  return state().broken ? DriverResult::IllegalAddress : DriverResult::Success;
}
#define FAIL_IF_PLANTED(name)                                                                      \
  if (DriverResult result = planted(#name); result != DriverResult::Success)                       \
    return result;

bool isMeant(const Fault &fault, const std::string &kernel, const uint32_t (&grid)[3]) {
  std::string exact = kernel + "@" + std::to_string(grid[0]) + "x" + std::to_string(grid[1]) + "x" +
                      std::to_string(grid[2]);
  return fault.what == kernel || fault.what == exact;
}

std::vector<Deed> deedsOf(Function function, const uint32_t (&grid)[3], void **arguments,
                          bool overlaps) {
  std::vector<Deed> deeds;
  auto known = state().functions.find(function);
  std::string kernel = known == state().functions.end() ? "" : known->second;
  for (const Fault &fault : state().faults) {
    if (!isMeant(fault, kernel, grid))
      continue;
    bool flips = fault.kind == "flip" || (fault.kind == "overlap" && overlaps);
    if (flips)
      deeds.push_back(
          {"flip", *static_cast<DevicePointer *>(arguments[fault.first]) + fault.second});
    else if (fault.kind == "hang" || fault.kind == "trap")
      deeds.push_back({fault.kind, 0});
  }
  return deeds;
}

/// After a launch or a graph.
void perform(const std::vector<Deed> &deeds, Stream stream) {
  state().atWork = true;
  for (const Deed &deed : deeds) {
    state().hung |= deed.kind == "hang";
    state().broken |= deed.kind == "trap";
    if (deed.kind != "flip")
      continue;
    uint8_t byte = 0;
    REAL(cuMemcpyDtoHAsync_v2)(&byte, deed.byte, 1, stream);
    REAL(cuStreamSynchronize)(stream);
    byte ^= 0x40;
    REAL(cuMemcpyHtoDAsync_v2)(deed.byte, &byte, 1, stream);
    REAL(cuStreamSynchronize)(stream);
  }
}

} // namespace

extern "C" {

DriverResult cuInit(uint32_t flags) {
  FAIL_IF_PLANTED(cuInit)
  return REAL(cuInit)(flags);
}

DriverResult cuMemGetInfo_v2(size_t *freeBytes, size_t *totalBytes) {
  DriverResult result = REAL(cuMemGetInfo_v2)(freeBytes, totalBytes);
  for (const Fault &fault : state().faults)
    if (fault.kind == "memory")
      *freeBytes = *totalBytes = std::stoull(fault.what);
  return result;
}

DriverResult cuMemAlloc_v2(DevicePointer *memory, size_t bytes) {
  FAIL_IF_PLANTED(cuMemAlloc_v2)
  state().allocated += bytes;
  for (const Fault &fault : state().faults)
    if (fault.kind == "memory" && state().allocated > std::stoull(fault.what))
      return DriverResult::OutOfMemory;
  return REAL(cuMemAlloc_v2)(memory, bytes);
}

DriverResult cuLibraryGetKernel(Kernel *kernel, Library library, const char *name) {
  DriverResult result = REAL(cuLibraryGetKernel)(kernel, library, name);
  state().kernels[*kernel] = name;
  return result;
}

DriverResult cuKernelGetFunction(Function *function, Kernel kernel) {
  DriverResult result = REAL(cuKernelGetFunction)(function, kernel);
  state().functions[*function] = state().kernels[kernel];
  return result;
}

DriverResult cuLaunchKernelEx(const LaunchConfig *config, Function function, void **arguments,
                              void **extra) {
  FAIL_IF_PLANTED(cuLaunchKernelEx)
  bool overlaps = false;
  for (uint32_t i = 0; i < config->attributeCount; ++i)
    overlaps |= state().atWork &&
                config->attributes[i].id == LaunchAttributeId::ProgrammaticStreamSerialization;
  auto deeds = deedsOf(function, {config->gridDimX, config->gridDimY, config->gridDimZ}, arguments,
                       overlaps);
  DriverResult result = REAL(cuLaunchKernelEx)(config, function, arguments, extra);
  perform(deeds, config->stream);
  return result;
}

DriverResult cuGraphAddNode_v2(GraphNode *node, Graph graph, const GraphNode *dependencies,
                               const GraphEdge *edges, size_t dependencyCount,
                               GraphNodeParameters *parameters) {
  FAIL_IF_PLANTED(cuGraphAddNode_v2)
  if (parameters->type == GraphNodeType::Kernel) {
    const KernelNodeParameters &kernel = parameters->kernel;
    bool overlaps = dependencyCount && edges && edges->type == GraphDependencyType::Programmatic;
    for (Deed &deed : deedsOf(kernel.function, {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
                              kernel.arguments, overlaps))
      state().graphs[graph].push_back(deed);
  }
  return REAL(cuGraphAddNode_v2)(node, graph, dependencies, edges, dependencyCount, parameters);
}

DriverResult cuGraphInstantiateWithFlags(GraphExec *executable, Graph graph, uint64_t flags) {
  FAIL_IF_PLANTED(cuGraphInstantiateWithFlags)
  DriverResult result = REAL(cuGraphInstantiateWithFlags)(executable, graph, flags);
  state().executables[*executable] = std::move(state().graphs[graph]);
  state().graphs.erase(graph);
  return result;
}

DriverResult cuGraphLaunch(GraphExec executable, Stream stream) {
  FAIL_IF_PLANTED(cuGraphLaunch)
  DriverResult result = REAL(cuGraphLaunch)(executable, stream);
  perform(state().executables[executable], stream);
  return result;
}

DriverResult cuStreamSynchronize(Stream stream) {
  FAIL_IF_PLANTED(cuStreamSynchronize)
  while (state().hung)
    sleep(1);
  state().atWork = false;
  return REAL(cuStreamSynchronize)(stream);
}

DriverResult cuEventQuery(Event event) {
  FAIL_IF_PLANTED(cuEventQuery)
  if (state().hung)
    return DriverResult::NotReady;
  state().atWork = false;
  return REAL(cuEventQuery)(event);
}

DriverResult cuEventSynchronize(Event event) {
  FAIL_IF_PLANTED(cuEventSynchronize)
  while (state().hung)
    sleep(1);
  state().atWork = false;
  return REAL(cuEventSynchronize)(event);
}

DriverResult cuMemcpyHtoDAsync_v2(DevicePointer target, const void *source, size_t bytes,
                                  Stream stream) {
  FAIL_IF_PLANTED(cuMemcpyHtoDAsync_v2)
  return REAL(cuMemcpyHtoDAsync_v2)(target, source, bytes, stream);
}

DriverResult cuMemcpyDtoHAsync_v2(void *target, DevicePointer source, size_t bytes, Stream stream) {
  FAIL_IF_PLANTED(cuMemcpyDtoHAsync_v2)
  return REAL(cuMemcpyDtoHAsync_v2)(target, source, bytes, stream);
}

} // extern "C"
