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
	options, _ := vector["options"].(map[string]any)
	missingKey, isChosen := options["missingkey"].(string)
	if !isChosen {
		missingKey = "default"
	}
	data := withIntegers(vector["data"])
	if options["numbers"] == "float64" {
		data = withFloats(vector["data"])
	}
	parsed, err := template.New("t").Funcs(functions).Option("missingkey=" + missingKey).Parse(vector["template"].(string))
	if err != nil {
		vector["wantError"], vector["message"] = "parse", err.Error()
		return true
	}
	var output bounded
	done := make(chan error, 1)
	go func() { done <- parsed.Execute(&output, data) }()
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
	return withNumbers(value, func(number json.Number) any {
		if integer, err := number.Int64(); err == nil {
			return int(integer)
		}
		return toFloat(number)
	})
}

// withFloats gives a copy with all numbers as floats, as encoding/json reads them.
func withFloats(value any) any { return withNumbers(value, toFloat) }

func toFloat(number json.Number) any {
	float, err := number.Float64()
	check(err)
	return float
}

func withNumbers(value any, convert func(json.Number) any) any {
	switch value := value.(type) {
	case map[string]any:
		members := make(map[string]any, len(value))
		for key, member := range value {
			members[key] = withNumbers(member, convert)
		}
		return members
	case []any:
		elements := make([]any, len(value))
		for index, element := range value {
			elements[index] = withNumbers(element, convert)
		}
		return elements
	case json.Number:
		return convert(value)
	}
	return value
}

// functions are those that the vectors were recorded with: sample-tools.ts has them for our engine.
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
		return strings.Join(mapped(values, func(value any) string { return fmt.Sprint(value) }), separator)
	},
	"keys": func(values map[string]any) []any {
		return mapped(slices.Sorted(maps.Keys(values)), func(name string) any { return name })
	},
}

func add(left, right int) int { return left + right }

func mapped[From, To any](values []From, one func(From) To) []To {
	results := make([]To, len(values))
	for index, value := range values {
		results[index] = one(value)
	}
	return results
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
