import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { type Entry } from './session-store.ts'

/** A log holds a transition that this service did not write, or did not write at that place. */
export class LogUntrusted extends Error {
  override readonly name = 'LogUntrusted'

  /** @param seq number of the first transition that is not genuine */
  constructor (seq: number) {
    super(`transition ${seq} is not as this service has written it`)
  }
}

/**
 * Seals are signatures (HMACs) of transitions, so that an attacker who can write to the store cannot make a session act. A seal
 * covers the session id, the number, the token of the previous transition (random, and sealed itself), and the bytes.
 */
export interface Seals {
  /** Computes the seal of an entry. @param before token of the previous transition; '' for the first */
  sealOf (id: string, before: string, entry: Omit<Entry, 'seal'>): string
  isGenuine (id: string, before: string, entry: Entry): boolean
}

/** Seals for a service without a secret: nothing is sealed, and every log is trusted, since nobody else can write to the store. */
export const UNSEALED: Seals = { sealOf: () => '', isGenuine: () => true }

/** Creates seals. @param secrets the first seals new entries, and all of them verify, so that secrets can be rotated */
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
