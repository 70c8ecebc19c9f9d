package grade

import (
	"slices"
	"strings"
	"testing"
)

func TestPrintedHasTenLinesOfTheAnswer(t *testing.T) {
	var out, err output
	for range 12 {
		_, _ = out.Write([]byte("I1121 18:00:00.000000 1 log.go:1] of klog\nmine\n"))
	}
	_, _ = err.Write([]byte("panic: of the answer\n\ngoroutine 1 [running]:\n"))
	if got := printed(&out, &err); len(got) != 11 || slices.Index(got, "mine") != 0 || got[10] != "... and 2 more lines" {
		t.Errorf("printed %q", got)
	}
	_, _ = out.Write([]byte(strings.Repeat("x", 1<<20)))
	if got := printed(&out); got[10] != "... 1049140 bytes in all" || out.Len() > kept {
		t.Errorf("printed %q, and %d bytes are kept", got, out.Len())
	}
}
