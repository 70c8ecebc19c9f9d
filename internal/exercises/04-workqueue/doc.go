// Package workqueue grades the exercises of chapter 4, each in a file of its own. A grader knows no answers: those that test it are in
// the folder answers, and its test lists them.
package workqueue
