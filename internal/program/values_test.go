package program

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

func TestAtLeastOne(t *testing.T) {
	for value, want := range map[string]int{"1": 1, "12": 12, "0": -1, "-3": -1, "": -1, "many": -1, "1.5": -1,
		"99999999999999999999": -1} {
		n := 7
		err := AtLeastOne(&n)(value)
		checkValue(t, value, err, n == want, want == -1, n == 7)
	}
}

func TestObjectName(t *testing.T) {
	for value, want := range map[string]string{"default/mypod": "default/mypod", "mypod": "", "default/": "", "/mypod": "",
		"a/b/c": "", "": ""} {
		name := cache.NewObjectName("the", "default")
		err := ObjectName(&name)(value)
		checkValue(t, value, err, name.String() == want, want == "", name.String() == "the/default")
	}
}

func TestLabelSelector(t *testing.T) {
	for value, want := range map[string]string{"app=nginx": "app=nginx", "a in (b,c), !d": "a in (b,c),!d", "a in": "wrong", "=": "wrong"} {
		selector := labels.Everything()
		err := LabelSelector(&selector)(value)
		checkValue(t, value, err, selector.String() == want, want == "wrong", selector.Empty())
	}
}

func checkValue(t *testing.T, value string, err error, isRead, isWrong, isAsBefore bool) {
	switch {
	case isWrong && (err == nil || !isAsBefore):
		t.Errorf("%q: error %v, unchanged %t; want an error, and the variable as it was", value, err, isAsBefore)
	case !isWrong && (err != nil || !isRead):
		t.Errorf("%q: error %v, or another value than wanted", value, err)
	}
}
