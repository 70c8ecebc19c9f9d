// Package querylang reads queries such as "node=a and (image=b or image=c)".
//
// It has the grammar only: terms key=value, joined by "and" and "or", with parentheses; "and" binds tighter. The
// [Language] defines the keys and the queries. A mistake is an [Error], which points at the word. [Prompt] reads queries
// from a person or a pipe.
package querylang

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Language builds queries from their parsed parts.
type Language[Query any] struct {
	Term    func(key, value string) (Query, error) // value is never empty
	And, Or func(left, right Query) Query
}

// Error is a mistake in a query, and the word at which it was found: "" for the end.
type Error struct {
	Before        string // the text in front of the word
	Word, Message string
}

func (e Error) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("at the end: %s", e.Message)
	}
	return fmt.Sprintf("at %q, character %d: %s", e.Word, utf8.RuneCountInString(e.Before)+1, e.Message)
}

// Pointer returns a line that points at the word when it is printed under the query.
func (e Error) Pointer() string {
	space := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, e.Before)
	return space + strings.Repeat("^", max(1, utf8.RuneCountInString(e.Word))) + " " + e.Message
}

var words = regexp.MustCompile(`[()]|[^\s()]+`)

// Parse reads a query.
func (l Language[Query]) Parse(text string) (Query, error) {
	p := parser[Query]{Language: l, text: text, words: words.FindAllStringIndex(text, -1)}
	query, err := p.or()
	if err == nil && p.word() != "" {
		err = p.errorf(`expected "and" or "or"`)
	}
	return query, err
}

type parser[Query any] struct {
	Language[Query]
	text  string
	words [][]int // the beginning and end of each word that is not read yet
}

// word returns the next word without reading it, "" at the end.
func (p *parser[Query]) word() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.text[p.words[0][0]:p.words[0][1]]
}

// skip reads the next word if it is this one.
func (p *parser[Query]) skip(word string) bool {
	if !strings.EqualFold(p.word(), word) {
		return false
	}
	p.words = p.words[1:]
	return true
}

// errorf returns an error about the next word.
func (p *parser[Query]) errorf(format string, args ...any) error {
	at := len(p.text)
	if len(p.words) > 0 {
		at = p.words[0][0]
	}
	return Error{p.text[:at], p.word(), fmt.Sprintf(format, args...)}
}

func (p *parser[Query]) or() (Query, error) {
	query, err := p.and()
	for err == nil && p.skip("or") {
		var right Query
		right, err = p.and()
		query = p.Or(query, right)
	}
	return query, err
}

func (p *parser[Query]) and() (Query, error) {
	query, err := p.term()
	for err == nil && p.skip("and") {
		var right Query
		right, err = p.term()
		query = p.And(query, right)
	}
	return query, err
}

func (p *parser[Query]) term() (query Query, err error) {
	if p.skip("(") {
		query, err = p.or()
		if err == nil && !p.skip(")") {
			err = p.errorf(`expected "and", "or" or ")"`)
		}
		return query, err
	}
	key, value, isTerm := strings.Cut(p.word(), "=")
	if !isTerm || value == "" {
		return query, p.errorf("expected key=value")
	}
	if query, err = p.Term(key, value); err != nil {
		return query, p.errorf("%v", err)
	}
	p.words = p.words[1:]
	return query, nil
}
