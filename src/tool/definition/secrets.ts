import { fitsHeader } from '../../base/text.ts'

/** The secrets (credentials) that the operator lends to tools. Each is sent only to hosts that the operator allows. */
export interface Secrets {
  has (name: string): boolean
  /** The value of a secret; `undefined` when there is no such secret, or when the operator does not allow sending it to `host`. */
  reveal (name: string, host: string): string | undefined
}

interface Secret { readonly hosts: ReadonlySet<string>, readonly value: string }

/** The shortest length of a secret, in UTF-16 units. Results of tools are searched for secrets, and a shorter text would be removed from them by accident. */
const LEAST_LENGTH = 8

/**
 * Reads the operator's secrets. The variable `TOOL_SECRETS` lists the hosts to which each secret is allowed to go:
 * `NAME=host|host:port,OTHER=host`. A host without a port stands for all ports. The secret `NAME` itself is in the variable
 * `TOOL_SECRET_NAME`.
 * @throws Error that names the entry, never a value
 */
export function parseSecrets (bindings: string, environment: Readonly<Record<string, string | undefined>>): Secrets {
  const secrets = new Map<string, Secret>()
  for (const entry of bindings.split(',').map(part => part.trim()).filter(part => part !== '')) {
    const [, name, hosts] = /^([A-Za-z_][A-Za-z0-9_]*)=(.+)$/.exec(entry) ?? []
    if (name === undefined || hosts === undefined) throw new Error(`TOOL_SECRETS: "${entry}" must be NAME=host|host`)
    const value = environment[`TOOL_SECRET_${name}`]
    if (value === undefined || value === '') throw new Error(`TOOL_SECRETS: TOOL_SECRET_${name} is not set`)
    if (value.length < LEAST_LENGTH) throw new Error(`TOOL_SECRETS: TOOL_SECRET_${name} is shorter than ${LEAST_LENGTH} characters`)
    if (!fitsHeader(value)) throw new Error(`TOOL_SECRETS: TOOL_SECRET_${name} holds characters that no header may hold`)
    secrets.set(name, { value, hosts: new Set(hosts.split('|').map(host => host.trim().toLowerCase())) })
  }
  return {
    has: name => secrets.has(name),
    reveal (name, host) {
      const secret = secrets.get(name)
      const bound = secret?.hosts.has(host.toLowerCase()) === true || secret?.hosts.has(host.toLowerCase().replace(/:\d+$/, '')) === true
      return bound ? secret?.value : undefined
    }
  }
}
