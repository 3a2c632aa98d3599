// Answers cases with what Go's own text/template makes of them. It reads JSON lines with a template, data and options, and
// writes each back as a vector: with the output, or with the kind and the message of the error.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"
)

// What takes longer or writes more is a loop over a huge integer; such a case is left out.
const maxTime = time.Second
const maxOutput = 4 << 10

var errTooLong = errors.New("the output is too long")

type bounded struct{ bytes.Buffer }

func (output *bounded) Write(text []byte) (int, error) {
	if output.Len()+len(text) > maxOutput {
		return 0, errTooLong
	}
	return output.Buffer.Write(text)
}

func main() {
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	encoder := json.NewEncoder(os.Stdout)
	for {
		var vector map[string]any
		err := decoder.Decode(&vector)
		if err == io.EOF {
			return
		}
		check(err)
		if answer(vector) {
			check(encoder.Encode(vector))
		}
	}
}

// answer renders the case; it tells whether that gave something to compare with.
func answer(vector map[string]any) bool {
	missingKey := vector["options"].(map[string]any)["missingkey"].(string)
	parsed, err := template.New("t").Funcs(functions).Option("missingkey=" + missingKey).Parse(vector["template"].(string))
	if err != nil {
		vector["wantError"], vector["message"] = "parse", err.Error()
		return true
	}
	var output bounded
	done := make(chan error, 1)
	go func() { done <- parsed.Execute(&output, withIntegers(vector["data"])) }()
	select {
	case err = <-done:
	case <-time.After(maxTime):
		return false
	}
	if err != nil {
		vector["wantError"], vector["message"] = "exec", err.Error()
		return !errors.Is(err, errTooLong)
	}
	vector["want"] = output.String()
	if !utf8.Valid(output.Bytes()) {
		vector["wantBase64"] = base64.StdEncoding.EncodeToString(output.Bytes())
	}
	return true
}

// withIntegers gives a copy in which integral numbers are ints, where they fit, and all others floats.
func withIntegers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		members := make(map[string]any, len(value))
		for key, member := range value {
			members[key] = withIntegers(member)
		}
		return members
	case []any:
		elements := make([]any, len(value))
		for index, element := range value {
			elements[index] = withIntegers(element)
		}
		return elements
	case json.Number:
		if integer, err := value.Int64(); err == nil {
			return int(integer)
		}
		float, err := value.Float64()
		check(err)
		return float
	}
	return value
}

// functions are those that the vectors were recorded with: sample-functions.ts has them for our engine.
var functions = template.FuncMap{
	"upper":   strings.ToUpper,
	"add":     add,
	"adder":   func() func(int, int) int { return add },
	"fail":    func(values ...any) (any, error) { return nil, errors.New(fmt.Sprint(values...)) },
	"list":    func(values ...any) []any { return values },
	"nothing": func() any { return nil },
	"obj": func() map[string]any {
		return map[string]any{"name": "obj", "n": 1, "nested": map[string]any{"k": "v"}, "items": []any{1, 2, 3}}
	},
	"tool":       func(values ...any) map[string]any { return map[string]any{"args": values, "count": len(values)} },
	"my_tool_v2": func(values ...any) string { return fmt.Sprintf("my_tool_v2(%d)", len(values)) },
	"half":       func(value float64) float64 { return value / 2 },
	"truth":      func(value bool) bool { return value },
	"join": func(separator string, values []any) string {
		return strings.Join(convert(values, func(value any) string { return fmt.Sprint(value) }), separator)
	},
	"keys": func(values map[string]any) []any {
		return convert(slices.Sorted(maps.Keys(values)), func(name string) any { return name })
	},
}

func add(left, right int) int { return left + right }

func convert[From, To any](values []From, one func(From) To) []To {
	converted := make([]To, len(values))
	for index, value := range values {
		converted[index] = one(value)
	}
	return converted
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
