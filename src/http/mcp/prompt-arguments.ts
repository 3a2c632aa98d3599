import { type PromptArgument } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject, JsonError, parseJson } from '../../base/json.ts'
import { type VisibleEnvirons } from '../../access/environ-view.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { neededNames } from '../../registry/needs/needed-names.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'

/** The arguments of a prompt as MCP lists them: its declared parameters or, if it declares none, the variables that its templates read. */
export function argumentsOf (prompt: Prompt, { everyPrompt }: Generation, environs: VisibleEnvirons): PromptArgument[] {
  const { parameters } = prompt.entry
  if (parameters === undefined) {
    const { variables } = collectNeeds(prompt, everyPrompt, environs)
    return [...neededNames(variables)].filter(([, required]) => required).map(([name]) => ({ name, required: true }))
  }
  return Array.from(parameters.names, name => {
    const { description } = propertyOf(parameters.schema, name)
    return {
      name,
      ...(typeof description === 'string' ? { description } : {}),
      required: parameters.required.has(name) && !Object.hasOwn(parameters.defaults, name)
    }
  })
}

/**
 * Turns MCP arguments, which are all texts, into the variables of a prompt: each text is converted to the type that its
 * parameter's schema names. A text that cannot be converted stays a text, and the prompt's own check reports what was expected.
 */
export function variablesFrom ({ entry }: Prompt, given: Readonly<Record<string, string>>): JsonObject {
  const schema = entry.parameters?.schema
  return Object.fromEntries(Object.entries(given).map(([name, text]) => [name, schema === undefined ? text : valueOf(text, typesOf(propertyOf(schema, name)))]))
}

/** The schema of one parameter; empty for an undeclared parameter. */
export function propertyOf (schema: JsonObject, name: string): JsonObject {
  const properties = Object.hasOwn(schema, 'properties') ? schema['properties'] : undefined
  const property = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
  return isJsonObject(property) ? property : {}
}

function typesOf (property: JsonObject): readonly string[] {
  const type = Object.hasOwn(property, 'type') ? property['type'] : undefined
  return (Array.isArray(type) ? type : [type]).filter(each => typeof each === 'string')
}

function valueOf (text: string, types: readonly string[]): Json {
  if (types.length === 0 || types.includes('string')) return text
  try {
    const value = parseJson(text)
    return types.some(type => isOfType(value, type)) ? value : text
  } catch (error) {
    if (error instanceof JsonError) return text
    throw error
  }
}

function isOfType (value: Json, type: string): boolean {
  switch (type) {
    case 'null': return value === null
    case 'array': return Array.isArray(value)
    case 'object': return isJsonObject(value)
    case 'boolean': return typeof value === 'boolean'
    // The prompt's own check decides whether the number is an integer.
    case 'integer':
    case 'number': return typeof value === 'number' || typeof value === 'bigint'
    default: return false
  }
}
