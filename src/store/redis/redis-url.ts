import { type RedisOptions } from 'ioredis'
import { StoreError } from '../store.ts'

export interface RedisTarget {
  /** `host:port`, or the name that Sentinels have for the master. */
  readonly address: string
  readonly options: Pick<
    RedisOptions,
    'host' | 'port' | 'db' | 'username' | 'password' | 'tls' | 'name' | 'sentinels' | 'sentinelPassword' | 'sentinelTLS' | 'enableTLSForSentinelMode'
  >
  /** No message may show them. */
  readonly secrets: readonly string[]
}

export type RedisPlace =
  | { readonly kind: 'single', readonly target: RedisTarget }
  | RedisClusterPlace

export interface RedisClusterPlace {
  readonly kind: 'cluster'
  /** They know all other nodes. */
  readonly seeds: readonly RedisTarget[]
  /** `host`: a name or an IP address, IPv6 without brackets. */
  node (host: string, port: number): RedisTarget
}

type Login = Pick<RedisOptions, 'username' | 'password' | 'tls'>

const SHAPE =
  'expected redis://[user:password@]host[:port][/database], redis+sentinel://[user:password@]host[:port],…/master[/database] or redis+cluster://[user:password@]host[:port],…; rediss for TLS'
const DEFAULT_PORT = 6379
const DEFAULT_SENTINEL_PORT = 26379

/** Errors show only the URL's scheme, because a mistyped password can end up anywhere. @throws StoreError */
export function parseRedisUrl (text: string, sentinelPassword = ''): RedisPlace {
  const [beginning = '', scheme = '', authority = ''] = /^([^:]*:)?(?:\/\/)?([^/?#]*)/.exec(text) ?? []
  const path = text.slice(beginning.length)
  const kind = /^rediss?(\+sentinel|\+cluster)?:$/.exec(scheme)
  if (scheme === '') throw new StoreError(`the Redis URL cannot be read: ${SHAPE}`)
  if (kind === null) throw new StoreError(`the Redis URL begins with "${scheme}": ${SHAPE}`)
  if (/[?#]/.test(path)) {
    throw new StoreError(`the Redis URL has a "?" or "#"; options are not taken from it, and in a password they are written %3F and %23: ${SHAPE}`)
  }

  const at = authority.lastIndexOf('@')
  const login = parseLogin(authority.slice(0, Math.max(0, at)), scheme.startsWith('rediss'))
  const hosts = authority.slice(at + 1).split(',')
  switch (kind[1]) {
    case '+sentinel': return parseSentinel(hosts, path, login, sentinelPassword)
    case '+cluster': return parseCluster(hosts, path, login)
    default: return { kind: 'single', target: parseSingle(hosts, path, login) }
  }
}

function parseSingle (hosts: readonly string[], path: string, login: Login): RedisTarget {
  if (hosts.length > 1) throw new StoreError(`the Redis URL names several hosts; begin it with redis+sentinel or redis+cluster: ${SHAPE}`)
  return targetOf(parseAddress(hosts[0] ?? '', DEFAULT_PORT), parseDatabase(path.slice(1)), login)
}

function parseCluster (hosts: readonly string[], path: string, login: Login): RedisClusterPlace {
  if (!/^\/?0?$/.test(path)) throw new StoreError('the Redis URL has a database, and a Redis Cluster has one only')
  return {
    kind: 'cluster',
    seeds: hosts.map(host => targetOf(parseAddress(host, DEFAULT_PORT), 0, login)),
    node: (host, port) => targetOf({ host, port, shown: `${host.includes(':') ? `[${host}]` : host}:${port}` }, 0, login)
  }
}

function parseSentinel (hosts: readonly string[], path: string, login: Login, sentinelPassword: string): RedisPlace {
  const [name = '', database = ''] = path.slice(1).split('/', 2)
  if (name === '') throw new StoreError(`the Redis URL has no name of a master after its Sentinels: ${SHAPE}`)
  const sentinels = hosts.map(host => parseAddress(host, DEFAULT_SENTINEL_PORT))
  return {
    kind: 'single',
    target: {
      address: `${decode(name) ?? ''} (Sentinel ${sentinels.map(({ shown }) => shown).join(', ')})`,
      secrets: [login.password, sentinelPassword].filter(secret => secret !== undefined && secret !== '') as string[],
      options: {
        ...login,
        name: decode(name) ?? '',
        sentinels: sentinels.map(({ host, port }) => ({ host, port })),
        db: parseDatabase(database),
        ...(sentinelPassword === '' ? {} : { sentinelPassword }),
        ...(login.tls === undefined ? {} : { sentinelTLS: login.tls, enableTLSForSentinelMode: true })
      }
    }
  }
}

function targetOf ({ host, port, shown }: { readonly host: string, readonly port: number, readonly shown: string }, db: number, login: Login): RedisTarget {
  return { address: shown, secrets: login.password === undefined ? [] : [login.password], options: { host, port, db, ...login } }
}

function parseAddress (text: string, defaultPort: number) {
  if (text === '' || text.startsWith(':')) throw new StoreError(`the Redis URL has no host: ${SHAPE}`)
  if (!URL.canParse(`redis://${text}`)) throw new StoreError(`the Redis URL cannot be read: ${SHAPE}`)
  const { hostname, port: digits } = new URL(`redis://${text}`)
  const port = digits === '' ? defaultPort : Number(digits)
  return { host: hostname.replace(/^\[|\]$/g, ''), port, shown: `${hostname}:${port}` }
}

function parseDatabase (text: string): number {
  if (!/^\d*$/.test(text)) throw new StoreError(`the Redis URL has a database that is not a number: ${SHAPE}`)
  return Number(text)
}

function parseLogin (text: string, isEncrypted: boolean): Login {
  const colon = text.indexOf(':')
  const username = decode(colon === -1 ? text : text.slice(0, colon))
  const password = colon === -1 ? undefined : decode(text.slice(colon + 1))
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isEncrypted ? { tls: {} } : {})
  }
}

function decode (part: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part)
  } catch {
    throw new StoreError('the Redis URL has a "%" in its user name or password that is not written %25')
  }
}
