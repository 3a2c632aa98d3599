import { type Json, type JsonObject, listOf } from '../../base/json.ts'
import { isAtOrBelow } from '../../files/change/change-rules.ts'
import { normalisePath } from '../../files/path-rules.ts'
import { type Refused } from '../../session/engine.ts'
import { type Action } from '../../session/model.ts'
import { isConsent } from '../texts.ts'
import { type ChangedPath, type PlanState, type PlanStep } from './plan-state.ts'
import { routeMode } from './plan-setting.ts'

export const REMEMBER = /^\s*(?:remember|запомни)[\s.!]*$/i

const RETRY = /^\s*\/retry\s*$/i

const ACTIONS = ['apply', 'reject', 'undo', 'redo', 'commit', 'remember', 'retry']

export const LISTENING: ReadonlySet<PlanStep> = new Set<PlanStep>(['draft', 'planned', 'awaiting_confirmation', 'applied', 'undone'])

type Intent =
  | { readonly wants: 'plan' | 'apply', readonly words: string }
  | { readonly wants: 'reject' | 'write' | 'retry' }
  /** An empty message means the summary of the change. */
  | { readonly wants: 'commit', readonly message: string }
  /** `change`: another change than the one whose diff was shown. */
  | { readonly wants: 'goal' | 'change', readonly words: string }
  | { readonly wants: 'remember', readonly patch: JsonObject }
  /** `undefined` means the whole change. */
  | { readonly wants: 'undo' | 'redo', readonly paths: readonly string[] | undefined, readonly changes: readonly ChangedPath[] }

/** `undefined` for words that are for the model. @param changed paths that are recognised without the colon, too */
export function commandIn (line: string, changed: readonly ChangedPath[] = []): Action | undefined {
  const [head = '', word = ''] = /^\s*(undo|redo|reject|commit)(?![^\s:])/i.exec(line) ?? []
  const behind = head === '' ? '' : line.slice(head.length).trim()
  const hasColon = behind.startsWith(':')
  const [name, named] = [word.toLowerCase(), hasColon ? behind.slice(1).trimStart() : behind]
  if (name === 'commit') return { name, data: named === '' ? {} : { message: named } }
  if (named === '') return name === '' ? undefined : { name, data: {} }
  if (name !== 'undo' && name !== 'redo') return undefined
  return hasColon || pathsIn(named, changed).every(path => isOf(path, changed)) ? { name, data: { paths: named } } : undefined
}

export function intentOf (state: PlanState, text: string, action: Action | undefined): Intent | Refused {
  if (action === undefined && text.trim() === '') return invalid('expected words, or an action; got neither')
  if (action !== undefined && !ACTIONS.includes(action.name)) return invalid(`expected as action one of ${ACTIONS.join(', ')}, got ${quoteInput(action.name)}`)
  const command = action ?? typedCommand(state, text)
  return intentAnywhere(state, command?.name ?? wordOf(state, text) ?? '', command?.data ?? {}) ?? intentInStep(state, text, command)
}

function intentAnywhere (state: PlanState, name: string, data: JsonObject): Intent | Refused | undefined {
  switch (name) {
    case 'remember': return intentToRemember(state)
    case 'commit': return intentToCommit(state, data['message'])
    case 'retry': return LISTENING.has(state.step) && state.error !== undefined ? { wants: 'retry' } : busy('nothing has failed that could be asked for again')
    case 'undo':
    case 'redo': return intentOfChange(state, name, data)
    default: return undefined
  }
}

function intentInStep (state: PlanState, text: string, command: Action | undefined): Intent | Refused {
  switch (state.step) {
    case 'draft': return intentOfDraft(text, command)
    case 'planned': return intentOfPlan(text, command)
    case 'awaiting_confirmation': return intentOfHeld(state, text, command)
    case 'applied':
    case 'undone': return intentOfDone(state, text, command)
    default: return busy(`the plan is ${state.step}`)
  }
}

/** "commit …" is for the model while nothing can be committed. Older sessions know commands only right after a change. */
function typedCommand (state: PlanState, text: string): Action | undefined {
  const { step, applied, undone, setting: { schemaVersion, keepsUndo } } = state
  const isDone = step === 'applied' || step === 'undone'
  if (schemaVersion === 1 || (keepsUndo !== true && !isDone)) return undefined
  const command = commandIn(text, keepsUndo === true ? [...applied, ...undone] : [])
  if (command?.name === 'commit') return isDone || (step === 'planned' && applied.length > 0) ? command : undefined
  return keepsUndo === true || (command !== undefined && Object.keys(command.data).length === 0 && command.name !== 'reject') ? command : undefined
}

function wordOf ({ offered, error }: PlanState, text: string): 'remember' | 'retry' | undefined {
  if (offered !== undefined && REMEMBER.test(text)) return 'remember'
  return error !== undefined && RETRY.test(text) ? 'retry' : undefined
}

