// Cuts reads names of namespaces, one in a line, and prints the hashes that cut them into N parts of the same size, as chapter 6's
// --shard takes them:
//
//	scripts/kubectl get namespaces -o name | go run ./internal/shard/cuts N
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"example.com/client-go-workbook/internal/shard"
)

func main() {
	count := 0
	if len(os.Args) == 2 {
		count, _ = strconv.Atoi(os.Args[1])
	}
	if count < 1 || count > shard.Most {
		fmt.Fprintf(os.Stderr, "usage: cuts N, the number of shards, from 1 to %d; it reads namespaces from stdin\n", shard.Most)
		os.Exit(2)
	}
	var namespaces []string
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		namespaces = append(namespaces, strings.TrimPrefix(lines.Text(), "namespace/"))
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(shard.Cuts(namespaces, count), ","))
}
