import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A program that is an MCP server over stdio: its tool starts a further process, tells that one's id, and then writes without end. */
const answers = new Map<string, object>([
  ['initialize', { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'flooding', version: '1.0.0' } }],
  ['tools/list', { tools: [{ name: 'flood' }] }]
])

function say (message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line) as { id?: unknown, method: string }
  if (id === undefined) return
  const result = answers.get(method)
  if (method !== 'tools/call') return say({ id, ...(result === undefined ? { error: { code: -32601, message: 'no such method' } } : { result }) })
  const { pid } = spawn('sleep', ['100'], { stdio: 'inherit' })
  say({ id, result: { content: [{ type: 'text', text: String(pid) }] } })
  setInterval(() => { for (let count = 0; count < 50; count++) say({ method: 'notifications/message' }) }, 1)
})
