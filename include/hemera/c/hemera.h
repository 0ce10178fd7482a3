/* The C interface: keys, encryption, decryption and files, and the evaluator's basic operations, for every
 * language that calls C.
 *
 * - Handles are opaque. Each `..._free` takes null. A handle that others need (a context by its keys) lives
 * until the last of them is freed, in any order.
 * - Functions return a status; 0 is success. hemera_error() describes the last failure of the calling thread.
 * On failure outputs are null, empty or unchanged. No C++ exception crosses.
 * - Threads: a context, keys, an evaluator and a ciphertext may be used by any number of threads at once;
 * freeing needs that no other call uses the handle.
 * - Files are Hemera's (docs/file-format.md): of every version that the library reads, byte for byte those of
 * Python and C++.
 * - hemera_interface() grows when functions are added. None of them changes or goes while its first number
 * stays. */
#ifndef HEMERA_C_HEMERA_H
#define HEMERA_C_HEMERA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEMERA_C_API __attribute__((visibility("default")))
#else
#define HEMERA_C_API
#endif

typedef int32_t hemera_status;
enum {
  HEMERA_OK = 0,
  HEMERA_PARAMETER_ERROR = 1,
  HEMERA_SECURITY_ERROR = 2,
  HEMERA_MISMATCH_ERROR = 3,
  HEMERA_MISSING_KEY_ERROR = 4,
  HEMERA_LEVEL_ERROR = 5,
  HEMERA_SCALE_ERROR = 6,
  HEMERA_RANGE_ERROR = 7,
  HEMERA_NOISE_ERROR = 8,
  HEMERA_FORMAT_ERROR = 9,
  HEMERA_FILE_ERROR = 10,
  HEMERA_OUT_OF_MEMORY_ERROR = 11,
  HEMERA_DEVICE_ERROR = 12,
  HEMERA_NULL_ERROR = 13,    /* an argument that must not be null is */
  HEMERA_CALLER_ERROR = 14,  /* a callback returned a number other than 0 */
  HEMERA_INTERNAL_ERROR = 15 /* an error of the library itself; please report its text */
};

enum { HEMERA_BFV = 1, HEMERA_BGV = 2, HEMERA_CKKS = 3 };

typedef struct hemera_context hemera_context;       /* parameters and their tables */
typedef struct hemera_secret_key hemera_secret_key; /* zeroed when it is freed */
typedef struct hemera_keys hemera_keys;             /* a public key and evaluation keys */
typedef struct hemera_ciphertext hemera_ciphertext; /* a batch of ciphertexts */
typedef struct hemera_evaluator hemera_evaluator;

/* Bytes or numbers that the library gives out; hemera_buffer_free zeroes and releases them. */
typedef struct hemera_buffer {
  void* data;
  size_t bytes;
} hemera_buffer;
HEMERA_C_API void hemera_buffer_free(hemera_buffer* buffer);

/* 1000 times the first number of this interface plus the second. */
HEMERA_C_API uint32_t hemera_interface(void);
/* The version of the library, "0.2.0". */
HEMERA_C_API const char* hemera_version(void);
/* The text of the calling thread's last failure, with the way out; "" if there was none. Valid until its next
 * call. */
HEMERA_C_API const char* hemera_error(void);

/* --- Parameters and contexts. --- */

/* A file of CKKS parameters for `depth` multiplications one after the other, at 128 bits of security.
 * `scale_bits`: bits of the scale, 20 to 120. `slots`: numbers in a ciphertext that are needed. */
HEMERA_C_API hemera_status hemera_ckks_parameters(size_t depth, int32_t scale_bits, size_t slots,
                                                  hemera_buffer* file);
/* The same of BGV or BFV, for integers modulo a prime of `plain_bits` bits. */
HEMERA_C_API hemera_status hemera_integer_parameters(int32_t scheme, size_t depth, int32_t plain_bits,
                                                     size_t slots, hemera_buffer* file);

/* A context on the CPU from a file of parameters, a server's for example. HEMERA_SECURITY_ERROR if they have
 * less than `least_security` bits (128, 192 or 256; 0: any). `threads`: 0 for one of each processor. */
HEMERA_C_API hemera_status hemera_context_open(const void* file, size_t bytes, int32_t least_security,
                                               int32_t threads, hemera_context** context);
