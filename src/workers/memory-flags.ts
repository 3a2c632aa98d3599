/** MB for each of the two semi-spaces: Node's default before version 22. */
const SEMI_SPACE = 16

/** The first version of Node whose default for semi-spaces takes 80 MB more memory for each process under load, without saving CPU time. */
const FIRST_WITH_MORE = 22

const HERE = { version: process.versions.node, execArgv: process.execArgv, options: process.env['NODE_OPTIONS'] }

/** None where Node's default is small enough or the operator has set a size; the heap is laid out before the first line of code. */
export function memoryFlags ({ version, execArgv, options = '' }: typeof HERE = HERE): string[] {
  const isTold = [...execArgv, ...options.split(/\s+/)].some(argument => /^--max[-_]semi[-_]space[-_]size(?:=|$)/.test(argument))
  return Number.parseInt(version) < FIRST_WITH_MORE || isTold ? [] : [`--max-semi-space-size=${SEMI_SPACE}`]
}
