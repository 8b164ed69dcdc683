// Renders the chart as Helm does, as far as this chart goes: Go's text/template with the sprig functions and Helm's own few
// (include, toYaml, toJson, required, fail). For machines without Helm; built by test/operate/deploy/kubernetes.test.ts.
//
//	render CHART_FOLDER CONTEXT.json
//
// prints {"<file>": "<output>"}. An error of a template goes to stderr, and it exits with 1.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func main() {
	folder := os.Args[1]
	context := map[string]interface{}{}
	must(json.Unmarshal(read(os.Args[2]), &context))
	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv"} {
		delete(functions, name)
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	functions["toJson"] = func(value interface{}) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	functions["fail"] = func(message string) (string, error) { return "", fmt.Errorf("%s", message) }
	root.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	must(err)
	for _, file := range files {
		_, err := root.New(filepath.Base(file)).Parse(string(read(file)))
		must(err)
	}
	outputs := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out bytes.Buffer
		must(root.ExecuteTemplate(&out, name, context))
		// Helm prints these where a value was missing.
		outputs[name] = strings.ReplaceAll(out.String(), "<no value>", "")
	}
	text, err := json.Marshal(outputs)
	must(err)
	os.Stdout.Write(text)
}

func read(path string) []byte {
	text, err := os.ReadFile(path)
	must(err)
	return text
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