HEMERA_C_API void hemera_context_free(hemera_context* context);

typedef struct hemera_description {
  int32_t scheme;         /* HEMERA_BGV, HEMERA_BFV or HEMERA_CKKS */
  int32_t security_bits;  /* 0, 128, 192 or 256 */
  uint64_t degree;        /* N */
  uint64_t slots;         /* the most of a ciphertext */
  uint64_t levels;        /* levels are 0 to levels - 1 */
  uint64_t plain_modulus; /* t of BGV and BFV, else 0 */
} hemera_description;
/* Fills the first `bytes` bytes of the description: pass sizeof(hemera_description). */
HEMERA_C_API hemera_status hemera_context_describe(const hemera_context* context,
                                                   hemera_description* description, size_t bytes);

/* --- Keys. --- */

HEMERA_C_API hemera_status hemera_secret_key_generate(const hemera_context* context, hemera_secret_key** key);
HEMERA_C_API hemera_status hemera_secret_key_load(const hemera_context* context, const void* file,
                                                  size_t bytes, hemera_secret_key** key);
/* The bytes are secret: free the buffer soon. */
HEMERA_C_API hemera_status hemera_secret_key_save(const hemera_secret_key* key, hemera_buffer* file);
HEMERA_C_API void hemera_secret_key_free(hemera_secret_key* key);

enum {
  HEMERA_PUBLIC_KEY = 0,
  HEMERA_RELINEARIZATION = 1,
  HEMERA_ROTATION = 2,
  HEMERA_CONJUGATION = 3,
  HEMERA_AUTOMORPHISM = 4
};
#define HEMERA_HIGHEST_LEVEL UINT32_MAX
/* One key of a set. */
typedef struct hemera_need {
  uint32_t kind;  /* HEMERA_PUBLIC_KEY, ... */
  int32_t steps;  /* of a rotation, to the left; of the automorphism X -> X^k the odd k below 2 N; else 0 */
  uint32_t level; /* the highest of its ciphertexts, or HEMERA_HIGHEST_LEVEL */
} hemera_need;
/* Takes the next bytes of a file; returns 0, or another number to stop. */
typedef int32_t (*hemera_write)(void* user, const void* data, size_t bytes);
/* Makes the keys of `needs` one at a time and gives their file to `write`: one key is in memory, whatever
 * their number. */
HEMERA_C_API hemera_status hemera_keys_generate(const hemera_secret_key* key, const hemera_need* needs,
                                                size_t count, hemera_write write, void* user);
/* The same to a buffer, for languages without callbacks. */
HEMERA_C_API hemera_status hemera_keys_file(const hemera_secret_key* key, const hemera_need* needs,
                                            size_t count, hemera_buffer* file);
/* The keys of a server's list, the file that it gives to clients (docs/javascript.md). HEMERA_SECURITY_ERROR,
 * before any is made, for a key of less security than the secret key's context was opened with. */
HEMERA_C_API hemera_status hemera_needed_keys_generate(const hemera_secret_key* key, const void* needed,
                                                       size_t bytes, hemera_write write, void* user);
HEMERA_C_API hemera_status hemera_needed_keys_file(const hemera_secret_key* key, const void* needed,
                                                   size_t bytes, hemera_buffer* file);
HEMERA_C_API hemera_status hemera_keys_load(const hemera_context* context, const void* file, size_t bytes,
                                            hemera_keys** keys);
HEMERA_C_API void hemera_keys_free(hemera_keys* keys);

/* --- Encryption. --- */

/* `values`: [rows, count], row-major: a batch of `rows` ciphertexts, or a single one without a batch for 0
 * rows. CKKS; zeros fill a row up to a power of two of slots. `level`: of the ciphertext, or
 * HEMERA_HIGHEST_LEVEL. One of `secret` and `keys` (their public key) is null; the other encrypts. */
HEMERA_C_API hemera_status hemera_encrypt_doubles(const hemera_secret_key* secret, const hemera_keys* keys,
                                                  const double* values, size_t rows, size_t count,
                                                  uint32_t level, hemera_ciphertext** ciphertext);
/* The same of integers in (-t, t), BGV and BFV. */
HEMERA_C_API hemera_status hemera_encrypt_integers(const hemera_secret_key* secret, const hemera_keys* keys,
                                                   const int64_t* values, size_t rows, size_t count,
                                                   uint32_t level, hemera_ciphertext** ciphertext);
