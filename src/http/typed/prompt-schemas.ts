import { type EnvironNames } from '../../registry/needs/path-owner.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { neededNames } from '../../registry/needs/needed-names.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'
import { portableSchema } from './portable-schema.ts'

/**
 * Makes the schema of a prompt's `variables`: its declared parameters, of which those with a default are optional; for a prompt that
 * declares none, the names that its templates read.
 * @param place the place of the schema in the OpenAPI document
 */
export function variablesSchema (prompt: Prompt, { everyPrompt }: Generation, environs: EnvironNames, place: string): JsonObject {
  const { parameters } = prompt.entry
  if (parameters !== undefined) {
    const { required, ...schema } = portableSchema(parameters.schema, place)
    const left = Array.isArray(required) ? (required as readonly Json[]).filter(name => !Object.hasOwn(parameters.defaults, String(name))) : []
    return { ...schema, type: 'object', ...(left.length === 0 ? {} : { required: left }) }
  }
  const names = [...neededNames(collectNeeds(prompt, everyPrompt, environs).variables)]
  const required = names.filter(([, isRequired]) => isRequired).map(([name]) => name)
  return { type: 'object', properties: Object.fromEntries(names.map(([name]) => [name, {}])), ...(required.length === 0 ? {} : { required }) }
}

/** The schema of the JSON answer of a prompt with `structured: true`; `undefined` for prompts whose answers have no schema. */
export function answerSchema ({ entry }: Prompt, place: string): JsonObject | undefined {
  const format = entry.chat.answer?.responseFormat['json_schema']
  const schema = isJsonObject(format) ? format['schema'] : undefined
  return isJsonObject(schema) ? portableSchema(schema, place) : undefined
}
