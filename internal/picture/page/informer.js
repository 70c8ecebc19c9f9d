// informer.js: the way of an object from the server to the handlers. Before: dots.js. Next: queue.js.
import { put, pass, remove, has, count, own, paintDot, looks } from './dots.js'

const under = new Map() // objects on their way into the store, by kind and key: their dots, the first to arrive first
const called = new Map() // by kind and handler: the dot of the call
export const text = (part, words) => {
  const element = document.querySelector(`#${part} .count`)
  if (element && element.textContent !== words) element.textContent = words
}
const object = e => `o ${e.kind} ${e.key}`
let kinds = 1 // of objects in the store; if they are several, a dot's name begins with its own
const words = e => kinds > 1 ? `${e.kind} ${e.key.replace(/^.*\//, '')}` : undefined
const owner = e => e.owner && 'o ' + e.owner

export function whole(state) {
  under.clear()
  called.clear()
  kinds = Object.keys(state.stores).length
  for (const [kind, objects] of Object.entries(state.stores)) {
    for (const o of objects) {
      const e = { kind, ...o }
      put(object(e), 'store', { look: 'LISTED', label: e.key, kind: e.kind, shown: words(e), owner: owner(e) })
    }
  }
}

export function event(e) {
  const way = `${e.kind} ${e.key}`
  switch (e.part) {
    case 'reflector': {
      const id = `u ${e.seq}`
      if (!e.key) { // a bookmark or an error
        put(id, 'connection', { look: 'LISTED', label: e.what, from: 'server' })
        return pass(id, 'reflector')
      }
      put(id, 'connection', { look: e.what, label: e.key, kind: e.kind, shown: words(e), from: 'server' })
      put(id, 'reflector')
      if (!under.has(way)) under.set(way, [])
      under.get(way).push(id)
      return
    }
    case 'transform': {
      const id = under.get(way)?.at(-1)
      if (id && has(id)) put(id, 'fifo')
      return
    }
    case 'connection':
      if (e.what !== 'list') return
      for (const [of, ids] of under) { // client-go has given up what is left of the list before
        if (!of.startsWith(e.kind + ' ')) continue
        ids.forEach(remove)
        under.delete(of)
      }
      return
    case 'store': {
      if (e.note === 'tombstone') return remove(object(e)) // nothing has come from the server
      const id = under.get(way)?.shift()
      if (under.get(way)?.length === 0) under.delete(way)
      if (e.what === 'DELETED') {
        if (id) pass(id, 'store')
        return remove(object(e))
      }
      if (has(object(e))) {
        paintDot(object(e), e.what)
        own(object(e), owner(e))
        if (id) pass(id, 'store') // it takes the place of the state before
        return
      }
      put(object(e), 'store', { look: e.what, label: e.key, kind: e.kind, shown: words(e), owner: owner(e), follow: id, from: 'fifo' })
      if (id) remove(id)
      return
    }
    case 'handler': {
      const of = `${e.kind} ${e.n}`
      if (e.what === 'returned') {
        if (called.has(of)) pass(called.get(of), document.getElementById('queue') ? 'queue' : 'handlers')
        called.delete(of)
        return
      }
      const id = `h ${e.seq}`
      const look = looks[e.note] ? e.note : e.what // resync, relist or tombstone
      put(id, 'handlers', { look, label: e.key, kind: e.kind, shown: words(e), follow: object(e), from: 'store' })
      if (look === e.note) paintDot(object(e), look)
      called.set(of, id)
      return
    }
    case 'server': {
      const id = `r ${e.n}`
      if (e.what === 'request') put(id, e.key ? 'workers' : 'connection', { look: 'key', label: e.note })
      else if (e.what === 'response' || e.what === 'failed') pass(id, 'server')
    }
  }
}

export function status(s, now) {
  const informers = s.informers ?? []
  const each = show => lines(informers.map(i => [i.kind + 's', show(i)]))
  text('server', 'List, watch, write')
  text('connection', (s.cut ? cuts[s.cut] + '\n' : '') + each(i => i.watch.replace(/Get "[^"]*": /, '') || 'not yet'))
  const connection = document.getElementById('connection')
  connection.dataset.state = s.cut || (informers.every(i => i.watch === 'open') ? 'open' : 'broken')
  text('reflector', each(i => `${i.lists} list${i.lists === 1 ? '' : 's'}` + (i.heard ? `, heard ${ago(i.heard, now)}` : '')))
  text('fifo', each(i => `${i.fifo} waiting`))
  text('store', `${count('store')} object${count('store') === 1 ? '' : 's'}`)
  text('handlers', each(i => i.buffers
    ? i.buffers.map((n, at) => `#${at + 1} ${i.busy[at] ? 'busy' : 'idle'}, ${n} in its buffer`).join(', ')
    : 'not called yet'))
}

// lines says something of each kind, and once what is the same of several kinds.
function lines(all) {
  const kinds = new Map()
  for (const [kind, text] of all) kinds.set(text, [...kinds.get(text) ?? [], kind])
  return [...kinds].map(([text, of]) => `${of.length > 2 ? of.length + ' kinds' : of.join(', ')}: ${text}`).join('\n')
}

function ago(time, now) {
  const seconds = Math.max(0, Math.floor((now - time) / 1e6))
  return seconds < 10 ? `${seconds} s ago` : `${Math.floor(seconds / 10)}0 s ago`
}

const cuts = {
  refused: 'Cut: new connections are refused',
  noroute: 'Cut: new connections find no network',
  silent: 'Cut silently: nothing comes through',
}
