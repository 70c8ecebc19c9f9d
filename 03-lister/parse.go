package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// parse reads a query: terms such as node=node-000003, joined by "and" and "or", where "and" binds tighter, with
// parentheses where wanted. Its error is a syntaxError.
func parse(text string) (query, error) {
	p := parser{text: text, words: wordPattern.FindAllStringIndex(text, -1)}
	q, err := p.or()
	if err == nil && p.word() != "" {
		return nil, p.errorf(`expected "and" or "or"`)
	}
	return q, err
}

var wordPattern = regexp.MustCompile(`[()]|[^\s()]+`)

// parser has the words that are still to be read, as where they begin and end in the text.
type parser struct {
	text  string
	words [][]int
}

// word returns the next word without reading it, "" at the end.
func (p *parser) word() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.text[p.words[0][0]:p.words[0][1]]
}

// skip reads the next word if it is this one.
func (p *parser) skip(word string) bool {
	if !strings.EqualFold(p.word(), word) {
		return false
	}
	p.words = p.words[1:]
	return true
}

func (p *parser) or() (query, error) {
	q, err := p.and()
	for err == nil && p.skip("or") {
		var right query
		right, err = p.and()
		q = or{q, right}
	}
	return q, err
}

func (p *parser) and() (query, error) {
	q, err := p.term()
	for err == nil && p.skip("and") {
		var right query
		right, err = p.term()
		q = and{q, right}
	}
	return q, err
}

func (p *parser) term() (query, error) {
	if p.skip("(") {
		q, err := p.or()
		if err == nil && !p.skip(")") {
			return nil, p.errorf(`expected "and", "or" or ")"`)
		}
		return q, err
	}
	key, value, isTerm := strings.Cut(p.word(), "=")
	if !isTerm || value == "" {
		return nil, p.errorf("expected key=value")
	}
	var q query
	switch key {
	case "name":
		object, err := cache.ParseObjectName(value)
		if err != nil || object.Name == "" {
			return nil, p.errorf("expected name=NAME or name=NAMESPACE/NAME")
		}
		q = named(object)
	case "namespace", "node", "image", "owner":
		q = indexed{key, value}
	case "label":
		selector, err := labels.Parse(value)
		if err != nil {
			return nil, p.errorf("%v", err)
		}
		q = labelled{selector}
	default:
		return nil, p.errorf("expected one of the keys name, namespace, node, image, owner, label")
	}
	p.words = p.words[1:]
	return q, nil
}

// errorf complains about the next word.
func (p *parser) errorf(format string, args ...any) error {
	at := len(p.text)
	if len(p.words) > 0 {
		at = p.words[0][0]
	}
	return syntaxError{utf8.RuneCountInString(p.text[:at]), p.word(), fmt.Sprintf(format, args...)}
}

// syntaxError is a mistake in a query, and the word where it was noticed: "" for the end.
type syntaxError struct {
	before        int // characters before the word
	word, message string
}

func (e syntaxError) Error() string {
	if e.word == "" {
		return fmt.Sprintf("at the end: %s", e.message)
	}
	return fmt.Sprintf("at %q, character %d: %s", e.word, e.before+1, e.message)
}

// pointer returns a line to be printed under the query, which points at the word.
func (e syntaxError) pointer() string {
	return strings.Repeat(" ", e.before) + strings.Repeat("^", max(1, utf8.RuneCountInString(e.word))) + " " + e.message
}
