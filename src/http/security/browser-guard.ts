import { type IncomingHttpHeaders } from 'node:http'
import { hostNotAllowed, originForeign, writeNotLocal } from '../../base/errors.ts'
import { type HostNames } from './host-names.ts'

/** Headers by which a proxy says that it speaks for somebody else. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/** Whose requests are taken where no token is asked for. */
export interface OpenAccess {
  /** The names that the service may be called by. */
  readonly hosts: HostNames
  /** Origins that CORS lets in. */
  readonly origins: ReadonlySet<string>
}

/**
 * Refuses a name that is not the service's own. A page of evil.example can have that name point here after it was loaded,
 * and then the browser takes us for evil.example and shows the page all that we answer (DNS rebinding). Without the
 * header it is no browser that asks.
 * @throws HOST_NOT_ALLOWED
 */
export function checkHost ({ host }: IncomingHttpHeaders, { hosts }: OpenAccess): void {
  if (host !== undefined && !hosts.allow(host)) throw hostNotAllowed(host)
}

/** @throws ORIGIN_FOREIGN for a request that a page of another host sends */
export function checkOrigin ({ origin, host }: IncomingHttpHeaders, { origins }: Pick<OpenAccess, 'origins'>): void {
  if (origin === undefined || origins.has(origin)) return
  if (URL.canParse(origin) && new URL(origin).host === host) return
  throw originForeign(origin)
}

/** @throws WRITE_NOT_LOCAL for a request from another machine, or through a proxy, which may come from anywhere */
export function checkLocalWrite (address: string | undefined, headers: IncomingHttpHeaders): void {
  if (!isLocal(address)) throw writeNotLocal(`the request came from ${address ?? 'an unknown address'}`)
  const header = FORWARDED.find(name => headers[name] !== undefined)
  if (header !== undefined) throw writeNotLocal(`the request came through a proxy (it has ${header})`)
}

/** Whether an address is this machine's own. */
function isLocal (address: string | undefined): boolean {
  return address !== undefined && (address === '::1' || /^(?:::ffff:)?127\./.test(address))
}
