import { contentHash } from '../../base/json.ts'
import { RejectedEntry } from '../diagnostic/diagnostic.ts'
import { type Kind } from './kind.ts'

/**
 * A hash of what a stored text means: the same for a served entry's content, on every replica, and for every way to write
 * the same down, so that who only reformats a value disturbs no writer.
 * @returns `undefined` for a text that cannot be read, so that no caller can have seen it
 */
export function contentTag (kind: Kind, text: string): string | undefined {
  try {
    return contentHash(kind.normalise(kind.decode(text).value))
  } catch (error) {
    if (error instanceof RejectedEntry) return undefined
    throw error
  }
}
