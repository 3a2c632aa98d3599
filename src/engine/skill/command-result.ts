import { type Json, type JsonObject } from '../../base/json.ts'
import { cutMiddle } from '../shared/cut-middle.ts'
import { cleanOutputForAI } from './clean-output.ts'

/** The largest length of a command's output in a message to the model, in UTF-16 units; a longer one loses its middle. */
const MAX_OUTPUT = 16_000

/** The result of a command, cleaned for the model. */
export interface CommandResult {
  /** The command that ran. It differs from the model's command when a person has edited it. */
  readonly command: string
  readonly exitCode: Json
  readonly outcome: Json
  /** The output, without escape sequences. */
  readonly output: string
  /** Whether the command ended by itself with the exit code 0. */
  readonly isGood: boolean
}

/**
 * Reads the result of a command.
 * @param proposed the command that the model asked for
 * @param isReported whether a client reports it, perhaps copied from a shell with its prompts, and not the service's executor
 */
export function readCommandResult (result: JsonObject, proposed: string, isReported: boolean): CommandResult {
  const command = textOf(result['command']) === '' ? proposed : textOf(result['command'])
  const { exitCode = 0, outcome = 'exited' } = result
  const printed = [textOf(result['stdout']).replace(/\r?\n$/, ''), textOf(result['stderr'])].filter(text => text !== '').join('\n')
  const output = cleanOutputForAI(printed, isReported ? command : '')
  return { command, exitCode, outcome, output, isGood: outcome === 'exited' && exitCode === 0 }
}

/** The message that tells the model the result of a command. @param timeout of the command, in seconds */
export function resultInWords ({ exitCode, outcome, output }: CommandResult, timeout: number): string {
  const failure = exitCode === 0 ? '' : `[Exit code: ${String(exitCode)}]`
  const late = `[Command timed out after ${timeout}s]`
  return outputInWords(output, outcome === 'cancelled' ? '[Command was interrupted]' : outcome === 'timeout' ? late : failure)
}

/** The message that tells the model the output of a command. @param remark how the command ended; empty when it ended with the exit code 0 */
export function outputInWords (output: string, remark: string): string {
  return `Command output:\n${cutMiddle(output, MAX_OUTPUT)}${remark === '' ? '' : `\n${remark}`}`
}

function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
