// buttons.js: what the buttons ask the program to do. Before: timeline.js.
import { ask, visible } from './stream.js'

const said = document.getElementById('said')
const all = document.querySelectorAll('[data-do]')
let presses = 0
let about = '' // the button whose answer is said, as long as its state lasts
let began = false // that state

for (const button of all) {
  button.onclick = async () => {
    const mine = ++presses
    let text = 'The program does not answer.', done = false
    say('')
    try {
      const answer = await ask('/do/' + button.dataset.do, 'POST')
      text = await answer.text()
      done = answer.ok
    } catch {} // as above
    if (mine === presses) say(text, done ? button.dataset.do : '') // no other one was pressed meanwhile
  }
}

function say(text, button = '') {
  said.textContent = visible(text)
  about = button
  began = false
}

export function whole() {}

export function event(e) {
  if (e.part === 'server' && e.what === 'updates') say(e.note)
}

export function status(s) {
  const on = {
    full: !s.paused && !s.delay, slow: !s.paused && s.delay > 0, pause: s.paused, updates: s.updating, refuse: s.cut === 'refused',
    noroute: s.cut === 'noroute', silence: s.cut === 'silent', block: s.blocking, hold: s.holding, fail: s.failing > 0,
  }
  for (const button of all) {
    const name = button.dataset.do
    if (name in on) button.setAttribute('aria-pressed', on[name])
    // It keeps the focus, which a button loses that is disabled. The program refuses what makes no sense now.
    const off = { step: !s.paused || s.stopped === 0, restore: !s.cut, updates: s.updating }[name]
    if (off !== undefined) button.setAttribute('aria-disabled', off)
  }
  // What was said goes away with the state that it is about. For Restore this is the wait for the watches.
  const lasts = { ...on, restore: (s.informers ?? []).some(i => i.watch !== 'open') }[about]
  if (lasts) began = true
  else if (began) say('')
}
