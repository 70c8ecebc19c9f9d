#!/usr/bin/env bash
# usage: exercise.sh grade [N.M [ANSWER]]|hint [N.M]|solution [--force] [N.M]|reset [N.M]|progress|watch [N.M]
# Without a number it takes the next exercise that is not solved.
# Runs the program in scripts/exercise, in the checkout's folder.
# Exit code 0: solved or done, 1: not solved, 4: not graded, because the machine was too busy.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

case ${2-} in capstone*) exec "$scripts/capstone.sh" "$@" ;; esac
cd "$root"
pin_go
export CLUSTER_DIR=$state
program=$(built exercise scripts/exercise/*.go internal/exercise/manifest/*.go)
exec "$program" "$@"
