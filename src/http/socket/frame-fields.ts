import { requestInvalid } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

/** A text of a frame. @throws REQUEST_INVALID for anything else, and for nothing unless there is a default */
export function textOf (value: Json | undefined, name: string, otherwise?: string): string {
  const text = value ?? otherwise
  if (typeof text !== 'string') throw requestInvalid(`${name}: expected a text`, { part: 'frame' })
  return text
}

/** An object of a frame; an empty one where there is none. @throws REQUEST_INVALID */
export function objectOf (value: Json | undefined, name: string): JsonObject {
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) throw requestInvalid(`${name}: expected an object`, { part: 'frame' })
  return value
}
