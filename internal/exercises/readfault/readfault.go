// Package readfault judges an answer whose read of an object has failed. It does not know then what the server holds, so it
// has to return this error, and to write nothing.
package readfault

import (
	"fmt"
	"strings"

	"example.com/client-go-workbook/internal/exercise/grade"
)

// Right is an error if a read has failed. NotFound can mean that the object has to be created.
func Right(request grade.Request, fault grade.Fault) grade.Outcome {
	if request.Reads() && fault != grade.NotFound {
		return grade.Error
	}
	return grade.ErrorOrDone
}

// Check returns a check that rejects an answer that goes on after a failed read, and returns another error.
func Check(t *grade.T) func(grade.Failed) {
	return func(failed grade.Failed) {
		if !failed.Request.Reads() || failed.Fault != grade.InternalError || failed.Err == nil {
			return
		}
		if !strings.Contains(failed.Err.Error(), "Internal error") {
			t.Reject(failed.String()+": this error is returned", fmt.Sprintf("it returns: %v", failed.Err),
				"what becomes of the error of this request?")
		}
	}
}
