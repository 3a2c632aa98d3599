// Answers the render request of the benchmark with Go's own net/http, encoding/json and text/template, on one core.
// The file that TEMPLATES names holds the messages' templates and the shared variables.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"text/template"
)

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type setup struct {
	Messages []message
	Bench    map[string]any
}

func main() {
	runtime.GOMAXPROCS(1)
	var given setup
	text, err := os.ReadFile(os.Getenv("TEMPLATES"))
	check(err)
	check(json.Unmarshal(text, &given))
	templates := make([]*template.Template, len(given.Messages))
	for index, each := range given.Messages {
		templates[index] = template.Must(template.New("").Parse(each.Content))
	}
	http.HandleFunc("/api/render/prompts/", func(writer http.ResponseWriter, request *http.Request) {
		var body struct {
			Variables map[string]any `json:"variables"`
		}
		if json.NewDecoder(request.Body).Decode(&body) != nil {
			http.Error(writer, "not JSON", http.StatusBadRequest)
			return
		}
		data := map[string]any{"variables": body.Variables, "bench": given.Bench}
		rendered := make([]message, len(templates))
		for index, each := range templates {
			var output bytes.Buffer
			check(each.Execute(&output, data))
			rendered[index] = message{given.Messages[index].Role, output.String()}
		}
		writer.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(writer)
		encoder.SetEscapeHTML(false)
		check(encoder.Encode(map[string]any{"rendered_prompt": rendered, "status": "success"}))
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("Server listening at http://%s\n", listener.Addr())
	check(http.Serve(listener, nil))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
