package picture

// parts are what a page can show, in the order of an object's way. A chapter says which of them it has.
var parts = []struct {
	id, title, caption, source string // source is a file of client-go
}{
	{"server", "API server", "It keeps all objects, and answers lists, watches and writes.", "rest/request.go"},
	{"connection", "Connection", "One watch for each informer stays open: the server sends each change on it.",
		"tools/cache/listwatch.go"},
	{"reflector", "Reflector", "It lists, then reads the watch's events. If it cannot resume the watch, it lists again: a relist.",
		"tools/cache/reflector.go"},
	{"fifo", "Queue (RealFIFO)", "Changes wait here in the server's order; a whole list counts as one.", "tools/cache/the_real_fifo.go"},
	{"store", "Store", "A copy of all objects in memory, with indexes; listers read it.", "tools/cache/thread_safe_store.go"},
	{"handlers", "Handlers", "Each has a buffer of its own without a limit: a slow one holds up only itself.",
		"tools/cache/shared_informer.go"},
	{"queue", "Workqueue", "Each key is in it at most once: what is added again is merged.", "util/workqueue/queue.go"},
	{"workers", "Workers", "Each holds one key, which no other gets until Done. Added meanwhile, it is dirty: queued at Done.",
		"util/workqueue/queue.go"},
	{"waiting", "Waiting for a retry", "A key whose sync has failed goes back into the workqueue after a delay, which doubles.",
		"util/workqueue/delaying_queue.go"},
}
