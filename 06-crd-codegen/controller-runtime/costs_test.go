package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

var draw = flag.Bool("draw", false, "draw the README's table into costs.svg")

// TestCostsAreThoseOfTheTable draws the README's table, which BenchmarkSideBySide prints: costs.svg is that drawing.
func TestCostsAreThoseOfTheTable(t *testing.T) {
	drawn := drawing(string(testkit.Must(os.ReadFile("README.md"))(t)))
	if *draw {
		if err := os.WriteFile("costs.svg", []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if string(testkit.Must(os.ReadFile("costs.svg"))(t)) != drawn {
		t.Error("costs.svg is not what the README's table draws: go test . -run TestCosts -draw")
	}
}

// drawing draws each figure as a part of the twin's, which is 1.
func drawing(readme string) string {
	const left, unit, bar, row = 470, 330, 12, 50 // pixels: the first one of the bars, a bar of 1, its height, a row of the table
	colors := []string{"#5470c6", "#91cc75", "#fac858"}
	var svg strings.Builder
	y := 30
	text := func(x, y int, anchor, text string) {
		fmt.Fprintf(&svg, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, text)
	}
	for _, line := range regexp.MustCompile(`(?m)^\| (.*?) \| (.*?) \| (.*?) \| (.*?) \|.*\|$`).FindAllStringSubmatch(readme, -1) {
		what, cells := line[1], line[2:5]
		if what == "what" {
			for i, name := range cells {
				fmt.Fprintf(&svg, "<rect x=\"%d\" y=\"%d\" width=\"24\" height=\"%d\" fill=\"%s\"/>\n", left+i*130, y-bar, bar, colors[i])
				text(left+30+i*130, y, "start", name)
			}
			continue
		}
		twin, ok := number(cells[1])
		if !ok {
			continue // another table, or the line below the names
		}
		y += row
		text(left-10, y, "end", what)
		for i, cell := range cells {
			value, _ := number(cell)
			part := value / twin
			top := y - 18 + i*(bar+1)
			fmt.Fprintf(&svg, "<rect x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"%d\" fill=\"%s\"/>\n", left, top, unit*part, bar, colors[i])
			text(left+int(unit*part)+6, top+bar-1, "start", fmt.Sprintf("%.2f", part))
		}
	}
	const head = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 %[1]d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#464646\">\n" +
		"<rect width=\"900\" height=\"%[1]d\" fill=\"white\"/>\n"
	return fmt.Sprintf(head, y+row/2+bar) + svg.String() + "</svg>\n"
}

// number is the figure in a cell of the table, such as 35.30 s.
func number(cell string) (value float64, ok bool) {
	first, _, _ := strings.Cut(cell, " ")
	value, err := strconv.ParseFloat(first, 64)
	return value, err == nil
}
