import { describeViolations } from '../src/base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../src/base/json.ts'
import { hashOfPublishedSchema, readPublishedSchema } from '../src/schema/published.ts'
import { judgeReply } from '../src/engine/plan/judge-reply.ts'
import { DEFAULT_LIMITS } from '../src/engine/plan/plan-setting.ts'
import { DEFAULT_WHITELIST } from '../src/files/path-rules.ts'
import { compilePublishedSchema } from '../src/schema/compile.ts'
import { type Golden } from '../src/service/sessions/traces.ts'

const SCHEMAS: Readonly<Record<number, 'plan-response' | 'plan-response-2'>> = { 1: 'plan-response', 2: 'plan-response-2' }

export function protocolOfNow (version: 1 | 2 = 1): Golden['protocol'] {
  const file = fileOf(version)
  return { schema_version: readPublishedSchema<{ readonly x_schema_version: number }>(file).x_schema_version, schema_hash: hashOfPublishedSchema(file) }
}

function fileOf (version: number): 'plan-response' | 'plan-response-2' {
  return SCHEMAS[version] ?? 'plan-response'
}

/** For traces of other versions of the schema only the form is checked. */
export function checkGolden (value: Json, now?: Golden['protocol']): string[] {
  const violations = compilePublishedSchema('golden-trace').validate(value, 'golden')
  if (violations.length > 0) return [describeViolations(violations)]
  const golden = value as unknown as Golden
  const { protocol: { schema_version: version, schema_hash: hash } } = golden
  const spoken = now ?? protocolOfNow(version === 2 ? 2 : 1)
  if (version !== spoken.schema_version) return []
  if (hash !== spoken.schema_hash) {
    return [`golden.protocol.schema_hash: jsonschema/${fileOf(version)}.json has changed, and is still version ${version}: raise its x_schema_version`]
  }
  const problem = replay(golden)
  return problem === undefined ? [] : [`golden.result: ${problem}`]
}

function schemaOfAnswers (version: number): JsonObject {
  const { $id: _id, ...schema } = readPublishedSchema<JsonObject>(fileOf(version))
  return schema
}

/** What happened after the answer, such as a failed check, does not count. */
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
    setting: { limits: DEFAULT_LIMITS, whitelist: DEFAULT_WHITELIST, schemaVersion: protocol.schema_version },
    strict: isStrict ? { schema: schemaOfAnswers(protocol.schema_version), hash: protocol.schema_hash } : undefined
  })
  const now = judged.verdict === 'repair' ? judged.problem.code : null
  if (outcome === 'ok') return now === null ? undefined : `it was good, and is ${now} now`
  return now === code ? undefined : `it was ${String(code)}, and is ${now ?? 'good'} now`
}
