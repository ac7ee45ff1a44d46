// SPDX-License-Identifier: Apache-2.0
// Writes a story as it comes, from a loop that has a thread of its own.
#include <ingot/ingot.hpp>

#include <iostream>

int main(int count, char **arguments) try {
  if (count != 3) {
    std::cerr << "usage: " << arguments[0] << " ENGINE PROMPT\n";
    return 1;
  }
  ingot::Loop loop{ingot::Engine(arguments[1])};
  ingot::Request request = loop.request(arguments[2]);
  request.sampling.max_tokens = 60;
  request.sampling.temperature = 0;
  loop.submit(request, [](ingot::Event event) {
    std::cout << event.text << std::flush;
    return INGOT_DEMAND_MORE; // or HOLD until loop.resume(id), or CANCEL
  });
  loop.drain();
  loop.waitIdle(60);
  std::cout << "\n";
} catch (const ingot::Error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
