// dots.js: the dots, which are SVG elements above the parts. A dot is in one part, where it has a slot, and moves there from
// where it was. The page is only changed once for each frame, whatever has come meanwhile: see step. A part shows as many dots as it
// has room for, and the number of the others.
import { select } from './timeline.js'

const svg = document.getElementById('dots')
const drawing = document.getElementById('drawing')
const still = matchMedia('(prefers-reduced-motion: reduce)')
const dots = new Map() // by id
const members = new Map() // of each part: its dots, in the order of their slots
const moving = new Set()
const children = new Map() // of each owner: the dots that it owns
const untidy = new Set() // parts whose dots have to get their slots anew, or to be drawn anew
const places = new Map() // of each part: its pool, and where that is
const hop = 260 // milliseconds for a way from part to part
const row = 20 // pixels: the height of a line with a dot and its name
const least = 8 // pixels: the smallest place of a dot
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
    const { x, y } = dots.get(follow) ?? center(from ?? part)
    dot = { id, kind, label: '', x, y, way: [] }
    dots.set(id, dot)
  } else if (dot.part) {
    if (moving.has(dot) && dot.part !== part) dot.way.push(dot.part) // it goes there first
    leave(dot)
  }
  if (look) dot.look = look
  if (label !== undefined) dot.label = label
  if (shown !== undefined) dot.shown = shown
  if (owner !== undefined) own(id, owner)
  dot.part = part
  dot.slot = slot
  members.get(part).add(id)
  dot.leaving = false
  touch(part)
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
  touch(dot.part)
}

function link(dot) {
  const owner = dots.get(dot.owner)
  if (!owner?.element || !dot.element) {
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
  if (!dot || dot.look === look) return
  dot.look = look
  touch(dot.part)
}

// name changes the text beside a dot.
export function name(id, text) {
  const dot = dots.get(id)
  if (!dot || dot.shown === text) return
  dot.shown = text
  touch(dot.part)
}

// pass lets a dot end in a part: it goes there, and disappears.
export function pass(id, part) {
  const dot = dots.get(id)
  if (!dot) return
  if (!places.has(part) || moving.size > 400 || still.matches || !dot.element && !moving.has(dot)) return remove(id)
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
  own(id, undefined)
  dots.delete(id)
  hide(dot)
}

export const has = id => dots.has(id)
export const count = part => members.get(part)?.size ?? 0

export function clearDots() {
  for (const id of [...dots.keys()]) remove(id)
}

function leave(dot) {
  members.get(dot.part)?.delete(dot.id)
  touch(dot.part)
}

// touch lets a part be tidied in the next frame.
function touch(part) {
  if (part) untidy.add(part)
  if (!frame) frame = requestAnimationFrame(step)
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
  touch()
}

// step is called for each frame, as long as anything moves or is untidy.
function step(now) {
  frame = 0
  for (const part of untidy) tidy(part)
  untidy.clear()
  for (const dot of moving) {
    if (!dot.element) draw(dot, 5) // it only passes
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
  if (moving.size) touch()
  if (!frame) last = 0
}

// frames has the milliseconds between the last frames in which a dot moved, for the tests.
export const frames = []

// tidy gives the dots of a part their slots: lines with names as long as there is room for them, and a grid otherwise.
function tidy(part) {
  const pool = places.get(part), ids = members.get(part)
  let size = ids.size // so many places are needed
  for (const id of ids) size = Math.max(size, (dots.get(id).slot ?? -1) + 1)
  const named = size <= Math.floor(pool.height / row)
  let cell = row
  while (cell > least && Math.floor(pool.width / cell) * Math.floor(pool.height / cell) < size) cell--
  const columns = Math.floor(pool.width / cell), lines = Math.floor(pool.height / cell)
  const room = named || columns * lines >= size ? size : columns * (lines - 3) // three lines are for the text below
  let index = 0, hidden = 0
  for (const id of ids) {
    const dot = dots.get(id), slot = dot.slot ?? index
    index++
    if (slot >= room) {
      if (dot.element || moving.has(dot)) hide(dot)
      hidden++
      continue
    }
    dot.target = named
      ? { x: pool.x + (dots.has(dot.owner) ? 20 : 10), y: pool.y + slot * row + row / 2 }
      : { x: pool.x + (slot % columns + 0.5) * cell, y: pool.y + (Math.floor(slot / columns) + 0.5) * cell }
    draw(dot, named ? 7 : Math.min(6, cell / 2 - 1), named || cell > 15, named ? pool.width - 24 : 0)
    link(dot)
    if (!moving.has(dot) && (dot.target.x !== dot.x || dot.target.y !== dot.y)) go(dot)
  }
  write(pool.element, hidden ? `+${hidden.toLocaleString('en')} more` : '')
}

// draw shows a dot as it is now: with its sign, if there is room for it, and in this width its name.
function draw(dot, radius, marked, width) {
  const [sign, meaning] = looks[dot.look] ?? ['', dot.look]
  if (!dot.element) {
    dot.element = svg.appendChild(element('g'))
    dot.element.setAttribute('role', 'img')
    dot.element.onclick = () => select(dot.label, dot.kind)
    for (const name of ['title', 'circle', 'text', 'text']) dot.element.append(element(name))
    const [, , mark, text] = dot.element.children
    mark.setAttribute('class', 'mark')
    mark.setAttribute('y', 4)
    text.setAttribute('x', 11)
    text.setAttribute('y', 4)
    place(dot)
  }
  const [title, circle, mark, text] = dot.element.children
  write(title, [dot.kind, dot.label].filter(Boolean).join(' ') + (dot.look === 'key' ? '' : `: ${meaning}`))
  if (dot.drawn !== `${dot.look} ${radius}`) {
    dot.drawn = `${dot.look} ${radius}`
    circle.setAttribute('class', dot.look)
    circle.setAttribute('r', radius)
  }
  write(mark, marked ? sign : '')
  const room = Math.floor(width / 7.3) || 0 // of a monospace font
  let words = dot.shown ?? dot.label.replace(/^.*\//, '') // without the namespace
  if (words.length > room) words = room && words.slice(0, room - 1) + '…'
  write(text, words || '')
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text
}

// hide takes a dot off the page: it is removed, or its part has no room for it.
function hide(dot) {
  dot.element?.remove()
  dot.element = dot.drawn = undefined
  dot.way = []
  moving.delete(dot)
  Object.assign(dot, center(dot.part)) // where it begins, if there is room for it later
  link(dot)
  for (const child of children.get(dot.id) ?? []) link(dots.get(child))
}

// measure finds out where the pools are.
function measure() {
  const origin = drawing.getBoundingClientRect()
  svg.setAttribute('width', origin.width)
  svg.setAttribute('height', origin.height)
  for (const part of drawing.querySelectorAll('.part')) {
    const element = part.querySelector('.pool'), pool = element.getBoundingClientRect()
    places.set(part.id, { element, x: pool.x - origin.x, y: pool.y - origin.y, width: pool.width, height: pool.height })
    if (!members.has(part.id)) members.set(part.id, new Set())
    touch(part.id)
  }
}
const resized = new ResizeObserver(measure)
for (const element of [drawing, ...drawing.querySelectorAll('.count')]) resized.observe(element) // a longer text moves a pool
measure()
