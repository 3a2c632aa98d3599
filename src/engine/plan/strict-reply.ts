import { describeViolations } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type CompiledSchema, compileSchemaLater } from '../../tool/schema/schema.ts'
import { type PlanProblem } from './parse-plan.ts'

/** Schemas of sessions that are run at a time; there is more than one only after the service was renewed. */
const MAX_COMPILED = 4

const compiled = new Map<string, CompiledSchema>()

/** What is wrong with an answer whose API was asked to hold it to a schema: not every API does. @param hash of the schema */
export function strictProblem (answer: Json, schema: JsonObject, hash: string): PlanProblem | undefined {
  const known = compiled.get(hash) ?? compileSchemaLater(schema)
  if (!compiled.has(hash) && compiled.size >= MAX_COMPILED) compiled.clear()
  compiled.set(hash, known)
  const violations = known.validate(answer, 'the answer')
  return violations.length === 0 ? undefined : { code: 'ERR_SCHEMA_VALIDATION', message: describeViolations(violations) }
}
