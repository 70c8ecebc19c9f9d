// Package exercise has answers to an exercise that is there for the tests of package grade only: return the sum of
// numbers. Each of the wrong ones fails in another way. Two more exercises are in its tests.
package exercise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

type numbers interface {
	Next(context.Context) (int, error) // errEnd after the last
}

var errEnd = errors.New("no more numbers")

func sum(ctx context.Context, n numbers) int {
	total := 0
	for {
		next, err := n.Next(ctx)
		if err != nil {
			return total
		}
		total += next
	}
}

func recursive(ctx context.Context, n numbers) int {
	next, err := n.Next(ctx)
	if err != nil {
		return 0
	}
	return next + recursive(ctx, n)
}

func doesNothing(context.Context, numbers) int { return 0 }

func hardCoded(context.Context, numbers) int { return 42 }

func panics(context.Context, numbers) int {
	totals := map[string]map[string]int{}
	totals["sum"]["sum"] = 1
	return 0
}

func panicsInGoroutine(ctx context.Context, n numbers) int {
	done := make(chan bool)
	go func() {
		var next *int
		*next = 1
		close(done)
	}()
	<-done
	return sum(ctx, n)
}

func exits(context.Context, numbers) int {
	fmt.Println("I give up")
	os.Exit(0)
	return 0
}

func loops(context.Context, numbers) int {
	for i := 0; ; i++ {
		if i < 0 {
			return i
		}
	}
}

func waits(context.Context, numbers) int {
	time.Sleep(time.Hour)
	return 0
}

func deadlocks(context.Context, numbers) int {
	return <-make(chan int)
}

func leaks(ctx context.Context, n numbers) int {
	go func() { <-make(chan int) }()
	return sum(ctx, n)
}

func printsAMegabyte(context.Context, numbers) int {
	fmt.Println("one of my lines")
	fmt.Println(strings.Repeat("x", 1<<20))
	return 0
}

func takesMemory(context.Context, numbers) int {
	for all := [][]byte{}; ; {
		all = append(all, make([]byte, 1<<20))
		if len(all) == 0 {
			return 0
		}
	}
}
