import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { type Entry } from './session-store.ts'

/** The error that a log contains an entry that this service did not write, or that it wrote to another log or at another position. */
export class LogUntrusted extends Error {
  override readonly name = 'LogUntrusted'

  /** Creates the error. @param seq number of the first log entry whose signature is wrong */
  constructor (seq: number) {
    super(`transition ${seq} is not as this service has written it`)
  }
}

/**
 * Seals are signatures (HMACs) of log entries, so that an attacker who can write to the store cannot make a session act. A seal covers
 * the session's id, the entry's number and bytes, and the token of the previous entry, which is random and sealed itself.
 */
export interface Seals {
  /** Computes the seal of a log entry. @param before token of the previous entry; '' for the first */
  sealOf (id: string, before: string, entry: Omit<Entry, 'seal'>): string
  isGenuine (id: string, before: string, entry: Entry): boolean
}

/** The seals of a service without a secret: nothing is signed, and every log is trusted, since nobody else is expected to write to the store. */
export const UNSEALED: Seals = { sealOf: () => '', isGenuine: () => true }

/**
 * Creates the seals (signatures of log entries).
 * @param secrets the first one signs new entries, and all of them verify old ones, so that secrets can be rotated
 */
export function createSeals (secrets: readonly string[]): Seals {
  const keys = secrets.map(secret => createSecretKey(secret, 'utf8'))
  const [first] = keys
  if (first === undefined) return UNSEALED
  const digest = (key: typeof first, id: string, before: string, { seq, text }: Omit<Entry, 'seal'>): Buffer =>
    // The fields are separated by line ends, which neither an id nor a token has, so no two entries give the same bytes.
    createHmac('sha256', key).update(`${id}\n${seq}\n${before}\n`).update(text).digest()
  return {
    sealOf: (id, before, entry) => digest(first, id, before, entry).toString('base64url'),
    isGenuine (id, before, entry) {
      const given = Buffer.from(entry.seal, 'base64url')
      return given.length === 32 && keys.some(key => timingSafeEqual(digest(key, id, before, entry), given))
    }
  }
}
