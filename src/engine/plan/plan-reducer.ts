import { type JsonObject, listOf, ownField, stringifyJson } from '../../base/json.ts'
import { type Memory, memoryIn, readPatch } from '../../files/memory-rules.ts'
import { loggedAnswer } from '../../llm/history.ts'
import type { Next } from '../../session/engine.ts'
import type { Action } from '../../session/model.ts'
import { clip } from '../clip.ts'
import { type Ended, type Reducer, renderText } from '../reducer.ts'
import { cutProblem, type Locale, PLAN_TEXTS, refusedText } from '../texts.ts'
import { autoContext, basesIn, contextBlockOf, notWritten, repairMessage, roundsMessage, systemMessage, wholeIn, writeContext } from './messages.ts'
import { ChangeReducer } from './change-reducer.ts'
import { answersTo, keyOf, lookUp, NO_CACHE, normaliseRequest } from './cycle-cache.ts'
import { judgeReply } from './judge-reply.ts'
import type { PlanProblem, PlanReply } from './parse-plan.ts'
import { intentOf, LISTENING } from './plan-input.ts'
import type { ContextEntry, PendingRead, PlanState } from './plan-state.ts'
import { routeMode } from './plan-setting.ts'

/** In ms. */
const TIMEOUTS = { read: 30_000, remember: 10_000 } as const

/** Reads for one answer: the limits of the context would drop further texts anyway. */
const MAX_REQUESTS = 16

/** One read returns no more lines. */
const MAX_LINES = 5000

/** The API does not support `response_format`. */
const FORMAT_REFUSED = /response_format|json_schema|unknown field|not supported/i

export class PlanReducer extends ChangeReducer implements Reducer<PlanState> {
  /** The memory and the files that the user's words mention are read before the model is asked. */
  start (): Next<PlanState> {
    const { words, report, context } = this.state
    const auto = autoContext(words, report).map((each): PendingRead => each)
    // Read again: the files may have changed since.
    const again = context.flatMap(({ key, block }) => block?.section === 'FULFILLED_CONTEXT' ? [reading(JSON.parse(key) as JsonObject)] : [])
    const { fix, setting: { schemaVersion } } = this.state
    if (fix !== undefined) return this.runFix(fix)
    const root = schemaVersion === 1 ? [] : [reading({ type: 'list' })]
    this.state = { ...this.state, context: [], cache: NO_CACHE, rounds: 0, repair: undefined, hasRepaired: false, reply: undefined }
    this.goTo(this.state.mode === 'plan' ? 'planning' : 'applying')
    return this.#read([reading({ type: 'memory' }), ...root, ...auto, ...again])
  }

  protected begin (): Next<PlanState> {
    return this.start()
  }

  hear (text: string, action?: Action): Next<PlanState> {
    const intent = intentOf(this.state, text, action)
    if ('kind' in intent) return LISTENING.has(this.state.step) ? this.listen() : this.next()
    const isAboutRound = ['write', 'change', 'retry', 'reject', 'remember'].includes(intent.wants)
    this.state = { ...this.state, error: undefined, conflicts: [], used: 0, failedCheck: isAboutRound ? this.state.failedCheck : '', lastActions: '' }
    switch (intent.wants) {
      case 'write': return this.writeHeld()
      case 'retry': return this.#retry()
      case 'goal': return this.#nextGoal(intent.words)
      case 'change': return this.#askForAnother(intent.words)
      case 'commit': return this.commit(intent.message)
      case 'reject': return this.rejected()
      case 'remember': return this.#remember('accept', intent.patch)
      case 'plan':
        this.state = { ...this.state, mode: 'plan', words: intent.words, goal: intent.words }
        return this.start()
      case 'apply': return this.#carryOut(intent.words)
      // An undo needs no consent, even where it deletes a created file; a redo of deletions does.
      case 'undo': return this.takeBack('undo', intent.paths)
      case 'redo': return this.doAgain(intent.paths)
    }
  }

