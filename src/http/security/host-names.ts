import { isIPv4, isIPv6 } from 'node:net'

/** A host as a URL or a `Host` header names it, with or without a port. */
const HOST = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/

/** The names that this service may be called by. */
export interface HostNames {
  /** @param host as a `Host` header has it, with or without a port */
  allow (host: string): boolean
}

/**
 * The accepted hosts: IP addresses, `localhost`, names below `localhost`, and the given names. Nobody else can make one of
 * them point to this service. Names below `localhost` are never looked up: https://www.rfc-editor.org/rfc/rfc6761#section-6.3.
 *
 * @param names further host names, without ports
 */
export function hostNames (names: readonly string[]): HostNames {
  const given = new Set(names.map(name => name.toLowerCase()))
  // Nearly every request names the same host, and reading it takes a hundredth of a render.
  let last: string | undefined
  return {
    allow (host) {
      if (host === last) return true
      const name = nameOf(host)
      const isAllowed = name !== undefined && (isAddress(name) || name === 'localhost' || name.endsWith('.localhost') || given.has(name))
      if (isAllowed) last = host
      return isAllowed
    }
  }
}

/** The name in a Host header: in lower case, without the port and without the dot at the end. */
function nameOf (host: string): string | undefined {
  return HOST.exec(host)?.[1]?.toLowerCase().replace(/\.$/, '')
}

/** Whether a host is an IP address; IPv6 stands in brackets: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2 */
function isAddress (name: string): boolean {
  return isIPv4(name) || (name.startsWith('[') && isIPv6(name.slice(1, -1)))
}
