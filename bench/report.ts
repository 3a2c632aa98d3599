import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** One figure of a benchmark. */
export interface Row {
  /** Its name in `goals.json`; a row without a goal is information. */
  readonly name: string
  readonly figure: number
  readonly unit: 'x' | 'ms' | 'µs' | 'MB' | 'KiB' | 'commands'
  /** What the figure was made of, for people. */
  readonly details: string
}

interface Goal { readonly least?: number, readonly most?: number }

/** A row beside its goal. */
interface Judged extends Row { readonly goal: string, readonly isReached: boolean | undefined }

/**
 * Prints the rows as a table with their goals, tells which fall short, and writes them as JSON if a file is named.
 * @returns whether all goals are reached
 */
export function report (title: string, rows: readonly Row[], jsonFile: string | undefined): boolean {
  const goals = JSON.parse(readFileSync('bench/goals.json', 'utf8')) as Readonly<Record<string, Goal>>
  const judged = rows.map(row => judge(row, goals))
  console.log(`\n${title}\n`)
  printTable([['figure', 'goal', 'result', '', 'details'], ...judged.map(cellsOf)])
  const short = judged.filter(({ isReached }) => isReached === false)
  const counted = judged.filter(({ isReached }) => isReached !== undefined)
  console.log(`\n${counted.length - short.length} of ${counted.length} goals reached${short.length === 0 ? '' : `; short: ${short.map(({ name }) => name).join(', ')}`}`)
  if (jsonFile !== undefined) {
    mkdirSync(dirname(jsonFile), { recursive: true })
    writeFileSync(jsonFile, `${JSON.stringify({ title, node: process.version, rows: judged }, null, 2)}\n`)
  }
  return short.length === 0
}

/** A goal holds for the row of its name, or for all rows below it: `bombs/alone` for `bombs/alone/join.go`. */
function judge (row: Row, goals: Readonly<Record<string, Goal>>): Judged {
  const name = Object.keys(goals).find(each => row.name === each || row.name.startsWith(`${each}/`))
  const goal = name === undefined ? undefined : goals[name]
  if (goal === undefined) return { ...row, goal: '', isReached: undefined }
  const { least = -Infinity, most = Infinity } = goal
  const text = goal.least === undefined ? `<= ${most}` : `>= ${least}`
  return { ...row, goal: text, isReached: row.figure >= least && row.figure <= most }
}

function cellsOf ({ name, goal, figure, unit, isReached, details }: Judged): string[] {
  const verdict = isReached === undefined ? '' : isReached ? 'ok' : 'SHORT'
  return [name, goal === '' ? '' : `${goal} ${unit}`, `${figure.toFixed(2)} ${unit}`, verdict, details]
}

function printTable (rows: ReadonlyArray<readonly string[]>): void {
  const widths = (rows[0] as string[]).map((_, column) => Math.max(...rows.map(row => (row[column] as string).length)))
  for (const row of rows) console.log(row.map((cell, column) => cell.padEnd(widths[column] as number)).join('  ').trimEnd())
}
