import { useState } from 'react'
import { type ChangedFile } from './use-plan.ts'

/** Which files of a change were looked at, and the one that is. */
export interface Looked {
  readonly file: ChangedFile | undefined
  readonly isSeen: (file: ChangedFile) => boolean
  /** Marks the shown file as looked at, which is not shown as a whole. */
  readonly see: () => void
  readonly choose: (path: string) => void
  readonly unseen: number
}

export function useLooked (files: readonly ChangedFile[]): Looked {
  const [chosen, setChosen] = useState<string>()
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const file = files.find(({ path }) => path === chosen) ?? files[0]
  // A file that has changed since was not seen as it is now.
  const isSeen = (each: ChangedFile) => seen.has(seenKey(each)) || (each === file && each.isCut !== true)
  const see = () => { if (file !== undefined) setSeen(before => new Set(before).add(seenKey(file))) }
  const choose = (path: string) => {
    if (file?.isCut !== true) see()
    setChosen(path)
  }
  return { file, isSeen, see, choose, unseen: files.filter(each => !isSeen(each)).length }
}

function seenKey ({ path, diff, bytes }: ChangedFile): string {
  return `${path}\0${bytes}\0${diff}`
}
