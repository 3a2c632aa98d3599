import { type Readable } from 'node:stream'
import { Command, CommanderError } from 'commander'
import { type Environment, revealHidden } from '../base/text.ts'
import { ENGINE_VERSION } from '../base/version.ts'
import { ApiClient } from './api-client.ts'
import { type Cli } from './context.ts'
import { CliError, EXIT, Output, type OutputStream } from './output.ts'
import { addLoginCommand, addressOf, type AddressOptions, addStatusCommand, addTokenCommand, DEFAULT_URL } from './connect.ts'
import { addApprovalCommands, addSessionCommands } from './session.ts'
import { addCallCommand, addEntryGroups, addNeedsCommand, addUsedByCommand } from './entry-commands.ts'
import { addPromptCommands } from './prompt.ts'
import { addApplyCommand, addDevCommand, addInitCommand, addLintCommand, addServeCommand, addSyncCommands, addTestCommand } from './folder-commands.ts'
import { addReleaseCommands } from './release.ts'
import { addCompletionCommands } from './completion.ts'
import { addExportCommands, addImportCommands } from './other-tools.ts'
import { addAgentCommand, addPlanCommand, addSkillCommands } from './dialogue-commands.ts'
import { addTerminalCommand } from './terminal.ts'
import { addNoticeCommands } from './notices.ts'
import { addUsageCommand } from './usage.ts'
import { addTypesCommand } from './prompt-types.ts'

/** The parts of Node's `process` that the program uses, so that it can run within another process. */
interface ProgramHost {
  readonly argv: readonly string[]
  readonly env: Environment
  readonly stdin: Readable
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  on (signal: 'SIGINT', listener: () => void): unknown
  off (signal: 'SIGINT', listener: () => void): unknown
  exit (code: number): void
}

/** Runs the command that the arguments name. @returns the exit code; rejects only for faults of the program itself */
export async function runProgram (host: ProgramHost): Promise<number> {
  const { argv, stdout, stderr } = host
  const interrupt = new AbortController()
  // Stays after the first Ctrl-C: a package of locks ends the process where it finds no other listener. The second ends at once.
  const onInterrupt = () => {
    if (interrupt.signal.aborted) host.exit(EXIT.INTERRUPTED)
    interrupt.abort()
  }
  host.on('SIGINT', onInterrupt)
  try {
    await createProgram(host, interrupt.signal).parseAsync(argv.slice(2).map(separateJson), { from: 'user' })
    return interrupt.signal.aborted ? EXIT.INTERRUPTED : EXIT.OK
  } catch (error) {
    if (interrupt.signal.aborted) return EXIT.INTERRUPTED
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.OK : EXIT.USAGE
    const told = error instanceof TypeError ? unreadableReply(error) : error
    if (!(told instanceof CliError)) throw told
    await new Output(stdout, stderr).words(`aps: ${told.message}`)
    return told.exitCode
  } finally {
    host.off('SIGINT', onInterrupt)
  }
}

/** Replies have the types of the API; only what is no ai-prompt-shell, or one of another version, lacks members of them. */
function unreadableReply ({ message, stack = '' }: TypeError): CliError {
  const place = /at (.+)/.exec(stack)?.[1] ?? ''
  return new CliError(EXIT.UNREACHABLE, `the reply is not as an ai-prompt-shell of this version gives it: ${message} (${place})`)
}

function createProgram ({ env, stdin, stdout, stderr }: ProgramHost, signal: AbortSignal): Command {
  const program = new Command('aps')
    .description('Serves prompts, and asks a service for them.')
    .version(ENGINE_VERSION)
    .option('--url <url>', `where the service is (APS_URL, else that of a profile, else of .env here, else ${DEFAULT_URL})`)
    .option('--at <name>', 'a service that aps login has kept (APS_PROFILE)')
    .option('--json [=fields]', 'print JSON: everything, or the fields that are named with commas between them')
    .addHelpText('after', [
      '',
      'The token of the service is read from APS_TOKEN, or is the profile\'s. Exit codes: 0; 1 the answer is no; 2 wrong usage; 4 token missing or',
      'refused; 5 the service does not answer, or fails; 130 interrupted.'
    ].join('\n'))
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: text => { stdout.write(text) },
      writeErr: text => { stderr.write(revealHidden(text)) },
      outputError: (text, write) => { write(text.replace(/^error:/, 'aps:')) }
    })
    .exitOverride()
  const cli: Cli = {
    stdin,
    environment: env,
    signal,
    connect: (url, token) => new ApiClient({ url, token, signal }),
    open (command) {
      const { json, ...options } = command.optsWithGlobals<AddressOptions & { readonly json?: string }>()
      let api: ApiClient | undefined
      return {
        // Made on demand: a command that asks no service needs neither address nor token.
        get api () {
          if (api === undefined) {
            const { url, token } = addressOf(options, env)
            api = new ApiClient({ url, token: token(), signal })
          }
          return api
        },
        output: new Output(stdout, stderr, { json, hasColour: (env['NO_COLOR'] ?? '') === '' })
      }
    }
  }
  addCommands(program, cli)
  return program
}

/** In the order in which a new user needs them. */
function addCommands (program: Command, cli: Cli): void {
  program.commandsGroup('Write and try prompts:')
  addInitCommand(program, cli)
  addServeCommand(program, cli)
  addDevCommand(program, cli)
  addLintCommand(program, cli)
  addTestCommand(program, cli)
  addTypesCommand(program, cli)

  program.commandsGroup('Ask a service:')
  addStatusCommand(program, cli)
  addLoginCommand(program, cli)
  addTokenCommand(program, cli)
  addUsageCommand(program, cli)
  addNoticeCommands(program, cli)
  for (const [kind, group] of addEntryGroups(program, cli)) {
    addApplyCommand(group, kind, cli)
    if (['prompt', 'environ', 'tool'].includes(kind.command)) addUsedByCommand(group, kind, cli)
    if (kind.command === 'tool') addCallCommand(group, cli)
    if (kind.command !== 'prompt') continue
    addPromptCommands(group, cli)
    addNeedsCommand(group, kind, cli)
    addReleaseCommands(group, cli)
  }

  program.commandsGroup('Move prompts between folders, services and other tools:')
  addSyncCommands(program, cli)
  addImportCommands(program, cli)
  addExportCommands(program, cli)

  program.commandsGroup('Talk to agents, carry out skills, change files:')
  addAgentCommand(program, cli)
  addSkillCommands(program, cli)
  addPlanCommand(program, cli)
  addSessionCommands(program, cli)
  addApprovalCommands(program, cli)
  addTerminalCommand(program, cli)

  program.commandsGroup('About this command:').helpCommand(true)
  addCompletionCommands(program, cli)
}

/** Else the id in `aps prompt get --json greet` would be taken for the option's value. */
function separateJson (argument: string): string {
  return argument === '--json' ? '--json=' : argument
}
