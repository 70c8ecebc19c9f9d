package transcript

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// masks are narrow on purpose: a number that has a meaning, such as a count or an HTTP status, must stay.
// That is why a number with no word to say what it is needs 4 digits to be masked.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`^([IWEF])\d{4} [0-9:.]+ +\d+ ([\w.-]+):\d+\]`), "$1 $2]"}, // klog's header
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UUID"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d+)?( ?(Z|[+-]\d\d:?\d\d))?)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), "TIME"},
	{regexp.MustCompile(`(/tmp|/var/folders)/[\w./-]+`), "TMP"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?([kKMG]i?)?(B|bytes?)\b`), "SIZE"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(d|h|ms|m|s|µs|us|ns))+\b`), "DURATION"},
	// A Deployment's pod: its template's hash, which stays, and its own suffix, in an alphabet without vowels.
	{regexp.MustCompile(`(-[bcdfghjklmnpqrstvwxz2456789]{6,10})-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-POD"},
	{regexp.MustCompile(`(?i)\b(resource ?version|rv)(["']?[ =:]+["']?)\d+( \(\d+\))?`), "$1${2}N"},
	{regexp.MustCompile(`\b(after|since|from) \d{3,}\b`), "$1 N"},
	{regexp.MustCompile(`\b(timeoutSeconds)=\d+\b`), "$1=N"}, // of an informer's watch: random, to not all end at once
	{regexp.MustCompile(`\b(127\.0\.0\.1|localhost):\d+\b`), "$1:PORT"},
	{regexp.MustCompile(`^(DELETED .*) (Running|Succeeded|Failed)(: .*)?$`), "$1 PHASE"}, // a container ends as it likes, or as kwok does
	{regexp.MustCompile(`: status\..*, by (kubelet|kwok-controller)$`), byNode},
	{regexp.MustCompile(`(^|[^\w-])\d{4,}\b`), "${1}N"},   // but not the end of a name
	{regexp.MustCompile(`\bv1\.(\d+)\.\d+\b`), "v1.$1.x"}, // kind's Kubernetes may be some patches behind
	{regexp.MustCompile(`\s+`), " "},                      // columns are as wide as their widest value
}

// mask replaces what changes from run to run.
func mask(line string) string {
	for _, m := range masks {
		line = m.pattern.ReplaceAllString(line, m.mask)
	}
	return strings.TrimRight(line, " ")
}

const (
	anything = "..."
	byNode   = ": status, by NODE" // how a masked line ends about a node's write
)

type verdict int

const (
	same    verdict = iota
	short           // got is as wanted as far as it goes, but there must be more of it
	differs         // more lines would not help
)

// compare compares lines, masked. If they are the same, it says how many of got the wanted ones take up; with whole,
// these must be all.
func compare(want, got []string, unordered, whole bool) (int, verdict) {
	want, got = slices.Clone(want), slices.Clone(got)
	for _, lines := range [][]string{want, got} {
		for i, line := range lines {
			lines[i] = mask(line)
		}
	}
	if unordered {
		return matchUnordered(want, got, whole)
	}
	return match(want, got, whole)
}

func match(want, got []string, whole bool) (int, verdict) {
	switch {
	case len(want) == 0 && (len(got) == 0 || !whole):
		return 0, same
	case os.Getenv("CLUSTER") == "kind" && len(got) > 0 && strings.HasSuffix(got[0], byNode) &&
		(len(want) == 0 || want[0] != anything && want[0] != got[0]):
		// A kubelet writes a pod's status when it likes, and once more on a busy machine.
		n, v := match(want, got[1:], whole)
		return n + 1, v
	case len(want) == 0:
		return 0, differs
	case want[0] == anything:
		for i := range len(got) + 1 {
			if n, v := match(want[1:], got[i:], whole); v == same {
				return i + n, same
			}
		}
		return 0, short
	case len(got) == 0:
		return 0, short
	case want[0] != got[0]:
		return 0, differs
	}
	n, v := match(want[1:], got[1:], whole)
	return n + 1, v
}

func matchUnordered(want, got []string, whole bool) (int, verdict) {
	missing := slices.DeleteFunc(want, func(line string) bool { return line == anything })
	others := len(missing) < len(want)
	for i, line := range got {
		at := slices.Index(missing, line)
		switch {
		case len(missing) == 0 && !whole:
			return i, same
		case at >= 0:
			missing = slices.Delete(missing, at, at+1)
		case !others:
			return 0, differs
		}
	}
	if len(missing) > 0 {
		return 0, short
	}
	return len(got), same
}
