import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { type Entry } from './session-store.ts'

/** A log has a transition that this service has not written, or not there. */
export class LogUntrusted extends Error {
  override readonly name = 'LogUntrusted'

  /** @param seq of the first transition that is not genuine */
  constructor (seq: number) {
    super(`transition ${seq} is not as this service has written it`)
  }
}

/**
 * Seals transitions, so that whoever can write to the store cannot make a session act. A seal covers the session, the number,
 * the one before by its token, which is made up for that one alone and sealed itself, and the bytes.
 */
export interface Seals {
  /** @param before token of the transition before; '' for the first */
  sealOf (id: string, before: string, entry: Omit<Entry, 'seal'>): string
  isGenuine (id: string, before: string, entry: Entry): boolean
}

/** Without a secret nothing is sealed, and every log is believed: the store belongs to this service alone. */
export const UNSEALED: Seals = { sealOf: () => '', isGenuine: () => true }

/** @param secrets the first seals, and each of them verifies, so that one can take the place of another */
export function createSeals (secrets: readonly string[]): Seals {
  const keys = secrets.map(secret => createSecretKey(secret, 'utf8'))
  const [first] = keys
  if (first === undefined) return UNSEALED
  const digest = (key: typeof first, id: string, before: string, { seq, text }: Omit<Entry, 'seal'>): Buffer =>
    // Neither an id nor a token of this service has a line end: no two transitions give the same bytes.
    createHmac('sha256', key).update(`${id}\n${seq}\n${before}\n`).update(text).digest()
  return {
    sealOf: (id, before, entry) => digest(first, id, before, entry).toString('base64url'),
    isGenuine (id, before, entry) {
      const given = Buffer.from(entry.seal, 'base64url')
      return given.length === 32 && keys.some(key => timingSafeEqual(digest(key, id, before, entry), given))
    }
  }
}
