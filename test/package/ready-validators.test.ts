import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type ValidateFunction } from 'ajv'
import { parse } from 'yaml'
import { validators as config } from '../../src/config/config-validator.ts'
import { validators as entries } from '../../src/schema/validators.ts'

type Validators = Readonly<Record<string, () => ValidateFunction>>

const LIVE: Readonly<Record<string, Validators>> = {
  'src/config/config-validator.ts': config,
  'src/schema/validators.ts': entries
}

const ready = new Map<string, Validators>()

describe('checkers that the build makes', () => {
  before(async () => {
    const { readyCode } = await import(pathToFileURL(resolve('scripts/ready-validators.js')).href) as { readyCode (): Promise<Map<string, string>> }
    await mkdir('.build/validators', { recursive: true })
    for (const [path, code] of await readyCode()) {
      const name = relative('.', path)
      const file = resolve('.build/validators', `${name.replaceAll('/', '-')}.mjs`)
      await writeFile(file, code)
      ready.set(name, ((await import(pathToFileURL(file).href)) as { validators: Validators }).validators)
    }
  })

  it('find the same in variables of every wrong kind', () => {
    const names = ['PORT', 'WORKERS', 'LOG_LEVEL', 'AUTH', 'LOG_VALUES', 'WARM_UP_MS', 'PAPAYU_LLM_TEMPERATURE', 'KEY_PREFIX']
    for (const name of names) {
      for (const value of ['', 'x', '-1', '1', '1.5', '99999999999', 'auto', 'on', 'true']) assertSame('src/config/config-validator.ts', 'config', { [name]: value, OTHER: 'x' })
    }
  })

  it('find the same in every example and in every mistake made of it', () => {
    const kinds = { templates: 'prompt', extensions: 'extension', agents: 'agent', plans: 'plan' } as const
    let seen = 0
    for (const [folder, name] of Object.entries(kinds)) {
      for (const example of examplesOf(folder)) {
        for (const value of [example, ...mistakesIn(example), null, [], 7, 'text']) assertSame('src/schema/validators.ts', name, value)
        seen++
      }
    }
    for (const value of [{}, { name: 7 }, { name: 'a', description: 'b' }, [], null]) assertSame('src/schema/validators.ts', 'skill', value)
    assert.ok(seen >= 5, `${seen} examples`)
  })

  it('find the same in schemas of strangers', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', enum: ['x', 'y'], minLength: 1 }, b: { type: 'array', items: { $ref: '#/$defs/c' } } }, required: ['a'], $defs: { c: { anyOf: [true, { const: 1 }] } }, patternProperties: { '^x': {} } }
    for (const draft of ['draft07', 'draft2020']) {
      for (const value of [schema, ...mistakesIn(schema), { required: ['a', 'a'] }, { type: ['string', 'string'] }, true, 7]) assertSame('src/schema/validators.ts', draft, value)
    }
  })
})

/** That both say the same of a value, and make the same of it. */
function assertSame (path: string, name: string, value: unknown): void {
  const [theirs, ours] = [LIVE[path], ready.get(path)].map(validators => {
    const copy: unknown = structuredClone(value)
    const validate = validators?.[name]?.() as ValidateFunction
    return JSON.stringify([validate(copy), validate.errors, copy])
  })
  assert.equal(ours, theirs, `${path} ${name}`)
}

function examplesOf (folder: string): unknown[] {
  const files = readdirSync(join('examples', folder), { recursive: true, encoding: 'utf8' }).filter(file => /\.(?:json|ya?ml)$/.test(file))
  return files.map(file => parse(readFileSync(join('examples', folder, file), 'utf8')) as unknown)
}

/** The value with each of its members left out, of another type, or beside one that is not expected. */
function mistakesIn (value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const withMember = (other: unknown) => Array.isArray(value) ? value.map((each, index) => String(index) === name ? other : each) : { ...value, [name]: other }
    const { [name]: _left, ...rest } = value as Record<string, unknown>
    return [...(Array.isArray(value) ? [] : [rest, { ...value, unexpected: 1 }]), ...['', 7, -1, true, null, {}, [], ['a', 'a']].map(withMember), ...mistakesIn(member).map(withMember)]
  })
}
