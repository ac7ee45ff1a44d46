// SPDX-License-Identifier: Apache-2.0
// The functions that compiled code may call by itself; hidden, linked once into every library.
#include <stddef.h>

#define INGOT_HIDDEN extern "C" __attribute__((visibility("hidden")))

INGOT_HIDDEN void *memcpy(void *destination, const void *source, size_t bytes) {
  char *to = static_cast<char *>(destination);
  const char *from = static_cast<const char *>(source);
  for (size_t i = 0; i < bytes; ++i)
    to[i] = from[i];
  return destination;
}

INGOT_HIDDEN void *memmove(void *destination, const void *source, size_t bytes) {
  char *to = static_cast<char *>(destination);
  const char *from = static_cast<const char *>(source);
  if (to <= from) {
    for (size_t i = 0; i < bytes; ++i)
      to[i] = from[i];
  } else {
    for (size_t i = bytes; i > 0; --i)
      to[i - 1] = from[i - 1];
  }
  return destination;
}

INGOT_HIDDEN void *memset(void *destination, int value, size_t bytes) {
  char *to = static_cast<char *>(destination);
  for (size_t i = 0; i < bytes; ++i)
    to[i] = static_cast<char>(value);
  return destination;
}

INGOT_HIDDEN int memcmp(const void *first, const void *second, size_t bytes) {
  const unsigned char *a = static_cast<const unsigned char *>(first);
  const unsigned char *b = static_cast<const unsigned char *>(second);
  for (size_t i = 0; i < bytes; ++i)
    if (a[i] != b[i])
      return a[i] < b[i] ? -1 : 1;
  return 0;
}
