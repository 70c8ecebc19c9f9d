package codegen_test

import (
	"os/exec"
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field"
	"example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/mistakes/allowsazonetwice"
	"example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/mistakes/comparestwopairs"
	"example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/mistakes/hasapatternwithoutanchors"
	"example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/mistakes/hasnojsontag"
	"example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/mistakes/putsablankaftertheplussign"
	"example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/mistakes/requiresazone"
	"example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/mistakes/requiresthefields"
	"example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/others/declaresitsrules"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/02-field/starter"
)

func TestField(t *testing.T) {
	// Compiled here, once and without a limit: on a busy machine the first run takes longer than the answers have.
	if output, err := exec.CommandContext(t.Context(), "go", "tool", "controller-gen", "--version").CombinedOutput(); err != nil {
		t.Fatalf("go tool controller-gen: %v: %s", err, output)
	}
	e := graders.Field
	e.RejectsStarter(t, starter.Cache{})
	e.Accepts(t, answers.Cache{}, declaresitsrules.Cache{})
	e.Rejects(t, "requires the fields", requiresthefields.Cache{}, "Required value")
	e.Rejects(t, "puts a blank after the plus sign", putsablankaftertheplussign.Cache{}, "a spec with [port:1023] is rejected")
	e.Rejects(t, "has no json tag", hasnojsontag.Cache{}, "without JSON tag")
	e.Rejects(t, "allows a zone twice", allowsazonetwice.Cache{}, "zones:[a-")
	e.Rejects(t, "has a pattern without anchors", hasapatternwithoutanchors.Cache{}, "a spec with [eviction:LRU")
	e.Rejects(t, "compares two pairs", comparestwopairs.Cache{}, "a spec with [zones:[b a-")
	e.Rejects(t, "requires a zone", requiresazone.Cache{}, "a spec with [zones:[]] is accepted")
}
