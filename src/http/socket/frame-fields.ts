import { requestInvalid } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

/** Reads a text field of a WebSocket frame. @throws REQUEST_INVALID when the field is no text, or missing without a default */
export function textOf (value: Json | undefined, name: string, otherwise?: string): string {
  const text = value ?? otherwise
  if (typeof text !== 'string') throw requestInvalid(`${name}: expected a text`, { part: 'frame' })
  return text
}

/** Reads an object field of a WebSocket frame; an empty object when the field is missing. @throws REQUEST_INVALID when it is no object */
export function objectOf (value: Json | undefined, name: string): JsonObject {
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) throw requestInvalid(`${name}: expected an object`, { part: 'frame' })
  return value
}
