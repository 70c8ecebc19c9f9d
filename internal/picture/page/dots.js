// dots.js: the dots, which are SVG elements above the parts. A dot is in one part, where it has a slot, and moves there from
// where it was. Only dots that move cost time in a frame.
import { select } from './timeline.js'

const svg = document.getElementById('dots')
const drawing = document.getElementById('drawing')
const still = matchMedia('(prefers-reduced-motion: reduce)')
const dots = new Map() // by id
const members = new Map() // of each part: its dots, in the order of their slots
const moving = new Set()
const children = new Map() // of each owner: the dots that it owns
const untidy = new Set() // parts whose dots have to get their slots anew
const places = new Map() // of each part: where its pool is
const hop = 260 // milliseconds for a way from part to part
const row = 20 // pixels: the height of a line with a dot and its name
let frame = 0, last = 0

// looks are what has happened to an object: a colour (page.css has it) and a sign, for those who see no colours.
export const looks = {
  ADDED: ['+', 'added'], MODIFIED: ['~', 'modified'], DELETED: ['−', 'deleted'], LISTED: ['=', 'in a list'],
  resync: ['r', 'resync'], relist: ['R', 'relist'], tombstone: ['†', 'tombstone'], retry: ['!', 'failed'],
  synced: ['✓', 'synced'], key: ['k', 'a key'], again: ['2', 'dirty: processed once more'],
}
const legend = document.getElementById('legend')
for (const [look, [sign, text]] of Object.entries(looks)) {
  const item = legend.appendChild(document.createElement('li'))
  const mark = item.appendChild(document.createElement('span'))
  mark.className = 'sign ' + look
  mark.textContent = sign
  item.append(' ' + text)
}

// put puts a dot into a part: a new one, or one that is somewhere else. slot is its line there; without it, the dot gets the
// next free place. from is the part in which a new dot begins. shown is the text beside it, if that is not the label; owner is
// the dot to which a line leads; kind is the object's.
export function put(id, part, { look, label, kind, shown, owner, slot, from, follow } = {}) {
  if (!places.has(part)) return
  let dot = dots.get(id)
  if (!dot) {
    dot = { id, kind, element: element('g'), label: '', x: 0, y: 0, way: [] }
    dot.circle = dot.element.appendChild(element('circle'))
    dot.circle.setAttribute('r', 5)
    const begin = dots.get(follow) ?? center(from ?? part)
    dot.x = begin.x
    dot.y = begin.y
    svg.append(dot.element)
    dots.set(id, dot)
    place(dot)
    dot.element.onclick = () => select(dot.label, dot.kind)
  } else if (dot.part) {
    if (moving.has(dot) && dot.part !== part) dot.way.push(dot.part) // it goes there first
    leave(dot)
  }
  if (look) paint(dot, look)
  if (label !== undefined) dot.label = label
  if (shown !== undefined) dot.shown = shown
  if (owner !== undefined) own(id, owner)
  dot.part = part
  dot.slot = slot
  members.get(part).add(id)
  untidy.add(part)
  dot.leaving = false
  go(dot)
}

// own draws a line from a dot to its owner's, for as long as both are there. Without an owner it removes the line.
export function own(id, owner) {
  const dot = dots.get(id)
  if (!dot || dot.owner === owner) return
  children.get(dot.owner)?.delete(id)
  if (children.get(dot.owner)?.size === 0) children.delete(dot.owner)
  dot.owner = owner
  if (owner && !children.has(owner)) children.set(owner, new Set())
  children.get(owner)?.add(id)
  untidy.add(dot.part)
  link(dot)
}

function link(dot) {
  const owner = dots.get(dot.owner)
  if (!owner || !dots.has(dot.id)) {
    dot.line?.remove()
    dot.line = undefined
    return
  }
  if (!dot.line) {
    dot.line = element('path')
    svg.prepend(dot.line)
  }
  const left = Math.min(dot.x, owner.x) - 14, [x, y, ownerX, ownerY] = [dot.x, dot.y, owner.x, owner.y].map(Math.round)
  dot.line.setAttribute('d', `M${x} ${y}Q${Math.round(left)} ${Math.round((y + ownerY) / 2)} ${ownerX} ${ownerY}`)
}

// paintDot changes what a dot looks like.
export function paintDot(id, look) {
  const dot = dots.get(id)
  if (dot) paint(dot, look)
}

// name changes the text beside a dot.
export function name(id, text) {
  const dot = dots.get(id)
  if (dot?.text && dot.text.textContent !== text) dot.text.textContent = text
  if (dot) dot.shown = text
}

// pass lets a dot end in a part: it goes there, and disappears.
export function pass(id, part) {
  const dot = dots.get(id)
  if (!dot) return
  if (!places.has(part) || moving.size > 400 || still.matches) return remove(id)
  if (moving.has(dot)) dot.way.push(dot.part)
  leave(dot)
  dot.part = undefined
  dot.leaving = true
  dot.way.push(part)
  go(dot)
}

export function remove(id) {
  const dot = dots.get(id)
  if (!dot) return
  leave(dot)
  dot.element.remove()
  own(id, undefined)
  dots.delete(id)
  moving.delete(dot)
  for (const child of children.get(id) ?? []) link(dots.get(child))
}

export const has = id => dots.has(id)
export const count = part => members.get(part)?.size ?? 0