  /** @param words a new goal; empty when the user only agrees with the plan */
  #carryOut (words: string): Next<PlanState> {
    const { goal } = this.state
    const fresh = { hasRepaired: false, repair: undefined, rounds: 0, agreed: [], hasApplied: false }
    this.state = { ...this.state, ...fresh, mode: 'apply', words: words === '' ? 'apply' : words, goal: words === '' ? goal : words }
    this.goTo('applying')
    return this.#askModel()
  }

  #nextGoal (words: string): Next<PlanState> {
    const { mode, goal } = routeMode(words, false)
    const fresh = { agreed: [], hasApplied: false, plan: undefined, exchanges: [], report: '' }
    this.state = { ...this.state, ...fresh, mode: mode ?? 'plan', isDirect: mode === 'apply', words: goal, goal }
    return this.start()
  }

  #askForAnother (said: string): Next<PlanState> {
    const { words, reply, exchanges, setting: { language } } = this.state
    const before = reply === undefined ? exchanges : [...exchanges, { words, reply: stringifyJson(reply.json) }]
    this.state = { ...this.state, held: undefined, exchanges: before, words: notWritten(language, said), rounds: 0 }
    this.goTo('applying')
    return this.#askModel()
  }

  end (effect: string, ended: Ended): Next<PlanState> {
    const { awaits } = this.state
    if (awaits?.effect !== effect) return this.next()
    this.state = { ...this.state, awaits: undefined }
    switch (awaits.purpose) {
      case 'context': return this.#hasRead(ended)
      case 'model': return this.#answered(ended)
      case 'remember': return this.#remembered(ended)
      case 'accept': return this.#accepted(ended)
      default: return this.endOfChange(awaits.purpose, ended, effect)
    }
  }

  #read (pending: readonly PendingRead[]): Next<PlanState> {
    const { setting: { workspace } } = this.state
    this.state = { ...this.state, pending }
    return this.wait('context', this.outbox.readFrom({ from: { workspace }, requests: pending.flatMap(({ requests }) => requests), timeout: TIMEOUTS.read }))
  }

  #hasRead (ended: Ended): Next<PlanState> {
    // Before the first request for files there is perhaps no workspace; later the model goes on without them.
    if ('failure' in ended && this.state.rounds === 0) return this.fail({ code: ended.code, message: ended.failure })
    for (const problem of problemsIn(ended)) {
      this.log('warning', 'MEMORY_UNUSABLE', { reason: problem })
      this.outbox.show(problem)
    }
    this.state = recordRead(this.state, ended)
    if (this.state.mode === 'apply') this.goTo('applying')
    return this.#askModel()
  }

  #askModel (): Next<PlanState> {
    const { setting } = this.state
    const blocks = this.state.context.flatMap(({ block }) => block ?? [])
    const { text, diet } = writeContext(blocks, setting.limits)
    const stats = { files: diet.blocks.length, dropped: diet.dropped, truncated: diet.truncated, totalChars: text.length, logsChars: diet.logsChars }
    const { files, dropped, truncated, totalChars } = stats
    if (dropped > 0 || truncated > 0) this.log('warning', 'CONTEXT_DIET_APPLIED', { files, dropped, truncated, total_chars: totalChars })
    this.state = { ...this.state, stats, bases: { ...this.state.bases, ...basesIn(diet.blocks) }, whole: wholeIn(this.state.whole, blocks, diet.blocks) }
    const { messages, fields, inputChars, tokenBudget } = modelRequest(this.state, text)
    this.log('debug', 'LLM_REQUEST_SENT', { token_budget: tokenBudget, input_chars: inputChars })
    return this.wait('model', this.outbox.askModel({ purpose: this.state.mode, messages, fields, timeout: setting.timeout }))
  }

  #answered (ended: Ended): Next<PlanState> {
    if ('failure' in ended) return this.#modelFailed(ended.failure, ended.code)
    const answer = loggedAnswer(ended.value)
    if (answer === undefined) return this.#modelFailed('the answer has no message', 'LLM_ERROR')
    const { text, refusal, cut, finishReason } = answer
    this.log('debug', 'LLM_RESPONSE_OK', { output_chars: text.length })
    const { setting: { isStrict, schema, schemaHash, language }, isFormatRefused } = this.state
    if (refusal !== '') return this.fail({ code: 'MODEL_REFUSED', message: refusedText(language, refusal) })
    if (cut) return this.#repair(text, { code: 'ERR_ANSWER_CUT', message: cutProblem(finishReason) })
    const judged = judgeReply(text, { ...this.state, strict: isStrict && !isFormatRefused ? { schema, hash: schemaHash } : undefined }, answer.isEarlier)
    switch (judged.verdict) {
      case 'repair': return this.#repair(text, judged.problem)
      case 'read': return this.#readMore(judged.reply)
      case 'read-bases': return this.#readNew(judged.paths.map(path => ({ type: 'read_file', path })))
      case 'take': return this.#take(judged.reply)
    }
  }

  #modelFailed (reason: string, code: string): Next<PlanState> {
    const { setting: { isStrict }, isFormatRefused } = this.state
    if (isStrict && !isFormatRefused && FORMAT_REFUSED.test(reason)) {
      this.log('warning', 'LLM_RESPONSE_FORMAT_FALLBACK')
      this.state = { ...this.state, isFormatRefused: true }
      return this.#askModel()
    }
    if (code === 'TIMEOUT') this.log('error', 'LLM_REQUEST_TIMEOUT')
    return this.fail({ code: 'LLM_ERROR', message: reason })
  }

  /** In schema 1 the second rejected answer ends the plan; in schema 2 the settings limit repairs. */
  #repair (reply: string, problem: PlanProblem): Next<PlanState> {
    this.log('warning', 'VALIDATION_FAILED', { code: problem.code })
    const { hasRepaired, setting: { schemaVersion } } = this.state
    const mayRepair = schemaVersion === 1 ? !hasRepaired : this.mayRepair
    if (mayRepair) this.keepError(problem)
    else return this.cannotGoOn(problem)
    this.log('warning', 'LLM_RESPONSE_REPAIR_RETRY', { code: problem.code })
    this.state = { ...this.state, repair: { reply, problem }, hasRepaired: true, used: this.state.used + 1 }
    return this.#askModel()
  }

  /** @param paths are read again first */
  protected askAgain (problem: PlanProblem | undefined, paths: readonly string[]): Next<PlanState> {
    const { reply, words, exchanges, context, used } = this.state
    const json = reply === undefined ? '' : stringifyJson(reply.json)
    if (problem !== undefined) this.keepError(problem)
    this.state = {
      ...this.state,
      used: used + 1,
      repair: problem === undefined ? undefined : { reply: json, problem },
      exchanges: problem === undefined ? [...exchanges, { words, reply: json }] : exchanges,
      context: context.filter(({ block }) => block?.base === undefined || !paths.includes(block.base.path))
    }
    if (paths.length === 0) return this.#askModel()
    return this.#read(paths.slice(0, MAX_REQUESTS).map(path => reading({ type: 'read_file', path, end_line: MAX_LINES })))
  }

  #retry (): Next<PlanState> {
    const { mode, plan } = this.state
    if (mode === 'plan' || plan === undefined) return this.start()
    this.goTo('applying')
    return this.#askModel()
  }

  #readMore ({ requests }: PlanReply): Next<PlanState> {
    const wanted: JsonObject[] = []
    for (const asked of requests.slice(0, MAX_REQUESTS)) {
      const normalised = normaliseRequest(asked)
      if ('request' in normalised) wanted.push(normalised.request)
      else this.#know({ key: keyOf({ ...asked }), block: contextBlockOf({ type: 'missing', request: { ...asked }, reason: normalised.reason }, undefined) })
    }
    return this.#readNew(wanted)
  }

  /** What was read since the user's last message is in the cache. */
  #readNew (wanted: readonly JsonObject[]): Next<PlanState> {
    const { requests, missed, cache } = lookUp(wanted, this.state)
    for (const { key, isHit } of requests) this.log('debug', isHit ? 'CONTEXT_CACHE_HIT' : 'CONTEXT_CACHE_MISS', { key })
    this.state = { ...this.state, cache, rounds: this.state.rounds + 1, repair: undefined }
    return missed.length === 0 ? this.#askModel() : this.#read(missed.map(reading))
  }

  #know (entry: ContextEntry): void {
    if (!this.state.context.some(({ key }) => key === entry.key)) this.state = { ...this.state, context: [...this.state.context, entry] }
  }

  #take (reply: PlanReply): Next<PlanState> {
    const summary = summaryOf(reply, this.state.setting.language)
    this.log('debug', 'LLM_PLAN_OK', { mode: this.state.mode, actions: reply.actions.length })
    this.state = { ...this.state, reply, summary, repair: undefined }
    this.outbox.show(summary)
    this.outbox.notice('message', { role: 'assistant', content: summary, mode: this.state.mode })
    const { patch, refused } = readPatch(reply.patch)
    if (refused.length > 0) {
      const named = refused.slice(0, 10).map(({ name, reason }) => ({ name: clip(name, 60), reason }))
      this.log('warning', 'MEMORY_PATCH_DROPPED', { keys: named.map(({ name }) => name).join(',') })
      this.tellUser('planNotRemembered', { list: named.map(({ name, reason }) => `${name} (${reason})`).join('; ') })
    }
    if (Object.keys(patch).length === 0) return this.#proceed()
    const { setting: { remembers } } = this.state
    this.outbox.notice('memory', { patch, isApplied: false, ...(remembers ? {} : { isOffered: true }) })
    if (!remembers) this.state = { ...this.state, offered: patch }
    return remembers ? this.#remember('remember', patch) : this.#proceed()
  }

  /** @param purpose `accept`: the user has agreed; `remember`: nobody was asked */
  #remember (purpose: 'remember' | 'accept', patch: JsonObject): Next<PlanState> {
    const { setting: { workspace } } = this.state
    return this.wait(purpose, this.outbox.remember({ workspace, patch, timeout: TIMEOUTS.remember }))
  }

  /** The plan goes on even when they could not be stored. */
  #remembered (ended: Ended): Next<PlanState> {
    if ('failure' in ended) {
      this.log('warning', 'MEMORY_PATCH_FAILED', { code: ended.code })
      this.tellUser('planNotRemembered', { list: ended.failure })
    } else this.outbox.notice('memory', { patch: readPatch(this.state.reply?.patch ?? {}).patch, isApplied: true })
    return this.#proceed()
  }

  #accepted (ended: Ended): Next<PlanState> {
    const { offered = {}, reply, mode } = this.state
    if ('failure' in ended) {
      this.tell({ code: ended.code, message: ended.failure })
      return this.listen()
    }
    this.state = { ...this.state, offered: undefined }
    this.outbox.notice('memory', { patch: offered, isApplied: true })
    // An answer with nothing but preferences: the plan is done.
    return this.state.step === 'planned' && mode === 'apply' && reply?.actions.length === 0 ? this.finish('no_changes') : this.listen()
  }

  #proceed (): Next<PlanState> {
    const { mode, reply, words, exchanges, bases, setting: { eol } } = this.state
    if (reply === undefined) return this.next()
    if (mode === 'plan') {
      const json = stringifyJson(reply.json)
      const { text } = writeContext(this.state.context.flatMap(({ block }) => block ?? []), this.state.setting.limits)
      this.state = { ...this.state, plan: { json, context: text }, exchanges: [...exchanges, { words, reply: json }] }
      this.goTo('planned')
      return this.listen()
    }
    if (reply.actions.length === 0) {
      if (this.isMending) return this.giveUp()
      if (this.state.offered === undefined) return this.nothingToDo()
      this.goTo('planned')
      return this.listen()
    }
    this.state = { ...this.state, held: undefined }
    const known = Object.fromEntries(reply.actions.flatMap(({ path }) => Object.hasOwn(bases, path) ? [[path, bases[path] as string]] : []))
    return this.preview({ do: { actions: reply.actions.map(action => ({ ...action })), bases: known, eol } })
  }
}

