// People in front of terminals, in a process of their own. argv: the service's origin, how many terminals each has, then the names of their tokens.
// Told `busy` over IPC they let all terminals print, told `idle` they stop them and say how much they have read since, in characters.
import { once } from 'node:events'
import { WebSocket } from 'ws'

const [origin = '', count = '0', ...owners] = process.argv.slice(2)

/** Ten lines twenty times a second, without a process for each. */
const PRINT = 'L=$(printf "%079d\\n" 1 2 3 4 5 6 7 8 9 0); while :; do echo "$L"; read -r -t 0.05 _; done\r'

let read = 0

async function open (owner: string): Promise<WebSocket> {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`, { headers: { authorization: `Bearer ${owner}-token` } })
  await once(socket, 'open')
  const isOpen = new Promise<void>((resolve, reject) => {
    socket.on('message', (bytes: Buffer) => {
      const { type, data = '', code } = JSON.parse(bytes.toString()) as { readonly type: string, readonly data?: string, readonly code?: string }
      if (type === 'terminal') resolve()
      if (type === 'error') reject(new Error(code))
      read += data.length
    })
  })
  socket.send(JSON.stringify({ type: 'terminal_open', target: 'here' }))
  await isOpen
  return socket
}

const sockets: WebSocket[] = []
for (const owner of owners) for (let index = 0; index < Number(count); index++) sockets.push(await open(owner))

process.on('message', what => {
  for (const socket of sockets) socket.send(JSON.stringify({ type: 'data', data: what === 'busy' ? PRINT : '\x03' }))
  if (what === 'idle') process.send?.(read)
  read = 0
})
process.send?.('ready')
