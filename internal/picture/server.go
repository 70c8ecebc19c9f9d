package picture

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/dynamic"
)

//go:embed page
var page embed.FS

// clientGo is where the sources of client-go are, in the version of go.mod.
const clientGo = "https://github.com/kubernetes/client-go/blob/v0.37.2/"

// handler serves the page, the events and the buttons.
func (p *Picture) handler(ctx context.Context) (http.Handler, error) {
	client, err := dynamic.NewForConfig(p.config)
	if err != nil {
		return nil, err
	}
	sample := p.chapter.Sample
	kind := sample.Object.GroupVersionKind()
	objects := client.Resource(kind.GroupVersion().WithResource(sample.Resource)).Namespace(sample.Object.GetNamespace())
	index, err := p.index()
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(page, "page")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(index)
	})
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /chapter/{file}", p.source)
	// All that is of the cluster needs the token.
	mux.HandleFunc("GET /events", p.withToken(p.stream))
	mux.HandleFunc("GET /object", p.withToken(p.object))
	mux.HandleFunc("POST /do/{name}", p.withToken(p.press(p.buttons(ctx, objects))))
	return p.guard(mux), nil
}

// withToken refuses requests without the token: other users of this machine can reach the address, too. The page has it from
// what follows the # in the printed address, which a browser sends to no server, and sends it in a header. A cookie would
// go to all ports of 127.0.0.1, also to those of other users.
func (p *Picture) withToken(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Token")), []byte(p.token)) != 1 {
			http.Error(w, "Open the address that the terminal has printed: this one lacks its token.", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// guard refuses what a page of another site lets a browser send: a request from its own origin, or to a name that it lets
// lead to this machine. The port can be another one: that of a forward, as with ssh -L. The page loads nothing from elsewhere, and
// runs no script but its own.
func (p *Picture) guard(next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(p.listener.Addr().String()) // it can be 127.0.0.2, too
	allowed := []string{"127.0.0.1", "localhost", "::1", own}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		name := (&url.URL{Host: r.Host}).Hostname() // without the port
		if !slices.Contains(allowed, name) || origin != "" && origin != "http://"+r.Host {
			http.Error(w, "This address is for this machine's own browser.", http.StatusForbidden)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store") // another version of the program has another page
		next.ServeHTTP(w, r)
	})
}

// shownPart is a part with its links, for the page's template.
type shownPart struct {
	ID, Title, Caption    string
	Section, File, Line   string // of the chapter
	SectionAddress        string
	Source, SourceAddress string // of client-go
}

// index returns the page of the chapter.
func (p *Picture) index() ([]byte, error) {
	var shown []shownPart
	for _, part := range parts {
		for _, mine := range p.chapter.Parts {
			if mine.ID != part.id {
				continue
			}
			s := shownPart{ID: part.id, Title: part.title, Caption: part.caption, Section: mine.Section, File: mine.File,
				Source: part.source, SourceAddress: clientGo + part.source,
				SectionAddress: "/chapter/README.md#" + anchor(mine.Section)}
			text, err := fs.ReadFile(p.chapter.files, mine.File)
			if err != nil {
				return nil, err
			}
			for number, line := range strings.Split(string(text), "\n") {
				if strings.HasPrefix(line, mine.Declaration) {
					s.Line = strconv.Itoa(number + 1)
				}
			}
			readme, err := fs.ReadFile(p.chapter.files, "README.md")
			if err != nil {
				return nil, err
			}
			if !regexp.MustCompile(`(?m)^#+ ` + regexp.QuoteMeta(mine.Section) + `$`).Match(readme) {
				return nil, fmt.Errorf("README.md has no heading %q", mine.Section)
			}
			if s.Line == "" {
				return nil, fmt.Errorf("%s has no line that begins with %q", mine.File, mine.Declaration)
			}
			shown = append(shown, s)
		}
	}
	if len(shown) != len(p.chapter.Parts) {
		return nil, fmt.Errorf("chapter %d has a part that is not in parts.go, or one twice", p.chapter.Number)
	}
	t, err := template.ParseFS(page, "page/index.html")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Number": p.chapter.Number, "Parts": shown, "Kind": p.chapter.Sample.Object.GetKind(), "Name": p.chapter.Sample.Object.GetName(),
		"HasQueue": p.queue != nil,
	})
	return b.Bytes(), err
}

var noAnchor = regexp.MustCompile(`[^\w\- ]`)

// anchor returns the anchor that GitHub gives to a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// source serves a file of the chapter as text, with an anchor at each line, and at each heading.
func (p *Picture) source(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	text, err := fs.ReadFile(p.chapter.files, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	type line struct{ Number, Anchor, Text string }
	var lines []line
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		l := line{Number: "L" + strconv.Itoa(len(lines)+1), Text: scanner.Text()}
		if heading := strings.TrimLeft(l.Text, "#"); heading != l.Text && strings.HasSuffix(name, ".md") {
			l.Anchor = anchor(strings.TrimSpace(heading))
		}
		lines = append(lines, l)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	t, err := template.ParseFS(page, "page/source.html")
	if err == nil {
		err = t.Execute(w, map[string]any{"Name": name, "Number": p.chapter.Number, "Lines": lines})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// object answers what an event has changed in its object.
func (p *Picture) object(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	seq, err := strconv.ParseInt(query.Get("seq"), 10, 64)
	if err != nil {
		http.Error(w, "seq is a number", http.StatusBadRequest)
		return
	}
	kind := cmp.Or(query.Get("kind"), p.chapter.Sample.Object.GetKind()) // a key of the workqueue is that of such an object
	lines, compared := p.objects.diff(kind, query.Get("key"), seq, query.Get("ahead") != "")
	wanted, err := p.objects.wanted(seq)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"lines": lines, "compared": compared, "apply": wanted})
}
