package program

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// AtLeastOne returns a function for pflag's Func that reads a number, 1 or more, into n. A wrong value leaves n as it is.
func AtLeastOne(n *int) func(string) error {
	return func(value string) error {
		number, err := strconv.Atoi(value)
		if err != nil || number < 1 {
			return errors.New("it takes a number, 1 or more")
		}
		*n = number
		return nil
	}
}

// ObjectName returns a function for pflag's Func that reads NAMESPACE/NAME into name. A wrong value leaves name as it is.
func ObjectName(name *cache.ObjectName) func(string) error {
	return func(value string) error {
		parsed, err := cache.ParseObjectName(value)
		if err != nil || parsed.Namespace == "" || parsed.Name == "" {
			return errors.New("it takes NAMESPACE/NAME")
		}
		*name = parsed
		return nil
	}
}

// LabelSelector returns a function for pflag's Func that reads a label selector, such as app=nginx, into selector. A wrong
// value leaves selector as it is.
func LabelSelector(selector *labels.Selector) func(string) error {
	return func(value string) error {
		parsed, err := labels.Parse(value)
		if err != nil {
			return err
		}
		*selector = parsed
		return nil
	}
}
