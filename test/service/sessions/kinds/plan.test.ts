import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { parse } from 'yaml'
import { ANYONE } from '../../../../src/access/caller.ts'
import { loadConfig } from '../../../../src/config/config.ts'
import { NOTHING_OFFERED, type OperatorFile, type Workspace } from '../../../../src/config/operator.ts'
import { ACTION_KINDS, ACTION_KINDS_2 } from '../../../../src/files/change/change-rules.ts'
import { MEMORY_FIELDS } from '../../../../src/files/memory-rules.ts'
import { DEFAULT_LIMITS, type PlanSetting } from '../../../../src/engine/plan/plan-setting.ts'
import { type PlanRequest, planSessions } from '../../../../src/service/sessions/kind-table.ts'
import { type Start } from '../../../../src/session/model.ts'
import { registered, type Registrations } from '../../../helpers/registered.ts'
import { PAPAYU } from '../../../plans/scratch.ts'

const shop: Workspace = { name: 'shop', path: '/srv/shop', hasSkills: false, mayCommit: false, confirm: 'deletions', checks: new Map([['lint', 'npm run lint'], ['test', 'npm test']]), logs: new Map() }
const operator: OperatorFile = { ...NOTHING_OFFERED, workspaces: new Map([['shop', shop]]) }
const request: PlanRequest = { goal: 'plan: исправь тест', workspace: 'shop' }

async function opened (t: TestContext, registrations: Registrations = {}, environment: Readonly<Record<string, string>> = {}, workspace: Workspace = shop) {
  const { registry } = await registered(t, registrations)
  const plans = planSessions({ ...operator, workspaces: new Map([['shop', workspace]]) }, loadConfig({ STORE_DIR: 'x', ...environment }))
  const starter = { caller: ANYONE, generation: registry.generation, session: '0123456789abcdef0123456789abcdef', requestId: '' }
  const start = (more: Partial<PlanRequest> = {}) => plans.start({ ...request, ...more }, starter) as Omit<Start, 'owner'>
  return { start, setting: (more?: Partial<PlanRequest>) => start(more).setting as unknown as PlanSetting }
}

describe('the start of a plan', () => {
  it('has the defaults of the protocol', async t => {
    const { start, setting } = await opened(t)
    const { engine, definition, input } = start({ report: 'not ok', mode: 'plan' })
    assert.deepEqual({ engine, definition, input }, { engine: 'plan/1', definition: 'plans/default', input: { goal: request.goal, report: 'not ok', mode: 'plan' } })
    const { limits, maxTokens, temperature, timeout, isStrict, remembers, eol, model, prompt, workspace } = setting()
    assert.deepEqual(limits, { ...DEFAULT_LIMITS, max_context_rounds: 4 })
    const { schemaVersion, language, confirm, repair } = setting()
    assert.deepEqual({ schemaVersion, language, confirm, repair }, { schemaVersion: 2, language: 'en', confirm: 'diff', repair: { rounds: 3, confirm: false, then: 'rollback' } })
    assert.deepEqual({ maxTokens, temperature, timeout, isStrict, remembers, eol, model, prompt, workspace }, { maxTokens: 16_384, temperature: 0, timeout: 90_000, isStrict: false, remembers: false, eol: 'keep', model: '', prompt: '', workspace: 'shop' })
  })

  it('has what the operator configures', async t => {
    const { setting } = await opened(t, {}, {
      PAPAYU_LLM_MODEL: 'm',
      PAPAYU_LLM_STRICT_JSON: '1',
      PAPAYU_LLM_TEMPERATURE: '0.5',
      PAPAYU_LLM_MAX_TOKENS: '100',
      PAPAYU_LLM_TIMEOUT_SEC: '5',
      PAPAYU_NORMALIZE_EOL: 'lf',
      PAPAYU_MEMORY_AUTOPATCH: '1',
      PAPAYU_MAX_CONTEXT_ROUNDS: '1',
      PAPAYU_CONTEXT_MAX_FILES: '2',
      PAPAYU_CONTEXT_MAX_FILE_CHARS: '3',
      PAPAYU_CONTEXT_MAX_TOTAL_CHARS: '4',
      PAPAYU_CONTEXT_MAX_LOG_CHARS: '5'
    })
    const { limits, maxTokens, temperature, timeout, isStrict, remembers, eol, model } = setting()
    assert.deepEqual({ maxTokens, temperature, timeout, isStrict, remembers, eol, model }, { maxTokens: 100, temperature: 0.5, timeout: 5000, isStrict: true, remembers: true, eol: 'lf', model: 'm' })
    assert.deepEqual(limits, { ...DEFAULT_LIMITS, max_context_rounds: 2, context_max_files: 2, context_max_file_chars: 3, context_max_total_chars: 4, context_max_log_chars: 5 })
  })

  it('takes from a profile prompt, checks, and limits that are tighter', async t => {
    const { start, setting } = await opened(t, { 'plans:team:careful': { prompt: 'Change little.', checks: ['test'], limits: { max_actions: 5, max_file_bytes: 10 ** 9 } } })
    const { prompt, checks, limits } = setting({ profile: 'team:careful' })
    assert.deepEqual({ prompt, checks, limits }, { prompt: 'Change little.', checks: ['test'], limits: { ...DEFAULT_LIMITS, max_actions: 5, max_context_rounds: 4 } })
    assert.equal(start({ profile: 'team.careful' }).definition, 'plans/team.careful')
  })

  it('has the protocol of schema 1 with the example papayu, also as the default of an installation', async t => {
    const { setting } = await opened(t, { 'plans:papayu': PAPAYU }, { PAPAYU_PROFILE: 'papayu' })
    const { schemaVersion, language, confirm, repair, limits } = setting()
    assert.deepEqual({ schemaVersion, language, confirm, repair, limits }, { schemaVersion: 1, language: 'ru', confirm: 'deletions', repair: { rounds: 0, confirm: false, then: 'rollback' }, limits: DEFAULT_LIMITS })
    const example = parse(readFileSync('examples/plans/papayu.yaml', 'utf8')) as Record<string, unknown>
    assert.deepEqual({ ...example, description: undefined }, { ...PAPAYU, description: undefined })
  })

  for (const [workspace, profile, request, expected] of [['deletions', 'none', undefined, 'deletions'], ['none', 'none', undefined, 'none'], ['none', 'none', 'diff', 'diff'], ['diff', 'none', 'none', 'diff']] as const) {
    it(`confirms ${expected} where the operator says ${workspace}, the profile ${profile}, the request ${String(request)}`, async t => {
      const { setting } = await opened(t, { 'plans:own': { confirm: profile } }, {}, { ...shop, confirm: workspace })
      assert.equal(setting({ profile: 'own', confirm: request }).confirm, expected)
    })
  }

  it('begins with a check of the workspace, and needs no goal then', async t => {
    const { start } = await opened(t)
    assert.equal(start({ goal: '', fix: 'test' }).input['fix'], 'test')
    assert.throws(() => start({ fix: 'deploy' }), { code: 'REQUEST_INVALID', message: /"deploy" is no check of the workspace "shop", which has lint, test/ })
  })

  it('runs all checks of the workspace where no profile says which', async t => {
    const { setting } = await opened(t, { 'plans:none': { checks: [] } })
    assert.deepEqual([setting().checks, setting({ profile: 'none' }).checks], [['lint', 'test'], []])
  })

  it('lets a registration stand in for the built-in profile', async t => {
    const { setting } = await opened(t, { 'plans:default': { prompt: 'Own.' } })
    assert.equal(setting().prompt, 'Own.')
  })

  it('names the workspace that is not there, and those like it', async t => {
    const { start } = await opened(t)
    assert.throws(() => start({ workspace: 'shops' }), { code: 'WORKSPACE_NOT_FOUND', statusCode: 404, message: /"shops"; near matches: .*shop/ })
    assert.throws(() => start({ workspace: '__proto__' }), { code: 'WORKSPACE_NOT_FOUND' })
  })

  it('names the profile that is not there', async t => {
    const { start } = await opened(t, { 'plans:careful': {} })
    assert.throws(() => start({ profile: 'carefull' }), { code: 'DEFINITION_NOT_FOUND', message: /"carefull"; near matches: .*careful/ })
  })

  it('refuses a check that the workspace does not have, and a goal without words', async t => {
    const { start } = await opened(t, { 'plans:careful': { checks: ['deploy'] } })
    assert.throws(() => start({ profile: 'careful' }), { code: 'REQUEST_INVALID', message: /its check "deploy" is none of the workspace "shop", which has lint, test/ })
    assert.throws(() => start({ goal: ' ' }), { code: 'REQUEST_INVALID' })
  })
})

