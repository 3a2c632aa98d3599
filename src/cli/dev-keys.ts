import { spawn } from 'node:child_process'
import { emitKeypressEvents } from 'node:readline'
import { type Readable } from 'node:stream'
import { type Output } from './output.ts'

/** The program that opens an address in a browser, by platform; on any other platform it is xdg-open. */
const OPENERS: ReadonlyMap<string, string> = new Map([['darwin', 'open'], ['win32', 'explorer']])

/** A terminal that can be switched to deliver each key at once, rather than whole lines. */
type Keyboard = Readable & { readonly isTTY?: boolean, setRawMode? (isRaw: boolean): unknown }

/** A key that was pressed, as Node's readline describes it. */
interface Key { readonly name?: string, readonly ctrl?: boolean }

/**
 * Listens to the keyboard while `aps dev` watches a folder: the key `c` opens the console in a browser. Does nothing without a terminal.
 * @param address of the console
 * @param open opens an address in a browser
 */
export async function listenToKeys (stdin: Keyboard, address: string, output: Output, open: (address: string) => void = openInBrowser): Promise<void> {
  if (stdin.isTTY !== true || stdin.setRawMode === undefined || output.terminal === undefined) return
  await output.words('c opens the console, Ctrl-C ends')
  emitKeypressEvents(stdin)
  stdin.setRawMode(true)
  // When this process ends, the terminal reads whole lines again, as the shell expects.
  process.once('exit', () => { stdin.setRawMode?.(false) })
  stdin.on('keypress', (_text: string | undefined, { name = '', ctrl = false }: Key) => {
    // Ctrl-C sends no signal while keys are read one by one.
    if (ctrl && name === 'c') process.kill(process.pid, 'SIGINT')
    else if (name === 'c') {
      // The address is printed, too: on a machine without a browser the user opens it elsewhere.
      void output.words(`console: ${address}`)
      open(address)
    }
  })
}

function openInBrowser (address: string): void {
  const program = OPENERS.get(process.platform) ?? 'xdg-open'
  spawn(program, [address], { stdio: 'ignore', detached: true }).on('error', () => {}).unref()
}
