// Command doctor is the smallest program of the workbook. scripts/doctor.sh finds out by it whether go builds programs here, and
// whether they run.
package main

import (
	"fmt"
	_ "net" // contains C where there is a C compiler, as all programs of the workbook do
	"runtime"
)

func main() { fmt.Printf("%s/%s\n", runtime.GOOS, runtime.GOARCH) }