function problemsIn (ended: Ended): readonly string[] {
  const blocks = 'value' in ended ? ownField(ended.value, 'blocks') : undefined
  const memory = listOf(blocks).find(block => ownField(block, 'type') === 'memory')
  return listOf(ownField(memory, 'problems')).filter(each => typeof each === 'string')
}

function reading (request: JsonObject): PendingRead {
  return { header: undefined, requests: [request] }
}

/** Changes or preferences that a summary names. */
const MAX_NAMED = 10

function summaryOf ({ summary, actions, patch }: PlanReply, language: Locale): string {
  if (summary.trim() !== '') return summary
  const texts = PLAN_TEXTS[language]
  if (actions.length === 0) return renderText(texts.planMemory, { list: Object.keys(patch).slice(0, MAX_NAMED).join(', ') })
  const listed = actions.slice(0, MAX_NAMED).map(({ kind, path }) => `${kind} ${path}`).join(', ')
  const list = actions.length > MAX_NAMED ? renderText(texts.planMore, { list: listed, n: actions.length - MAX_NAMED }) : listed
  return renderText(texts.planActions, { list })
}

/** For a failed request the model is told that the text is missing, and why. */
function recordRead (state: PlanState, ended: Ended): PlanState {
  const requests = state.pending.flatMap(each => each.requests)
  const answers = 'failure' in ended
    ? requests.map((request): JsonObject => ({ type: 'missing', request, reason: ended.failure }))
    : answersTo(requests, ended.value)
  const context: ContextEntry[] = [...state.context]
  let recalled: Partial<PlanState> = {}
  let at = 0
  for (const { header, requests: candidates } of state.pending) {
    const own = answers.slice(at, at += candidates.length)
    const index = Math.max(0, own.findIndex(block => block !== undefined && block['type'] !== 'missing'))
    const [request, block] = [candidates[index], own[index]]
    if (request === undefined) continue
    if (request['type'] === 'memory') recalled = recall(state, block)
    else context.push({ key: keyOf(request), block: block === undefined ? undefined : contextBlockOf(block, header) })
  }
  return { ...state, pending: [], context, ...recalled }
}

