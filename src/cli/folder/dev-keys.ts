import { spawn } from 'node:child_process'
import { emitKeypressEvents } from 'node:readline'
import { type Readable } from 'node:stream'
import { type Output } from '../output.ts'

/** The programs that open an address in a browser, by platform; on all others it is xdg-open. */
const OPENERS: ReadonlyMap<string, string> = new Map([['darwin', 'open'], ['win32', 'explorer']])

/** A terminal that gives keys one by one. */
type Keyboard = Readable & { readonly isTTY?: boolean, setRawMode? (isRaw: boolean): unknown }

/** What a key is, as Node reads it. */
interface Key { readonly name?: string, readonly ctrl?: boolean }

/**
 * Listens to the keys of whoever watches a folder: `c` opens the console in a browser. Does nothing where nobody sits at a terminal.
 * @param address of the console
 * @param open opens it in a browser
 */
export async function listenToKeys (stdin: Keyboard, address: string, output: Output, open: (address: string) => void = openInBrowser): Promise<void> {
  if (stdin.isTTY !== true || stdin.setRawMode === undefined || output.terminal === undefined) return
  await output.words('c opens the console, Ctrl-C ends')
  emitKeypressEvents(stdin)
  stdin.setRawMode(true)
  // The terminal goes back to reading lines at the end, for the shell.
  process.once('exit', () => { stdin.setRawMode?.(false) })
  stdin.on('keypress', (_text: string | undefined, { name = '', ctrl = false }: Key) => {
    // Ctrl-C sends no signal while keys are read one by one.
    if (ctrl && name === 'c') process.kill(process.pid, 'SIGINT')
    else if (name === 'c') {
      // Where there is no browser, the user opens it elsewhere.
      void output.words(`console: ${address}`)
      open(address)
    }
  })
}

function openInBrowser (address: string): void {
  const program = OPENERS.get(process.platform) ?? 'xdg-open'
  spawn(program, [address], { stdio: 'ignore', detached: true }).on('error', () => {}).unref()
}
