import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'

// Readers of JSON from a service or a model, which may have any form: a value of the wrong type counts as an empty one.

/** The value if it is a text, else `''`. */
export function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** The value if it is a list, else an empty list. */
export function listOf (value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value as readonly Json[] : []
}

/** The value if it is an object, else an empty object. */
export function objectOf (value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
