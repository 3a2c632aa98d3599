import { type Json, type JsonObject } from '../../base/json.ts'
import { type ChildParameter } from '../../registry/kinds/agent/agent-setting.ts'
import { type ChildEffect } from '../../session/model.ts'
import { MAX_TASK } from '../shared/child-task.ts'
import { clip } from '../shared/clip.ts'
import { type OfferedChild } from '../shared/dialogue-start.ts'
import { renderText } from '../shared/render-text.ts'

/** The most agents, skills and plans that one answer of a model is allowed to call. Further calls of them are refused. */
export const MAX_CHILD_CALLS = 8

/** The child session (of an agent, a skill or a plan) that a model's call starts, or a text that tells the model what is wrong with its arguments. */
export function childOf ({ name, child }: OfferedChild, values: JsonObject): Omit<ChildEffect, 'id' | 'kind'> | string {
  const { definition, parameters, input, budget, place } = child
  const problem = problemOf(parameters, values)
  if (problem !== undefined) return problem
  const text = clip(renderText(input, values).trim(), MAX_TASK)
  const isSkill = definition.startsWith('skills/')
  if (!isSkill && text === '') return 'it is asked for nothing'
  return {
    name,
    definition,
    input: { text, ...(isSkill ? { params: values } : {}) },
    ...(budget === undefined ? {} : { budget }),
    ...(place === undefined ? {} : { place })
  }
}

function problemOf (parameters: Readonly<Record<string, ChildParameter>>, values: JsonObject): string | undefined {
  const unknown = Object.keys(values).find(name => !Object.hasOwn(parameters, name))
  if (unknown !== undefined) return `there is no parameter ${JSON.stringify(clip(unknown, 100))}`
  for (const [name, parameter] of Object.entries(parameters)) {
    const problem = problemWith(Object.hasOwn(values, name) ? values[name] ?? null : null, parameter)
    if (problem !== undefined) return `${name}: ${problem}`
  }
  return undefined
}

function problemWith (value: Json, { type, maxLength = MAX_TASK, required }: ChildParameter): string | undefined {
  if (value === null || value === '') return required ? 'it is required' : undefined
  if (!isOfType(value, type)) return `expected ${type === 'integer' ? 'an integer' : `a ${type}`}`
  return typeof value === 'string' && Array.from(value).length > maxLength ? `expected at most ${maxLength} characters` : undefined
}

function isOfType (value: Json, type: string): boolean {
  switch (type) {
    case 'integer': return isNumber(value) && Number.isInteger(Number(value))
    case 'number': return isNumber(value)
    case 'boolean': return typeof value === 'boolean'
    default: return typeof value === 'string'
  }
}

/** Whether a value of JSON is a number. A number with more digits than JavaScript keeps is an object that holds them. */
function isNumber (value: Json): boolean {
  return typeof value === 'number' || (typeof value === 'object' && value !== null && !Array.isArray(value) && Number.isFinite(Number(value)))
}
