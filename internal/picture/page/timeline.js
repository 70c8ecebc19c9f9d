// timeline.js: the last events, and what one of them has changed. Before: queue.js. Next: buttons.js.
import { ask, parse } from './stream.js'

const kept = 1000
const list = document.getElementById('timeline')
const panel = document.getElementById('event')
const leftText = document.getElementById('left')
let events = [] // the newest is last
let fresh = [] // those that are not in the list yet
let left = 0
let frame = 0
let chosen // the event that is shown
const buttons = new WeakMap() // of the events in the list
const newer = document.getElementById('newer')
list.addEventListener('scroll', () => { if (list.scrollTop === 0) newer.textContent = '' })

list.addEventListener('keydown', e => {
  const item = document.activeElement.closest('#timeline li')
  const to = { ArrowDown: item ? item.nextSibling : list.firstChild, ArrowUp: item?.previousSibling }[e.key]
  if (!to) return
  e.preventDefault() // the list would scroll
  to.firstChild.focus()
})

export function whole(state, message) {
  events = []
  fresh = []
  list.replaceChildren()
  left += message.left
  leftText.textContent = left ? `${left} events were left out: the page is slower than the program.` : ''
}

export function event(e) {
  events.push(e)
  fresh.push(e)
  if (!frame) frame = setTimeout(show, 250)
}

export function status() {}

// show puts new events into the list. It is called four times a second at most.
function show() {
  frame = 0
  if (events.length > kept) events = events.slice(-kept)
  const focused = document.activeElement
  const added = document.createDocumentFragment()
  for (const e of fresh.slice(-kept).reverse()) {
    const item = document.createElement('li')
    const button = item.appendChild(document.createElement('button'))
    button.textContent = line(e)
    button.tabIndex = -1 // the list is one stop of the Tab key: arrow keys go from event to event
    button.onclick = () => choose(e)
    if (e === chosen) button.setAttribute('aria-current', 'true')
    buttons.set(e, button)
    added.append(item)
  }
  fresh = []
  list.prepend(added)
  if (list.scrollTop > 0) newer.textContent = 'Newer events are above these.'
  while (list.children.length > kept) {
    const oldest = list.lastChild
    if (oldest.contains(focused)) oldest.previousSibling.remove()
    else oldest.remove()
  }
}

function line(e) {
  const part = { fifo: 'RealFIFO', queue: 'workqueue' }[e.part] ?? e.part // as the drawing's titles
  const what = e.part === e.what ? part : `${part}: ${e.what}`
  return [(e.at / 1e6).toFixed(3) + ' s', what, number(e), e.kind, e.key, e.note].filter(Boolean).join(' ')
}

function number(e) {
  if (!e.n && e.part !== 'fifo' || e.part === 'server') return ''
  if (e.what === 'waits') return `${e.n} ms`
  return { handler: `#${e.n}`, worker: `#${e.n}`, fifo: `${e.n ?? 0} waiting`, connection: `number ${e.n}` }[e.part] ?? ''
}

// select chooses the newest event of an object, or of a key of the workqueue, which has no kind.
export function select(key, kind) {
  const e = events.findLast(e => e.key === key && e.kind === kind)
  if (e) choose(e)
}

// choose shows an event: the way of its object, and what has changed in it. All of it is text, never markup.
async function choose(e) {
  buttons.get(chosen)?.removeAttribute('aria-current')
  buttons.get(e)?.setAttribute('aria-current', 'true')
  chosen = e
  panel.replaceChildren()
  add('h3', line(e))
  if (!e.key) return
  const object = add('div') // its text comes later, from the program
  add('h4', `The way of ${e.key}`)
  const way = add('ol')
  const mine = events.filter(other => other.key === e.key && (!e.kind || !other.kind || other.kind === e.kind))
  const at = mine.findIndex(other => other.seq === e.seq)
  for (const other of mine.slice(Math.max(0, at - 15), at + 25)) {
    const item = way.appendChild(document.createElement('li'))
    item.textContent = `${((other.at - e.at) / 1000).toFixed(2)} ms ${line(other)}`
    if (other.seq === e.seq) item.setAttribute('aria-current', 'true')
  }
  let answer
  try {
    answer = await objectOf(e)
  } catch {
    answer = { error: 'The program does not answer.' }
  }
  if (chosen !== e) return // another one was chosen meanwhile
  const { lines, compared, apply, error } = answer
  if (error) add('p', error, object)
  else if (apply) compare(apply, object)
  else if (e.note === 'resync') add('p', 'Nothing changed: a resync hands over the object that the store has already.', object)
  else if (lines) differences(lines, compared, object)
  else add('p', 'The program no longer has the state of its object.', object)
}

// objectOf asks the program for the object of an event.
async function objectOf(e) {
  const ahead = ['reflector', 'transform', 'fifo'].includes(e.part) ? '&ahead=1' : ''
  const answer = await ask(`/object?kind=${encodeURIComponent(e.kind ?? '')}&key=${encodeURIComponent(e.key)}&seq=${e.seq}${ahead}`)
  const text = await answer.text()
  return answer.ok ? parse(text) : { error: text }
}

// differences shows what differs from the object's last state, with the lines around it. If it is not compared, it shows all lines.
function differences(lines, compared, parent) {
  add('h4', compared ? 'The object, compared with its last state' : 'The object, which has no earlier state here', parent)
  const differs = line => /^[+-]/.test(line)
  if (compared && !lines.some(differs)) return add('p', 'Nothing changed.', parent)
  const code = add('pre', '', parent)
  for (const [at, text] of lines.entries()) {
    if (compared && !lines.slice(Math.max(0, at - 2), at + 3).some(differs)) continue
    const part = add('span', text + '\n', code)
    part.className = { '+': 'plus', '-': 'minus' }[text[0]] ?? ''
  }
}

// compare shows the desired state beside the actual state, field by field. Those that differ are first.
function compare(apply, parent) {
  add('h4', `What the sync asks for: ${apply.object}, ` +
    (apply.exists ? 'compared with the store' : 'which the store does not have'), parent)
  const table = add('table', '', parent)
  const row = (name, cells) => {
    const line = add('tr', '', table)
    for (const text of cells) add(name, text, line)
    return line
  }
  const value = v => v === null ? '' : typeof v === 'string' ? v : JSON.stringify(v)
  for (const cell of row('th', ['field', 'desired', 'actual', 'managers']).children) cell.scope = 'col'
  for (const f of apply.fields ?? []) {
    const line = row('td', [f.path, value(f.desired), value(f.actual), f.managers])
    if (value(f.desired) !== value(f.actual)) line.className = 'differs'
  }
}

function add(name, text, parent = panel) {
  const element = parent.appendChild(document.createElement(name))
  if (text) element.textContent = text
  return element
}
