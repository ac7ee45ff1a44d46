/* SPDX-License-Identifier: Apache-2.0
 * A program of version 1. With a library of a later version it must not get as far as to print. */
#include "tests/unit/interface/Ingot1.h"

#include <stdio.h>

int main(void) {
  puts("loaded");
  ingot_options options;
  ingot_options_init(&options);
  ingot_engine *engine;
  ingot_error *error = ingot_open("nowhere.ingot", &options, &engine);
  return error != NULL;
}
