// SPDX-License-Identifier: Apache-2.0
// A library that says to be the driver of CUDA 12.4.
extern "C" __attribute__((visibility("default"))) int cuDriverGetVersion(int *version) {
  *version = 12040;
  return 0;
}
