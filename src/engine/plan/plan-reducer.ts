import { type JsonObject, listOf, objectsIn, stringifyJson } from '../../base/json.ts'
import { memoryIn, readPatch } from '../../files/memory-rules.ts'
import { loggedAnswer } from '../../llm/history.ts'
import type { Action } from '../../session/model.ts'
import { clip } from '../clip.ts'
import { type Ended, renderText } from '../reducer.ts'
import { cutProblem, type Locale, PLAN_TEXTS, refusedText } from '../texts.ts'
import {
  autoContext, basesIn, contextBlockOf, memoryBlock, notWritten, repairMessage, roundsMessage, systemMessage, wholeIn, writeContext
} from './messages.ts'
import { type AskModel, cannotGoOn, dropChange, giveUp, isMending, nothingToDo, onChangeEnded, runFix, writeHeld } from './change.ts'
import { answersTo, keyOf, lookUp, NO_CACHE, normaliseRequest } from './cycle-cache.ts'
import { judgeReply } from './judge-reply.ts'
import type { PlanProblem, PlanReply } from './parse-plan.ts'
import { intentOf, LISTENING } from './plan-input.ts'
import type { ContextEntry, PendingRead, PlanState } from './plan-state.ts'
import { awaitEffect, emitPlanText, emitProblem, fail, goTo, keepError, listen, listenAfterChange, log, mayRepair, type PlanTurn } from './plan-turn.ts'
import { routeMode } from './plan-setting.ts'
import { commit, doAgain, listenAfterCommit, preview, takeBack } from './undo.ts'

/** In ms. */
const TIMEOUTS = { read: 30_000, remember: 10_000 } as const

/** Reads for one answer: the limits of the context would drop further texts anyway. */
const MAX_REQUESTS = 16

/** One read returns no more lines. */
const MAX_LINES = 5000

/** The API does not support `response_format`. */
const FORMAT_REFUSED = /response_format|json_schema|unknown field|not supported/i

/** The memory and the files that the user's words mention are read before the model is asked. */
export function start (turn: PlanTurn): void {
  const { words, report, context, fix, setting: { schemaVersion }, mode } = turn.state
  if (fix !== undefined) return runFix(turn, fix)
  const auto = autoContext(words, report).map((each): PendingRead => each)
  // Read again: the files may have changed since.
  const again = context.flatMap(({ key, block }) => block?.section === 'FULFILLED_CONTEXT' ? [reading(JSON.parse(key) as JsonObject)] : [])
  const root = schemaVersion === 1 ? [] : [reading({ type: 'list' })]
  turn.set({ context: [], cache: NO_CACHE, rounds: 0, repair: undefined, hasRepaired: false, reply: undefined })
  goTo(turn, mode === 'plan' ? 'planning' : 'applying')
  read(turn, [reading({ type: 'memory' }), ...root, ...auto, ...again])
}

export function onInput (turn: PlanTurn, text: string, action?: Action): void {
  const intent = intentOf(turn.state, text, action)
  if ('kind' in intent) return LISTENING.has(turn.state.step) ? listen(turn) : undefined
  const isAboutRound = ['write', 'change', 'retry', 'reject', 'remember'].includes(intent.wants)
  turn.set({ error: undefined, conflicts: [], used: 0, failedCheck: isAboutRound ? turn.state.failedCheck : '', lastActions: '' })
  switch (intent.wants) {
    case 'write': return writeHeld(turn)
    case 'retry': return retry(turn)
    case 'goal': return nextGoal(turn, intent.words)
    case 'change': return askForAnother(turn, intent.words)
    case 'commit': return commit(turn, intent.message)
    case 'reject': return dropChange(turn)
    case 'remember': return remember(turn, 'accept', intent.patch)
    case 'plan':
      turn.set({ mode: 'plan', words: intent.words, goal: intent.words })
      return start(turn)
    case 'apply': return carryOut(turn, intent.words)
    // An undo needs no consent, even where it deletes a created file; a redo of deletions does.
    case 'undo': return takeBack(turn, 'undo', intent.paths)
    case 'redo': return doAgain(turn, intent.paths)
  }
}

/** @param words a new goal; empty when the user only agrees with the plan */
function carryOut (turn: PlanTurn, words: string): void {
  const { goal } = turn.state
  const said = words === '' ? { words: 'apply', goal } : { words, goal: words }
  turn.set({ ...said, mode: 'apply', hasRepaired: false, repair: undefined, rounds: 0, agreed: [], hasApplied: false })
  goTo(turn, 'applying')
  askModel(turn)
}

