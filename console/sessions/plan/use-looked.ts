import { useState } from 'react'
import { type ChangedFile } from './use-plan.ts'

export function useLooked (files: readonly ChangedFile[]) {
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
