import { type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Readable, type Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { createSlices } from '../../runtime/slices.ts'
import { ToolError } from '../call/tool-error.ts'
import { FloodError, McpInbox } from './mcp-inbox.ts'
import { type StdioCommand } from './stdio-command.ts'

/** The time that a process has to end by itself, and then after a SIGTERM, in ms. */
const PATIENCE = 2000

/** The environment variables that every program needs. The process gets none of the service's own. */
const ENVIRONMENT = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER']

/**
 * The transport to an MCP server that is a process, started here with the operator's command, one message a line:
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio. The process has a process group of its own, so that what it starts
 * (as `npx` does) ends with it. Its output is read as fast as it is looked at, and messages are counted (`McpInbox`) before they are.
 */
export class McpStdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** The MCP library takes a transport with `pid` and `stderr` for one of this kind: a server of an older protocol may leave its first question unanswered. */
  readonly stderr = null
  readonly #command: StdioCommand
  readonly #maxLine: number
  readonly #inbox: McpInbox
  #process: ChildProcessByStdio<Writable, Readable, null> | undefined
  ended: ToolError | undefined

  /** @param maxReply the greatest size of a message that nobody asked for, in bytes; an answer, which holds its text twice perhaps, may have twice that */
  constructor (command: StdioCommand, maxReply: number) {
    this.#command = command
    this.#maxLine = 2 * maxReply
    this.#inbox = new McpInbox(maxReply, message => this.onmessage?.(message))
  }

  get pid (): number | null {
    return this.#process?.pid ?? null
  }

  async start (): Promise<void> {
    const env = Object.fromEntries(ENVIRONMENT.map(name => [name, process.env[name]]).filter(([, value]) => value?.startsWith('()') === false))
    const child = spawn(this.#command.command, this.#command.arguments, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true, windowsHide: true })
    child.stdin.on('error', error => this.onerror?.(error))
    await once(child, 'spawn')
    child.on('error', error => this.onerror?.(error))
    // What a process has left behind may hold its output open for good.
    child.on('exit', () => { setTimeout(() => child.stdout.destroy(), PATIENCE).unref() })
    this.#process = child
    void this.#read(child.stdout)
  }

  async send (message: JSONRPCMessage): Promise<void> {
    if (this.ended !== undefined || this.#process === undefined) throw this.ended ?? new ToolError('UNREACHABLE', 'is not started', { wasSent: false })
    if ('id' in message && 'method' in message) this.#inbox.ask(message.id)
    if ('method' in message && message.method === 'notifications/cancelled') this.#inbox.forget(String((message.params as { requestId?: string })?.requestId))
    if (!this.#process.stdin.write(`${JSON.stringify(message)}\n`)) await once(this.#process.stdin, 'drain')
  }

  async close (): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    const isOver = async () => await Promise.race([ended.then(() => true), delay(PATIENCE, false, { ref: false })])
    child.stdin.end()
    if (await isOver()) return
    endGroup(child, 'SIGTERM')
    if (!await isOver()) endGroup(child, 'SIGKILL')
  }

  async #read (output: Readable): Promise<void> {
    const child = this.#process
    let end = new ToolError('UNREACHABLE', 'the process has ended', { transient: true })
    try {
      await this.#readLines(output)
    } catch (error) {
      if (error instanceof ToolError) end = error
      // A process that sends too much gets no time to end by itself.
      if (child !== undefined) endGroup(child, 'SIGKILL')
    }
    this.ended = end
    this.#process = undefined
    this.onclose?.()
  }

  async #readLines (output: Readable): Promise<void> {
    const slices = createSlices()
    let pieces: Buffer[] = []
    let length = 0
    for await (const chunk of output as AsyncIterable<Buffer>) {
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        const line = Buffer.concat([...pieces, chunk.subarray(start, end)]).toString()
        pieces = []
        length = 0
        start = end + 1
        this.#take(line)
        if (slices.isDue()) await slices.pause()
      }
      pieces.push(chunk.subarray(start))
      length += chunk.length - start
      if (length > this.#maxLine) throw new FloodError('sent a message that is too large')
    }
  }

  /** A line that is no message, such as one that the program has printed by mistake, is counted and passed over. */
  #take (line: string): void {
    try {
      this.#inbox.take(line)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      this.#inbox.count()
      this.onerror?.(error)
    }
  }
}

function endGroup ({ pid }: ChildProcessByStdio<Writable, Readable, null>, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // The group has ended already.
  }
}
