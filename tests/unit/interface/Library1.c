/* SPDX-License-Identifier: Apache-2.0
 * What Program1.c is linked with, as it was with the library of version 1. */
#include "tests/unit/interface/Ingot1.h"

void ingot_options_init(ingot_options *options) { options->size = sizeof *options; }

ingot_error *ingot_open(const char *path, const ingot_options *options, ingot_engine **engine) {
  (void)path;
  (void)options;
  *engine = NULL;
  return NULL;
}
