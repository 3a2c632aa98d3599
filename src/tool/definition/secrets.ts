import { fitsHeader } from '../../base/text.ts'

/** The secrets (credentials) that the operator defines for tools. Each may be sent to certain hosts only. */
export interface Secrets {
  has (name: string): boolean
  /** The value of a secret, if it may be sent to `host`. */
  reveal (name: string, host: string): string | undefined
}

interface Secret { readonly hosts: ReadonlySet<string>, readonly value: string }

/** The least length of a secret, in characters. Replacing a shorter one in results would replace much else, too. */
const LEAST_LENGTH = 8

/**
 * Parses the operator's secrets. `TOOL_SECRETS` says which secret may be sent to which hosts: `NAME=host|host:port,OTHER=host`. Each value is in a
 * variable of its own, `TOOL_SECRET_NAME`. A host without a port stands for all its ports.
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
