import { type Pty, type PtyEnd, type PtyOptions } from '../../../src/exec/executor.ts'
import { MARK, NOTHING } from '../../../src/exec/scripts.ts'

/** The process in which a shell's terminal is. */
export interface ShellHost {
  readonly isUp: () => boolean
  /** Resolves when the process goes on; never when it is dead. */
  readonly goesOn: () => Promise<void>
  /** Called when the shell begins the command of a skill. */
  readonly onRun: (command: string) => void
  /** Called when the service's line was read as a part of another line. */
  readonly onMixed: (line: string) => void
}

const RUN_LINE = /^ \. '([^']*)'; \. '[^']*'$/
const COMMAND_FILE = /^printf '[^']*' ([0-9a-f]+)\n([^]*)\n$/

/** A shell in memory: it reads the lines that a terminal types and says its marks, as real ones do. What it runs ends when the test says so. */
export class FakeShell implements Pty {
  readonly ended: Promise<PtyEnd>
  readonly #host: ShellHost
  readonly #onOutput: PtyOptions['onOutput']
  readonly #files = new Map<string, string>()
  #over: (end: PtyEnd) => void = () => {}
  #stage: 'new' | 'secret' | 'prompt' | 'program' | 'over' = 'new'
  #secret = ''
  #keys = ''
  #line = ''
  /** Lines that were typed while a program ran. */
  #ahead: string[] = []
  #folder = '/home'
  #prompts = 0
  #command: string | undefined
  #said = ''
  #isWoken = false

  constructor ({ onOutput }: PtyOptions, host: ShellHost) {
    this.#onOutput = onOutput
    this.#host = host
    this.ended = new Promise(resolve => { this.#over = resolve })
    this.#said = 'hello '
    // It greets once its terminal listens.
    setImmediate(() => { this.wake() })
  }

  get isOver (): boolean {
    return this.#stage === 'over'
  }

  write (keys: string): void {
    this.#keys += keys
    this.wake()
  }

  resize (): void {}

  pause (): void {}

  resume (): void {}

  async putFile (name: string, text: string): Promise<string> {
    await this.#host.goesOn()
    this.#files.set(`/files/${name}`, text)
    return `/files/${name}`
  }

  async folder (): Promise<string> {
    await this.#host.goesOn()
    return this.#folder
  }

  async kill (): Promise<boolean> {
    await this.#host.goesOn()
    this.lose()
    return true
  }

  /** Ends the shell, and nobody knows how. */
  lose (): void {
    this.#end(null)
  }

  /** Ends what runs in the shell. @returns whether something ran */
  finish (status: number): boolean {
    if (this.#stage !== 'program') return false
    if (this.#command !== undefined) this.#said += `${outputOf(this.#command)}\r\n`
    this.#prompt(status)
    this.wake()
    return true
  }

  /** Reads and says what has gathered, unless its process is frozen or dead. */
  wake (): void {
    if (this.#isWoken) return
    this.#isWoken = true
    queueMicrotask(() => {
      this.#isWoken = false
      if (this.#stage === 'over' || !this.#host.isUp()) return
      const keys = this.#keys
      this.#keys = ''
      for (const key of keys) this.#key(key)
      this.#flush()
    })
  }

  #flush (): void {
    const said = this.#said
    this.#said = ''
    if (said !== '') this.#onOutput(Buffer.from(said))
  }

  #key (key: string): void {
    if (key === '\x03') {
      this.#line = ''
      this.#ahead = []
      if (!this.finish(130)) this.#prompt(130)
    } else if (key === '\r' || key === '\n') {
      const line = this.#line
      this.#line = ''
      this.#enter(line)
    } else {
      this.#line += key
      if (this.#stage === 'prompt') this.#said += key
    }
  }

  #enter (line: string): void {
    switch (this.#stage) {
      case 'new':
        this.#stage = 'secret'
        this.#said += `${MARK}k\x07`
        break
      case 'secret':
        this.#secret = line
        this.#prompt(0)
        break
      case 'program':
        this.#ahead.push(line)
        break
      default: this.#read(line)
    }
  }

  #read (line: string): void {
    const [, path] = RUN_LINE.exec(line) ?? []
    this.#said += '\r\n'
    if (path !== undefined) return this.#run(this.#files.get(path) ?? NOTHING)
    if (line.includes(' . ')) this.#host.onMixed(line)
    const [word, folder] = line.trim().split(' ')
    switch (word) {
      case 'exit':
        this.#flush()
        return this.#end(0)
      case 'cd':
        this.#folder = folder ?? '/home'
        return this.#prompt(0)
      case 'sleep':
        this.#stage = 'program'
        return
      default: this.#prompt(0)
    }
  }

  #run (file: string): void {
    const [, begin, command] = COMMAND_FILE.exec(file) ?? []
    if (command === undefined) return this.#prompt(0)
    this.#said += `${MARK}b;${begin}\x07`
    this.#stage = 'program'
    this.#command = command
    this.#host.onRun(command)
  }

  #prompt (status: number): void {
    this.#stage = 'prompt'
    this.#command = undefined
    this.#said += `${MARK}${this.#secret};p;${++this.#prompts};${status}\x07web$ ${MARK}${this.#secret};e\x07`
    const next = this.#ahead.shift()
    this.#said += next ?? this.#line
    if (next !== undefined) this.#read(next)
  }

  #end (exitCode: number | null): void {
    this.#stage = 'over'
    this.#over({ exitCode })
  }
}

/** What a command says. */
export function outputOf (command: string): string {
  return `${command} was run`
}
