import { lookup as resolveWithSystem, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Without these, the system's authorities count, and no client certificate is sent. */
export interface TlsFiles {
  /** PEM */
  readonly ca: Buffer | null
  /** PEM */
  readonly key: Buffer | null
  readonly cert: Buffer | null
}

export const SYSTEM_TLS: TlsFiles = { ca: null, key: null, cert: null }

export interface Egress {
  /** `undefined` when the host is allowed, or when this depends on the addresses that its name resolves to. */
  refusal (host: string): string | undefined
  /** Connections go to the very addresses checked here. Sockets do not call this for a host that is an address: use `refusal` too. */
  readonly lookup: LookupFunction
}

export interface EgressOptions {
  /** `internal` allows public, private and loopback addresses; `strict` public ones and `allow`. */
  readonly mode: 'internal' | 'strict'
  /** CIDRs, addresses and host names (`*.example.org` for all below). */
  readonly allow: readonly string[]
  readonly resolve?: (host: string, done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void) => void
}

export class EgressError extends Error {
  override readonly name = 'EgressError'
}

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** Kinds as ipaddr.js names them. All others (link-local, multicast, unspecified, reserved, tunnels …) are always refused. */
const PUBLIC = new Set(['unicast'])
const INTERNAL = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'])

/** Cloud services that give credentials to whoever reaches them, at addresses that look ordinary; others are refused anyway. */
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

/** Link-local, metadata, multicast and unspecified addresses are refused whatever `allow` says. @throws Error that names a bad entry */
export function createEgress ({ mode, allow, resolve = systemResolve }: EgressOptions): Egress {
  const allowed = parseAllowed(allow)

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

const systemResolve: NonNullable<EgressOptions['resolve']> = (host, done) => resolveWithSystem(host, { all: true }, done)

function isWithin (address: IpAddress, [range, bits]: [IpAddress, number]): boolean {
  return range.kind() === address.kind() && address.match(range as ipaddr.IPv4, bits)
}

/** ipaddr.js takes the long obsolete form `::10.0.0.1` for public. */
function isIpv4Compatible (address: IpAddress): boolean {
  return address.kind() === 'ipv6' && (address as ipaddr.IPv6).parts.slice(0, 6).every(part => part === 0)
}

function parseAllowed (entries: readonly string[]) {
  const ranges: [IpAddress, number][] = []
  const hosts = new Set<string>()
  for (const entry of entries.map(each => each.trim().toLowerCase()).filter(each => each !== '')) {
    if (ipaddr.isValidCIDR(entry)) ranges.push(ipaddr.parseCIDR(entry))
    else if (ipaddr.isValid(entry)) ranges.push(ipaddr.parseCIDR(`${entry}/${isIP(entry) === 4 ? 32 : 128}`))
    else if (/^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(entry)) hosts.add(entry)
    else throw new Error(`EGRESS_ALLOW: "${entry}" is no CIDR, address or host name`)
  }
  return {
    address: (address: IpAddress) => ranges.some(range => isWithin(address, range)),
    host: (host: string) => hosts.has(host) || host.split('.').some((_label, index, labels) => hosts.has(`*.${labels.slice(index + 1).join('.')}`))
  }
}

/** @throws EgressError if the policy refuses one of the addresses, or the resolver's error */
export function resolveHost (egress: Egress, host: string): Promise<LookupAddress[]> {
  const refusal = egress.refusal(host)
  if (refusal !== undefined) return Promise.reject(new EgressError(refusal))
  return new Promise((resolve, reject) =>
    egress.lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses as LookupAddress[]) : reject(error)))
  )
}
