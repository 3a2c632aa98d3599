import { requestInvalid } from '../../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../../base/json.ts'
import { Clip } from '../../../exec/clip.ts'
import { type Action } from '../../../session/model.ts'

/** The largest input that is written into a session's log, in bytes. */
const MAX_INPUT = 512 * 1024

/** The most bytes that are kept of each output (stdout, stderr) of a command that the user ran by hand. Commands that the service runs have the same limit. */
const KEPT = 64 * 1024

/** Bounds an action before it is written into a session's log: outputs of commands are cut. @throws REQUEST_INVALID when the input is still too large */
export function boundedInput (text: string, action: Action | undefined): Action | undefined {
  const bounded = action?.name === 'command_result' ? { ...action, data: clipOutput(action.data) } : action
  const size = Buffer.byteLength(text) + (bounded === undefined ? 0 : Buffer.byteLength(stringifyJson(bounded)))
  if (size > MAX_INPUT) throw requestInvalid(`expected an input of at most ${MAX_INPUT} bytes, got ${size}`, { part: 'body' })
  return bounded
}

function clipOutput ({ stdout, stderr, ...rest }: JsonObject): JsonObject {
  const outputs = Object.entries({ stdout, stderr }).filter(([, value]) => value !== undefined)
  return { ...rest, ...Object.fromEntries(outputs.map(([name, value]) => [name, typeof value === 'string' ? clipped(value) : value])) as JsonObject }
}

function clipped (text: string): string {
  if (text.length * 3 <= KEPT) return text
  const clip = new Clip(KEPT)
  clip.append(Buffer.from(text))
  return clip.text()
}
