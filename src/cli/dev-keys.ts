import { spawn } from 'node:child_process'
import { emitKeypressEvents } from 'node:readline'
import { type Readable } from 'node:stream'
import { type Output } from './output.ts'

const OPENERS: ReadonlyMap<string, string> = new Map([['darwin', 'open'], ['win32', 'explorer']])

type Keyboard = Readable & { readonly isTTY?: boolean, setRawMode? (isRaw: boolean): unknown }

/** Does nothing without a terminal. */
export async function listenToKeys (stdin: Keyboard, address: string, output: Output, open: (address: string) => void = openInBrowser): Promise<void> {
  if (stdin.isTTY !== true || stdin.setRawMode === undefined || output.terminal === undefined) return
  await output.words('c opens the console, Ctrl-C ends')
  emitKeypressEvents(stdin)
  stdin.setRawMode(true)
  // The shell expects a terminal that reads whole lines.
  process.once('exit', () => { stdin.setRawMode?.(false) })
  stdin.on('keypress', (_text: string | undefined, { name = '', ctrl = false }: { readonly name?: string, readonly ctrl?: boolean }) => {
    // Ctrl-C sends no signal while keys are read one by one.
    if (ctrl && name === 'c') process.kill(process.pid, 'SIGINT')
    else if (name === 'c') {
      // On a machine without a browser the user opens it elsewhere.
      void output.words(`console: ${address}`)
      open(address)
    }
  })
}

function openInBrowser (address: string): void {
  const program = OPENERS.get(process.platform) ?? 'xdg-open'
  spawn(program, [address], { stdio: 'ignore', detached: true }).on('error', () => {}).unref()
}
