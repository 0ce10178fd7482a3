// Package hemera is the client half of Hemera over its C interface (include/hemera/c/hemera.h): parameters, keys,
// encryption and decryption. Values of these types may be used by several goroutines at once; Free needs that no other
// call uses them.
package hemera

// #cgo LDFLAGS: -lhemera_c
// #include "hemera/c/hemera.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Error is a failure of the library: its class, as in Python and C++, and a text with the way out.
type Error struct {
	Class string
	Text  string
}

func (e *Error) Error() string { return e.Class + ": " + e.Text }

var classes = []string{"", "ParameterError", "SecurityError", "MismatchError", "MissingKeyError", "LevelError",
	"ScaleError", "RangeError", "NoiseError", "FormatError", "FileError", "OutOfMemoryError", "DeviceError", "NullError",
	"CallerError", "InternalError"}

// call runs a function of the library. Its error belongs to the calling thread.
func call(function func() C.hemera_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := function()
	if status == 0 {
		return nil
	}
	return &Error{classes[status], C.GoString(C.hemera_error())}
}

func address(data []byte) unsafe.Pointer {
	if len(data) == 0 {
		return unsafe.Pointer(&[1]byte{})
	}
	return unsafe.Pointer(&data[0])
}

// take copies a buffer of the library, which is zeroed and released.
func take[T byte | int64 | float64](buffer *C.hemera_buffer) []T {
	defer C.hemera_buffer_free(buffer)
	var one T
	return append([]T(nil), unsafe.Slice((*T)(buffer.data), int(buffer.bytes)/int(unsafe.Sizeof(one)))...)
}

// Version of the library.
func Version() string { return C.GoString(C.hemera_version()) }

// Context has parameters and their tables.
type Context struct{ handle *C.hemera_context }

// Description of a context.
type Description struct {
	Scheme       string // "bfv", "bgv" or "ckks"
	Security     int    // bits
	Degree       int
	Slots        int // the most of a ciphertext
	Levels       int
	PlainModulus uint64 // 0 of CKKS
}

// OpenContext reads a file of parameters. A SecurityError for less than `security` bits; 0: any.
func OpenContext(file []byte, security int) (*Context, error) {
	found := &Context{}
	return found, call(func() C.hemera_status {
		return C.hemera_context_open(address(file), C.size_t(len(file)), C.int32_t(security), 0, &found.handle)
	})
}

// Describe says what the parameters are.
func (c *Context) Describe() (Description, error) {
	var told C.hemera_description
	err := call(func() C.hemera_status {
		return C.hemera_context_describe(c.handle, &told, C.size_t(unsafe.Sizeof(told)))
	})
	scheme := map[C.int32_t]string{C.HEMERA_BFV: "bfv", C.HEMERA_BGV: "bgv", C.HEMERA_CKKS: "ckks"}[told.scheme]
	return Description{scheme, int(told.security_bits), int(told.degree), int(told.slots), int(told.levels),
		uint64(told.plain_modulus)}, err
}

// Free releases the context.
func (c *Context) Free() { C.hemera_context_free(c.handle); c.handle = nil }

// Need is a key of a set: its kind is "public", "relinearization", "rotation" (by Steps to the left) or "conjugation",
// its Level the highest of its ciphertexts.
type Need struct {
	Kind  string
	Steps int32
	Level uint32
}

// HighestLevel of the parameters.
const HighestLevel = ^uint32(0)

var kinds = map[string]C.uint32_t{"public": C.HEMERA_PUBLIC_KEY, "relinearization": C.HEMERA_RELINEARIZATION,
	"rotation": C.HEMERA_ROTATION, "conjugation": C.HEMERA_CONJUGATION}

// SecretKey encrypts and decrypts. Free zeroes it.
type SecretKey struct {
	context *Context
	handle  *C.hemera_secret_key
}

// GenerateSecretKey draws a secret key.
func (c *Context) GenerateSecretKey() (*SecretKey, error) {
	found := &SecretKey{context: c}
	return found, call(func() C.hemera_status { return C.hemera_secret_key_generate(c.handle, &found.handle) })
}

// LoadSecretKey reads the file of SecretKey.Save.
func (c *Context) LoadSecretKey(file []byte) (*SecretKey, error) {
	found := &SecretKey{context: c}
	return found, call(func() C.hemera_status {
		return C.hemera_secret_key_load(c.handle, address(file), C.size_t(len(file)), &found.handle)
	})
}

// Save gives a file of the secret. Keep it from others.
func (s *SecretKey) Save() ([]byte, error) {
	var file C.hemera_buffer
	if err := call(func() C.hemera_status { return C.hemera_secret_key_save(s.handle, &file) }); err != nil {
		return nil, err
	}
	return take[byte](&file), nil
}