/* The real parts: [rows, slots of the ciphertext] doubles, row-major. */
HEMERA_C_API hemera_status hemera_decrypt_doubles(const hemera_secret_key* secret,
                                                  const hemera_ciphertext* ciphertext, hemera_buffer* values);
/* [rows, slots of the ciphertext] int64_t in [-(t-1)/2, t/2]. */
HEMERA_C_API hemera_status hemera_decrypt_integers(const hemera_secret_key* secret,
                                                   const hemera_ciphertext* ciphertext,
                                                   hemera_buffer* values);

HEMERA_C_API hemera_status hemera_ciphertext_load(const hemera_context* context, const void* file,
                                                  size_t bytes, hemera_ciphertext** ciphertext);
HEMERA_C_API hemera_status hemera_ciphertext_save(const hemera_ciphertext* ciphertext, hemera_buffer* file);
/* Rows of the batch, slots of each, and the level. Outputs may be null. */
HEMERA_C_API hemera_status hemera_ciphertext_describe(const hemera_ciphertext* ciphertext, size_t* rows,
                                                      size_t* slots, size_t* level);
HEMERA_C_API void hemera_ciphertext_free(hemera_ciphertext* ciphertext);

/* --- Scores of an encrypted search: integers that are coefficients (docs/search.md). --- */

/* `values`: [queries, dims], times 2^shift. The body of a query's message: a seed of 32 bytes, and [queries,
 * primes, dims] numbers, little-endian, in as few whole bytes as the largest prime. */
HEMERA_C_API hemera_status hemera_search_encrypt(const hemera_secret_key* secret, const int64_t* values,
                                                 size_t queries, size_t dims, int32_t shift,
                                                 hemera_buffer* query);
/* `halves`: b and a of an answer, [2, blocks, queries, N] numbers of `width` bytes each, without their lowest
 * `dropped_bits` bits. Gives [queries, blocks * N] int64_t, with noise. */
HEMERA_C_API hemera_status hemera_search_decrypt(const hemera_secret_key* secret, const void* halves,
                                                 size_t bytes, size_t queries, int32_t dropped_bits,
                                                 size_t width, hemera_buffer* values);
/* XXH3-64 of each 64 KiB of the bytes, uint64_t: of these an answer's message has the SHA-256. */
HEMERA_C_API hemera_status hemera_checksums(const void* data, size_t bytes, hemera_buffer* checksums);

/* --- Evaluation, without any secret. Builds with HEMERA_CLIENT_ONLY do not have it. --- */

HEMERA_C_API hemera_status hemera_evaluator_open(const hemera_keys* keys, hemera_evaluator** evaluator);
HEMERA_C_API void hemera_evaluator_free(hemera_evaluator* evaluator);
HEMERA_C_API hemera_status hemera_add(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                                      const hemera_ciphertext* b, hemera_ciphertext** sum);
HEMERA_C_API hemera_status hemera_subtract(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                                           const hemera_ciphertext* b, hemera_ciphertext** difference);
/* Relinearizes and rescales by itself, as the parameters say. */
HEMERA_C_API hemera_status hemera_multiply(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                                           const hemera_ciphertext* b, hemera_ciphertext** product);
/* With one number for all slots; BGV and BFV take whole numbers. */
HEMERA_C_API hemera_status hemera_add_number(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                                             double b, hemera_ciphertext** sum);
HEMERA_C_API hemera_status hemera_multiply_number(const hemera_evaluator* evaluator,
                                                  const hemera_ciphertext* a, double b,
                                                  hemera_ciphertext** product);
/* Slot i of the result is slot i + steps. BGV and BFV: within their two rows. */
HEMERA_C_API hemera_status hemera_rotate(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                                         int64_t steps, hemera_ciphertext** turned);
/* CKKS: the complex conjugates; BGV and BFV: the two rows exchanged. */
HEMERA_C_API hemera_status hemera_conjugate(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                                            hemera_ciphertext** conjugate);
/* The smallest form to send. */
HEMERA_C_API hemera_status hemera_shrink(const hemera_evaluator* evaluator, const hemera_ciphertext* a,
                                         hemera_ciphertext** shrunk);

#ifdef __cplusplus
}
#endif
#endif
