/* SPDX-License-Identifier: Apache-2.0
 * Writes a story: the shortest use of Ingot's C interface. */
#include <ingot/ingot.h>
#include <stdio.h>
#include <string.h>

static bool show(void *user, const ingot_event *event) {
  (void)user;
  fwrite(event->text, 1, event->text_bytes, stdout);
  return fflush(stdout) == 0;
}

static int fail(ingot_error *error) {
  fprintf(stderr, "%s: %s\n", ingot_error_code(error), ingot_error_message(error));
  ingot_error_free(error);
  return 1;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: %s ENGINE PROMPT\n", arguments[0]);
    return 1;
  }
  ingot_engine *engine;
  ingot_error *error = ingot_open(arguments[1], NULL, &engine);
  if (error)
    return fail(error);
  ingot_sampling sampling;
  ingot_request request;
  if ((error = ingot_sampling_init(engine, &sampling, sizeof sampling)) ||
      (error = ingot_request_init(&request, sizeof request)))
    return fail(error);
  sampling.temperature = 0;
  sampling.max_tokens = 60;
  request.sampling = &sampling;
  request.text = arguments[2];
  request.text_bytes = strlen(arguments[2]);
  error = ingot_generate(engine, &request, show, NULL, sizeof(ingot_event));
  int status = error ? fail(error) : 0;
  putchar('\n');
  ingot_close(engine);
  return status;
}