/** The stored `output_format` chooses the mode where neither the user's words nor the request did. */
function recall ({ isRouted }: PlanState, block: JsonObject | undefined): Partial<PlanState> {
  const memory = memoryIn(block?.['user'], block?.['project'])
  const { output_format: format } = memory.user
  const wantsChange = !isRouted && (format === 'patch_first' || format === 'apply')
  const branch = block?.['branch']
  return { memory, branch: typeof branch === 'string' ? branch : undefined, isRouted: true, ...(wantsChange ? { mode: 'apply', isDirect: true } : {}) }
}

/** UTF-16 units of messages from which the answer is kept short: both have to fit into the context window. */
const LONG_INPUT = 80_000

/** Tokens. */
const SHORT_ANSWER = 4096

const MAX_EXCHANGES = 5

/** Code points of an earlier answer in a request. */
const MAX_REPLY = 20_000

interface SizedRequest {
  readonly messages: readonly JsonObject[]
  readonly fields: JsonObject
  readonly inputChars: number
  readonly tokenBudget: number
}

function modelRequest (state: PlanState, context: string): SizedRequest {
  const { setting, mode, memory, exchanges, words, report, failedCheck, rounds, repair } = state
  const { schemaVersion, language, prompt, limits, model, temperature, maxTokens, isStrict, schema } = setting
  const before = exchanges.slice(-MAX_EXCHANGES)
  const asked = [
    words,
    ...report === '' || exchanges.length > 0 ? [] : [`REPORT:\n${report}`],
    ...failedCheck === '' ? [] : [failedCheck],
    ...context === '' ? [] : [context],
    roundsMessage(limits.max_context_rounds - rounds, language)
  ].join('\n\n')
  const messages = [
    { role: 'system', content: systemMessage(mode, schemaVersion, language, prompt, memoryBlock(memory)) },
    ...before.flatMap(({ words: said, reply }) => [{ role: 'user', content: said }, { role: 'assistant', content: clip(reply, MAX_REPLY) }]),
    { role: 'user', content: asked },
    ...repair === undefined
      ? []
      : [{ role: 'assistant', content: clip(repair.reply, MAX_REPLY) }, { role: 'user', content: repairMessage(repair.problem, language) }]
  ]
  const inputChars = messages.reduce((sum, { content }) => sum + content.length, 0)
  const tokenBudget = inputChars > LONG_INPUT ? Math.min(SHORT_ANSWER, maxTokens) : maxTokens
  const fields = {
    ...(model === '' ? {} : { model }),
    temperature,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    max_tokens: tokenBudget,
    ...(isStrict && !state.isFormatRefused ? { response_format: { type: 'json_schema', json_schema: { name: 'plan_response', strict: true, schema } } } : {})
  }
  return { messages, fields, inputChars, tokenBudget }
}

