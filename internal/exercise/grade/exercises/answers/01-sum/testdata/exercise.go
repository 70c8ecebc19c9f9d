// Package exercise is not what exercise.go holds: as if a learner had written an answer there.
package exercise
