import { type Head } from '../../model.ts'

/** The names of the 16 shards (parts) of the sessions. The first digit of a session's id names its shard. All keys of a shard are on one node of a cluster. */
export const SHARDS = [...'0123456789abcdef']

/** The Redis keys of one shard (a sixteenth of all sessions). */
export interface ShardKeys {
  /** The common prefix of the shard's keys. Lua scripts build the keys of single sessions from it. */
  readonly prefix: string
  /** The sorted set of session ids by due time: the time from which on any replica can take the session over. */
  readonly due: string
  /** The sorted set of the ids of all sessions but child sessions, by the time at which each session began. */
  readonly all: string
  /** The sorted set of the ids and owners of ended sessions, by the time at which Redis deletes each session. */
  readonly ended: string
  /** The sorted set of the ids of one owner's sessions, without child sessions, by the time at which each session began. */
  of (owner: string): string
  /** The sorted set of the ids of an owner's sessions that have not ended, without child sessions, by the time at which each began. */
  open (owner: string): string
  /** The sorted set of the ids of all descendants of a root session, by the time at which each began. */
  below (root: string): string
  /** The sorted set of the ids of an owner's child sessions that have not ended, by the time at which each began. */
  openBelow (owner: string): string
  /** The Redis stream with the log entries of a session. */
  log (id: string): string
  /** The Redis hash of a session with the fields `head` (the summary that lists show), `driver` and `seq`. */
  head (id: string): string
  /** The Pub/Sub channel for a session's live messages, and for the number of each new entry of its log. */
  channel (id: string): string
}

/** The name of the shard that a session's keys are in: the first digit of its id. */
export function shardOf (id: Head['id']): string {
  return id.charAt(0)
}

/** The name that stands, instead of an owner, in the Redis key of the list of a root session's descendants. */
export function belowName (root: string): string {
  return `>${root}`
}

/** Makes the Redis keys of a shard, such as `shenma:sessions:{7}:due`. The hash tag in braces keeps them on one node of a cluster. */
export function shardKeys (keyPrefix: string, shard: string): ShardKeys {
  const prefix = `${keyPrefix}sessions:{${shard}}:`
  return {
    prefix,
    due: `${prefix}due`,
    all: `${prefix}all`,
    ended: `${prefix}ended`,
    of: owner => `${prefix}of:${owner}`,
    open: owner => `${prefix}open:${owner}`,
    // This key cannot be that of an owner: an owner is the name of an access token, and no such name has a `>`.
    below: root => `${prefix}of:${belowName(root)}`,
    openBelow: owner => `${prefix}open:>${owner}`,
    log: id => `${prefix}${id}:log`,
    head: id => `${prefix}${id}:head`,
    channel: id => `${prefix}${id}`
  }
}
