// SPDX-License-Identifier: Apache-2.0
// Out[i] = 2 * in[i] for i < T.
#include "tests/gpu/SmallRecord.h"

#include <numeric>

namespace ingot::test {

static constexpr char kTwice[] = R"(
  .reg .pred %p<2>;
  .reg .f32 %f<3>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<8>;

  ld.param.u64 %rd1, [p_0];
  ld.param.u64 %rd2, [p_1];
  ld.param.u64 %rd3, [p_2];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd4, %r4;
  setp.ge.s64 %p1, %rd4, %rd3;
  @%p1 bra $L_done;
  shl.b64 %rd5, %rd4, 2;
  add.s64 %rd6, %rd1, %rd5;
  add.s64 %rd7, %rd2, %rd5;
  ld.global.f32 %f1, [%rd6];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd7], %f2;
$L_done:
  ret;
)";

uint32_t addKernel(record::RecordT &record, const std::string &source, const std::string &body) {
  std::string symbol = "k" + std::to_string(record.kernels.size());
  std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry " + symbol +
                    "(.param .u64 p_0, .param .u64 p_1, .param .u64 p_2)\n{" + body + "}\n";
  auto kernel = std::make_unique<record::KernelT>();
  kernel->symbol = symbol;
  kernel->source = source;
  kernel->cubin = kernel->ptx = addBlob(record, std::vector<char>(ptx.begin(), ptx.end()));
  kernel->block = std::make_unique<record::Extent>(32, 1, 1);
  kernel->cluster = std::make_unique<record::Extent>(1, 1, 1);
  record.kernels.push_back(std::move(kernel));
  return uint32_t(record.kernels.size() - 1);
}

record::RecordT smallRecord() {
  record::RecordT record;
  record.architecture = "sm_80";
  record.multiprocessors = 3;
  record.left_out = {"nothing"};
  addKernel(record, "Twice", kTwice);
  std::vector<float> in(kSmallCount), out;
  std::iota(in.begin(), in.end(), 1.0f);
  for (float value : in)
    out.push_back(2 * value);
  auto launch = std::make_unique<record::LaunchT>();
  launch->case_name = "twice_100";
  launch->operation = "test.twice";
  launch->grid = std::make_unique<record::Extent>(4, 1, 1);
  launch->scalars = {kSmallCount};
  for (int i = 0; i < 2; ++i)
    launch->buffers.push_back(std::make_unique<record::BufferT>());
  launch->buffers[0]->input = addBlob(record, in);
  launch->buffers[1]->output = addBlob(record, out);
  record.launches.push_back(std::move(launch));
  return record;
}

} // namespace ingot::test
