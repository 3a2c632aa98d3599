import { type PromptArgument } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject, JsonError, parseJson } from '../../base/json.ts'
import { type VisibleEnvirons } from '../../access/environ-view.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { neededNames } from '../../registry/needs/needed-names.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'

/** The arguments of a prompt as MCP has them: its parameters; where it declares none, the variables that a render needs. */
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
 * The variables of a prompt from the arguments of MCP, which are all texts: each becomes what its parameter's schema says. A text that
 * is nothing of the kind stays one, so that the prompt's own check tells what was expected.
 */
export function variablesFrom ({ entry }: Prompt, given: Readonly<Record<string, string>>): JsonObject {
  const schema = entry.parameters?.schema
  return Object.fromEntries(Object.entries(given).map(([name, text]) => [name, schema === undefined ? text : valueOf(text, typesOf(propertyOf(schema, name)))]))
}

/** The schema of one parameter; empty for one that is not declared. */
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
    // Whether a number is an integer is for the prompt's own check.
    case 'integer':
    case 'number': return typeof value === 'number' || typeof value === 'bigint'
    default: return false
  }
}
