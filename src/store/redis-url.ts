import { type RedisOptions } from 'ioredis'
import { StoreError } from './store.ts'

/** Where a Redis is and how to log in to it. */
export interface RedisTarget {
  /** One Redis, the nodes of a cluster that are asked for the others, or the sentinels that know the master. */
  readonly kind: 'single' | 'cluster' | 'sentinel'
  /** `host:port`, several with commas, for messages. */
  readonly address: string
  readonly nodes: ReadonlyArray<{ readonly host: string, readonly port: number }>
  /** The name under which the sentinels know the master; only of `sentinel`. */
  readonly master: string | undefined
  /** The part of the client's options that comes from the URL, without the address. */
  readonly options: Pick<RedisOptions, 'db' | 'username' | 'password' | 'tls'>
  /** What no message may show. */
  readonly secret: string | undefined
}

const SHAPE = 'expected redis://[user:password@]host[:port][/database], or rediss:// for TLS'
const SHAPES = {
  single: SHAPE,
  cluster: 'expected redis+cluster://[user:password@]host:port[,host:port…], or rediss+cluster:// for TLS',
  sentinel: 'expected redis+sentinel://[user:password@]host:port[,host:port…]/master[/database], or rediss+sentinel:// for TLS'
}

const DEFAULT_PORTS = { single: 6379, cluster: 6379, sentinel: 26379 }

/**
 * Takes a Redis URL apart. No message of it shows any part of the URL but its scheme: a mistyped password can end up anywhere.
 * @throws StoreError when the URL has another shape
 */
export function parseRedisUrl (text: string): RedisTarget {
  const [, scheme, suffix, login = '', hosts = '', rest = ''] = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(.*@)?([^/?#@]*)(.*)$/s.exec(text) ?? []
  if (scheme === undefined) throw new StoreError(`the Redis URL ${URL.canParse(text) ? `begins with "${new URL(text).protocol}"` : 'cannot be read'}: ${SHAPE}`)
  const kind = suffix === 'cluster' || suffix === 'sentinel' ? suffix : 'single'
  const shape = SHAPES[kind]
  const addresses = kind === 'single' ? [hosts] : hosts.split(',')
  const urls = addresses.map(host => parseUrl(`${scheme}://${login}${host}${rest}`, shape))
  const [url] = urls as [URL]
  const { master, database } = parsePath(url.pathname, kind, shape)

  const username = decode(url.username)
  const password = decode(url.password)
  const port = ({ port }: URL) => port === '' ? DEFAULT_PORTS[kind] : Number(port)
  return {
    kind,
    address: urls.map(each => `${each.hostname}:${port(each)}`).join(','),
    nodes: urls.map(each => ({ host: each.hostname.replace(/^\[|\]$/g, ''), port: port(each) })),
    master,
    secret: password,
    options: {
      db: database,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(scheme === 'rediss' ? { tls: {} } : {})
    }
  }
}

function parseUrl (text: string, shape: string): URL {
  if (!URL.canParse(text)) throw new StoreError(`the Redis URL cannot be read: ${shape}`)
  const url = new URL(text)
  if (url.hostname === '') throw new StoreError(`the Redis URL has no host: ${shape}`)
  if (url.search !== '' || url.hash !== '') throw new StoreError(`the Redis URL has a "?" or "#"; options are not taken from it, and in a password they are written %3F and %23: ${shape}`)
  return url
}

function parsePath (path: string, kind: RedisTarget['kind'], shape: string): { master: string | undefined, database: number } {
  const [first = '', second = '', ...more] = path.slice(1).split('/')
  const [master, database] = kind === 'sentinel' ? [decode(first), second] : [undefined, first]
  if (kind === 'sentinel' && master === undefined) throw new StoreError(`the Redis URL names no master: ${shape}`)
  if (!/^\d*$/.test(database) || more.length > 0 || (kind !== 'sentinel' && second !== '')) throw new StoreError(`the Redis URL has a database that is not a number: ${shape}`)
  if (kind === 'cluster' && Number(database) > 0) throw new StoreError(`the Redis URL has a database, and a cluster has none: ${shape}`)
  return { master, database: Number(database) }
}

function decode (part: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part)
  } catch {
    throw new StoreError('the Redis URL has a "%" in its user name or password that is not written %25')
  }
}
