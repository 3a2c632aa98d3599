import type { Caller } from '../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../access/views.ts'
import {
  clientClosed, describeViolations, entryMissing, requestInvalid, roleMissing, ServiceError, storeUnavailable, testsUnreadable
} from '../base/errors.ts'
import { canonicalJson, isJsonObject, type Json, JsonError, type JsonObject, parseJson, stringifyJson, textIn, textOf } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'
import type { Answer } from '../llm/answer.ts'
import { readReply } from '../llm/history.ts'
import { jsonIn } from '../llm/json-in.ts'
import { UpstreamRefusal } from '../llm/upstream-error.ts'
import { type Diagnostic, describeDiagnostic, RejectedEntry, unreadable } from '../registry/diagnostic.ts'
import type { Generation } from '../registry/generation.ts'
import { contentTag } from '../registry/kinds/entry-kind.ts'
import { type Assertion, parseTests, type TestCase, testsKind, withoutPrompt } from '../registry/kinds/tests-kind.ts'
import type { Activity } from '../observe/activity.ts'
import type { CallerSignal } from '../runtime/deadline.ts'
import { inTurn } from '../runtime/event-loop.ts'
import { keyToPath, kindPrefix, pathToKey, type Store, type StoredValue, StoreError, toPath } from '../store/store.ts'
import { compileSchema, SchemaError } from '../schema/compile.ts'
import { type Bundle, knownTools } from './recordings.ts'
import type { ChatWithPrompt } from './chat/chat-with-prompt.ts'
import type { RenderEnvironment, RenderPrompt, RenderRequest } from './render-prompt.ts'
import type { ChoosePrompt, ChosenPrompt } from './choose-prompt.ts'

/** The tests of one prompt can have a MiB. */
const AT_A_TIME = 50

/** Not kept in memory like other entries: each call reads the store. */
export class PromptTests {
  readonly #store: Store
  readonly #prefix: string
  #listing: Promise<readonly string[]> | undefined

  constructor (store: Store, keyPrefix: string) {
    this.#store = store
    this.#prefix = kindPrefix(keyPrefix, testsKind.key)
  }

