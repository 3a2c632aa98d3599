import { ConfigError, type Config } from '../../config/config.ts'
import { type EnvironSource } from '../../template/run/environ-source.ts'
import { type ModuleDirectory } from '../../tool/definition/base-urls.ts'
import { createOperator, type Operator } from '../../tool/operator.ts'
import { readTlsFiles } from './read-tls-files.ts'

/**
 * Makes the rules that say which tool calls are allowed, as the operator has configured them. The addresses of modules (groups of tools) can also
 * be published in shared variables.
 * @param environment the environment variables, in which secrets have names as `TOOL_SECRET_NAME`
 * @throws ConfigError that names the variable
 */
export function operatorFrom (config: Config, environs: EnvironSource, environment: Readonly<Record<string, string | undefined>>): Operator {
  try {
    return createOperator({
      egress: config.EGRESS,
      egressAllow: config.EGRESS_ALLOW,
      baseUrls: config.TOOL_BASE_URLS,
      baseUrl: config.TOOL_BASE_URL,
      secrets: config.TOOL_SECRETS,
      stdioCommands: config.MCP_STDIO_COMMANDS,
      environment,
      tls: readTlsFiles(config)
    }, moduleDirectory(environs))
  } catch (error) {
    throw new ConfigError((error as Error).message)
  }
}

/** The addresses of modules (groups of tools), which modules publish as the shared variables `modules.{module}`. */
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
