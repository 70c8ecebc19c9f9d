// main.js: each message of the program goes to the parts of the drawing, which all have the same three functions:
// whole(state) shows the state of the program anew, event(e) shows what has happened, status(s, now) shows counts.
// Read next: stream.js, dots.js, informer.js, queue.js, timeline.js, buttons.js.
import { follow } from './stream.js'
import { clearDots } from './dots.js'
import * as informer from './informer.js'
import * as queue from './queue.js'
import * as timeline from './timeline.js'
import * as buttons from './buttons.js'

const parts = [informer, queue, timeline, buttons]

follow(message => {
  const { state, events = [], status, now } = message
  if (state) {
    clearDots()
    parts.forEach(part => part.whole(state, message))
  }
  for (const e of events) {
    timeline.event(e)
    if (state && e.seq <= state.seq) continue // the state has its effect already
    informer.event(e)
    queue.event(e)
    buttons.event(e)
  }
  parts.forEach(part => part.status(status, now))
})