  /** `id` has `.` or `:` between its parts. @throws ENTRY_NOT_FOUND, TESTS_UNREADABLE, STORE_UNAVAILABLE */
  async read ({ prompts }: Pick<Caller, 'prompts'>, id: string) {
    const path = toPath(id)
    const key = pathToKey(path, this.#prefix)
    if (prompts?.allows(path) === false) throw entryMissing(path, key)
    const [stored = { kind: 'missing' } as StoredValue] = await asked(this.#store.read([key]))
    if (stored.kind === 'missing') throw entryMissing(path, key)
    if (stored.kind === 'bad') throw testsUnreadable(key, stored.reason)
    try {
      const { value } = testsKind.decode(stored.text)
      return { id: path, tests: value, cases: parseTests(value), tag: contentTag(testsKind, stored.text) ?? '' }
    } catch (error) {
      if (error instanceof RejectedEntry) throw testsUnreadable(key, error.diagnostics.map(describeDiagnostic).join('; '))
      throw error
    }
  }

  /** Sorted; only what the caller may see. @throws STORE_UNAVAILABLE */
  async ids ({ prompts }: Pick<Caller, 'prompts'>): Promise<readonly string[]> {
    // Listing goes through all keys of a Redis, so requests that arrive during a listing share its result.
    this.#listing ??= asked(this.#list()).finally(() => { this.#listing = undefined })
    const ids = await this.#listing
    return prompts === undefined ? ids : ids.filter(id => prompts.allows(id))
  }

  /** @throws STORE_UNAVAILABLE */
  async rows (ids: readonly string[]) {
    const rows: Array<{ readonly id: string, readonly cases: number, readonly tag: string | undefined }> = []
    for await (const { id, stored } of this.#values(ids)) {
      rows.push(await inTurn(() => {
        const tag = stored.kind === 'text' ? contentTag(testsKind, stored.text) : undefined
        return { id, tag, cases: tag === undefined || stored.kind !== 'text' ? 0 : countOf(testsKind.decode(stored.text).value) }
      }))
    }
    return rows
  }

  /** Tests that cannot be read, or whose prompt does not exist. @throws STORE_UNAVAILABLE */
  async notices ({ prompts }: Pick<Generation, 'prompts'>, caller: Pick<Caller, 'prompts'>) {
    const notices: Array<{ readonly id: string, readonly key: string, readonly diagnostics: readonly Diagnostic[] }> = []
    for await (const { id, key, stored } of this.#values(await this.ids(caller))) {
      const diagnostics = [...await inTurn(() => mistakesIn(stored)), ...(prompts.has(id) ? [] : [withoutPrompt(id)])]
      if (diagnostics.length > 0) notices.push({ id, key, diagnostics })
    }
    return notices
  }

  async * #values (ids: readonly string[]): AsyncGenerator<{ readonly id: string, readonly key: string, readonly stored: StoredValue }> {
    for (let start = 0; start < ids.length; start += AT_A_TIME) {
      const group = ids.slice(start, start + AT_A_TIME).map(id => ({ id, key: pathToKey(id, this.#prefix) }))
      const values = await asked(this.#store.read(group.map(({ key }) => key)))
      for (const [index, { id, key }] of group.entries()) yield { id, key, stored: values[index] ?? { kind: 'missing' } }
    }
  }

  async #list (): Promise<readonly string[]> {
    const ids = new Set<string>()
    for await (const keys of this.#store.scan(this.#prefix)) {
      for (const key of keys) {
        const id = keyToPath(key, this.#prefix)
        // A key in another spelling is never read as the tests of a prompt, so it is not listed.
        if (pathToKey(id, this.#prefix) === key) ids.add(id)
      }
    }
    return [...ids].sort()
  }
}

/** @throws STORE_UNAVAILABLE */
async function asked<T> (answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw error instanceof StoreError ? storeUnavailable(error.message) : error
  }
}

function mistakesIn (stored: StoredValue): readonly Diagnostic[] {
  if (stored.kind === 'missing') return []
  if (stored.kind === 'bad') return unreadable(stored).diagnostics
  try {
    parseTests(testsKind.decode(stored.text).value)
    return []
  } catch (error) {
    if (error instanceof RejectedEntry) return error.diagnostics
    throw error
  }
}

function countOf (tests: Json): number {
  return Array.isArray(tests) ? tests.length : 0
}

interface TestedOutput {
  readonly text: string
  readonly durationMs: number
}

interface AssertionVerdict {
  readonly pass: boolean
  readonly reason: string
  readonly score?: number
}

export type PlainAssertion = Assertion & { readonly kind: Exclude<Assertion['kind'], 'llm-rubric'> }

/** It never throws: an assertion that cannot be checked fails, negated or not. */
export function checkOutput (assertion: PlainAssertion, output: TestedOutput): AssertionVerdict {
  try {
    const missed = missIn(assertion, output)
    if (!assertion.isNegated) return { pass: missed === undefined, reason: missed ?? '' }
    return missed === undefined
      ? { pass: false, reason: `expected no ${describeExpected(assertion)}, got ${describeActual(assertion, output)}` }
      : { pass: true, reason: '' }
  } catch (error) {
    if (error instanceof SchemaError) return { pass: false, reason: error.message }
    throw error
  }
}

/** `undefined` if the output meets it. @throws SchemaError */
function missIn (assertion: PlainAssertion, output: TestedOutput): string | undefined {
  const { kind, value = '', threshold = 0 } = assertion
  const { text } = output
  if (kind === 'is-json') return missInJson(assertion, text)
  const holds = {
    equals: () => isEqual(value, text),
    contains: () => text.includes(String(value)),
    icontains: () => text.toLowerCase().includes(String(value).toLowerCase()),
    'starts-with': () => text.startsWith(String(value)),
    // A JSON schema matches patterns in linear time, whoever wrote them.
    regex: () => violationsIn({ type: 'string', pattern: value }, text) === undefined,
    latency: () => output.durationMs <= threshold
  }[kind]()
  return holds ? undefined : `expected ${describeExpected(assertion)}, got ${describeActual(assertion, output)}`
}

/** Compared as JSON unless `value` is a text: white space and the order of members do not count. */
function isEqual (value: Json, text: string): boolean {
  if (typeof value === 'string') return value === text
  const read = readJson(text)
  return 'json' in read && canonicalJson(read.json) === canonicalJson(value)
}

function missInJson ({ value }: PlainAssertion, text: string): string | undefined {
  const read = readJson(text)
  if ('problem' in read) return `expected JSON, got ${quoted(text)}: ${read.problem}`
  return value === undefined ? undefined : violationsIn(value, read.json)
}

/** @throws SchemaError */
function violationsIn (schema: Json, value: Json): string | undefined {
  const violations = compileSchema(schema).validate(value, 'output')
  return violations.length === 0 ? undefined : describeViolations(violations)
}

function readJson (text: string): { readonly json: Json } | { readonly problem: string } {
  try {
    return { json: parseJson(text) }
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.reason }
    throw error
  }
}

function describeExpected ({ kind, value = '', threshold = 0 }: PlainAssertion): string {
  const text = beginningOf(typeof value === 'string' ? JSON.stringify(value) : stringifyJson(value), QUOTED)
  return {
    equals: text,
    contains: text,
    icontains: `${text} in any case`,
    'starts-with': `${text} at the beginning`,
    regex: `a match of ${text}`,
    'is-json': value === '' ? 'JSON' : 'JSON of that schema',
    latency: `answer within ${threshold} ms`
  }[kind]
}

function describeActual ({ kind }: PlainAssertion, { text, durationMs }: TestedOutput): string {
  return kind === 'latency' ? `one after ${durationMs} ms` : quoted(text)
}

function quoted (text: string): string {
  return JSON.stringify(beginningOf(text, QUOTED)) + (text.length > QUOTED ? '…' : '')
}

interface AssertionResult extends AssertionVerdict {
  readonly type: string
}

export interface CaseResult {
  readonly pass: boolean
  readonly durationMs: number
  readonly output?: string
  readonly checks: readonly AssertionResult[]
  readonly error?: { readonly code: string, readonly message: string }
}

/** @throws ROLE_MISSING */
export function requireChat ({ run, assertions }: TestCase, { name, roles }: Caller): void {
  const asksModel = run === 'chat' || assertions.some(({ kind }) => kind === 'llm-rubric')
  if (asksModel && !roles.has('chat')) throw roleMissing(name, 'chat', [...roles])
}

/** Other failures are results. @throws CLIENT_CLOSED, REQUEST_INVALID when the request lacks the recorded calls */
export type RunCase = (request: CaseRequest) => Promise<CaseResult>

export function createCaseRunner (options: CaseRunnerOptions): RunCase {
  return async function runCase (request) {
    const { testCase, signal } = request
    const environment = environmentOf(request, options)
    const startedAt = performance.now()
    const elapsed = () => Math.round(performance.now() - startedAt)
    try {
      const text = testCase.run === 'chat' ? await ask(request, environment, options) : await render(request, environment, options)
      const output: TestedOutput = { text, durationMs: elapsed() }
      const checks: AssertionResult[] = []
      for (const assertion of testCase.assertions) checks.push({ type: typeOf(assertion), ...await check(assertion, output, request, options) })
      return { pass: checks.every(({ pass }) => pass), durationMs: output.durationMs, output: text, checks }
    } catch (error) {
      if (signal.aborted) throw clientClosed()
      return { pass: false, durationMs: elapsed(), checks: [], error: failureOf(error) }
    }
  }
}

/** A tool gives its recorded result, or else its default; `undefined` if tools are really called. @throws REQUEST_INVALID */
function environmentOf ({ testCase: { tools }, generation, caller, known }: CaseRequest, { environs }: CaseRunnerOptions): RenderEnvironment | undefined {
  if (tools === 'live') return undefined
  if (tools !== 'stub' && known === undefined) {
    throw requestInvalid(`body: the calls of the file ${tools} are expected in known; aps test reads it from the folder`, { part: 'body', field: 'known' })
  }
  return { environs: visibleEnvirons(environs, caller), callTool: knownTools(generation, known?.tools ?? []) }
}

function renderOf (request: CaseRequest, environment: RenderEnvironment | undefined): RenderRequest {
  const { generation, caller, id, chosen, testCase: { variables }, requestId, activity } = request
  return { generation, caller, id, chosen, variables, requestId, activity, environment }
}

async function render (request: CaseRequest, environment: RenderEnvironment | undefined, { renderPrompt }: CaseRunnerOptions): Promise<string> {
  const { messages } = await renderPrompt(renderOf(request, environment))
  return messages.map(messageText).join('\n\n')
}

async function ask (request: CaseRequest, environment: RenderEnvironment | undefined, { chatWithPrompt }: CaseRunnerOptions): Promise<string> {
  const { chosen, testCase: { model }, signal } = request
  // A tool that a model calls has no default, so such a chat needs live tools.
  if (environment !== undefined && chosen.prompt.entry.chat.toolLoop !== undefined) {
    throw requestInvalid('the model of this prompt calls tools itself: a case with run: chat needs tools: live', { part: 'body', field: 'case' })
  }
  const { value } = await chatWithPrompt.complete({ ...renderOf(request, environment), fields: model === undefined ? {} : { model }, signal })
  const { text, refusal } = readReply(value, {})
  return text === '' ? refusal : text
}

async function check (assertion: Assertion, output: TestedOutput, request: CaseRequest, options: CaseRunnerOptions): Promise<AssertionVerdict> {
  if (isPlain(assertion)) return await inTurn(() => checkOutput(assertion, output))
  try {
    return await judgeOutput(assertion, output, request, options)
  } catch (error) {
    if (request.signal.aborted) throw error
    const { code, message } = failureOf(error)
    return { pass: false, reason: `${request.testCase.judge} cannot judge: ${message} (${code})` }
  }
}

function isPlain (assertion: Assertion): assertion is PlainAssertion {
  return assertion.kind !== 'llm-rubric'
}

function typeOf ({ kind, isNegated }: Assertion): string {
  return isNegated ? `not-${kind}` : kind
}

/** @throws any other error unchanged */
function failureOf (error: unknown): { readonly code: string, readonly message: string } {
  if (error instanceof ServiceError) return { code: error.code, message: error.message }
  if (error instanceof UpstreamRefusal) return { code: 'LLM_UPSTREAM', message: error.inWords }
  throw error
}

function messageText ({ content = null }: JsonObject): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as readonly Json[]).map(part => textIn(part, 'text')).join('')
}

/** In characters, of an answer that is no valid verdict. */
const QUOTED = 200

/** The prompt gets `output` and `rubric`; its model answers `{ pass, score, reason }`. @throws the errors of a chat */
async function judgeOutput (
  { value, threshold, isNegated }: Assertion,
  { text }: TestedOutput,
  request: CaseRequest,
  { chatWithPrompt, choosePrompt }: Pick<CaseRunnerOptions, 'chatWithPrompt' | 'choosePrompt'>
): Promise<AssertionVerdict> {
  const { generation, caller, requestId, activity, signal, testCase: { judge } } = request
  const chosen = await choosePrompt(generation, caller, judge, {})
  const variables = { output: text, rubric: value ?? '' }
  const { value: completion } = await chatWithPrompt.complete({ generation, caller, id: judge, chosen, variables, requestId, activity, fields: {}, signal })
  const answer = readReply(completion, {})
  const verdict = readVerdict(answer)
  if (verdict === undefined) {
    const said = JSON.stringify(beginningOf(answer.text === '' ? answer.refusal : answer.text, QUOTED))
    return { pass: false, reason: `${judge} gave no verdict { "pass": …, "reason": … }: ${said}` }
  }
  const holds = verdict.pass && (threshold === undefined || (verdict.score ?? 0) >= threshold)
  return { ...verdict, pass: holds !== isNegated }
}

function readVerdict ({ text, cut }: Answer): AssertionVerdict | undefined {
  const found = jsonIn(text)
  const read = cut || 'reason' in found ? null : found.value
  if (!isJsonObject(read) || typeof read['pass'] !== 'boolean') return undefined
  const { pass, score, reason } = read
  return { pass, reason: textOf(reason), score: score === undefined ? undefined : Number(score) }
}

interface CaseRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
  readonly chosen: ChosenPrompt
  readonly testCase: TestCase
  readonly known?: Pick<Bundle, 'tools'> | undefined
  readonly requestId: string
  readonly activity?: Activity | undefined
  readonly signal: CallerSignal
}

interface CaseRunnerOptions {
  readonly renderPrompt: RenderPrompt
  readonly chatWithPrompt: ChatWithPrompt
  readonly choosePrompt: ChoosePrompt
  readonly environs: VisibleEnvirons
}
