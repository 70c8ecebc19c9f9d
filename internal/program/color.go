package program

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// The first word of a line decides its colour. These are the ANSI escape sequences that switch it on.
const (
	green    = "\x1b[32m" // something is new
	yellow   = "\x1b[33m" // something has changed
	red      = "\x1b[31m" // something is gone
	magenta  = "\x1b[35m" // something has failed, or has been missed
	colorOff = "\x1b[0m"
)

var colors = map[string]string{
	"ADDED": green, "ADD": green, "add": green, "CREATED": green,
	"MODIFIED": yellow, "UPDATE": yellow, "update": yellow, "UPDATED": yellow, "ADOPTED": yellow, "RELEASED": yellow,
	"DELETED": red, "DELETE": red, "delete": red, "REMOVED": red,
	"RETRY": magenta, "EXPIRED": magenta, "MISSED": magenta, "UNREADABLE": magenta, "DROPPED": magenta, "STUCK": magenta,
}

// showsColors reports whether out is a terminal that shows colours, and whose user wants them (https://no-color.org).
// A file or a pipe must not get escape sequences: the next program would not understand them.
func showsColors(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == ""
}

// appendColored appends the text to the line, its first word in the word's colour.
func appendColored(line []byte, text string) []byte {
	word, _, _ := strings.Cut(text, " ")
	color, ok := colors[word]
	if !ok {
		return appendVisible(line, text)
	}
	line = append(line, color...)
	line = append(line, word...)
	line = append(line, colorOff...)
	return appendVisible(line, text[len(word):])
}
