import { useCallback, useMemo, useState } from 'react'
import { type ChangedFile } from './use-plan.ts'

/** Which of the files of a change the user has looked at, and which one is shown. */
export function useLooked (files: readonly ChangedFile[]) {
  const [chosen, choose] = useState<string>()
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const isSeen = useCallback((file: ChangedFile) => seen.has(seenKey(file)), [seen])
  const see = useCallback((which: readonly ChangedFile[]) => { setSeen(before => new Set([...before, ...which.map(seenKey)])) }, [])
  const seeOne = useCallback((file: ChangedFile) => { see([file]) }, [see])
  const unseen = useMemo(() => files.filter(file => !isSeen(file)).length, [files, isSeen])
  return { file: files.find(({ path }) => path === chosen) ?? files[0], isSeen, see, seeOne, choose, unseen }
}

/** If a file has changed since the user looked at it, it counts as not looked at. */
function seenKey ({ path, before, after, isOutdated }: ChangedFile): string {
  return `${path}\0${before ?? ''}\0${after ?? ''}\0${isOutdated === true ? 'outdated' : ''}`
}
