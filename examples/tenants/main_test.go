package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The picture in the documents is what the program draws now, and the page shows the table.
func TestPage(t *testing.T) {
	var picture, numbers bytes.Buffer
	if err := draw(&picture); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/tenants.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(picture.Bytes(), want) {
		t.Error("docs/tenants.svg is not what is drawn: go run ./examples/tenants -svg > docs/tenants.svg")
	}
	if err := table(&numbers); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/tenants.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), numbers.String()) {
		t.Errorf("docs/tenants.md does not show what go run ./examples/tenants prints:\n%s", &numbers)
	}
}
