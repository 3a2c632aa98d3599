import { type RedisOptions } from 'ioredis'
import { StoreError } from './store.ts'

/** Where a Redis is and how to log in to it. */
export interface RedisTarget {
  /** `host:port`, for messages. */
  readonly address: string
  /** The part of the client's options that comes from the URL. */
  readonly options: Pick<RedisOptions, 'host' | 'port' | 'db' | 'username' | 'password' | 'tls'>
  /** What no message may show. */
  readonly secret: string | undefined
}

const SHAPE = 'expected redis://[user:password@]host[:port][/database], or rediss:// for TLS'

/**
 * Takes a Redis URL apart. No message of it shows any part of the URL but its scheme: a mistyped password can end up anywhere.
 * @throws StoreError when the URL has another shape
 */
export function parseRedisUrl (text: string): RedisTarget {
  if (!URL.canParse(text)) throw new StoreError(`the Redis URL cannot be read: ${SHAPE}`)
  const url = new URL(text)
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') throw new StoreError(`the Redis URL begins with "${url.protocol}": ${SHAPE}`)
  if (url.hostname === '') throw new StoreError(`the Redis URL has no host: ${SHAPE}`)
  if (!/^\/?\d*$/.test(url.pathname)) throw new StoreError(`the Redis URL has a database that is not a number: ${SHAPE}`)
  if (url.search !== '' || url.hash !== '') throw new StoreError(`the Redis URL has a "?" or "#"; options are not taken from it, and in a password they are written %3F and %23: ${SHAPE}`)

  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? 6379 : Number(url.port)
  const username = decode(url.username)
  const password = decode(url.password)
  return {
    address: `${url.hostname}:${port}`,
    secret: password,
    options: {
      host,
      port,
      db: Number(url.pathname.slice(1)),
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(url.protocol === 'rediss:' ? { tls: {} } : {})
    }
  }
}

function decode (part: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part)
  } catch {
    throw new StoreError('the Redis URL has a "%" in its user name or password that is not written %25')
  }
}