function nextGoal (turn: PlanTurn, words: string): void {
  const { mode = 'plan', goal } = routeMode(words, false)
  turn.set({ mode, isDirect: mode === 'apply', words: goal, goal, agreed: [], hasApplied: false, plan: undefined, exchanges: [], report: '' })
  start(turn)
}

function askForAnother (turn: PlanTurn, said: string): void {
  const { words, reply, exchanges, setting: { language } } = turn.state
  const before = reply === undefined ? exchanges : [...exchanges, { words, reply: stringifyJson(reply.json) }]
  turn.set({ held: undefined, exchanges: before, words: notWritten(language, said), rounds: 0 })
  goTo(turn, 'applying')
  askModel(turn)
}

export function onApproved (turn: PlanTurn, effect: string): void {
  const { awaits } = turn.state
  if (awaits?.effect !== effect) return
  goTo(turn, 'applying')
  turn.set({ awaits, error: undefined })
}

/** A refused change ends the plan; after a refused redo or commit it waits for its user. */
export function onRejected (turn: PlanTurn, effect: string): void {
  const { awaits, setting: { keepsUndo } } = turn.state
  if (awaits?.effect !== effect) return
  turn.set({ error: undefined })
  switch (awaits.purpose) {
    case 'apply': return keepsUndo === true ? dropChange(turn) : goTo(turn, 'rejected')
    case 'redo': return listenAfterChange(turn)
    case 'commit': return listenAfterCommit(turn)
    default: return onEnded(turn, effect, { failure: 'refused by a person', code: 'REFUSED' })
  }
}

export function onEnded (turn: PlanTurn, effect: string, ended: Ended): void {
  const { awaits } = turn.state
  if (awaits?.effect !== effect) return
  turn.set({ awaits: undefined })
  switch (awaits.purpose) {
    case 'context': return onRead(turn, ended)
    case 'model': return onAnswered(turn, ended)
    case 'remember': return onRemembered(turn, ended)
    case 'accept': return onAccepted(turn, ended)
    default: {
      const asked = onChangeEnded(turn, awaits.purpose, ended, effect)
      if (asked === 'first') start(turn)
      else if (asked !== undefined) askAgain(turn, asked)
    }
  }
}

function read (turn: PlanTurn, pending: readonly PendingRead[]): void {
  const { setting: { workspace } } = turn.state
  turn.set({ pending })
  const requests = pending.flatMap(each => each.requests)
  awaitEffect(turn, 'context', turn.begin('read', { from: { workspace }, requests, timeout: TIMEOUTS.read }))
}

function onRead (turn: PlanTurn, ended: Ended): void {
  // Before the first request for files there is perhaps no workspace; later the model goes on without them.
  if ('failure' in ended && turn.state.rounds === 0) return fail(turn, { code: ended.code, message: ended.failure })
  for (const problem of problemsIn(ended)) {
    log(turn, 'warning', 'MEMORY_UNUSABLE', { reason: problem })
    turn.emitText(problem)
  }
  turn.state = recordRead(turn.state, ended)
  if (turn.state.mode === 'apply') goTo(turn, 'applying')
  askModel(turn)
}

function askModel (turn: PlanTurn): void {
  const { setting, context, bases, whole, mode } = turn.state
  const blocks = context.flatMap(({ block }) => block ?? [])
  const { text, diet } = writeContext(blocks, setting.limits)
  const { length: files } = diet.blocks
  const { dropped, truncated, logsChars } = diet
  const totalChars = text.length
  if (dropped > 0 || truncated > 0) log(turn, 'warning', 'CONTEXT_DIET_APPLIED', { files, dropped, truncated, total_chars: totalChars })
  turn.set({
    stats: { files, dropped, truncated, totalChars, logsChars },
    bases: { ...bases, ...basesIn(diet.blocks) },
    whole: wholeIn(whole, blocks, diet.blocks)
  })
  const { messages, fields, inputChars, tokenBudget } = modelRequest(turn.state, text)
  log(turn, 'debug', 'LLM_REQUEST_SENT', { token_budget: tokenBudget, input_chars: inputChars })
  awaitEffect(turn, 'model', turn.begin('llm', { purpose: mode, messages, fields, timeout: setting.timeout }))
}

