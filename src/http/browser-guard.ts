import { type IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { originForeign, writeNotLocal } from '../base/errors.ts'

/** Headers by which a proxy says that it speaks for somebody else. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/** Whether an address is this machine's own. */
export function isLocal (address: string | undefined): boolean {
  return address !== undefined && (address === '::1' || /^(?:::ffff:)?127\./.test(address))
}

/**
 * Refuses a name of this machine that is not its own. A page of evil.example can have that name point at 127.0.0.1 after
 * it was loaded, and then the browser takes us for evil.example (DNS rebinding); an address cannot be made to point elsewhere.
 * @throws ORIGIN_FOREIGN
 */
export function checkRebinding ({ host }: IncomingHttpHeaders): void {
  if (host === undefined || isOwnName(host)) return
  throw originForeign(`The request came for host "${host.slice(0, 100)}", which is no address and not localhost`)
}

/** @param allowed origins that CORS lets in @throws ORIGIN_FOREIGN for a request that a page of another host sends */
export function checkOrigin ({ origin, host }: IncomingHttpHeaders, allowed: ReadonlySet<string>): void {
  if (origin === undefined || allowed.has(origin)) return
  if (URL.canParse(origin) && new URL(origin).host === host) return
  throw originForeign(`The request came from a page of "${origin.slice(0, 100)}"`)
}

/** @throws WRITE_NOT_LOCAL for a request from another machine, or through a proxy, which may come from anywhere */
export function checkLocalWrite (address: string | undefined, headers: IncomingHttpHeaders): void {
  if (!isLocal(address)) throw writeNotLocal(`the request came from ${address ?? 'an unknown address'}`)
  const header = FORWARDED.find(name => headers[name] !== undefined)
  if (header !== undefined) throw writeNotLocal(`the request came through a proxy (it has ${header})`)
}

// Nearly every request names the same host, and looking at it takes a hundredth of a render.
let lastOwnName: string | undefined

function isOwnName (host: string): boolean {
  if (host === lastOwnName) return true
  const isOwn = isAddressOrLocalhost(host)
  if (isOwn) lastOwnName = host
  return isOwn
}

function isAddressOrLocalhost (host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return name === 'localhost' || name.endsWith('.localhost') || isIP(name.replace(/^\[|\]$/g, '')) !== 0
}
