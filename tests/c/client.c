/* Parameters, keys, encryption, decryption and files by the C interface, judged by the numbers that went in.
 */
#include <math.h>

#include "support.h"

static int32_t stop(void* user, const void* data, size_t bytes) {
  (void)data;
  *(size_t*)user += bytes;
  return 7;
}

static hemera_context* open_context(hemera_buffer* parameters) {
  hemera_context* context = NULL;
  OK(hemera_context_open(parameters->data, parameters->bytes, 128, 1, &context));
  hemera_buffer_free(parameters);
  CHECK(parameters->data == NULL && parameters->bytes == 0);
  return context;
}

/* The key set of a file has the public key; it encrypts. */
static hemera_keys* make_keys(const hemera_context* context, const hemera_secret_key* secret) {
  const hemera_need needs[] = {{HEMERA_ROTATION, 3, HEMERA_HIGHEST_LEVEL},
                               {HEMERA_PUBLIC_KEY, 0, 0},
                               {HEMERA_RELINEARIZATION, 0, HEMERA_HIGHEST_LEVEL},
                               {HEMERA_CONJUGATION, 0, 0},
                               {HEMERA_ROTATION, -1, 0}};
  const size_t count = sizeof(needs) / sizeof(needs[0]);
  memory file = {NULL, 0, 0};
  hemera_keys* keys = NULL;
  OK(hemera_keys_generate(secret, needs, count, append, &file));
  /* Key after key: no call of the caller's function has the bytes of all. */
  CHECK(file.largest < file.bytes / 2);
  OK(hemera_keys_load(context, file.data, file.bytes, &keys));
  hemera_buffer whole = {NULL, 0};
  OK(hemera_keys_file(secret, needs, count, &whole));
  CHECK(whole.bytes == file.bytes); /* the same but for the random bytes */
  hemera_buffer_free(&whole);
  /* A file that lacks its last byte, and one with a byte that changed. */
  hemera_keys* none = (hemera_keys*)&file;
  REFUSED(hemera_keys_load(context, file.data, file.bytes - 1, &none), HEMERA_FORMAT_ERROR, "");
  CHECK(none == NULL);
  file.data[file.bytes / 2] ^= 1;
  REFUSED(hemera_keys_load(context, file.data, file.bytes, &none), HEMERA_FORMAT_ERROR, "checksum");
  free(file.data);

  const hemera_need twice[] = {{HEMERA_ROTATION, 1, 0}, {HEMERA_ROTATION, 1, 0}};
  const hemera_need unknown[] = {{5, 0, 0}};
  const hemera_need even[] = {{HEMERA_AUTOMORPHISM, 2, 0}};
  const hemera_need past[] = {{HEMERA_AUTOMORPHISM, 1 << 20 | 1, 0}};
  const hemera_need still[] = {{HEMERA_ROTATION, 0, 0}};
  const hemera_need high[] = {{HEMERA_RELINEARIZATION, 0, 1000}};
  memory unused = {NULL, 0, 0};
  REFUSED(hemera_keys_generate(secret, twice, 2, append, &unused), HEMERA_MISMATCH_ERROR, "twice");
  REFUSED(hemera_keys_generate(secret, unknown, 1, append, &unused), HEMERA_PARAMETER_ERROR, "kind 5");
  REFUSED(hemera_keys_generate(secret, even, 1, append, &unused), HEMERA_PARAMETER_ERROR, "X^2;");
  REFUSED(hemera_keys_generate(secret, past, 1, append, &unused), HEMERA_PARAMETER_ERROR, "odd");
  REFUSED(hemera_keys_generate(secret, still, 1, append, &unused), HEMERA_PARAMETER_ERROR, "0 steps");
  REFUSED(hemera_keys_generate(secret, high, 1, append, &unused), HEMERA_LEVEL_ERROR, "1000");
  const char damaged[100] = "HEM";
  REFUSED(hemera_needed_keys_generate(secret, damaged, sizeof(damaged), append, &unused), HEMERA_FORMAT_ERROR,
          "file");
  REFUSED(hemera_needed_keys_file(secret, NULL, 0, &whole), HEMERA_NULL_ERROR, "needed");
  CHECK(unused.bytes == 0);
  /* The caller may stop. */
  size_t seen = 0;
  REFUSED(hemera_keys_generate(secret, needs, count, stop, &seen), HEMERA_CALLER_ERROR, "stopped");
  CHECK(seen > 0 && seen <= 64);
  return keys;
}