function onAnswered (turn: PlanTurn, ended: Ended): void {
  if ('failure' in ended) return onModelFailed(turn, ended.failure, ended.code)
  const answer = loggedAnswer(ended.value)
  if (answer === undefined) return onModelFailed(turn, 'the answer has no message', 'LLM_ERROR')
  const { text, refusal, cut, finishReason } = answer
  log(turn, 'debug', 'LLM_RESPONSE_OK', { output_chars: text.length })
  const { setting: { isStrict, schema, schemaHash, language }, isFormatRefused } = turn.state
  if (refusal !== '') return fail(turn, { code: 'MODEL_REFUSED', message: refusedText(language, refusal) })
  if (cut) return repair(turn, text, { code: 'ERR_ANSWER_CUT', message: cutProblem(finishReason) })
  const judged = judgeReply(text, { ...turn.state, strict: isStrict && !isFormatRefused ? { schema, hash: schemaHash } : undefined }, answer.isEarlier)
  switch (judged.verdict) {
    case 'repair': return repair(turn, text, judged.problem)
    case 'read': return readMore(turn, judged.reply)
    case 'read-bases': return readNew(turn, judged.paths.map(path => ({ type: 'read_file', path })))
    case 'take': return take(turn, judged.reply)
  }
}

function onModelFailed (turn: PlanTurn, reason: string, code: string): void {
  const { setting: { isStrict }, isFormatRefused } = turn.state
  if (isStrict && !isFormatRefused && FORMAT_REFUSED.test(reason)) {
    log(turn, 'warning', 'LLM_RESPONSE_FORMAT_FALLBACK')
    turn.set({ isFormatRefused: true })
    return askModel(turn)
  }
  if (code === 'TIMEOUT') log(turn, 'error', 'LLM_REQUEST_TIMEOUT')
  fail(turn, { code: 'LLM_ERROR', message: reason })
}

/** In schema 1 the second rejected answer ends the plan; in schema 2 the settings limit repairs. */
function repair (turn: PlanTurn, reply: string, problem: PlanProblem): void {
  const { hasRepaired, used, setting: { schemaVersion } } = turn.state
  log(turn, 'warning', 'VALIDATION_FAILED', { code: problem.code })
  if (schemaVersion === 1 ? hasRepaired : !mayRepair(turn)) return cannotGoOn(turn, problem)
  keepError(turn, problem)
  log(turn, 'warning', 'LLM_RESPONSE_REPAIR_RETRY', { code: problem.code })
  turn.set({ repair: { reply, problem }, hasRepaired: true, used: used + 1 })
  askModel(turn)
}

function askAgain (turn: PlanTurn, { problem, paths }: Exclude<AskModel, 'first'>): void {
  const { reply, words, exchanges, context, used } = turn.state
  const json = reply === undefined ? '' : stringifyJson(reply.json)
  if (problem !== undefined) keepError(turn, problem)
  turn.set({
    used: used + 1,
    repair: problem === undefined ? undefined : { reply: json, problem },
    exchanges: problem === undefined ? [...exchanges, { words, reply: json }] : exchanges,
    context: context.filter(({ block }) => block?.base === undefined || !paths.includes(block.base.path))
  })
  if (paths.length === 0) askModel(turn)
  else read(turn, paths.slice(0, MAX_REQUESTS).map(path => reading({ type: 'read_file', path, end_line: MAX_LINES })))
}

function retry (turn: PlanTurn): void {
  const { mode, plan } = turn.state
  if (mode === 'plan' || plan === undefined) return start(turn)
  goTo(turn, 'applying')
  askModel(turn)
}

function readMore (turn: PlanTurn, { requests }: PlanReply): void {
  const wanted: JsonObject[] = []
  for (const asked of requests.slice(0, MAX_REQUESTS)) {
    const normalised = normaliseRequest(asked)
    if ('request' in normalised) wanted.push(normalised.request)
    else know(turn, { key: keyOf({ ...asked }), block: contextBlockOf({ type: 'missing', request: { ...asked }, reason: normalised.reason }, undefined) })
  }
  readNew(turn, wanted)
}

