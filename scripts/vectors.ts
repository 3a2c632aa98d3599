import { resolve } from 'node:path'
import { runVectors } from '../test/template/go/run-vectors.ts'

// npm run vectors -- FILE.jsonl: holds the Go engine against cases that Go's own text/template produced.
const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: npm run vectors -- FILE.jsonl')

const verdicts = await runVectors(resolve(file))
const failures = verdicts.filter(({ isRight }) => !isRight)
for (const { id, expected, got } of failures) console.log(`${id}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`)

const messages = verdicts.filter(({ hasMessage }) => hasMessage !== undefined)
const exact = messages.filter(({ hasMessage }) => hasMessage === true)
if (process.env.VERBOSE === '1') {
  for (const { id, expected, got } of messages.filter(({ hasMessage, isRight }) => isRight && hasMessage === false)) console.log(`message ${id}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`)
}
console.log(`messages: ${exact.length} of ${messages.length} exact (${(100 * exact.length / Math.max(messages.length, 1)).toFixed(1)} %)`)
console.log(`${verdicts.length - failures.length} passed, ${failures.length} failed`)
process.exitCode = failures.length === 0 ? 0 : 1
