import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseJson, stringifyJson } from '../src/base/json.ts'
import { classOf } from '../test/template/go/differences.ts'
import { judge, type Vector } from '../test/template/go/judge.ts'

// npm run vectors -- FILE.jsonl: runs the cases of a file, which Go's own text/template answered, through the Go engine. Each case that differs is
// printed as a line for test/vectors/go-differences.jsonl; one that no class of differences explains is a fault.
const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: npm run vectors -- FILE.jsonl')

const verdicts = readFileSync(resolve(file), 'utf8').split('\n').filter(line => line !== '').map(line => judge(parseJson(line) as unknown as Vector))
const different = verdicts.filter(({ expected, got }) => got !== expected)
const faults = different.filter(verdict => classOf(verdict) === undefined)
for (const verdict of different) console.log(stringifyJson({ id: verdict.vector.id, class: classOf(verdict) ?? 'fault', got: verdict.got }))
console.error(`${verdicts.length - different.length} as in Go, ${different.length - faults.length} differ by a class, ${faults.length} faults`)
for (const { vector, expected, got } of faults) console.error(`${vector.id}\n  expected ${stringifyJson(expected)}\n  got      ${stringifyJson(got)}`)
process.exitCode = faults.length === 0 ? 0 : 1
