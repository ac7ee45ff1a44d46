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
  ingot_request request;
  ingot_request_init(engine, &request);
  request.text = arguments[2];
  request.text_bytes = strlen(arguments[2]);
  request.sampling.temperature = 0;
  request.sampling.max_tokens = 60;
  error = ingot_generate(engine, &request, show, NULL);
  int status = error ? fail(error) : 0;
  putchar('\n');
  ingot_close(engine);
  return status;
}