static void reals(void) {
  hemera_buffer parameters = {NULL, 0};
  OK(hemera_ckks_parameters(2, 40, 1000, &parameters));
  hemera_context* refused = (hemera_context*)&parameters;
  REFUSED(hemera_context_open(parameters.data, parameters.bytes, 256, 1, &refused), HEMERA_SECURITY_ERROR,
          "256");
  CHECK(refused == NULL);
  REFUSED(hemera_context_open(parameters.data, parameters.bytes, 100, 1, &refused), HEMERA_PARAMETER_ERROR,
          "100");
  REFUSED(hemera_context_open(parameters.data, 10, 128, 1, &refused), HEMERA_FORMAT_ERROR, "");
  hemera_context* context = open_context(&parameters);

  hemera_description is;
  OK(hemera_context_describe(context, &is, sizeof(is)));
  CHECK(is.scheme == HEMERA_CKKS && is.security_bits >= 128 && is.levels == 3 && is.slots == is.degree / 2 &&
        is.plain_modulus == 0);
  REFUSED(hemera_context_describe(context, &is, sizeof(is) + 8), HEMERA_PARAMETER_ERROR, "bytes");
  memset(&is, 0, sizeof(is));
  OK(hemera_context_describe(context, &is, 8)); /* a program of an older interface */
  CHECK(is.scheme == HEMERA_CKKS && is.degree == 0);

  hemera_secret_key* secret = NULL;
  OK(hemera_secret_key_generate(context, &secret));
  hemera_keys* keys = make_keys(context, secret);

  enum { rows = 3, count = 1000 };
  static double values[rows * count];
  for (size_t i = 0; i < rows * count; ++i) values[i] = sin((double)i) * 100;
  for (int by_public_key = 0; by_public_key < 2; ++by_public_key) {
    for (uint32_t level = 0; level < 4; ++level) {
      const uint32_t asked = level == 3 ? HEMERA_HIGHEST_LEVEL : level;
      hemera_ciphertext *x = NULL, *loaded = NULL;
      OK(hemera_encrypt_doubles(by_public_key ? NULL : secret, by_public_key ? keys : NULL, values, rows,
                                count, asked, &x));
      hemera_buffer file = {NULL, 0}, back = {NULL, 0};
      OK(hemera_ciphertext_save(x, &file));
      OK(hemera_ciphertext_load(context, file.data, file.bytes, &loaded));
      size_t found_rows = 0, slots = 0, found_level = 0;
      OK(hemera_ciphertext_describe(loaded, &found_rows, &slots, &found_level));
      CHECK(found_rows == rows && slots == 1024 && found_level == (level == 3 ? 2 : level));
      OK(hemera_decrypt_doubles(secret, loaded, &back));
      CHECK(back.bytes == rows * slots * sizeof(double));
      double largest = 0;
      for (size_t row = 0; row < rows; ++row) {
        for (size_t i = 0; i < slots; ++i) {
          const double wanted = i < count ? values[row * count + i] : 0;
          largest = fmax(largest, fabs(((const double*)back.data)[row * slots + i] - wanted));
        }
      }
      CHECK(largest < 1e-6); /* of 40 bits of scale, noise of at most 2^14 */
      hemera_buffer_free(&file);
      hemera_buffer_free(&back);
      hemera_ciphertext_free(x);
      hemera_ciphertext_free(loaded);
    }
  }

  /* The last that is taken, and the first that is refused. */
  hemera_ciphertext* x = NULL;
  hemera_buffer numbers = {NULL, 0};
  double* const full = calloc(8192, sizeof(double));
  OK(hemera_context_describe(context, &is, sizeof(is)));
  CHECK(full != NULL && is.slots < 8192);
  OK(hemera_encrypt_doubles(secret, NULL, full, 0, (size_t)is.slots, HEMERA_HIGHEST_LEVEL, &x));
  size_t found_rows = 0;
  OK(hemera_ciphertext_describe(x, &found_rows, NULL, NULL));
  CHECK(found_rows == 1);
  REFUSED(hemera_decrypt_integers(secret, x, &numbers), HEMERA_PARAMETER_ERROR, "CKKS");
  hemera_ciphertext_free(x);
  REFUSED(hemera_encrypt_doubles(secret, NULL, full, 0, (size_t)is.slots + 1, HEMERA_HIGHEST_LEVEL, &x),
          HEMERA_PARAMETER_ERROR, "slots");
  CHECK(x == NULL);
  REFUSED(hemera_encrypt_doubles(secret, NULL, full, 0, 0, HEMERA_HIGHEST_LEVEL, &x), HEMERA_PARAMETER_ERROR,
          "numbers");
  REFUSED(hemera_encrypt_doubles(secret, NULL, full, SIZE_MAX / 4, 4096, HEMERA_HIGHEST_LEVEL, &x),
          HEMERA_PARAMETER_ERROR, "numbers");
  REFUSED(hemera_encrypt_doubles(secret, NULL, full, 0, 16, 3, &x), HEMERA_LEVEL_ERROR, "3");
  full[1] = NAN;
  REFUSED(hemera_encrypt_doubles(secret, NULL, full, 0, 16, HEMERA_HIGHEST_LEVEL, &x), HEMERA_PARAMETER_ERROR,
          "");
  free(full);
  REFUSED(hemera_encrypt_doubles(NULL, NULL, values, 0, 16, 0, &x), HEMERA_PARAMETER_ERROR, "either");
  REFUSED(hemera_encrypt_doubles(secret, keys, values, 0, 16, 0, &x), HEMERA_PARAMETER_ERROR, "either");
  REFUSED(hemera_encrypt_doubles(secret, NULL, NULL, 0, 16, 0, &x), HEMERA_NULL_ERROR, "values");
  REFUSED(hemera_encrypt_doubles(secret, NULL, values, 0, 16, 0, NULL), HEMERA_NULL_ERROR, "ciphertext");
  hemera_secret_key* no_key = secret;
  REFUSED(hemera_secret_key_generate(NULL, &no_key), HEMERA_NULL_ERROR, "context");
  CHECK(no_key == NULL);

  /* Handles go in any order. */
  hemera_context_free(context);
  hemera_keys_free(keys);
  hemera_secret_key_free(secret);
}