function intentToRemember ({ step, offered }: PlanState): Intent | Refused {
  if (!LISTENING.has(step)) return busy(`the plan is ${step}`)
  return offered === undefined ? busy('there is nothing to remember') : { wants: 'remember', patch: offered }
}

function intentOfDraft (text: string, action: Action | undefined): Intent | Refused {
  if (action === undefined) return { wants: 'goal', words: text.trim() }
  return action.name === 'reject' ? { wants: 'reject' } : busy(`there is nothing to ${action.name}`)
}

/** In schema 1 another goal needs another session. */
function intentOfDone (state: PlanState, text: string, action: Action | undefined): Intent | Refused {
  const words = text.trim()
  if (action === undefined && state.setting.schemaVersion !== 1) return { wants: 'goal', words }
  return intentOfChange(state, action?.name ?? words.toLowerCase(), action?.data ?? {})
}

/** @param given @default the summary of the change */
function intentToCommit ({ step, applied, setting: { commit, workspace } }: PlanState, given: Json | undefined): Intent | Refused {
  if (commit === 'never') {
    const message = `Nothing is committed in the workspace "${workspace}" by this plan: its operator and its profile would have to allow that`
    return { kind: 'disabled', message }
  }
  if ((step !== 'applied' && step !== 'planned') || applied.length === 0) return busy('there is nothing to commit')
  if (given !== undefined && typeof given !== 'string') return invalid(`message: expected a text, got ${quoteInput(given)}`)
  return { wants: 'commit', message: (given ?? '').trim() }
}

function intentOfHeld ({ step, held }: PlanState, text: string, action: Action | undefined): Intent | Refused {
  if (held === undefined) return busy(`the plan is ${step}`)
  if (action === undefined) {
    if (/^\s*reject\s*$/i.test(text)) return { wants: 'reject' }
    return isConsent(text) ? { wants: 'write' } : { wants: 'change', words: text.trim() }
  }
  if (action.name === 'reject') return { wants: 'reject' }
  if (action.name !== 'apply') return busy(`there is nothing to ${action.name}`)
  const { digest } = action.data
  return digest === undefined || digest === held.digest ? { wants: 'write' } : { kind: 'outdated', message: 'the diff is another one by now; look at it again' }
}

function intentOfPlan (text: string, action: Action | undefined): Intent | Refused {
  if (action?.name === 'reject') return { wants: 'reject' }
  if (action?.name === 'apply') return { wants: 'apply', words: text.trim() }
  if (action !== undefined) return busy(`there is nothing to ${action.name}`)
  const { mode, goal, isExplicit, isConsent } = routeMode(text, true)
  if (isConsent || (isExplicit && mode === 'apply')) return { wants: 'apply', words: goal }
  return goal === '' ? invalid('expected words behind "plan:", got none') : { wants: 'plan', words: goal }
}

function intentOfChange ({ step, applied, undone, held }: PlanState, name: string, { paths: given }: JsonObject): Intent | Refused {
  if (name !== 'undo' && name !== 'redo') return busy(`the plan is ${step}; it takes "undo" and "redo", and another goal is another session`)
  if (!LISTENING.has(step) || (step === 'awaiting_confirmation' && held === undefined)) return busy(`the plan is ${step}`)
  const changes = name === 'undo' ? applied : undone
  if (changes.length === 0) return busy(`there is nothing to ${name}`)
  if (given === undefined) return { wants: name, paths: undefined, changes }
  const named = typeof given === 'string' ? pathsIn(given, changes) : listOf(given)
  const wrong = named.findIndex(path => !isOf(path, changes))
  if (named.length === 0 || wrong >= 0) {
    return invalid(`paths: expected paths of this change, such as ${quoteInput(changes[0]?.path)}, got ${quoteInput(wrong >= 0 ? named[wrong] : given)}`)
  }
  const paths = named.flatMap(path => plainPath(path) ?? [])
  return { wants: name, paths, changes: changes.filter(({ path }) => paths.some(each => isAtOrBelow(path, each))) }
}

/** One path with blanks, or several with blanks or commas between, each in quotes or not. */
function pathsIn (words: string, changes: readonly ChangedPath[]): readonly string[] {
  if (isOf(words, changes)) return [words]
  return Array.from(words.matchAll(/"([^"]+)"|'([^']+)'|([^\s,"']+)/g), ([, double, single, plain = '']) => double ?? single ?? plain)
}

function isOf (path: Json, changes: readonly ChangedPath[]): boolean {
  const plain = plainPath(path)
  return plain !== undefined && changes.some(change => isAtOrBelow(change.path, plain))
}

function plainPath (path: Json): string | undefined {
  const normalised = typeof path === 'string' ? normalisePath(path) : undefined
  return normalised !== undefined && 'path' in normalised ? normalised.path : undefined
}

function quoteInput (value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 200)
}

function busy (message: string): Refused {
  return { kind: 'busy', message }
}

function invalid (message: string): Refused {
  return { kind: 'invalid', message }
}
