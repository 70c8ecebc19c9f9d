// stream.js: the connection to the program. It sends a line of JSON for each message.

const program = document.getElementById('program')
const leader = document.getElementById('leader')
const ended = 'The program does not answer: it has ended. If it is started again at this address, this page is loaded again.'
let run = ''

// The printed address ends with the token, without which the program says nothing of the cluster.
addEventListener('hashchange', () => location.reload())
export const ask = (path, method = 'GET') => fetch(path, { method, headers: { 'X-Token': location.hash.slice(1) } })

// visible writes a character that has no shape of its own as its number: one of them turns the rest of a line around.
export const visible = text => text.replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
  c => '\\u' + c.codePointAt(0).toString(16).padStart(4, '0'))
export const parse = text => JSON.parse(text, (_, value) => typeof value === 'string' ? visible(value) : value)

// follow calls take with each message of the program (see stream.go).
export async function follow(take) {
  let why = ended
  for await (const line of lines(text => { why = text })) {
    const message = parse(line)
    if (run && message.run !== run) return location.reload() // another program, of another chapter maybe
    run = message.run
    say(program, 'Connected to the program: what you see happens there now.')
    const who = message.status.leader
    say(leader, who === 'this process' ? 'This process leads.' : who && `This process waits: ${who} leads.`)
    document.body.classList.remove('lost')
    take(message)
  }
  say(program, why)
  say(leader, '')
  document.body.classList.add('lost')
  setTimeout(() => follow(take), 1000)
}

// lines yields what the program sends, until it ends. If it refuses, its answer is passed to refused.
async function* lines(refused) {
  try {
    const answer = await ask('/events')
    if (!answer.ok) return refused(await answer.text())
    let rest = ''
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
      const all = (rest + value).split('\n')
      rest = all.pop()
      yield* all
    }
  } catch {} // the connection has ended
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text // a screen reader reads each change
}
