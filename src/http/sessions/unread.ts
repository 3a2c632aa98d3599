/** How much all readers together may leave unread, in bytes. A reader that needs more is cut off, and comes back by its last event. */
const MOST_UNREAD = 64 * 1024 * 1024

/** What a slow reader costs beside its unread bytes: the part of the log that is in memory for it, in bytes. */
const OWN_BYTES = 64 * 1024

/** The unread bytes that one reader may have without being counted. */
export const FREE_UNREAD = 64 * 1024

let held = 0

/**
 * Counts the unread bytes of a reader, if there is room for them.
 * @param bytes the number of bytes that wait for the reader
 * @returns a function that ends the count, and may be called again; undefined when there is no room: the caller cuts the reader off
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
