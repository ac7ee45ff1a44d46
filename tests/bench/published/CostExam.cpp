// SPDX-License-Identifier: Apache-2.0
// cost-exam SOURCE: examines the CUDA cost model on tests/bench/published/published.json of the
// checkout SOURCE, and writes docs/results/published-kernels.json and published-errors.json there.
#include "tests/bench/published/PublishedKernels.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

using namespace ingot::bench;

int main(int argc, char **argv) try {
  if (argc != 2) {
    fprintf(stderr, "usage: cost-exam SOURCE\n");
    return 2;
  }
  std::string source = argv[1];
  std::ifstream file(source + "/tests/bench/published/published.json");
  std::stringstream text;
  text << file.rdbuf();
  std::vector<PublishedKernel> kernels = readPublished(text.str());
  for (const PublishedKernel &kernel : kernels)
    printf("%-16s %-5s %5d %8.1f us published, %8.1f us predicted: %.2f%s\n",
           kernel.row.at("kernel").get<std::string>().c_str(),
           kernel.row.at("gpu").get<std::string>().c_str(), kernel.row.at("tokens").get<int>(),
           kernel.published(), kernel.predicted(), kernel.ratio(),
           kernel.isFitted() ? ", fitted" : "");
  std::ofstream(source + "/docs/results/published-kernels.json") << comparisonTable(kernels);
  std::ofstream(source + "/docs/results/published-errors.json") << errorTable(kernels);
  return 0;
} catch (const std::exception &error) {
  fprintf(stderr, "cost-exam: %s\n", error.what());
  return 1;
}
