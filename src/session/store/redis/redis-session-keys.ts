import { type Head } from '../../model.ts'

/** The names of the shards. The first digit of a session's id names its shard. All keys of a shard are on one node of a cluster. */
export const SHARDS = [...'0123456789abcdef']

/** The keys of one shard. */
export interface ShardKeys {
  /** The common prefix of the shard's keys. Scripts build the keys of single sessions from it. */
  readonly prefix: string
  /** Sorted set of the ids of sessions, by the time at which each is due. */
  readonly due: string
  /** Sorted set of the ids of sessions, by the time at which each was begun. */
  readonly all: string
  /** Sorted set of the ids and owners of ended sessions, by the time at which each expires. */
  readonly ended: string
  /** Sorted set like `all`, for the sessions of one owner. */
  of (owner: string): string
  /** Sorted set like `of`, for the sessions that have not ended. */
  open (owner: string): string
  /** Sorted set like `of`, for the descendants of a root session. */
  below (root: string): string
  /** Sorted set like `open`, for the child sessions of one owner. */
  openBelow (owner: string): string
  /** The stream of a session's transitions. */
  log (id: string): string
  /** The hash of `head`, `driver` and `seq`. */
  head (id: string): string
  /** The Pub/Sub channel for appends to a session and for its live messages. */
  channel (id: string): string
}

/** The shard of a session. */
export function shardOf (id: Head['id']): string {
  return id.charAt(0)
}

/** The name used in place of an owner in the key that lists a root session's descendants. */
export function belowName (root: string): string {
  return `>${root}`
}

/** The keys of a shard, such as `shenma:sessions:{7}:due`. The hash tag in braces keeps them on one node of a cluster. */
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