/** UTF-16 units: every request of a plan carries this text. */
const MAX_BLOCK = 12 * 1024

/** Fixed by the plan protocol. */
const BLOCK_HEAD = 'ENGINEERING_MEMORY (trusted by user; update only when user requests):'
const BLOCK_FOOT = 'Use ENGINEERING_MEMORY as defaults. If user explicitly asks to change — suggest updating memory and show new JSON.'

/** Empty when nothing is remembered. */
export function memoryBlock (memory: Memory): string {
  const { user, project } = shortened(memory)
  const layers = { ...(Object.keys(user).length === 0 ? {} : { user }), ...(Object.keys(project).length === 0 ? {} : { project }) }
  if (Object.keys(layers).length === 0) return ''
  return `${BLOCK_HEAD}\n${stringifyJson(layers)}\n\n${BLOCK_FOOT}`
}

/** The longest fields are removed until the rest fits `MAX_BLOCK`. */
function shortened (memory: Memory): Memory {
  let { user, project } = memory
  while (stringifyJson({ user, project }).length > MAX_BLOCK) {
    const fields = [...Object.entries(user), ...Object.entries(project)]
    const [longest] = fields.toSorted(([, one], [, other]) => stringifyJson(other).length - stringifyJson(one).length)
    const without = (layer: JsonObject): JsonObject => Object.fromEntries(Object.entries(layer).filter(([, value]) => value !== longest?.[1]))
    ;[user, project] = [without(user), without(project)]
  }
  return { user, project }
}
