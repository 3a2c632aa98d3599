import { randomBytes } from 'node:crypto'
import { type Command } from 'commander'
import { type Extra, EXTRAS, hashToken, parseTokens } from '../access/token-table.ts'
import { ROLES } from '../access/caller.ts'
import { type Cli } from './context.ts'
import { usageError } from './output.ts'

const LIMITS: Readonly<Record<Extra, string>> = {
  prompts: '<pattern|pattern>',
  environs: '<pattern|pattern>',
  runs: '<pattern|pattern>',
  targets: '<pattern|pattern>',
  labels: '<label|label>',
  serve: '<label>',
  requests: '<count>',
  tokens: '<count>'
}

/** The token is shown once and kept nowhere. */
export function addTokenCommand (program: Command, cli: Cli): void {
  const command = program.command('token').description('make a token, and the line of API_TOKENS by which a service knows it')
    .argument('<role...>', `what its caller may do: ${ROLES.join(', ')}`)
    .option('--name <name>', 'the name of its caller in logs and audits (the roles, where none is given)')
  for (const limit of EXTRAS) command.option(`--${limit} ${LIMITS[limit]}`, `as ${limit}= in API_TOKENS`)
  command.action(async (given: readonly string[], { name, ...limits }: Readonly<Record<string, string>>, used: Command) => {
    const { output } = cli.open(used)
    const roles = given.flatMap(each => each.split(/[+,]/))
    const wrong = [name, ...Object.values(limits)].find(value => value !== undefined && /[\s,:]/.test(value))
    if (wrong !== undefined) throw usageError(`"${wrong}" has a blank, a comma or a colon; several names have "|" between them`)
    const token = `aps_${randomBytes(32).toString('base64url')}`
    const extras = EXTRAS.flatMap(limit => limits[limit] === undefined ? [] : [`${limit}=${limits[limit]}`])
    const line = [name ?? roles.join('-'), roles.join('+'), hashToken(token), ...extras].join(':')
    checkLine(line)
    if (output.wantsJson) return await output.json({ token, line })
    await output.text(`Token, for the caller:\n  ${token}\nLine, for API_TOKENS:\n  ${line}`)
  })
}

/** In the service's words. */
function checkLine (line: string): void {
  try {
    parseTokens(line, { requests: undefined, tokens: undefined })
  } catch (error) {
    throw usageError((error as Error).message.replace(/^entry 1(?: \("[^"]*"\))?: /, ''))
  }
}