// GenerateKeys gives a file of keys, for a server.
func (s *SecretKey) GenerateKeys(needs []Need) ([]byte, error) {
	list := make([]C.hemera_need, len(needs)+1)
	for at, need := range needs {
		kind, known := kinds[need.Kind]
		if !known {
			return nil, &Error{"ParameterError", "there are no keys of kind " + need.Kind}
		}
		list[at] = C.hemera_need{kind: kind, steps: C.int32_t(need.Steps), level: C.uint32_t(need.Level)}
	}
	var file C.hemera_buffer
	err := call(func() C.hemera_status {
		return C.hemera_keys_file(s.handle, &list[0], C.size_t(len(needs)), &file)
	})
	if err != nil {
		return nil, err
	}
	return take[byte](&file), nil
}

// GenerateNeededKeys gives the file of the keys of a server's list, a file too. A SecurityError for keys of less security
// than the context was opened with.
func (s *SecretKey) GenerateNeededKeys(needed []byte) ([]byte, error) {
	var file C.hemera_buffer
	err := call(func() C.hemera_status {
		return C.hemera_needed_keys_file(s.handle, address(needed), C.size_t(len(needed)), &file)
	})
	if err != nil {
		return nil, err
	}
	return take[byte](&file), nil
}

// EncryptDoubles gives the file of a ciphertext of CKKS: of [rows, n/rows] values a batch of rows, for 0 rows a single
// one.
func (s *SecretKey) EncryptDoubles(values []float64, rows int, level uint32) ([]byte, error) {
	values = append(values[:len(values):len(values)], 0) // an address also of no values
	return s.encrypted(len(values)-1, rows, func(count C.size_t, out **C.hemera_ciphertext) C.hemera_status {
		return C.hemera_encrypt_doubles(s.handle, nil, (*C.double)(&values[0]), C.size_t(rows), count, C.uint32_t(level), out)
	})
}

// EncryptIntegers does the same of BGV and BFV.
func (s *SecretKey) EncryptIntegers(values []int64, rows int, level uint32) ([]byte, error) {
	values = append(values[:len(values):len(values)], 0)
	return s.encrypted(len(values)-1, rows, func(count C.size_t, out **C.hemera_ciphertext) C.hemera_status {
		return C.hemera_encrypt_integers(s.handle, nil, (*C.int64_t)(&values[0]), C.size_t(rows), count, C.uint32_t(level), out)
	})
}

func (s *SecretKey) encrypted(n, rows int, encrypt func(C.size_t, **C.hemera_ciphertext) C.hemera_status) ([]byte, error) {
	count := n
	if rows > 0 {
		if n%rows != 0 {
			return nil, &Error{"MismatchError", "the values do not fill their rows"}
		}
		count = n / rows
	}
	var ciphertext *C.hemera_ciphertext
	if err := call(func() C.hemera_status { return encrypt(C.size_t(count), &ciphertext) }); err != nil {
		return nil, err
	}
	defer C.hemera_ciphertext_free(ciphertext)
	var file C.hemera_buffer
	if err := call(func() C.hemera_status { return C.hemera_ciphertext_save(ciphertext, &file) }); err != nil {
		return nil, err
	}
	return take[byte](&file), nil
}

// DecryptDoubles gives the values of a file's ciphertext, [rows, slots], of CKKS.
func (s *SecretKey) DecryptDoubles(file []byte) ([]float64, error) {
	return decrypted[float64](s, file, func(x *C.hemera_ciphertext, out *C.hemera_buffer) C.hemera_status {
		return C.hemera_decrypt_doubles(s.handle, x, out)
	})
}

// DecryptIntegers does the same of BGV and BFV.
func (s *SecretKey) DecryptIntegers(file []byte) ([]int64, error) {
	return decrypted[int64](s, file, func(x *C.hemera_ciphertext, out *C.hemera_buffer) C.hemera_status {
		return C.hemera_decrypt_integers(s.handle, x, out)
	})
}

func decrypted[T int64 | float64](s *SecretKey, file []byte,
	decrypt func(*C.hemera_ciphertext, *C.hemera_buffer) C.hemera_status) ([]T, error) {
	var ciphertext *C.hemera_ciphertext
	err := call(func() C.hemera_status {
		return C.hemera_ciphertext_load(s.context.handle, address(file), C.size_t(len(file)), &ciphertext)
	})
	if err != nil {
		return nil, err
	}
	defer C.hemera_ciphertext_free(ciphertext)
	var buffer C.hemera_buffer
	if err := call(func() C.hemera_status { return decrypt(ciphertext, &buffer) }); err != nil {
		return nil, err
	}
	return take[T](&buffer), nil
}

// Free zeroes the secret.
func (s *SecretKey) Free() { C.hemera_secret_key_free(s.handle); s.handle = nil }