describe('the schemas of answers', () => {
  const ONE = '6d7922dbefcdad5e3021cf5f205b5ebf4207f280283f18725a91f573402268a2'
  const VERSIONS = [
    { version: 1, name: 'plan-response', kinds: ACTION_KINDS, objects: 4 },
    { version: 2, name: 'plan-response-2', kinds: ACTION_KINDS_2, objects: 5 }
  ]
  for (const { version, name, kinds, objects: count } of VERSIONS) {
    const file = readFileSync(`jsonschema/${name}.json`)
    const schema = JSON.parse(file.toString()) as { x_schema_version: number, properties: { actions: { items: { properties: { kind: { enum: string[] } } } }, memory_patch: { properties: object } } }

    it(`are known by version and hash of the file, and sent without what only readers need, in version ${version}`, async t => {
      const { setting } = await opened(t, { 'plans:default': { schema: version } })
      const { schemaVersion, schemaHash, schema: sent } = setting()
      assert.deepEqual([schemaVersion, schema.x_schema_version, schemaHash], [version, version, createHash('sha256').update(file).digest('hex')])
      assert.deepEqual(Object.keys(sent), ['description', 'type', 'additionalProperties', 'required', 'properties'])
    })

    it(`name the kinds of actions and the fields of the memory that the engine takes, in version ${version}`, () => {
      assert.deepEqual(schema.properties.actions.items.properties.kind.enum.toSorted(), kinds.toSorted())
      assert.deepEqual(Object.keys(schema.properties.memory_patch.properties), [...MEMORY_FIELDS.keys()])
    })

    it(`are as strict as providers want them: every object is closed, and has all of its fields, in version ${version}`, () => {
      const objects: Array<{ properties: object, required?: string[], additionalProperties?: boolean }> = []
      JSON.parse(file.toString(), (_name, value: unknown) => {
        if (typeof value === 'object' && value !== null && 'properties' in value && 'type' in value) objects.push(value as never)
        return value
      })
      assert.equal(objects.length, count)
      for (const { properties, required, additionalProperties } of objects) assert.deepEqual([required, additionalProperties], [Object.keys(properties), false])
    })
  }

  // A changed schema is a new version: goldens and traces name it.
  it('are unchanged in version 1', () => assert.equal(createHash('sha256').update(readFileSync('jsonschema/plan-response.json')).digest('hex'), ONE))
})
