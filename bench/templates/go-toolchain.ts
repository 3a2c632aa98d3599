import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Row } from '../report.ts'
import { compare, inThisProcess } from '../rounds.ts'
import { type Case, CASES } from './cases.ts'
import { serviceEngine } from './engines.ts'
import { times } from './runtime.ts'

/** Go syntax against Go's own text/template, where there is a Go toolchain; no rows where there is none. */
export async function benchGoToolchain (): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-go-'))
  try {
    const program = join(folder, 'render')
    if (spawnSync('go', ['build', '-o', program, '.'], { cwd: 'bench/go', stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) {
      console.log('No Go toolchain: the rows against text/template are left out.')
      return []
    }
    return await compareWith(program)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function compareWith (program: string): Promise<Row[]> {
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    const ask = questions(child)
    child.stdin.write(`${JSON.stringify(CASES.map(inputOf))}\n`)
    const rows: Row[] = []
    for (const [index, example] of CASES.entries()) {
      const ours = serviceEngine(example, 'go')
      assert.equal(ours(), JSON.parse(await ask(`${index} 0`)), example.name)
      const result = await compare(inThisProcess(ours), async count => Number(await ask(`${index} ${count}`)))
      rows.push({ name: `go-toolchain/${example.name}`, figure: result.speedup, unit: 'x', details: `as fast as Go: ${times(result, 'Go')}` })
    }
    return rows
  } finally {
    child.kill()
  }
}

function inputOf ({ go, partials, variables }: Case): object {
  return { Text: go, Partials: Object.fromEntries(Object.entries(partials).map(([name, texts]) => [name, texts.go])), Data: { variables } }
}

/** Sends a line, gives the line that answers it. */
function questions (child: ChildProcess): (line: string) => Promise<string> {
  const lines = createInterface({ input: child.stdout as NonNullable<ChildProcess['stdout']> })[Symbol.asyncIterator]()
  return async line => {
    child.stdin?.write(`${line}\n`)
    const answer = await lines.next()
    if (answer.done === true) throw new Error('the Go program has ended')
    return answer.value
  }
}
