import { type IncomingHttpHeaders } from 'node:http'
import { hostNotAllowed, originForeign, writeNotLocal } from '../../base/errors.ts'
import { type HostNames } from './host-names.ts'

/** The headers by which a proxy says for whom it sends a request. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/** The hosts and origins that a service without tokens accepts, so that no foreign page can use it through a visitor's browser. */
export interface OpenAccess {
  /** The host names under which the service may be called. */
  readonly hosts: HostNames
  /** The origins from which pages may call the service (CORS). */
  readonly origins: ReadonlySet<string>
}

/**
 * Refuses a Host header that is not a name of the service. Once a page of evil.example is loaded, that name can be made to
 * point to this service; the browser then takes the service for evil.example and shows the page all answers (DNS
 * rebinding). A request without the header does not come from a browser.
 * @throws HOST_NOT_ALLOWED
 */
export function checkHost ({ host }: IncomingHttpHeaders, { hosts }: OpenAccess): void {
  if (host !== undefined && !hosts.allow(host)) throw hostNotAllowed(host)
}

/** Refuses a request that a page of another host sends. @throws ORIGIN_FOREIGN */
export function checkOrigin ({ origin, host }: IncomingHttpHeaders, { origins }: Pick<OpenAccess, 'origins'>): void {
  if (origin === undefined || origins.has(origin)) return
  if (URL.canParse(origin) && new URL(origin).host === host) return
  throw originForeign(origin)
}

/** Refuses a request from another machine, or through a proxy, which may pass on requests from anywhere. @throws WRITE_NOT_LOCAL */
export function checkLocalWrite (address: string | undefined, headers: IncomingHttpHeaders): void {
  if (!isLocal(address)) throw writeNotLocal(`the request came from ${address ?? 'an unknown address'}`)
  const header = FORWARDED.find(name => headers[name] !== undefined)
  if (header !== undefined) throw writeNotLocal(`the request came through a proxy (it has ${header})`)
}

/** Whether an address is this machine's own. */
function isLocal (address: string | undefined): boolean {
  return address !== undefined && (address === '::1' || /^(?:::ffff:)?127\./.test(address))
}
