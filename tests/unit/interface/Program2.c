/* SPDX-License-Identifier: Apache-2.0
 * C of this version: the header alone, and a request from opening to its text. */
#include <ingot/ingot.h>

#include <string.h>

static bool append(void *user, const ingot_event *event) {
  strncat(user, event->text, 20);
  return true;
}

/* Writes the answer to `text`, of at least 100 bytes. */
ingot_error *answer_in_c(const char *path, char *text);
ingot_error *answer_in_c(const char *path, char *text) {
  ingot_engine *engine = NULL;
  ingot_options options;
  ingot_sampling sampling;
  ingot_request request;
  ingot_error *error = ingot_options_init(&options, sizeof options);
  if (!error)
    error = ingot_open(path, &options, &engine);
  if (!error)
    error = ingot_sampling_init(engine, &sampling, sizeof sampling);
  if (!error)
    error = ingot_request_init(&request, sizeof request);
  if (!error) {
    sampling.max_tokens = 4;
    sampling.ignore_eos = true;
    request.sampling = &sampling;
    request.text = "abc";
    request.text_bytes = 3;
    text[0] = 0;
    error = ingot_generate(engine, &request, append, text, sizeof(ingot_event));
  }
  ingot_close(engine);
  return error;
}
