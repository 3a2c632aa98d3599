/** What all readers together may leave unread, in bytes; one that goes beyond is cut off, and comes back by the last event it has. */
const MOST_UNREAD = 64 * 1024 * 1024

/** What a reader takes that is waited for, beside what it has not read, in bytes: a part of the log. */
const OWN_BYTES = 64 * 1024

/** What one reader may leave unread without counting, in bytes. */
export const FREE_UNREAD = 64 * 1024

let held = 0

/**
 * Counts what a reader has not read, as far as there is room for it.
 * @param bytes what waits for the reader
 * @returns ends that, once or more often; undefined when there is no room, and the reader is to be cut off
 */
export function holdUnread (bytes: number): (() => void) | undefined {
  const share = bytes + OWN_BYTES
  if (held + share > MOST_UNREAD) return undefined
  held += share
  let isHeld = true
  return () => {
    if (isHeld) held -= share
    isHeld = false
  }
}
