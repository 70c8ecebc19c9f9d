#!/usr/bin/env bash
# usage: apply-samples.sh [--if-missing] [--pods COUNT] [N]
# Puts the sample objects on the cluster and waits until their pods are ready: all of them, or those that chapter N
# needs, which are its own and the earlier chapters'. With --if-missing only the files of which one is missing. With --pods, the
# Deployment shop/crowd of chapter 3 gets so many pods, and what is missing is put there, too.
exec "$(dirname "$0")/cluster.sh" samples "$@"
