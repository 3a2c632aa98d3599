import { type Head } from '../../model.ts'

/** The shards: what changes together lies together, in a cluster too. An id's first digit is its shard. */
export const SHARDS = [...'0123456789abcdef']

/** The keys of one shard. */
export interface ShardKeys {
  /** What all of them begin with; scripts make the keys of single sessions of it. */
  readonly prefix: string
  /** Ids by the time at which they are due. */
  readonly due: string
  /** Ids by the time at which the session was begun. */
  readonly all: string
  /** Ids and owners of ended sessions, by the time at which they expire. */
  readonly ended: string
  /** As `all`, of one owner. */
  of (owner: string): string
  /** As `of`, of the sessions that have not ended. */
  open (owner: string): string
  /** As `of`, of the children of a session above all others. */
  below (root: string): string
  /** As `open`, of children. */
  openBelow (owner: string): string
  /** The stream of a session's transitions. */
  log (id: string): string
  /** The hash of `head`, `driver` and `seq`. */
  head (id: string): string
  /** Where appends of a session are told, and what is published of it. */
  channel (id: string): string
}

/** The shard of a session. */
export function shardOf (id: Head['id']): string {
  return id.charAt(0)
}

/** What stands in place of an owner where the children of a session are listed. */
export function belowName (root: string): string {
  return `>${root}`
}

/** The keys of a shard: `shenma:sessions:{7}:due`. What stands in braces keeps them on one node. */
export function shardKeys (keyPrefix: string, shard: string): ShardKeys {
  const prefix = `${keyPrefix}sessions:{${shard}}:`
  return {
    prefix,
    due: `${prefix}due`,
    all: `${prefix}all`,
    ended: `${prefix}ended`,
    of: owner => `${prefix}of:${owner}`,
    open: owner => `${prefix}open:${owner}`,
    // No name of a token has a `>`.
    below: root => `${prefix}of:${belowName(root)}`,
    openBelow: owner => `${prefix}open:>${owner}`,
    log: id => `${prefix}${id}:log`,
    head: id => `${prefix}${id}:head`,
    channel: id => `${prefix}${id}`
  }
}
