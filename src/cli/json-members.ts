import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'

// What a service or a model has sent is read as far as it is what it should be: the rest is nothing.

/** A text, or `''`. */
export function textOf (value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** A list, or an empty one. */
export function listOf (value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value as readonly Json[] : []
}

/** An object, or an empty one. */
export function objectOf (value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
