import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ShellCommand } from '../../../src/exec/terminal/typed-commands.ts'

/** What a command is said to have printed, live and at its end, when a terminal shows these parts. */
async function printed (parts: readonly string[]): Promise<{ readonly live: string, readonly stdout: string }> {
  let live = ''
  const command = new ShellCommand('git log', 'a1', '/srv', { timeout: 60_000, signal: new AbortController().signal, onOutput (text) { live += text } })
  for (const part of parts) command.output(part)
  command.finish(0, Promise.resolve('/srv'))
  return { live, stdout: (await command.ended).stdout }
}

const outputs: ReadonlyArray<readonly [title: string, parts: readonly string[], text: string]> = [
  ['has no colours', ['\x1b[33mde2c2ca\x1b[m \x1b[1;38:5:4mmain\x1b[0m\r\n'], 'de2c2ca main\n'],
  ['has none of the erasures that grep --color puts beside them', ['\x1b[01;31m\x1b[Kone\x1b[m\x1b[K two\r\n'], 'one two\n'],
  ['has no colour that came in two parts', ['a\x1b', '[3', '1mb\x1b[', 'mc\r\n'], 'abc\n'],
  ['has no half line end', ['one\r', '\ntwo\r\n'], 'one\ntwo\n'],
  ['keeps what moves the cursor, for whoever reads it to see', ['a\x1b[2Jb\x1b]0;t\x07\r\n'], 'a\x1b[2Jb\x1b]0;t\x07\n'],
  ['keeps what seemed to be half of something, at its end', ['a\r', 'b\x1b['], 'a\rb\x1b[']
]

describe('The output of a command in a terminal', () => {
  for (const [title, parts, text] of outputs) it(title, async () => { assert.deepEqual(await printed(parts), { live: text, stdout: text }) })
})
