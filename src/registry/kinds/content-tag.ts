import { contentHash } from '../../base/json.ts'
import { RejectedEntry } from '../diagnostic/diagnostic.ts'
import { type Kind } from './kind.ts'

/**
 * A hash of the content of a stored text, by which a writer notices that somebody else has changed the entry. Every replica computes the same hash,
 * also for a text that only differs in its format: so reformatting a value disturbs no writer.
 * @returns `undefined` for a text that cannot be read; no caller can have seen its content
 */
export function contentTag (kind: Kind, text: string): string | undefined {
  try {
    return contentHash(kind.normalise(kind.decode(text).value))
  } catch (error) {
    if (error instanceof RejectedEntry) return undefined
    throw error
  }
}
