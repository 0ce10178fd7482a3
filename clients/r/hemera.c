/* The client half of Hemera for R: .Call functions over the C interface (include/hemera/c/hemera.h), for
 * hemera.R. Handles are external pointers, which R's garbage collector frees; those of secrets are zeroed
 * then. */
#include "hemera/c/hemera.h"

#include <R.h>
#include <Rinternals.h>
#include <string.h>

static const char* const classes[] = {"",
                                      "ParameterError",
                                      "SecurityError",
                                      "MismatchError",
                                      "MissingKeyError",
                                      "LevelError",
                                      "ScaleError",
                                      "RangeError",
                                      "NoiseError",
                                      "FormatError",
                                      "FileError",
                                      "OutOfMemoryError",
                                      "DeviceError",
                                      "NullError",
                                      "CallerError",
                                      "InternalError"};

/* Rf_error leaves this function: whatever the library gave out is freed before. */
static void require_success(hemera_status status) {
  if (status != HEMERA_OK) Rf_error("%s: %s", classes[status], hemera_error());
}

static void* handle_of(SEXP pointer) {
  void* found = R_ExternalPtrAddr(pointer);
  if (found == NULL) Rf_error("the object was freed, or comes from another session of R");
  return found;
}

static void free_context(SEXP pointer) {
  hemera_context_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

static void free_secret(SEXP pointer) {
  hemera_secret_key_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

static SEXP held(void* handle, SEXP context, R_CFinalizer_t release) {
  SEXP found = PROTECT(R_MakeExternalPtr(handle, R_NilValue, context));
  R_RegisterCFinalizerEx(found, release, TRUE);
  UNPROTECT(1);
  return found;
}

/* An allocation of R's that fails leaves the buffer allocated; it is freed where R has room. */
static SEXP raw_of(hemera_buffer* buffer) {
  SEXP found = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)buffer->bytes));
  memcpy(RAW(found), buffer->data, buffer->bytes);
  hemera_buffer_free(buffer);
  UNPROTECT(1);
  return found;
}

SEXP hemera_r_version(void) { return Rf_mkString(hemera_version()); }

SEXP hemera_r_open(SEXP file, SEXP security) {
  hemera_context* context = NULL;
  require_success(hemera_context_open(RAW(file), (size_t)XLENGTH(file), Rf_asInteger(security), 0, &context));
  return held(context, R_NilValue, free_context);
}

SEXP hemera_r_secret_key(SEXP context) {
  hemera_secret_key* secret = NULL;
  require_success(hemera_secret_key_generate(handle_of(context), &secret));
  return held(secret, context, free_secret);
}

SEXP hemera_r_free_secret_key(SEXP secret) {
  free_secret(secret);
  return R_NilValue;
}

/* needed: the file of a server's list. */
SEXP hemera_r_keys(SEXP secret, SEXP needed) {
  hemera_buffer file;
  require_success(hemera_needed_keys_file(handle_of(secret), RAW(needed), (size_t)XLENGTH(needed), &file));
  return raw_of(&file);
}

SEXP hemera_r_encrypt(SEXP secret, SEXP values, SEXP rows, SEXP level) {
  const size_t batch = (size_t)Rf_asInteger(rows), each = batch > 0 ? batch : 1;
  const int at = Rf_asInteger(level);
  hemera_ciphertext* ciphertext = NULL;
  require_success(
      hemera_encrypt_doubles(handle_of(secret), NULL, REAL(values), batch, (size_t)XLENGTH(values) / each,
                             at == NA_INTEGER ? HEMERA_HIGHEST_LEVEL : (uint32_t)at, &ciphertext));
  hemera_buffer file;
  const hemera_status status = hemera_ciphertext_save(ciphertext, &file);
  hemera_ciphertext_free(ciphertext);
  require_success(status);
  return raw_of(&file);
}

SEXP hemera_r_decrypt(SEXP secret, SEXP file) {
  hemera_ciphertext* ciphertext = NULL;
  require_success(hemera_ciphertext_load(handle_of(R_ExternalPtrProtected(secret)), RAW(file),
                                         (size_t)XLENGTH(file), &ciphertext));
  hemera_buffer buffer;
  const hemera_status status = hemera_decrypt_doubles(handle_of(secret), ciphertext, &buffer);
  hemera_ciphertext_free(ciphertext);
  require_success(status);
  SEXP found = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(buffer.bytes / sizeof(double))));
  memcpy(REAL(found), buffer.data, buffer.bytes);
  hemera_buffer_free(&buffer);
  UNPROTECT(1);
  return found;
}
