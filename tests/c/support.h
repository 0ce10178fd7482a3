/* What the programs share: a check that reports the failing line, and memory that callbacks append to. */
#ifndef HEMERA_TESTS_C_SUPPORT_H
#define HEMERA_TESTS_C_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hemera/c/hemera.h"

#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      fprintf(stderr, "%s:%d: not so: %s; last error: %s\n", __FILE__, __LINE__, #condition, \
              hemera_error());                                                               \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)
#define OK(call) CHECK((call) == HEMERA_OK)
/* The call fails with this status, and its text holds this word. */
#define REFUSED(call, status, word) CHECK((call) == (status) && strstr(hemera_error(), (word)) != NULL)

typedef struct {
  unsigned char* data;
  size_t bytes;
  size_t largest; /* of one call */
} memory;

static int32_t append(void* user, const void* data, size_t bytes) {
  memory* const to = user;
  unsigned char* const grown = realloc(to->data, to->bytes + bytes + 1);
  if (grown == NULL) return 1;
  memcpy(grown + to->bytes, data, bytes);
  to->data = grown;
  to->bytes += bytes;
  if (bytes > to->largest) to->largest = bytes;
  return 0;
}

#endif
