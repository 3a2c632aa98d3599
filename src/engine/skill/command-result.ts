import { type Json, type JsonObject } from '../../base/json.ts'
import { cutMiddle } from '../shared/cut-middle.ts'
import { cleanOutputForAI } from './clean-output.ts'

/** The length to which the output of a command is cut for the model, in UTF-16 units. */
const MAX_OUTPUT = 16_000

/** The result of a command. */
export interface CommandResult {
  /** The command that ran: a person may have edited it. */
  readonly command: string
  readonly exitCode: Json
  readonly outcome: Json
  /** The output, without escapes and prompts. */
  readonly output: string
  /** Whether the command ended by itself with the exit code 0. */
  readonly isGood: boolean
}

/** Reads what an executor, or a client, tells of a command. @param proposed the command that the model has asked for */
export function readCommandResult (result: JsonObject, proposed: string): CommandResult {
  const command = textOf(result['command']) === '' ? proposed : textOf(result['command'])
  const { exitCode = 0, outcome = 'exited' } = result
  const output = cleanOutputForAI([textOf(result['stdout']), textOf(result['stderr'])].filter(text => text !== '').join('\n'), command)
  return { command, exitCode, outcome, output, isGood: outcome === 'exited' && exitCode === 0 }
}

/** The result of a command in words for the model. @param timeout of the command, in seconds */
export function resultInWords ({ exitCode, outcome, output }: CommandResult, timeout: number): string {
  const failure = exitCode === 0 ? '' : `[Exit code: ${String(exitCode)}]`
  const late = `[Command timed out after ${timeout}s]`
  return outputInWords(output, outcome === 'cancelled' ? '[Command was interrupted]' : outcome === 'timeout' ? late : failure)
}

/** The output of a command in words for the model. @param remark about how the command ended; empty without */
export function outputInWords (output: string, remark: string): string {
  return `Command output:\n${cutMiddle(output, MAX_OUTPUT)}${remark === '' ? '' : `\n${remark}`}`
}

function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
