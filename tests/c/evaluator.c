/* The evaluator by the C interface, judged by the same operations on the numbers. */
#include <math.h>

#include "support.h"

enum { count = 512 };

typedef struct {
  hemera_context* context;
  hemera_secret_key* secret;
  hemera_keys* keys;
  hemera_evaluator* evaluator;
} party;

static party set_up(hemera_buffer parameters) {
  party of = {NULL, NULL, NULL, NULL};
  OK(hemera_context_open(parameters.data, parameters.bytes, 128, 0, &of.context));
  hemera_buffer_free(&parameters);
  OK(hemera_secret_key_generate(of.context, &of.secret));
  const hemera_need needs[] = {{HEMERA_RELINEARIZATION, 0, HEMERA_HIGHEST_LEVEL},
                               {HEMERA_ROTATION, 5, HEMERA_HIGHEST_LEVEL},
                               {HEMERA_CONJUGATION, 0, HEMERA_HIGHEST_LEVEL}};
  memory file = {NULL, 0, 0};
  OK(hemera_keys_generate(of.secret, needs, 3, append, &file));
  OK(hemera_keys_load(of.context, file.data, file.bytes, &of.keys));
  free(file.data);
  OK(hemera_evaluator_open(of.keys, &of.evaluator));
  return of;
}

static void tear_down(party* of) {
  hemera_evaluator_free(of->evaluator);
  hemera_keys_free(of->keys);
  hemera_secret_key_free(of->secret);
  hemera_context_free(of->context);
}

static void expect_reals(const party* of, hemera_ciphertext* x, const double* wanted, double tolerance) {
  hemera_buffer back = {NULL, 0};
  OK(hemera_decrypt_doubles(of->secret, x, &back));
  for (size_t i = 0; i < count; ++i) CHECK(fabs(((const double*)back.data)[i] - wanted[i]) < tolerance);
  hemera_buffer_free(&back);
  hemera_ciphertext_free(x);
}

static void reals(void) {
  hemera_buffer parameters = {NULL, 0};
  OK(hemera_ckks_parameters(2, 45, count, &parameters));
  party of = set_up(parameters);
  double a[count], b[count], wanted[count];
  for (size_t i = 0; i < count; ++i) {
    a[i] = cos((double)i);
    b[i] = 1 - 2 * ((double)i / count);
  }
  hemera_ciphertext *x = NULL, *y = NULL, *z = NULL, *u = NULL;
  OK(hemera_encrypt_doubles(of.secret, NULL, a, 0, count, HEMERA_HIGHEST_LEVEL, &x));
  OK(hemera_encrypt_doubles(of.secret, NULL, b, 0, count, HEMERA_HIGHEST_LEVEL, &y));

#define EXPECT(call, formula)                               \
  OK(call);                                                 \
  for (size_t i = 0; i < count; ++i) wanted[i] = (formula); \
  expect_reals(&of, z, wanted, 1e-8)
  EXPECT(hemera_add(of.evaluator, x, y, &z), a[i] + b[i]);
  EXPECT(hemera_subtract(of.evaluator, x, y, &z), a[i] - b[i]);
  EXPECT(hemera_multiply(of.evaluator, x, y, &z), a[i] * b[i]);
  EXPECT(hemera_add_number(of.evaluator, x, 0.25, &z), a[i] + 0.25);
  EXPECT(hemera_multiply_number(of.evaluator, x, -1.5, &z), a[i] * -1.5);
  EXPECT(hemera_rotate(of.evaluator, x, 5, &z), a[(i + 5) % count]);
  EXPECT(hemera_conjugate(of.evaluator, x, &z), a[i]);
  EXPECT(hemera_shrink(of.evaluator, x, &z), a[i]);
  /* Two levels, and none after them. */
  OK(hemera_multiply(of.evaluator, x, y, &u));
  EXPECT(hemera_multiply(of.evaluator, u, u, &z), a[i] * b[i] * a[i] * b[i]);
  OK(hemera_multiply(of.evaluator, u, u, &z));
  hemera_ciphertext* none = u;
  REFUSED(hemera_multiply(of.evaluator, z, z, &none), HEMERA_LEVEL_ERROR, "level");
  CHECK(none == NULL);
  REFUSED(hemera_rotate(of.evaluator, x, 4, &none), HEMERA_MISSING_KEY_ERROR, "4");
  REFUSED(hemera_add(of.evaluator, x, NULL, &none), HEMERA_NULL_ERROR, "b");

  /* Operands of another key's parameters. */
  OK(hemera_ckks_parameters(1, 45, count, &parameters));
  party other = set_up(parameters);
  hemera_ciphertext* foreign = NULL;
  OK(hemera_encrypt_doubles(other.secret, NULL, a, 0, count, HEMERA_HIGHEST_LEVEL, &foreign));
  REFUSED(hemera_add(of.evaluator, x, foreign, &none), HEMERA_MISMATCH_ERROR, "");
  hemera_buffer numbers = {NULL, 0};
  REFUSED(hemera_decrypt_doubles(of.secret, foreign, &numbers), HEMERA_MISMATCH_ERROR, "");
  hemera_ciphertext_free(foreign);
  tear_down(&other);

  hemera_ciphertext_free(x);
  hemera_ciphertext_free(y);
  hemera_ciphertext_free(z);
  hemera_ciphertext_free(u);
  tear_down(&of);
}

static void integers(int32_t scheme) {
  hemera_buffer parameters = {NULL, 0}, back = {NULL, 0};
  OK(hemera_integer_parameters(scheme, 1, 20, 4096, &parameters));
  party of = set_up(parameters);
  hemera_description is;
  OK(hemera_context_describe(of.context, &is, sizeof(is)));
  const int64_t t = (int64_t)is.plain_modulus;
  const size_t slots = (size_t)is.slots;
  int64_t* const values = malloc(slots * sizeof(int64_t));
  CHECK(values != NULL);
  for (size_t i = 0; i < slots; ++i) values[i] = (int64_t)(i * 7919 % 1000003) % t;
  hemera_ciphertext *x = NULL, *product = NULL, *sum = NULL, *turned = NULL, *exchanged = NULL;
  OK(hemera_encrypt_integers(of.secret, NULL, values, 0, slots, HEMERA_HIGHEST_LEVEL, &x));
  OK(hemera_multiply(of.evaluator, x, x, &product));
  OK(hemera_add_number(of.evaluator, product, -3, &sum));
  OK(hemera_rotate(of.evaluator, sum, 5, &turned));
  OK(hemera_conjugate(of.evaluator, turned, &exchanged));
  OK(hemera_decrypt_integers(of.secret, exchanged, &back));
  const size_t half = slots / 2;
  for (size_t i = 0; i < slots; ++i) {
    const size_t from = (i < half ? half : 0) + (i % half + 5) % half;
    const int64_t found = ((const int64_t*)back.data)[i];
    CHECK((found - (values[from] * values[from] - 3)) % t == 0 && 2 * found <= t && 2 * found >= -t);
  }
  hemera_ciphertext* none = x;
  REFUSED(hemera_add_number(of.evaluator, x, 0.5, &none), HEMERA_PARAMETER_ERROR, "whole");
  CHECK(none == NULL);
  hemera_buffer_free(&back);
  free(values);
  hemera_ciphertext_free(x);
  hemera_ciphertext_free(product);
  hemera_ciphertext_free(sum);
  hemera_ciphertext_free(turned);
  hemera_ciphertext_free(exchanged);
  tear_down(&of);
}

int main(void) {
  reals();
  integers(HEMERA_BFV);
  integers(HEMERA_BGV);
  return 0;
}
