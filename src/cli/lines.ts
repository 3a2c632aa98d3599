import { createInterface } from 'node:readline/promises'
import { type Cli } from './cli.ts'
import { type Output } from './output.ts'

/** What a person types, line by line. */
export interface Lines {
  /** @param draft is there to be edited, where somebody sits at a terminal. @returns `undefined` when the input has ended */
  next (prompt?: string, draft?: string): Promise<string | undefined>
  close (): void
}

/** Reads lines of a terminal, where they can be edited, or of a pipe. */
export function openLines ({ stdin, signal }: Cli, output: Output): Lines {
  const terminal = (stdin as { readonly isTTY?: boolean }).isTTY === true ? output.terminal : undefined
  const lines = createInterface({ input: stdin, signal, ...(terminal === undefined ? { terminal: false } : { output: terminal, terminal: true }) })
  // Ctrl-C is a key like any other while lines are edited.
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
      // What is said next does not stand behind the prompt.
      if (!isOver) await output.prompt('\n')
      isOver = true
      return undefined
    },
    close () { lines.close() }
  }
}
