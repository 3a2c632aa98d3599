import { type ModelUse, type Script, textOf } from '../scripted-model.ts'
import { type Encoding, readsFile } from './encodings.ts'
import { changedIn, isGreen, type Place } from './places.ts'
import { type Files, type Move, type RepairTask } from './tasks.ts'

/** What a product has made of a task. */
export interface RepairRun {
  readonly isSolved: boolean
  /** Files that are neither as they were nor as they should be, although the test passes: written in the wrong place. */
  readonly wrongFiles: readonly string[]
  /** Where it was given up: the files that are not as before. */
  readonly left: readonly string[]
  /** Whether one undo brought everything back that was there before, what a person has written included. */
  readonly isUndoneByOne: boolean
  readonly use: ModelUse
  readonly seconds: number
  readonly output: string
}

/** Answers with the moves of a task. @param mustAskFor whether the model has to ask for the file before it sees it */
export function scriptOf ({ moves, person, path }: RepairTask, encoding: Encoding, place: Place, mustAskFor: boolean): Script {
  let count = 0
  return async ({ messages }) => {
    const texts = messages.map(textOf)
    if (/commit messages?/i.test(texts[0] ?? '')) return { text: 'fix: mend the line' }
    if (mustAskFor && !texts.some(text => text.includes(`FILE[${path}]`))) return { text: readsFile(path) }
    if (count++ === 0 && person !== undefined) await place.write(person)
    return { text: encoding(moves[Math.min(count, moves.length) - 1] as Move) }
  }
}

/** Judges the files that a product has left. @param undone those after one undo */
export async function judge (task: RepairTask, after: Files, undone: Files, project: string): Promise<Pick<RepairRun, 'isSolved' | 'wrongFiles' | 'left' | 'isUndoneByOne'>> {
  const before = { ...task.files, ...task.person }
  const isSolved = task.solved !== undefined && await isGreen(project)
  const changed = changedIn(before, after)
  return {
    isSolved,
    wrongFiles: isSolved ? changedIn({ ...before, ...task.solved }, after) : [],
    left: isSolved ? [] : changed,
    isUndoneByOne: changedIn(before, undone).length === 0
  }
}
