import { isIPv4, isIPv6 } from 'node:net'

/** A host as a URL or a `Host` header names it, with or without a port. */
const HOST = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/

/** The host names under which clients are allowed to call this service. */
export interface HostNames {
  /** Whether the service accepts requests to this host. @param host as a `Host` header has it, with or without a port */
  allow (host: string): boolean
}

/**
 * Makes the check of host names. It accepts IP addresses, `localhost`, names below `localhost`, and the given names: a stranger's domain
 * name can be none of these. Names below `localhost` are never looked up: https://www.rfc-editor.org/rfc/rfc6761#section-6.3.
 * @param names further host names, without ports
 */
export function hostNames (names: readonly string[]): HostNames {
  const given = new Set(names.map(name => name.toLowerCase()))
  // The last accepted host is remembered: nearly every request names the same one, and parsing it takes a hundredth of a render.
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
