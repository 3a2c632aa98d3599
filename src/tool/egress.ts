import { lookup as resolveWithSystem, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The operator's certificates for TLS connections to tools. Without them, the system's trusted authorities count, and no client certificate is sent. */
export interface TlsFiles {
  /** The certificates of the trusted authorities, as PEM. */
  readonly ca: Buffer | null
  /** The key and the certificate of this service itself, as PEM. */
  readonly key: Buffer | null
  readonly cert: Buffer | null
}

export const SYSTEM_TLS: TlsFiles = { ca: null, key: null, cert: null }

/** The egress policy: the addresses to which calls of tools are allowed to go. */
export interface Egress {
  /**
   * The reason why a host, as written in a URL, is refused without asking a name server; `undefined` when the host is allowed, or when
   * this depends on the addresses that its name resolves to.
   */
  refusal (host: string): string | undefined
  /**
   * Resolves a name for a connection, and fails when one of its addresses is refused. The connection goes to the very addresses that were
   * checked, so a name that resolves differently the next time gains nothing. Sockets do not call this for a host that is an address
   * already, so callers must use `refusal` too.
   */
  readonly lookup: LookupFunction
}

export interface EgressOptions {
  /** The mode: `internal` allows public, private and loopback addresses; `strict` allows public ones, and those that `allow` names. */
  readonly mode: 'internal' | 'strict'
  /** The CIDRs, addresses and host names (`*.example.org` for all below) that `strict` allows in addition. */
  readonly allow: readonly string[]
  /** The function that resolves names. @default the system's resolver */
  readonly resolve?: Resolve
}

/** Resolves a host name to all its addresses. */
export type Resolve = (host: string, done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void) => void

/** The error of a connection that the egress policy (which addresses calls are allowed to go to) forbids. */
export class EgressError extends Error {
  override readonly name = 'EgressError'
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

/**
 * The kinds of addresses to which an egress policy can allow calls, as ipaddr.js names them. All other kinds (link-local, multicast,
 * unspecified, reserved, tunnels …) are always refused.
 */
const PUBLIC = new Set(['unicast'])
const INTERNAL = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'])

/**
 * The addresses of cloud services that give credentials to whoever can reach them, where the addresses look like ordinary private or
 * public ones. Other such services are at link-local or reserved addresses, which are refused anyway.
 */
const METADATA = [
  'fd00:ec2::/32', // AWS: metadata ::254, credentials of pods ::23, DNS ::253
  'fd20:ce::254/128', // Google Cloud
  'fd00:c1::a9fe:a9fe/128', // Oracle Cloud
  'fd00:42::42/128', // Scaleway
  'fd00:a9fe:a9fe::1/128', // Akamai
  'fd00:100::100:200/128', // Alibaba Cloud
  '100.100.100.200/32', // Alibaba Cloud
  '168.63.129.16/32' // Azure
].map(range => ipaddr.parseCIDR(range))

/**
 * Makes the egress policy for calls of all tools. Both modes (`internal` and `strict`) refuse link-local, metadata, multicast and
 * unspecified addresses in every spelling, whatever `allow` says.
 * @throws Error that names an entry of `allow` that cannot be read
 */
export function createEgress ({ mode, allow, resolve = systemResolve }: EgressOptions): Egress {
  const allowed = parseAllowed(allow)

  /** The reason why a connection to an address is refused; `undefined` when it is allowed. @param host the name that led to the address */
  function refusalOf (address: string, host: string): string | undefined {
    if (!ipaddr.isValid(address)) return `"${address}" is not an address`
    const parsed = ipaddr.process(address)
    const range = METADATA.some(metadata => isWithin(parsed, metadata)) ? 'metadata' : parsed.range()
    if (PUBLIC.has(range) && !isIpv4Compatible(parsed)) return undefined
    if (INTERNAL.has(range) && (mode === 'internal' || allowed.address(parsed) || allowed.host(host))) return undefined
    return `${host === address ? 'leads to' : `${host} resolves to`} ${address} (${range}), which the egress policy refuses`
  }

  return {
    refusal (host) {
      const literal = host.replace(/^\[|\]$/g, '').replace(/\.$/, '')
      return isIP(literal) === 0 ? undefined : refusalOf(literal, literal)
    },
    lookup (host, options, done) {
      resolve(host, (error, addresses) => {
        if (error !== null) return done(error, [])
        if (addresses.length === 0) return done(new EgressError(`${host} has no address`), [])
        const refusal = addresses.map(({ address }) => refusalOf(address, host.toLowerCase().replace(/\.$/, ''))).find(reason => reason !== undefined)
        if (refusal !== undefined) return done(new EgressError(refusal), [])
        if (options.all === true) return done(null, addresses)
        const { address, family } = addresses[0] as LookupAddress
        done(null, address, family)
      })
    }
  }
}

const systemResolve: Resolve = (host, done) => resolveWithSystem(host, { all: true }, done)

function isWithin (address: Address, [range, bits]: [Address, number]): boolean {
  return range.kind() === address.kind() && address.match(range as ipaddr.IPv4, bits)
}

/** Whether an address has the long obsolete form `::10.0.0.1`, which ipaddr.js takes for public. */
function isIpv4Compatible (address: Address): boolean {
  return address.kind() === 'ipv6' && (address as ipaddr.IPv6).parts.slice(0, 6).every(part => part === 0)
}

function parseAllowed (entries: readonly string[]) {
  const ranges: [Address, number][] = []
  const hosts = new Set<string>()
  for (const entry of entries.map(each => each.trim().toLowerCase()).filter(each => each !== '')) {
    if (ipaddr.isValidCIDR(entry)) ranges.push(ipaddr.parseCIDR(entry))
    else if (ipaddr.isValid(entry)) ranges.push(ipaddr.parseCIDR(`${entry}/${isIP(entry) === 4 ? 32 : 128}`))
    else if (/^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(entry)) hosts.add(entry)
    else throw new Error(`EGRESS_ALLOW: "${entry}" is no CIDR, address or host name`)
  }
  return {
    address: (address: Address) => ranges.some(range => isWithin(address, range)),
    host: (host: string) => hosts.has(host) || host.split('.').some((_label, index, labels) => hosts.has(`*.${labels.slice(index + 1).join('.')}`))
  }
}

/** Resolves a host (a name or an address) to its addresses. @throws EgressError if the egress policy refuses one of them, or the resolver's error */
export function resolveHost (egress: Egress, host: string): Promise<LookupAddress[]> {
  const refusal = egress.refusal(host)
  if (refusal !== undefined) return Promise.reject(new EgressError(refusal))
  return new Promise((resolve, reject) =>
    egress.lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses as LookupAddress[]) : reject(error)))
  )
}
