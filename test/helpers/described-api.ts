import { readFileSync } from 'node:fs'

// What openapi/openapi.json says of the API. Every service of tests reads it, so nothing is made up here from it.

/** As much of JSON Schema as our own API uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly pattern?: string
}

export interface Parameter { readonly in: 'path' | 'query' | 'header', readonly name: string, readonly schema: Schema, readonly example?: string }

type Media = Readonly<Record<string, { readonly schema: Schema, readonly example?: unknown, readonly examples?: Readonly<Record<string, { readonly $ref: string }>> }>>

/** One call of the API, as openapi/openapi.json has it. */
export interface Operation {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean, readonly content: Media }
  readonly responses: Readonly<Record<string, { readonly description: string, readonly headers?: object, readonly content?: Media }>>
}

export const API = JSON.parse(readFileSync('openapi/openapi.json', 'utf8')) as { readonly info: { readonly description: string }, readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>, readonly components: { readonly schemas: Readonly<Record<string, Schema>>, readonly examples: Readonly<Record<string, { readonly value: object }>> } }
