// Asks a server of Hemera for the results of one sample of one array: go run ./example URL MODEL, with the token in
// HEMERA_TOKEN and numbers on standard input. MODEL may be a version, as study@2, or an alias. The server sees keys that encrypt and decrypt nothing, and a ciphertext.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"

	"hemera"
)

// What the server has of a model (GET /v1/models/MODEL/maps), as far as this program takes it.
type maps struct {
	Digest     string
	Parameters []byte
	Keys       []byte
	Rows       *int
	Inputs     []struct {
		Name        string
		Shape       []int
		Low, High   *float64
		Step, Clip  *float64
		Factors     []float64
		Numbers     []float64
		Ciphertexts []struct {
			Name         string
			Level        *uint32
			Batch, Count int
			Slots        []byte
		}
	}
	Outputs []struct {
		Name             string
		Read, Watched    string
		Factors, Numbers []float64
		Ciphertexts      []string
		Batch, Width     int
		Places           []byte
	}
	Error struct{ Code, Message string }
}

func words(data []byte) []int32 {
	found := make([]int32, len(data)/4)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, found); err != nil {
		log.Fatal(err)
	}
	return found
}

// The answer to a request that was encoded for the model of a digest, if it has one: the server refuses it for another.
func ask(method, path string, body []byte, digest string) []byte {
	request, err := http.NewRequest(method, os.Args[1]+path, bytes.NewReader(body))
	fail(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("HEMERA_TOKEN"))
	request.Header.Set("Content-Type", "application/octet-stream")
	if digest != "" {
		request.Header.Set("Hemera-Model", digest)
	}
	answer, err := http.DefaultClient.Do(request)
	fail(err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	fail(err)
	if answer.StatusCode >= 300 {
		log.Fatalf("%s %s: %s: %s", method, path, answer.Status, data)
	}
	return data
}

func fail(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: example URL MODEL, with numbers on standard input")
	}
	model := "/v1/models/" + os.Args[2]
	var told maps
	fail(json.Unmarshal(ask("GET", model+"/maps", nil, ""), &told))
	if len(told.Inputs) != 1 || len(told.Inputs[0].Ciphertexts) != 1 || told.Rows != nil || len(told.Outputs) != 1 ||
		readings[told.Outputs[0].Read] == nil {
		log.Fatal("this program is for models of one array in one ciphertext, and one result; see docs/javascript.md")
	}
	input, output := told.Inputs[0], told.Outputs[0]
	var values []float64
	for {
		var x float64
		if _, err := fmt.Scan(&x); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		if input.Low != nil && x < *input.Low || input.High != nil && x > *input.High {
			log.Fatalf("the model is for values from %g to %g, not %g", *input.Low, *input.High, x)
		}
		if input.Step != nil && math.Abs(x/(*input.Step)-math.Round(x/(*input.Step))) > 1e-9 {
			log.Fatalf("the model is for multiples of %g, and %g is none", *input.Step, x)
		}
		values = append(values, (x-input.Numbers[0])/input.Factors[0])
	}
	size := 1
	for _, extent := range input.Shape {
		size *= extent
	}
	if len(values) != size {
		log.Fatalf("%d numbers came, and the model takes %d", len(values), size)
	}

	context, err := hemera.OpenContext(told.Parameters, 128)
	fail(err)
	defer context.Free()
	secret, err := context.GenerateSecretKey()
	fail(err)
	defer secret.Free()
	keys, err := secret.GenerateNeededKeys(told.Keys)
	fail(err)
	ask("PUT", model+"/keys", keys, told.Digest)

	ciphertext := input.Ciphertexts[0]
	elements, rows := words(ciphertext.Slots), max(1, ciphertext.Batch)
	slots := make([]float64, rows*ciphertext.Count)
	for at := range slots {
		period := len(elements) / rows
		if element := elements[at/ciphertext.Count*period+at%ciphertext.Count%period]; element >= 0 {
			slots[at] = values[element]
		}
	}
	level := hemera.HighestLevel
	if ciphertext.Level != nil {
		level = *ciphertext.Level
	}
	file, err := secret.EncryptDoubles(slots, ciphertext.Batch, level)
	fail(err)
	found, err := secret.DecryptDoubles(ask("POST", model+"/evaluate", file, told.Digest))
	fail(err)
	for _, place := range words(output.Places) {
		entry, width := int(place)/output.Width, len(found)/max(1, output.Batch)
		value := found[entry*width+int(place)%output.Width]*output.Factors[0] + output.Numbers[0]
		fmt.Println(readings[output.Read](value))
	}
}

// What a decrypted value stands for, by the output's reading.
var readings = map[string]func(float64) any{
	"values":  func(x float64) any { return x },
	"truth":   func(x float64) any { return x > 0.5 },
	"integer": func(x float64) any { return int64(math.Round(x)) },
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}
