// Renders templates with Go's own text/template, for the benchmark to compare with. It reads one JSON line with the cases,
// then lines "index times"; it answers each with the CPU time in ms that rendering the case so often took, and the line
// "index 0" with the output.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"text/template"
)

type example struct {
	Text     string
	Partials map[string]string
	Data     map[string]any
}

func main() {
	input := bufio.NewReader(os.Stdin)
	first, err := input.ReadBytes('\n')
	check(err)
	var examples []example
	decoder := json.NewDecoder(bytes.NewReader(first))
	decoder.UseNumber()
	check(decoder.Decode(&examples))
	templates := make([]*template.Template, len(examples))
	for index, each := range examples {
		templates[index] = parse(each)
		each.Data = withIntegers(each.Data).(map[string]any)
		examples[index] = each
	}
	for {
		var index, times int
		if _, err := fmt.Fscanln(input, &index, &times); err != nil {
			return
		}
		if times == 0 {
			var output strings.Builder
			check(templates[index].Execute(&output, examples[index].Data))
			check(json.NewEncoder(os.Stdout).Encode(output.String()))
			continue
		}
		before := cpuMilliseconds()
		for count := 0; count < times; count++ {
			var output strings.Builder
			check(templates[index].Execute(&output, examples[index].Data))
		}
		fmt.Println(cpuMilliseconds() - before)
	}
}

func parse(each example) *template.Template {
	root := template.Must(template.New("prompt").Parse(each.Text))
	for name, text := range each.Partials {
		template.Must(root.New(name).Parse(text))
	}
	return root
}

// withIntegers turns integral JSON numbers into ints, as the service has them.
func withIntegers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			value[key] = withIntegers(member)
		}
	case []any:
		for index, element := range value {
			value[index] = withIntegers(element)
		}
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

func cpuMilliseconds() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
