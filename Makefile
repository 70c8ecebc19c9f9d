# Every target is one line in scripts/, or a go command: make only gives them short names.
# It works with GNU make 3.81, which macOS has.

# Where sh is bash, a reader's settings would change a recipe as they would change a script: see scripts/lib.sh.
unexport BASH_ENV BASHOPTS CDPATH GREP_OPTIONS POSIXLY_CORRECT SHELLOPTS
# make -j, or MAKEFLAGS=-j4 in a profile, would run make test cluster-down at the same time.
.NOTPARALLEL:
# With -O, make would keep what a program prints until the program ends.
ifneq (,$(filter output-sync,$(.FEATURES)))
  MAKEFLAGS += --output-sync=none
endif
# These come from the command line, not from a profile.
$(foreach name,N ARGS START STAGE GROUP FOLDER,$(if $(findstring environment,$(origin $(name))),$(eval override $(name) :=)))

# `make chapter 1`: the word after these targets is their argument. make takes it for a target, too, so there is a rule
# for any word, which does nothing. With one colon it would not match 1.a, which looks like a library. A word with a
# quote could end the argument and begin a command.
with_chapter  := chapter picture diff samples
with_exercise := exercise bug new hint solution reset watch mutants
ifneq (,$(filter $(with_chapter) $(with_exercise),$(firstword $(MAKECMDGOALS))))
  override words := $(wordlist 2,99,$(MAKECMDGOALS))
  ifneq (,$(words))
    override N := $(words)
  endif
  ifneq (,$(word 2,$(N))$(filter cluster%,$(N))$(findstring ',$(N)))
    what := $(if $(filter $(with_chapter),$(firstword $(MAKECMDGOALS))),the number of a chapter: 2,the number of an exercise: 2.3)
    what := $(if $(filter bug,$(firstword $(MAKECMDGOALS))),the number of a bug: 2,$(what))
    what := $(if $(filter new,$(firstword $(MAKECMDGOALS))),a kind: Cache,$(what))
    $(error make $(firstword $(MAKECMDGOALS)) takes one word, $(subst :,: make $(firstword $(MAKECMDGOALS)),$(what)))
  endif
%:: ;@:
endif

.DEFAULT_GOAL := help
.PHONY: help chapter twin picture diff samples exercise hint solution reset progress watch bug cluster cluster-down cluster-status image deploy undeploy doctor test test-all test-kind conformance capstone new mutants bench soak lint codegen verify-codegen

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' Makefile | while read -r name text; do printf '  %-15s %s\n' "$$name" "$$text"; done

chapter: ## run a chapter: make chapter 1, with arguments for it: make chapter 1 ARGS="--help"
	@exec scripts/chapter.sh '$(N)' $(ARGS)

twin: ## run chapter 6's controller as it is with controller-runtime: make twin ARGS="--namespace default"
	@exec scripts/chapter.sh 6/controller-runtime $(ARGS)

picture: ## show a running chapter in a browser, 2, 4, 5 or 6: make picture 4
	@exec scripts/chapter.sh '$(N)' --picture '127.0.0.1:1800$(N:0%=%)' $(ARGS)

diff: ## show what a chapter adds to the one before: make diff 2
	@scripts/diff.sh '$(N)'

samples: ## put the sample objects on the cluster: all, or a chapter's: make samples 3, with many pods: make samples 3 PODS=3000
	@scripts/apply-samples.sh $(if $(PODS),--pods "$$PODS") $(if $(N),'$(N)')

# Exit code 1 is a rejected answer, 4 one that could not be graded on a busy machine: for make they are no errors.
exercise: ## grade the next exercise, or one: make exercise 2.3
	@scripts/exercise.sh grade $(if $(N),'$(N)') $(if $(ANSWER),"$$ANSWER") || case $$? in 1 | 4) ;; *) false ;; esac

hint: ## show a hint, one more each time: make hint 2.3
	@exec scripts/exercise.sh hint $(if $(N),'$(N)')

solution: ## show the solution of a solved exercise: make solution 2.3, of any: FORCE=1 make solution 2.3
	@exec scripts/exercise.sh solution $(if $(FORCE),--force) $(if $(N),'$(N)')

reset: ## begin an exercise again; your file is kept beside it: make reset 2.3
	@exec scripts/exercise.sh reset $(if $(N),'$(N)')

progress: ## show how many exercises are solved, and which is next
	@exec scripts/exercise.sh progress

watch: ## grade an exercise each time you save it, on a screen: the next one, or make watch 2.3
	@exec scripts/exercise.sh watch $(if $(N),'$(N)')

cluster: ## bring the cluster up, or repair it; CLUSTER=kind or CLUSTER=local decides which
	@scripts/cluster-up.sh

cluster-down: ## remove the cluster and all its files
	@scripts/cluster-down.sh

cluster-status: ## say what cluster there is and whether it is up
	@scripts/cluster-status.sh

image: ## build an image of chapter 6's controller
	@scripts/image.sh

deploy: ## run chapter 6's controller inside the kind cluster (SHARDS=3: in three pods that share the namespaces)
	@scripts/deploy.sh

undeploy: ## remove it again, with the CRD and all DatabaseManagers
	@scripts/undeploy.sh

doctor: ## check this machine for what the workbook needs
	@scripts/doctor.sh

test: ## run the tests that take minutes, on the local cluster, or some: make test ARGS="./05-controller -run TestLife"
	@scripts/test.sh local $(ARGS)

test-all: ## run all tests but those that need kind; SINCE=HEAD~3 make test-all: those that a change since then can break
	@WORKBOOK_TESTS=all scripts/test.sh local $(ARGS)

test-kind: ## run all tests on a kind cluster, or some: make test-kind ARGS="./06-crd-codegen -run Kind"
	@WORKBOOK_TESTS=all scripts/test.sh kind $(ARGS)

conformance: ## find out what a controller promises and breaks: make conformance CONTROLLER="./my-controller" ONLY=crash SEED=2
	@scripts/conformance.sh $(ARGS)

# Exit code 1 is a stage that is not kept, 3 one that could not be seen. In make reset capstone, the second word is no target.
capstone: ## write the whole controller in twelve stages: make capstone START=python; then make capstone, make capstone STAGE=7
	@[ '$(N)' = capstone ] || scripts/capstone.sh try $(ARGS) || case $$? in 1 | 3) ;; *) false ;; esac

bug: ## find the bug of a report: make bug lists them, make bug 3 begins and tries
	@scripts/bug.sh $(if $(N),'$(N)') || case $$? in 1 | 3) ;; *) false ;; esac

new: ## begin a controller of a resource of your own: make new Cache, or make new Cache GROUP=example.org FOLDER=../cache
	@exec scripts/new.sh '$(N)'

mutants: ## change the right answers in many small ways, and list the changes that a grader does not see: make mutants 5.4
	@scripts/mutants.sh $(ARGS) $(if $(N),'$(N)')

soak: ## run chapter 6 for an hour with everything failing, on a cluster of its own; DURATION=10m make soak
	@WORKBOOK_TESTS=all WORKBOOK_SOAK=$(or $(DURATION),1h) go test ./06-crd-codegen -count=1 -run "^TestSoak" -v -timeout 24h

bench: ## measure the figures that the text gives, on a cluster of its own
	@scripts/bench.sh

codegen: ## generate what follows from chapter 6's Go types: clients, deep copies, the CRD
	@scripts/update-codegen.sh

verify-codegen: ## check that it was generated, and name the files that are stale
	@scripts/verify-codegen.sh

lint: ## check the code and the scripts, and print the lengths of the chapters
	@scripts/lint.sh
