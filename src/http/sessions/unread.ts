/**
 * The most bytes that all clients that follow sessions, by event streams or WebSockets, may leave unread together. A client for which there
 * is no room left is disconnected; it connects again and continues with the event after the last one that it received.
 */
const MOST_UNREAD = 64 * 1024 * 1024

/** An estimate of the memory that a slow client takes beside its unread bytes, in bytes: a part of the session's log is kept for this client. */
const OWN_BYTES = 64 * 1024

/** The most unread bytes of one client that do not yet count towards the limit for all clients together. */
export const FREE_UNREAD = 64 * 1024

let held = 0

/**
 * Reserves room for the unread bytes of one client, within the limit for all clients.
 * @param bytes how many bytes wait for the client
 * @returns a function that ends the reservation, and may be called more than once; `undefined` when there is no room: then the caller must
 * disconnect the client
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