/** What was read since the user's last message is in the cache. */
function readNew (turn: PlanTurn, wanted: readonly JsonObject[]): void {
  const { requests, missed, cache } = lookUp(wanted, turn.state)
  for (const { key, isHit } of requests) log(turn, 'debug', isHit ? 'CONTEXT_CACHE_HIT' : 'CONTEXT_CACHE_MISS', { key })
  turn.set({ cache, rounds: turn.state.rounds + 1, repair: undefined })
  if (missed.length === 0) askModel(turn)
  else read(turn, missed.map(reading))
}

function know (turn: PlanTurn, entry: ContextEntry): void {
  const { context } = turn.state
  if (!context.some(({ key }) => key === entry.key)) turn.set({ context: [...context, entry] })
}

function take (turn: PlanTurn, reply: PlanReply): void {
  const { mode, setting: { language, remembers } } = turn.state
  const summary = summaryOf(reply, language)
  log(turn, 'debug', 'LLM_PLAN_OK', { mode, actions: reply.actions.length })
  turn.set({ reply, summary, repair: undefined })
  turn.emitText(summary)
  turn.emit('message', { role: 'assistant', content: summary, mode })
  const { patch, refused } = readPatch(reply.patch)
  if (refused.length > 0) {
    const named = refused.slice(0, 10).map(({ name, reason }) => ({ name: clip(name, 60), reason }))
    log(turn, 'warning', 'MEMORY_PATCH_DROPPED', { keys: named.map(({ name }) => name).join(',') })
    emitPlanText(turn, 'planNotRemembered', { list: named.map(({ name, reason }) => `${name} (${reason})`).join('; ') })
  }
  if (Object.keys(patch).length === 0) return proceed(turn)
  turn.emit('memory', { patch, isApplied: false, ...(remembers ? {} : { isOffered: true }) })
  if (remembers) return remember(turn, 'remember', patch)
  turn.set({ offered: patch })
  proceed(turn)
}

/** @param purpose `accept`: the user has agreed; `remember`: nobody was asked */
function remember (turn: PlanTurn, purpose: 'remember' | 'accept', patch: JsonObject): void {
  const { setting: { workspace } } = turn.state
  awaitEffect(turn, purpose, turn.begin('remember', { workspace, patch, timeout: TIMEOUTS.remember }))
}

/** The plan goes on even when they could not be stored. */
function onRemembered (turn: PlanTurn, ended: Ended): void {
  if ('failure' in ended) {
    log(turn, 'warning', 'MEMORY_PATCH_FAILED', { code: ended.code })
    emitPlanText(turn, 'planNotRemembered', { list: ended.failure })
  } else turn.emit('memory', { patch: readPatch(turn.state.reply?.patch ?? {}).patch, isApplied: true })
  proceed(turn)
}

function onAccepted (turn: PlanTurn, ended: Ended): void {
  const { offered = {}, reply, mode, step } = turn.state
  if ('failure' in ended) {
    emitProblem(turn, { code: ended.code, message: ended.failure })
    return listen(turn)
  }
  turn.set({ offered: undefined })
  turn.emit('memory', { patch: offered, isApplied: true })
  // An answer with nothing but preferences: the plan is done.
  if (step === 'planned' && mode === 'apply' && reply?.actions.length === 0) goTo(turn, 'no_changes')
  else listen(turn)
}

function proceed (turn: PlanTurn): void {
  const { mode, reply, words, exchanges, bases, context, offered, setting: { eol, limits } } = turn.state
  if (reply === undefined) return
  if (mode === 'plan') {
    const json = stringifyJson(reply.json)
    const { text } = writeContext(context.flatMap(({ block }) => block ?? []), limits)
    turn.set({ plan: { json, context: text }, exchanges: [...exchanges, { words, reply: json }] })
  } else if (reply.actions.length > 0) {
    turn.set({ held: undefined })
    const known = Object.fromEntries(reply.actions.flatMap(({ path }) => Object.hasOwn(bases, path) ? [[path, bases[path] as string]] : []))
    return preview(turn, { do: { actions: reply.actions.map(action => ({ ...action })), bases: known, eol } })
  } else {
    if (isMending(turn)) return giveUp(turn)
    if (offered === undefined) return nothingToDo(turn)
  }
  goTo(turn, 'planned')
  listen(turn)
}

function problemsIn (ended: Ended): readonly string[] {
  const memory = 'value' in ended ? objectsIn(ended.value, 'blocks').find(({ type }) => type === 'memory') : undefined
  return listOf(memory?.['problems']).filter(each => typeof each === 'string')
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

function modelRequest (state: PlanState, context: string) {
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
