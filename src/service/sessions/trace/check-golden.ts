import { describeViolations } from '../../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../../base/json.ts'
import { hashOfPublishedSchema, readPublishedSchema } from '../../../base/published-schema.ts'
import { judgeReply } from '../../../engine/plan/judge-reply.ts'
import { DEFAULT_LIMITS } from '../../../engine/plan/plan-setting.ts'
import { DEFAULT_WHITELIST } from '../../../files/path-rules.ts'
import { compileSchema } from '../../../tool/schema/schema.ts'
import { type Golden } from './golden.ts'

/** The version of the protocol that this service speaks, and the hash of its schema. */
export function protocolOfNow (): Golden['protocol'] {
  const { x_schema_version: version } = readPublishedSchema<{ readonly x_schema_version: number }>('plan-response')
  return { schema_version: version, schema_hash: hashOfPublishedSchema('plan-response') }
}

/**
 * What is wrong with a golden trace: its form, a schema that has changed without a new version, an answer that is judged
 * otherwise than it was. Traces of other versions are held to their form only.
 */
export function checkGolden (value: Json, now: Golden['protocol'] = protocolOfNow()): string[] {
  const violations = compileSchema(readPublishedSchema<Json>('golden-trace')).validate(value, 'golden')
  if (violations.length > 0) return [describeViolations(violations)]
  const golden = value as unknown as Golden
  const { protocol: { schema_version: version, schema_hash: hash } } = golden
  if (version !== now.schema_version) return []
  if (hash !== now.schema_hash) {
    return [`golden.protocol.schema_hash: jsonschema/plan-response.json has changed, and is still version ${version}: raise its x_schema_version`]
  }
  const problem = replay(golden)
  return problem === undefined ? [] : [`golden.result: ${problem}`]
}

function schemaOfAnswers (): JsonObject {
  const { $id: _id, ...schema } = readPublishedSchema<JsonObject>('plan-response')
  return schema
}

/** Judges the model's answer again. The answer says nothing of what happened later, such as a failed check. */
function replay ({ protocol, request: { mode, strict_json: isStrict }, result }: Golden): string | undefined {
  const { validated_json: json, validation_outcome: outcome, error_code: code } = result
  if (json === null) return outcome === 'error' ? undefined : 'there is no answer that could be good'
  const reply = json as { readonly actions?: ReadonlyArray<{ readonly path?: unknown }> }
  const paths = (reply.actions ?? []).map(({ path }) => String(path).replace(/^\.\//, ''))
  const bases = outcome === 'ok' ? Object.fromEntries(paths.map(path => [path, ''])) : {}
  const judged = judgeReply(stringifyJson(json), {
    mode: mode === 'plan' ? 'plan' : 'apply',
    bases,
    whole: paths,
    isDirect: false,
    rounds: Infinity,
    setting: { limits: DEFAULT_LIMITS, whitelist: DEFAULT_WHITELIST, schemaVersion: 1 },
    strict: isStrict ? { schema: schemaOfAnswers(), hash: protocol.schema_hash } : undefined
  })
  const now = judged.verdict === 'repair' ? judged.problem.code : null
  if (outcome === 'ok') return now === null ? undefined : `it was good, and is ${now} now`
  return now === code ? undefined : `it was ${String(code)}, and is ${now ?? 'good'} now`
}
