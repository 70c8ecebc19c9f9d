// queue.js: the keys of the workqueue, those that wait, and the workers. Before: informer.js. Next: timeline.js.
import { put, remove, name, paintDot } from './dots.js'
import { text } from './informer.js'

let order = [] // keys that are queued, the next first
let hands = [] // by worker: { key, dirty, since }
const waiting = new Map() // key: when it is due, in microseconds since the program's start
const merges = new Map() // key: how many times it was merged since a worker has taken it last
let ahead = 0 // the program's clock, compared with the page's
const here = document.getElementById('queue')
const dot = key => `k ${key}`

export function whole(state, { now }) {
  ahead = now - performance.now() * 1000
  order = [...state.order]
  hands = state.hands.map(hand => ({ ...hand }))
  waiting.clear()
  merges.clear()
  if (!here) return
  for (const [key, times] of Object.entries(state.merges)) merges.set(key, times)
  for (const key of order) put(dot(key), 'queue', { look: 'key', label: key })
  hands.forEach((hand, n) => {
    if (hand.key) put(dot(hand.key), 'workers', { look: 'key', label: hand.key, slot: n })
    if (hand.dirty) put(`d ${hand.key}`, 'queue', { look: 'again', label: hand.key })
  })
  for (const w of state.waiting) wait(w.key, w.due)
}

function wait(key, due) {
  waiting.set(key, due)
  put(`w ${key}`, 'waiting', { look: 'retry', label: key, follow: dot(key) })
}

export function event(e) {
  if (!here) return
  const { key } = e, worker = e.n - 1
  switch (`${e.part} ${e.what}`) {
    case 'queue queued':
      if (!order.includes(key)) order.push(key)
      remove(`d ${key}`)
      return put(dot(key), 'queue', { look: 'key', label: key, from: 'handlers' })
    case 'queue merged':
      merges.set(key, (merges.get(key) ?? 0) + 1)
      return
    case 'queue dirty':
      if (hands[worker]) hands[worker].dirty = true
      return put(`d ${key}`, 'queue', { look: 'again', label: key, from: 'handlers' })
    case 'queue waits':
      return wait(key, e.at + e.n * 1000)
    case 'queue due':
      waiting.delete(key)
      return remove(`w ${key}`)
    case 'worker got':
      if (order[0] === key) order.shift()
      else order = order.filter(other => other !== key)
      merges.delete(key)
      hands[worker] = { key, dirty: false, since: e.at }
      return put(dot(key), 'workers', { look: 'key', label: key, slot: worker, from: 'queue' })
    case 'worker failed':
      return paintDot(dot(key), 'retry')
    case 'worker synced':
      return paintDot(dot(key), 'synced')
    case 'worker done':
      hands[worker] = undefined
      return remove(dot(key))
  }
}

export function status(s, now) {
  ahead = now - performance.now() * 1000
  show()
}

// show writes the counts, and how long each key has still to wait.
function show() {
  if (!here) return
  const held = hands.filter(hand => hand?.key)
  const dirty = held.filter(hand => hand.dirty).length
  let merged = 0
  for (const n of merges.values()) merged += n
  text('queue', `${order.length} queued, ${dirty} dirty` + (merged ? `, ${merged} merged` : ''))
  text('workers', held.length ? `${held.length} processing` : 'idle')
  text('waiting', `${waiting.size} waiting`)
  const now = performance.now() * 1000 + ahead
  for (const [key, due] of waiting) {
    name(`w ${key}`, `${Math.max(0, (due - now) / 1e6).toFixed(1)} s ${key.replace(/^.*\//, '')}`)
  }
  for (const hand of held) {
    name(dot(hand.key), `${Math.max(0, (now - hand.since) / 1e6).toFixed(1)} s ${hand.key.replace(/^.*\//, '')}` +
      (hand.dirty ? ' (dirty)' : ''))
  }
}
setInterval(() => document.body.classList.contains('lost') || show(), 100)
