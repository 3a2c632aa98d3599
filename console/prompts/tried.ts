import { type Tried } from '../api/preview.ts'
import { keep, local } from '../parts/storage.ts'

/** The beginning of the names under which the browser stores the values that each prompt was last previewed with. */
const TRIED = 'prompt-shell.tried.'

export function readTried (id: string): Tried {
  try {
    return JSON.parse(local.getItem(TRIED + id) ?? '{"variables":{}}') as Tried
  } catch {
    return { variables: {} }
  }
}

export function keepTried (id: string, tried: Tried): void {
  keep(local, TRIED + id, JSON.stringify(tried))
}
