/**
 * How much all readers of event streams together may leave unread, in bytes. A reader for whom there is no room is cut off; it connects
 * again and resumes behind its last event.
 */
const MOST_UNREAD = 64 * 1024 * 1024

/** What a slow reader costs beside its unread bytes: the part of the session's log that is kept in memory for the reader, in bytes. */
const OWN_BYTES = 64 * 1024

/** How many unread bytes one reader may have before they are counted. */
export const FREE_UNREAD = 64 * 1024

let held = 0

/**
 * Reserves room for the unread bytes of a reader.
 * @param bytes how many bytes wait for the reader
 * @returns a function that gives the room back, and may be called more than once; undefined when there is no room: then the caller must cut
 * the reader off
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
