import { createInterface } from 'node:readline/promises'
import { type Cli } from './cli.ts'
import { type Output } from './output.ts'

/** The input of the user, line by line. */
export interface Lines {
  /**
   * Asks the user for the next line.
   * @param draft a text that a user at a terminal may edit
   * @returns the line; `undefined` when the input has ended
   */
  next (prompt?: string, draft?: string): Promise<string | undefined>
  close (): void
}

/** Reads lines from a terminal, where the user can edit them, or from a pipe. */
export function openLines ({ stdin, signal }: Cli, output: Output): Lines {
  const terminal = (stdin as { readonly isTTY?: boolean }).isTTY === true ? output.terminal : undefined
  const lines = createInterface({ input: stdin, signal, ...(terminal === undefined ? { terminal: false } : { output: terminal, terminal: true }) })
  // While a line is edited, Ctrl-C reaches this process as a key, not as a signal.
  lines.on('SIGINT', () => { process.kill(process.pid, 'SIGINT') })
  const iterator = lines[Symbol.asyncIterator]()
  let isOver = false
  return {
    async next (prompt = '> ', draft = '') {
      if (terminal === undefined) await output.prompt(prompt)
      else {
        lines.setPrompt(prompt)
        lines.prompt()
        lines.write(draft)
      }
      const { value, done } = await iterator.next()
      if (done !== true) return value
      // After the end of the input, further output begins on a new line, and not on the line of the input prompt.
      if (!isOver) await output.prompt('\n')
      isOver = true
      return undefined
    },
    close () { lines.close() }
  }
}

/** Asks the user until the answer is a clear one. @returns `undefined` when the input has ended */
export async function askYesOrNo (lines: Lines, output: Output, prompt?: string): Promise<boolean | undefined> {
  for (;;) {
    const line = await lines.next(prompt)
    if (line === undefined) return undefined
    const word = line.trim().toLowerCase()
    if (['y', 'yes', 'да', 'д'].includes(word)) return true
    if (['n', 'no', 'нет', 'н'].includes(word)) return false
    await output.words(`expected y or n, got ${JSON.stringify(line)}`)
  }
}