static void integers(int32_t scheme) {
  hemera_buffer parameters = {NULL, 0}, file = {NULL, 0}, back = {NULL, 0};
  OK(hemera_integer_parameters(scheme, 1, 20, 4096, &parameters));
  hemera_context* context = open_context(&parameters);
  hemera_description is;
  OK(hemera_context_describe(context, &is, sizeof(is)));
  CHECK(is.scheme == scheme && is.slots == is.degree && is.plain_modulus > (1U << 19) &&
        is.plain_modulus < (1U << 20));
  const int64_t t = (int64_t)is.plain_modulus;

  /* A key that was saved and loaded decrypts what the first one encrypts. */
  hemera_secret_key *secret = NULL, *loaded = NULL, *other = NULL;
  OK(hemera_secret_key_generate(context, &secret));
  OK(hemera_secret_key_save(secret, &file));
  OK(hemera_secret_key_load(context, file.data, file.bytes, &loaded));
  OK(hemera_secret_key_generate(context, &other));
  hemera_buffer_free(&file);
  hemera_keys* keys = make_keys(context, secret);

  const int64_t values[] = {0, 1, -1, t / 2, -(t / 2), t - 1, 1 - t, 12345};
  const int64_t wanted[] = {0, 1, -1, t / 2, -(t / 2), -1, 1, 12345};
  hemera_ciphertext* x = NULL;
  OK(hemera_encrypt_integers(NULL, keys, values, 2, 4, HEMERA_HIGHEST_LEVEL, &x));
  OK(hemera_decrypt_integers(loaded, x, &back));
  CHECK(back.bytes == 2 * 4 * sizeof(int64_t) && memcmp(back.data, wanted, back.bytes) == 0);
  hemera_buffer_free(&back);
  REFUSED(hemera_decrypt_integers(other, x, &back), HEMERA_NOISE_ERROR, "");
  CHECK(back.data == NULL);
  REFUSED(hemera_decrypt_doubles(secret, x, &back), HEMERA_MISMATCH_ERROR, "CKKS");
  hemera_ciphertext_free(x);
  REFUSED(hemera_encrypt_integers(secret, NULL, &t, 0, 1, HEMERA_HIGHEST_LEVEL, &x), HEMERA_PARAMETER_ERROR,
          "");
  const double real = 1;
  REFUSED(hemera_encrypt_doubles(secret, NULL, &real, 0, 1, HEMERA_HIGHEST_LEVEL, &x), HEMERA_MISMATCH_ERROR,
          "CKKS");

  hemera_keys_free(keys);
  hemera_secret_key_free(secret);
  hemera_secret_key_free(loaded);
  hemera_secret_key_free(other);
  hemera_context_free(context);
}