export function clearDots() {
  for (const id of [...dots.keys()]) remove(id)
}

function leave(dot) {
  members.get(dot.part)?.delete(dot.id)
  untidy.add(dot.part)
}

function paint(dot, look) {
  if (dot.look === look) return
  dot.look = look
  dot.circle.setAttribute('class', look)
  if (dot.mark) dot.mark.textContent = looks[look]?.[0] ?? ''
}

function element(name) { return document.createElementNS('http://www.w3.org/2000/svg', name) }

function place(dot) {
  dot.element.setAttribute('transform', `translate(${dot.x.toFixed(1)} ${dot.y.toFixed(1)})`)
  if (dot.owner) link(dot)
  for (const child of children.get(dot.id) ?? []) link(dots.get(child))
}

function center(part) {
  const p = places.get(part) ?? { x: 0, y: 0, width: 0, height: 0 }
  return { x: p.x + p.width / 2, y: p.y + p.height / 2 }
}

function go(dot) {
  dot.begin = undefined
  moving.add(dot)
  if (!frame) frame = requestAnimationFrame(step)
}

// step is called for each frame, as long as anything moves.
function step(now) {
  frame = 0
  for (const part of untidy) tidy(part)
  untidy.clear()
  for (const dot of moving) {
    const target = dot.way.length ? center(dot.way[0]) : dot.target ?? center(dot.part)
    if (dot.begin === undefined) dot.begin = { x: dot.x, y: dot.y, at: now }
    const time = dot.way.length > 2 ? hop / 4 : hop
    const part = still.matches || moving.size > 1000 || dot.way.length > 6 ? 1 : Math.min(1, (now - dot.begin.at) / time)
    dot.x = dot.begin.x + (target.x - dot.begin.x) * part
    dot.y = dot.begin.y + (target.y - dot.begin.y) * part
    place(dot)
    if (part < 1) continue
    dot.begin = undefined
    if (dot.way.length) {
      dot.way.shift()
      if (dot.way.length || !dot.leaving) continue // there is more of its way
    }
    moving.delete(dot)
    if (dot.leaving) remove(dot.id)
  }
  if (last) frames.push(now - last)
  if (frames.length > 600) frames.shift()
  last = now
  if (moving.size || untidy.size) frame = requestAnimationFrame(step)
  else last = 0
}

// frames has the milliseconds between the last frames in which a dot moved, for the tests.
export const frames = []

// tidy gives the dots of a part their slots: lines with names as long as there is room for them, and a grid otherwise.
function tidy(part) {
  const pool = places.get(part), ids = members.get(part)
  if (!pool || !ids) return
  const lines = Math.floor(pool.height / row)
  const named = ids.size <= lines
  const cell = Math.max(4, Math.min(row, Math.sqrt(pool.width * pool.height / Math.max(1, ids.size)) * 0.95))
  const columns = Math.max(1, Math.floor(pool.width / cell))
  let index = 0
  for (const id of ids) {
    const dot = dots.get(id), slot = dot.slot ?? index
    index++
    dot.target = named
      ? { x: pool.x + (dots.has(dot.owner) ? 20 : 10), y: pool.y + slot * row + row / 2 }
      : { x: pool.x + (slot % columns + 0.5) * cell, y: pool.y + (Math.floor(slot / columns) + 0.5) * cell }
    const radius = named ? 7 : Math.max(1.5, Math.min(6, cell / 2 - 1))
    if (dot.radius !== radius) {
      dot.radius = radius
      dot.circle.setAttribute('r', radius)
    }
    write(dot, named, pool.width - 24)
    if (!moving.has(dot) && (dot.target.x !== dot.x || dot.target.y !== dot.y)) go(dot)
  }
}

// write shows the dot's name beside it, or hides it.
function write(dot, shown, width) {
  if (!shown) {
    dot.text?.remove()
    dot.mark?.remove()
    dot.text = dot.mark = undefined
    return
  }
  if (!dot.text) {
    dot.mark = dot.element.appendChild(element('text'))
    dot.mark.setAttribute('class', 'mark')
    dot.mark.setAttribute('y', 4)
    dot.mark.textContent = looks[dot.look]?.[0] ?? ''
    dot.text = dot.element.appendChild(element('text'))
    dot.text.setAttribute('x', 11)
    dot.text.setAttribute('y', 4)
  }
  const room = Math.floor(width / 6.7)
  let text = dot.shown ?? dot.label.replace(/^.*\//, '') // without the namespace
  if (text.length > room) text = text.slice(0, room - 1) + '…'
  if (dot.text.textContent !== text) dot.text.textContent = text
}

// measure finds out where the pools are.
function measure() {
  const origin = drawing.getBoundingClientRect()
  svg.setAttribute('width', origin.width)
  svg.setAttribute('height', origin.height)
  for (const part of drawing.querySelectorAll('.part')) {
    const pool = part.querySelector('.pool').getBoundingClientRect()
    places.set(part.id, { x: pool.x - origin.x, y: pool.y - origin.y, width: pool.width, height: pool.height })
    if (!members.has(part.id)) members.set(part.id, new Set())
    untidy.add(part.id)
  }
  if (!frame) frame = requestAnimationFrame(step)
}
const resized = new ResizeObserver(measure)
for (const element of [drawing, ...drawing.querySelectorAll('.count')]) resized.observe(element) // a longer text moves a pool
measure()
