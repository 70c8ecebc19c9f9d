package main

import (
	"testing"

	"example.com/client-go-workbook/internal/test/transcript"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "README.md")
}
