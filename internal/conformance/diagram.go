package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// participants returns who has sent the requests: the suite, and then the controllers in the order of their first one.
func participants(requests []Request) []string {
	who := []string{suite}
	for _, r := range requests {
		if !slices.Contains(who, r.Who) {
			who = append(who, r.Who)
		}
	}
	return who
}

// title is the heading of a participant's line.
func title(who string) string {
	if who == suite {
		return who
	}
	return "controller " + who
}

// label says what a request is, and what became of it.
func (r Request) label() string {
	code := "no answer"
	if r.Code != 0 {
		code = fmt.Sprint(r.Code)
	}
	text := fmt.Sprintf("%s %s %s %s", r.Verb, r.Resource, r.Name, code)
	if r.Broken != "" {
		text += "  <== " + r.Broken
	}
	return text
}

// isLost reports whether a fault has kept a request from the API server.
func (r Request) isLost() bool { return strings.HasPrefix(r.Broken, "not done") }

// diagram draws a line for each participant, and one for the API server. Time goes down; each request is an arrow between two lines,
// with the seconds since the first.
func diagram(requests []Request) string {
	if len(requests) == 0 {
		return "    none\n"
	}
	who := participants(requests)
	var out strings.Builder
	for i, w := range who {
		fmt.Fprintf(&out, "    %9s%s┌ %s\n", "", strings.Repeat("│  ", i), title(w))
	}
	fmt.Fprintf(&out, "    %9s%s┌ API server\n", "", strings.Repeat("│  ", len(who)))
	for _, r := range requests {
		fmt.Fprintf(&out, "    %8.3f ", r.At.Sub(requests[0].At).Seconds())
		sender := slices.Index(who, r.Who)
		end := "▶"
		if r.isLost() {
			end = "✗"
		}
		line := strings.Repeat("│  ", sender) + "├──" + strings.Repeat("┼──", len(who)-1-sender)
		out.WriteString(strings.TrimSuffix(line, "─") + end)
		fmt.Fprintf(&out, "│ %s\n", r.label())
	}
	return out.String()
}

// drawSVG draws the same as an SVG.
func drawSVG(requests []Request) string {
	const column, line, top = 130, 18, 40
	who := participants(requests)
	server, height := column*len(who), top+line*(len(requests)+1)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="monospace" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
<defs><marker id="end" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>
`, server+800, height)
	for i := range len(who) + 1 {
		name := "API server"
		if i < len(who) {
			name = title(who[i])
		}
		x := 60 + column*i
		fmt.Fprintf(&out, "<text x=\"%d\" y=\"20\" text-anchor=\"middle\">%s</text>\n<path d=\"M%d 26V%d\" stroke=\"gray\"/>\n",
			x, html.EscapeString(name), x, height)
	}
	for i, r := range requests {
		from, to, y := 60+column*slices.Index(who, r.Who), 60+server, top+line*i
		colour := map[bool]string{true: "firebrick", false: "black"}[r.Broken != "" || r.Code >= 400]
		if r.isLost() {
			to -= column / 2
		}
		fmt.Fprintf(&out, "<path d=\"M%d %dH%d\" stroke=\"%s\" marker-end=\"url(#end)\"/>\n", from, y, to, colour)
		fmt.Fprintf(&out, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%.3f s  %s</text>\n", 70+server, y+4, colour,
			r.At.Sub(requests[0].At).Seconds(), html.EscapeString(r.label()))
	}
	out.WriteString("</svg>\n")
	return out.String()
}
