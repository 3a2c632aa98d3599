import { describeViolations } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type CompiledSchema, compileSchemaLater } from '../../tool/schema/schema.ts'
import { type PlanProblem } from './parse-plan.ts'

/** The number of compiled schemas that are kept. Sessions have different schemas only after an update of the service. */
const MAX_COMPILED = 4

const compiled = new Map<string, CompiledSchema>()

/** The problem of an answer that does not fit the schema. Not every API that is asked to enforce a schema does so. @param hash of the schema */
export function strictProblem (answer: Json, schema: JsonObject, hash: string): PlanProblem | undefined {
  const known = compiled.get(hash) ?? compileSchemaLater(schema)
  if (!compiled.has(hash) && compiled.size >= MAX_COMPILED) compiled.clear()
  compiled.set(hash, known)
  const violations = known.validate(answer, 'the answer')
  return violations.length === 0 ? undefined : { code: 'ERR_SCHEMA_VALIDATION', message: describeViolations(violations) }
}
