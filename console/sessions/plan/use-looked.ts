import { useState } from 'react'
import { type ChangedFile } from './use-plan.ts'

/** The files of a change that the user has looked at, and the file that is shown. */
interface Looked {
  readonly file: ChangedFile | undefined
  readonly isSeen: (file: ChangedFile) => boolean
  /** Marks the shown file as looked at. The user does this for a file whose diff is not complete. */
  readonly see: () => void
  readonly choose: (path: string) => void
  readonly unseen: number
}

export function useLooked (files: readonly ChangedFile[]): Looked {
  const [chosen, setChosen] = useState<string>()
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const file = files.find(({ path }) => path === chosen) ?? files[0]
  // If a file has changed since the user looked at it, it counts as not looked at.
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
