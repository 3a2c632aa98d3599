import { asksForTokens, type Config, ConfigError, isLoopback } from './config.ts'
import { NOTHING_OFFERED, type OperatorFile } from './operator.ts'

/** Reads what the operator lets sessions reach; nothing without an operator's file. @throws ConfigError */
export async function readOffered (config: Config): Promise<OperatorFile> {
  if (config.OPERATOR_FILE === '') return NOTHING_OFFERED
  const { readOperator } = await import('./parse-operator.ts')
  let offered: OperatorFile
  try {
    offered = readOperator(config.OPERATOR_FILE)
  } catch (error) {
    throw new ConfigError(`OPERATOR_FILE: ${(error as Error).message}`)
  }
  refuseOpenTerminals(config, offered)
  return offered
}

/** Refuses terminals in a service without tokens on a public address: whoever reaches the service could type anything. @throws ConfigError */
function refuseOpenTerminals (config: Config, { targets }: OperatorFile): void {
  const open = [...targets.values()].find(({ mayOpenTerminal }) => mayOpenTerminal === true)
  if (open === undefined || asksForTokens(config) || isLoopback(config.HOST)) return
  throw new ConfigError(`AUTH=off: expected tokens or a loopback address in HOST where target "${open.name}" has terminal: true`)
}
