/** Room for new objects, in MB for each of two halves, as Node has it before 22. */
const SEMI_SPACE = 16

/** From this version on Node's own default takes 80 MB more of each process under load, and saves no CPU time. */
const FIRST_WITH_MORE = 22

/** Arguments, and variables of the environment, that a process of Node is started with. */
export interface NodeSettings {
  readonly version: string
  readonly execArgv: readonly string[]
  readonly options: string | undefined
}

const HERE: NodeSettings = { version: process.versions.node, execArgv: process.execArgv, options: process.env['NODE_OPTIONS'] }

/**
 * What a process of the service is to be started with, so that it takes no more memory than it needs; nothing where Node does so
 * by itself, or was told another value. It cannot be set later: the heap is laid out before the first line runs.
 */
export function memoryFlags ({ version, execArgv, options = '' }: NodeSettings = HERE): string[] {
  const isTold = [...execArgv, ...options.split(/\s+/)].some(argument => /^--max[-_]semi[-_]space[-_]size(?:=|$)/.test(argument))
  return Number.parseInt(version) < FIRST_WITH_MORE || isTold ? [] : [`--max-semi-space-size=${SEMI_SPACE}`]
}
