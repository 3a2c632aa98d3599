import { type ScriptedModel, tokensOf } from '../scripted-model.ts'
import { repairWithAider } from './run-aider.ts'
import { repairWithPlan } from './run-plan.ts'
import { type RepairRun } from './repair-run.ts'
import { TASKS, type RepairTask } from './tasks.ts'

/** One task, by both. */
export interface RepairPair { readonly task: RepairTask, readonly ours: RepairRun, readonly theirs: RepairRun | undefined }

/** Runs all tasks, one after the other, each by both. @param aider its program; without it only plans run */
export async function runRepairs (model: ScriptedModel, aider: string | undefined): Promise<RepairPair[]> {
  const pairs: RepairPair[] = []
  for (const task of TASKS) {
    const ours = await repairWithPlan(task, model)
    const theirs = aider === undefined ? undefined : await repairWithAider(task, model, aider)
    console.error(`${task.title}: ${wordOf(ours)}${theirs === undefined ? '' : `; Aider: ${wordOf(theirs)}`}`)
    pairs.push({ task, ours, theirs })
  }
  return pairs
}

function wordOf ({ isSolved, wrongFiles, left, isUndoneByOne, use, seconds }: RepairRun): string {
  const outcome = isSolved ? `solved${wrongFiles.length > 0 ? `, but wrong: ${wrongFiles.join(', ')}` : ''}` : `not solved${left.length > 0 ? `, left: ${left.join(', ')}` : ', nothing left'}`
  return `${outcome}, ${isUndoneByOne ? 'as before after one undo' : 'NOT as before after one undo'}, ${use.calls} calls, ${seconds.toFixed(1)} s`
}

/** The rows of the table: a measure, ours, Aider's. */
export function repairRows (pairs: readonly RepairPair[]): string[][] {
  const theirs = pairs.flatMap(({ theirs: run }) => run === undefined ? [] : [run])
  return measuresOf(pairs.map(({ ours }) => ours)).map(([name, figure], index) => [name, figure, theirs.length === 0 ? 'not run' : measuresOf(theirs)[index]?.[1] ?? ''])
}

function measuresOf (runs: readonly RepairRun[]): Array<[name: string, figure: string]> {
  const count = (holds: (run: RepairRun) => boolean): number => runs.filter(holds).length
  const sum = (figure: (run: RepairRun) => number): number => runs.reduce((total, run) => total + figure(run), 0)
  const unsolved = count(run => !run.isSolved)
  return [
    [`solved, of ${runs.length}`, String(count(run => run.isSolved))],
    ['solved, with a wrong change left in a file', String(count(run => run.wrongFiles.length > 0))],
    ['given up, with changes left in the files', `${count(run => run.left.length > 0)} of ${unsolved}`],
    ['one undo brings everything back', `${count(run => run.isUndoneByOne)} of ${runs.length}`],
    ['questions to the model', String(sum(run => run.use.calls))],
    ['tokens sent, a quarter of the characters', sum(run => tokensOf(run.use.sent)).toLocaleString('en')],
    ['tokens answered', sum(run => tokensOf(run.use.answered)).toLocaleString('en')],
    ['seconds, median of a task', [...runs.map(run => run.seconds)].sort((a, b) => a - b)[Math.floor(runs.length / 2)]?.toFixed(1) ?? '']
  ]
}

/** One row a task. */
export function taskRows (pairs: readonly RepairPair[]): string[][] {
  const cells = (run: RepairRun | undefined): string[] => run === undefined ? ['', ''] : [run.isSolved ? (run.wrongFiles.length > 0 ? 'solved, **a wrong line too**' : 'solved') : run.left.length > 0 ? 'given up, **changes left**' : 'given up, as before', String(run.use.calls)]
  return pairs.map(({ task, ours, theirs }) => [task.title, ...cells(ours), ...cells(theirs)])
}
