import { readFileSync } from 'node:fs'
import { ConfigError, type Config } from '../config.ts'
import { type EnvironSource } from '../template/run.ts'
import { createBaseUrls, type ModuleDirectory, parseBaseUrl, parseBaseUrls } from '../tool/base-urls.ts'
import { createEgress } from '../tool/egress.ts'
import { type Operator } from '../tool/operator.ts'
import { DEFAULT_POLICY } from '../tool/policy.ts'
import { parseSecrets } from '../tool/secrets.ts'
import { parseStdioCommands } from '../tool/stdio-command.ts'

/**
 * What the operator of this service grants to tools, from the configuration and, for the addresses of modules, from what
 * they publish themselves.
 * @throws ConfigError that names the variable
 */
export function createOperator (config: Config, environs: EnvironSource, environment: Readonly<Record<string, string | undefined>>): Operator {
  return {
    egress: named('EGRESS_ALLOW', () => createEgress({ mode: config.EGRESS, allow: list(config.EGRESS_ALLOW) })),
    secrets: named('', () => parseSecrets(config.TOOL_SECRETS, environment)),
    baseUrls: createBaseUrls({
      byModule: named('TOOL_BASE_URLS', () => parseBaseUrls(config.TOOL_BASE_URLS)),
      ...(config.TOOL_BASE_URL === '' ? {} : { fallback: named('TOOL_BASE_URL', () => parseBaseUrl(config.TOOL_BASE_URL)) }),
      modules: moduleDirectory(environs)
    }),
    commands: named('', () => parseStdioCommands(config.MCP_STDIO_COMMANDS)),
    tls: {
      ca: readFile('TOOL_TLS_CA_FILE', config.TOOL_TLS_CA_FILE),
      key: readFile('TOOL_TLS_KEY_FILE', config.TOOL_TLS_KEY_FILE),
      cert: readFile('TOOL_TLS_CERT_FILE', config.TOOL_TLS_CERT_FILE)
    },
    policy: DEFAULT_POLICY
  }
}

/** Modules publish where they are under `modules.{module}`. */
function moduleDirectory (environs: EnvironSource): ModuleDirectory {
  const path = (module: string) => `modules.${module}`
  return {
    has: module => environs.has(path(module)),
    async get (module, signal) {
      const name = path(module)
      const known = environs.cached(name) ?? (await environs.fetch([name], signal)).get(name)
      return known?.value
    }
  }
}

function readFile (variable: string, path: string): Buffer | null {
  return path === '' ? null : named(variable, () => readFileSync(path))
}

/** @param variable put before the message; `''` when the message names it itself */
function named<T> (variable: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new ConfigError(`${variable === '' ? '' : `${variable}: `}${(error as Error).message}`)
  }
}

function list (text: string): string[] {
  return text.split(',').map(part => part.trim()).filter(part => part !== '')
}
