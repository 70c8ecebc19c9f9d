// stream.js: the connection to the program, as server-sent events. The browser opens it again by itself.

const program = document.getElementById('program')
const leader = document.getElementById('leader')
let run = ''

// follow calls take with each message of the program (see stream.go).
export function follow(take) {
  const source = new EventSource('/events')
  source.onmessage = e => {
    const message = JSON.parse(e.data)
    if (run && message.run !== run) return location.reload() // another program, of another chapter maybe
    run = message.run
    say(program, 'Connected to the program: what you see happens there now.')
    const who = message.status.leader
    say(leader, who === 'this process' ? 'This process leads.' : who && `This process waits: ${who} leads.`)
    document.body.classList.remove('lost')
    take(message)
  }
  source.onerror = () => {
    say(program, 'The program does not answer: it has ended. If it is started again at this address, this page is loaded again.')
    say(leader, '')
    document.body.classList.add('lost')
    if (source.readyState === EventSource.CLOSED) { // the browser has given up
      source.close()
      setTimeout(() => follow(take), 1000)
    }
  }
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text // a screen reader reads each change
}
