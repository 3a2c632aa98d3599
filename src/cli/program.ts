import { Command, CommanderError } from 'commander'
import { revealHidden } from '../base/text.ts'
import { ENGINE_VERSION } from '../base/version.ts'
import { addAgentCommand } from './agent.ts'
import { ApiClient } from './api-client.ts'
import { type Cli } from './cli.ts'
import { CliError, EXIT } from './exit-codes.ts'
import { addInitCommand } from './init.ts'
import { Output } from './output.ts'
import { addPlanCommand } from './plan.ts'
import { addPromptCommands } from './prompt.ts'
import { addServeCommand } from './serve.ts'
import { addSessionCommands } from './session.ts'
import { addSkillCommands } from './skill.ts'
import { addTypesCommand } from './types.ts'

/** Where the service is when nobody says where. */
const DEFAULT_URL = 'http://127.0.0.1:8080'

/** As much of the process as the program uses. */
export type ProcessLike = Pick<NodeJS.Process, 'argv' | 'env' | 'stdin' | 'stdout' | 'stderr' | 'once' | 'off'>

/** Options that every command has. */
interface CommonOptions { readonly url?: string, readonly json?: string }

/** Runs the command of the arguments. @returns what the process should end with; never rejects for what the user or the service did */
export async function runProgram (host: ProcessLike): Promise<number> {
  const { argv, stdout, stderr } = host
  const interrupt = new AbortController()
  const onInterrupt = () => { interrupt.abort() }
  host.once('SIGINT', onInterrupt)
  try {
    await createProgram(host, interrupt.signal).parseAsync(argv.slice(2).map(separateJson), { from: 'user' })
    return interrupt.signal.aborted ? EXIT.INTERRUPTED : EXIT.OK
  } catch (error) {
    if (interrupt.signal.aborted) return EXIT.INTERRUPTED
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE
    if (!(error instanceof CliError)) throw error
    await new Output(stdout, stderr).words(`aps: ${error.message}`)
    return error.exitCode
  } finally {
    host.off('SIGINT', onInterrupt)
  }
}

function createProgram ({ env, stdin, stdout, stderr }: ProcessLike, signal: AbortSignal): Command {
  const program = new Command('aps')
    .description('Serves prompts, and asks a service for them.')
    .version(ENGINE_VERSION)
    .option('--url <url>', `where the service is (APS_URL, else ${DEFAULT_URL})`)
    .option('--json [=fields]', 'print JSON: everything, or the fields that are named with commas between them')
    .addHelpText('after', '\nThe token of the service is read from APS_TOKEN. Exit codes: 0; 1 the answer is no; 2 wrong usage; 4 token missing or\nrefused; 5 the service does not answer, or fails; 130 interrupted.')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: text => { stdout.write(text) }, writeErr: text => { stderr.write(revealHidden(text)) }, outputError: (text, write) => { write(text.replace(/^error:/, 'aps:')) } })
    .exitOverride()
  const cli: Cli = {
    stdin,
    environment: env,
    signal,
    hasAddress: command => (command.optsWithGlobals<CommonOptions>().url ?? env['APS_URL'] ?? '') !== '',
    open (command) {
      const { url = env['APS_URL'] || DEFAULT_URL, json } = command.optsWithGlobals<CommonOptions>()
      return {
        api: new ApiClient({ url, token: env['APS_TOKEN'] ?? '', signal }),
        output: new Output(stdout, stderr, { json, hasColour: (env['NO_COLOR'] ?? '') === '' })
      }
    }
  }
  addServeCommand(program, cli)
  addInitCommand(program, cli)
  addPromptCommands(program, cli)
  addAgentCommand(program, cli)
  addPlanCommand(program, cli)
  addSkillCommands(program, cli)
  addSessionCommands(program, cli)
  addTypesCommand(program, cli)
  return program
}

/** What follows `--json` is never its value, or it would take the id of `aps prompt get --json greet`: `--json=id,state` is. */
function separateJson (argument: string): string {
  return argument === '--json' ? '--json=' : argument
}
