package hemera

import (
	"errors"
	"math"
	"os"
	"testing"
)

// HEMERA_PARAMETERS names a file of CKKS parameters.
func open(t *testing.T) *Context {
	file, err := os.ReadFile(os.Getenv("HEMERA_PARAMETERS"))
	if err != nil {
		t.Fatal(err)
	}
	context, err := OpenContext(file, 128)
	if err != nil {
		t.Fatal(err)
	}
	return context
}

func class(err error) string {
	var found *Error
	if errors.As(err, &found) && found.Text != "" {
		return found.Class
	}
	return ""
}

func TestNumbersAreThoseThatWereEncrypted(t *testing.T) {
	context := open(t)
	defer context.Free()
	secret, err := context.GenerateSecretKey()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := secret.Save()
	if err != nil {
		t.Fatal(err)
	}
	secret.Free()
	secret, err = context.LoadSecretKey(saved)
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Free()
	file, err := secret.EncryptDoubles([]float64{1, -2, 0.5, 4, 5, 6}, 2, HighestLevel)
	if err != nil {
		t.Fatal(err)
	}
	found, err := secret.DecryptDoubles(file)
	if err != nil {
		t.Fatal(err)
	}
	for at, x := range []float64{1, -2, 0.5, 0, 4, 5, 6, 0} {
		if math.Abs(found[at]-x) > 1e-5 {
			t.Errorf("%v", found)
		}
	}
	if _, err := secret.DecryptDoubles(file[:len(file)-1]); class(err) != "FormatError" {
		t.Error(err)
	}
}

func TestErrorsAreOfTheLibrarysClasses(t *testing.T) {
	if _, err := OpenContext(nil, 128); class(err) != "FormatError" {
		t.Error(err)
	}
	context := open(t)
	defer context.Free()
	secret, _ := context.GenerateSecretKey()
	defer secret.Free()
	if _, err := secret.GenerateKeys([]Need{{"rotation", 1, 1000}}); class(err) != "LevelError" {
		t.Error(err)
	}
	if _, err := secret.GenerateNeededKeys(make([]byte, 100)); class(err) != "FormatError" {
		t.Error(err)
	}
	if _, err := secret.GenerateKeys([]Need{{"bootstrap", 0, 0}}); class(err) != "ParameterError" {
		t.Error(err)
	}
	if _, err := secret.EncryptDoubles(make([]float64, 5), 2, HighestLevel); class(err) != "MismatchError" {
		t.Error(err)
	}
	if _, err := secret.EncryptIntegers([]int64{1}, 0, HighestLevel); class(err) == "" {
		t.Error("integers are not of CKKS")
	}
}