/* Queries and answers of a search whose numbers are all 0, and those that are none. */
static void searches(void) {
  hemera_buffer parameters = {NULL, 0}, out = {NULL, 0};
  OK(hemera_ckks_parameters(1, 25, 1024, &parameters));
  hemera_context* context = open_context(&parameters);
  hemera_description is;
  OK(hemera_context_describe(context, &is, sizeof(is)));
  hemera_secret_key* secret = NULL;
  OK(hemera_secret_key_generate(context, &secret));
  const int64_t values[] = {1, -2, 3, -4};
  OK(hemera_search_encrypt(secret, values, 2, 2, 10, &out));
  CHECK(out.bytes > 32 && (out.bytes - 32) % 4 == 0);
  hemera_buffer_free(&out);
  REFUSED(hemera_search_encrypt(secret, values, 2, 0, 0, &out), HEMERA_PARAMETER_ERROR, "0 numbers");
  REFUSED(hemera_search_encrypt(secret, values, 1, is.degree + 1, 0, &out), HEMERA_PARAMETER_ERROR, "room");
  REFUSED(hemera_search_encrypt(secret, values, 0, 2, 0, &out), HEMERA_PARAMETER_ERROR, "0 numbers");
  REFUSED(hemera_search_encrypt(secret, values, 2, 2, -1, &out), HEMERA_PARAMETER_ERROR, "2^-1");

  const size_t bytes = 2 * is.degree * 8;
  unsigned char* halves = calloc(bytes, 1);
  CHECK(halves != NULL);
  OK(hemera_search_decrypt(secret, halves, bytes / 2, 1, 20, 4, &out));
  CHECK(out.bytes == is.degree * sizeof(int64_t));
  for (size_t i = 0; i < is.degree; ++i) CHECK(((const int64_t*)out.data)[i] == 0);
  hemera_buffer_free(&out);
  REFUSED(hemera_search_decrypt(secret, halves, bytes / 2 - 4, 1, 20, 4, &out), HEMERA_MISMATCH_ERROR, "");
  REFUSED(hemera_search_decrypt(secret, halves, bytes, 2, 20, 8, &out), HEMERA_MISMATCH_ERROR, "2 queries");
  REFUSED(hemera_search_decrypt(secret, halves, bytes, 0, 20, 8, &out), HEMERA_MISMATCH_ERROR, "0 queries");
  REFUSED(hemera_search_decrypt(secret, halves, bytes, 1, 20, 9, &out), HEMERA_PARAMETER_ERROR, "not 9");
  REFUSED(hemera_search_decrypt(secret, halves, bytes, 1, 20, 0, &out), HEMERA_PARAMETER_ERROR, "not 0");
  REFUSED(hemera_search_decrypt(secret, halves, bytes, 1, 41, 8, &out), HEMERA_MISMATCH_ERROR, "41");
  halves[7] = 255;
  REFUSED(hemera_search_decrypt(secret, halves, bytes, 1, 20, 8, &out), HEMERA_FORMAT_ERROR, "no residue");
  CHECK(out.data == NULL);
  free(halves);

  unsigned char* data = calloc((1 << 16) + 1, 1);
  const size_t counts[] = {0, 1, 1 << 16, (1 << 16) + 1}, pieces[] = {0, 1, 1, 2};
  CHECK(data != NULL);
  for (int i = 0; i < 4; ++i) {
    OK(hemera_checksums(data, counts[i], &out));
    CHECK(out.bytes == 8 * pieces[i]);
    hemera_buffer_free(&out);
  }
  free(data);
  hemera_secret_key_free(secret);
  hemera_context_free(context);
}

int main(void) {
  CHECK(hemera_interface() == 1002 && strcmp(hemera_version(), "0.2.0") == 0 &&
        strcmp(hemera_error(), "") == 0);
  hemera_buffer none = {NULL, 0};
  hemera_buffer_free(&none);
  hemera_buffer_free(NULL);
  hemera_context_free(NULL);
  REFUSED(hemera_integer_parameters(HEMERA_CKKS, 1, 20, 1, &none), HEMERA_PARAMETER_ERROR, "integers");
  REFUSED(hemera_ckks_parameters(2, 121, 1, &none), HEMERA_PARAMETER_ERROR, "121");
  CHECK(none.data == NULL);
  reals();
  integers(HEMERA_BFV);
  integers(HEMERA_BGV);
  searches();
  return 0;
}
