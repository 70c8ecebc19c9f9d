// buttons.js: what the buttons ask the program to do. Before: timeline.js.

const said = document.getElementById('said')
const all = document.querySelectorAll('[data-do]')

// The printed address ends with the token. It stays in this tab, also when the page is loaded again.
if (location.hash.length > 1) sessionStorage.setItem('token', location.hash.slice(1))
addEventListener('hashchange', () => sessionStorage.setItem('token', location.hash.slice(1)))

for (const button of all) {
  button.onclick = async () => {
    try {
      const headers = { 'X-Token': sessionStorage.getItem('token') ?? '' }
      const answer = await fetch('/do/' + button.dataset.do, { method: 'POST', headers })
      said.textContent = await answer.text()
    } catch {
      said.textContent = 'The program does not answer.'
    }
  }
}

export function whole() {}

export function event(e) {
  if (e.part === 'server' && e.what === 'updates') said.textContent = e.note
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
}
