import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { type Json, type JsonObject } from '../../../src/base/json.ts'
import { type SkillSetting } from '../../../src/engine/skill/skill-state.ts'
import { answerWith } from '../dialogue.ts'
import { SkillDialogue } from './skill-dialogue.ts'

type Given =
  | { readonly model: string } | { readonly answer: Json } | { readonly ran: JsonObject } | { readonly files: readonly Json[] }
  | { readonly say: string } | { readonly act: string, readonly data?: JsonObject }
  | { readonly fails: string } | { readonly refused: string } | { readonly unknown: true }

/** A row of requirements.yaml, which says what its fields mean. */
interface Row {
  readonly id: string
  readonly setting?: Partial<SkillSetting>
  readonly given: readonly Given[]
  readonly word?: string
  readonly step?: number
  readonly text?: string
  readonly pending?: string
  readonly output?: string
  readonly sent?: string
  readonly system?: string
  readonly count?: number
  readonly fields?: JsonObject
  readonly record?: ReadonlyArray<readonly [role: string, content: string]>
  readonly asks?: readonly JsonObject[]
  readonly notices?: readonly JsonObject[]
  readonly log?: readonly string[]
  readonly refuses?: readonly [text: string, action: string, kind: string, message: string]
}

/** Texts that are too long for a row. */
const LONG = new Map([
  ['<20000 letters>', 'x'.repeat(20_000)],
  ['<9600 letters and 6400 with a mark between>', `Command output:\n${'x'.repeat(9600)}\n...[TRUNCATED 4000 chars]...\n${'x'.repeat(6400)}\n\n[Step 2 of 100]`]
])

const rows = parse(readFileSync('test/engine/skill/requirements.yaml', 'utf8')) as Row[]

describe('a skill fulfils', () => {
  for (const row of rows) {
    it(row.id, () => {
      const dialogue = new SkillDialogue(row.setting)
      for (const given of row.given) give(dialogue, given)
      const { engine: { view } } = dialogue.session
      const { messages, system } = dialogue.skill
      const seen: Record<string, () => unknown> = {
        word: () => view.stateName,
        step: () => dialogue.result.step,
        text: () => dialogue.result.text,
        pending: () => dialogue.result.pendingCommand,
        output: () => dialogue.result.lastOutput,
        sent: () => dialogue.request().messages.at(-1)?.['content'],
        system: () => system,
        count: () => dialogue.request().messages.length,
        fields: () => dialogue.request().fields,
        record: () => messages.map(({ role, content }) => [role, content]),
        asks: () => dialogue.open.map((effect, index) => membersOf(effect as unknown as JsonObject, row.asks?.[index])),
        notices: () => (row.notices ?? []).map(wanted => noticesOf(dialogue, wanted)[0]),
        log: () => dialogue.log.flatMap(({ notices }) => notices.flatMap(({ type, data }) => type === 'log' ? [data['event']] : [])),
        refuses: () => {
          const [text = '', action = '', , message = ''] = row.refuses ?? []
          const refused = dialogue.session.engine.refuses(text, action === '' ? undefined : { name: action, data: {} })
          return [text, action, refused?.kind, refused?.message.includes(message) === true ? message : refused?.message]
        }
      }
      for (const [name, see] of Object.entries(seen)) if (Object.hasOwn(row, name)) assert.deepEqual(see(), long(row[name as keyof Row] as Json), name)
    })
  }
})

describe('the requirements of skills', () => {
  it('S-02 to S-30 have a row each, of its own name, but for S-29, which is of executors', () => {
    const tested = new Set(rows.flatMap(({ id }) => id.match(/S-\d\d/g) ?? []))
    // Strings that the parser and the cleaner read have rows in tests of their own.
    for (const own of ['S-16', 'S-17', 'S-18', 'S-19', 'S-20', 'S-29']) tested.add(own)
    const ids = Array.from({ length: 29 }, (_, index) => `S-${String(index + 2).padStart(2, '0')}`)
    assert.deepEqual(ids.filter(id => !tested.has(id)), [])
    assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length)
  })

  it('S-06 have this base prompt, byte for byte', () => {
    const { SKILL_SYSTEM_PROMPT_WITH_ASK: base } = JSON.parse(readFileSync('prompts.json', 'utf8')) as { SKILL_SYSTEM_PROMPT_WITH_ASK: string }
    assert.equal(createHash('sha256').update(base).digest('hex'), '6d6347991a3e99d7592e2652f0f377db4c21f79426b0e5c54827409588e07da0')
  })
})

function give (dialogue: SkillDialogue, given: Given): void {
  if ('say' in given) dialogue.say(given.say)
  else if ('act' in given) dialogue.act(given.act, Object.fromEntries(Object.entries(given.data ?? {}).map(([name, value]) => [name, long(value)])))
  else if ('model' in given) dialogue.end(answerWith({ content: given.model }))
  else if ('answer' in given) dialogue.end(given.answer)
  else if ('ran' in given) dialogue.end(given.ran)
  else if ('files' in given) dialogue.end({ files: given.files })
  else if ('fails' in given) dialogue.fail('broken', given.fails)
  else if ('refused' in given) dialogue.take({ kind: 'refused', effect: dialogue.effect().id, by: 'person', reason: given.refused })
  else dialogue.take({ kind: 'unknown', effect: dialogue.effect().id })
}

function long (value: Json): Json {
  return typeof value === 'string' ? LONG.get(value) ?? value : value
}

/** What the last fact told of that type, as far as it is asked about. */
function noticesOf ({ log }: SkillDialogue, wanted: JsonObject): JsonObject[] {
  const told = log.at(-1)?.notices.filter(({ type }) => type === wanted['type']) ?? []
  return told.map(({ type, data }) => ({ type, data: membersOf(data, wanted['data'] as JsonObject) }))
}

function membersOf (given: JsonObject, wanted: JsonObject = given): JsonObject {
  return Object.fromEntries(Object.keys(wanted).map(name => [name, given[name] as Json]))
}
