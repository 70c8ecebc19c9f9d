// Package internal has no code of its own. Below it is what the chapters use and no chapter is about.
//
// What every chapter's main uses:
//
//	program        flags, signals, and the lines that are printed
//	connect        finds the cluster, and says in one line why it cannot be reached
//	requestlog     prints and counts HTTP requests: --wire
//	netfault       breaks the network on purpose, or makes it late: --cut-after, --slow-watch
//
// What one chapter uses:
//
//	discover       what a name such as "deploy" stands for: chapter 1
//	fielddiff      what a write has changed, and who has written: chapter 1, the picture and make conformance
//	informertrace  the way of an object through an informer: chapter 2, and the picture
//	shard          a part of the objects, by the hash of their UIDs or namespaces: chapters 2 and 6
//	shard/cuts     a program that prints where to cut the namespaces: make deploy
//	querylang      queries such as "node=a and image=b": chapter 3
//
// What chapters 2 and 4 use:
//
//	picture  shows the running program in a browser: --picture
//
// Parts of the controllers of chapters 4 to 6:
//
//	controller/retryqueue   a workqueue that knows which keys wait for a retry
//	controller/serve        health, readiness and metrics
//	controller/consistency  whether the stores have the controller's own writes, and whether etcd was restored
//	controller/election     one of several processes leads
//	controller/ssa          server-side apply where it does not undo all that others have changed
//	controller/rollout      the conditions Ready and Progressing of a Deployment
//	controller/failure      what the status says of an error
//
// What make conformance runs:
//
//	conformance  whether a controller of DatabaseManagers keeps its promises
//
// The machinery of the exercises:
//
//	exercise/manifest         which exercises there are
//	exercise/grade            runs the answers, and gives a verdict
//	exercise/fakeserver       an API server in memory that does what a test orders
//	exercise/isolatedgroup    a copy of the group coolops.cn for one run
//	exercise/mutants          tests the graders with changed answers
//	exercise/mutants/altered  what a changed answer calls
//
// The graders of the exercises, a package for each chapter, and what they share. A grader's answers are in a folder below it.
//
//	exercises/01-listwatch    chapter 1
//	exercises/02-informer     chapter 2
//	exercises/03-lister       chapter 3
//	exercises/04-workqueue    chapter 4
//	exercises/05-controller   chapter 5
//	exercises/06-crd-codegen  chapter 6
//	exercises/follow          runs an answer that follows the pods of a scripted server: chapter 1
//	exercises/podinformer     informers of pods: chapter 2
//	exercises/podstore        a store that counts what is read: chapters 3 and 5
//	exercises/readfault       judges an answer whose read has failed: chapter 5
//	exercises/storewatch      sees an object of the store that is changed for a moment: chapter 5
//
// What only tests use:
//
//	test/testkit      waits, buffers, processes
//	test/testcluster  a real API server
//	test/browser      a page in a real browser
//	test/pictures     what the chapters show in a browser
//	test/transcript   runs the console blocks of a README
//	test/docs         compares the texts with the code
//	test/readmes      runs all READMEs
//
// No package imports a chapter, but conformance and exercises/06-crd-codegen have chapter 6's types. Only tests, exercises and
// scripts/exercise import from the last three groups.
package internal
