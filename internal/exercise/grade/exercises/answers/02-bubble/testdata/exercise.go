// Package exercise is graded in a bubble: call work every minute until ctx ends. It is there for the tests of package grade
// only, and nobody has begun with it.
package exercise

import "context"

func starter(context.Context, func()) {}
