// SPDX-License-Identifier: Apache-2.0
// Writes several stories at once: requests share the steps of one engine.
#include <ingot/ingot.hpp>
#include <iostream>
#include <map>

int main(int count, char **arguments) try {
  if (count < 3) {
    std::cerr << "usage: " << arguments[0] << " ENGINE PROMPT...\n";
    return 1;
  }
  ingot::Engine engine(arguments[1]);
  std::map<uint64_t, std::string> stories;
  for (int i = 2; i < count; ++i) {
    ingot::Request request = engine.request(arguments[i]);
    request.sampling.temperature = 0;
    request.sampling.max_tokens = 60;
    stories[engine.submit(request)] = arguments[i];
  }
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<ingot::Event> event = engine.nextEvent())
      stories[event->request] += event->text + event->errorMessage;
  }
  for (const auto &[id, story] : stories)
    std::cout << id << ": " << story << "\n\n";
} catch (const ingot::Error &error) {
  std::cerr << error.what() << "\n";
  return 1;
}
