import { type Caller } from '../../../access/caller.ts'
import { mayGoOn } from '../../../access/may-run.ts'
import { definitionNotFound, sessionNotFound, targetNotFound, workspaceNotFound } from '../../../base/errors.ts'
import { isJsonObject } from '../../../base/json.ts'
import { KINDS } from '../../../registry/kind-table.ts'
import { rowOf } from '../../../session/effects.ts'
import { type Effect, type Start } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type SessionRunner } from '../../../session/run/runner.ts'
import { type Session } from '../../../session/session.ts'
import { isWanted, type Wanted } from '../kinds/session-kind.ts'

/**
 * The reason why a session's effect (an action) must not be performed for the session's owner, since the owner's token perhaps allows less now
 * than when the session began. `undefined` if the effect is allowed.
 */
export function refusalOf (
  owner: Caller,
  { start: { definition, owner: name }, engine }: Pick<Session, 'start' | 'engine'>,
  effect: Effect
): Extract<Outcome, { kind: 'failure' }> | undefined {
  const refuse = (what: string) => ({ kind: 'failure', code: 'OWNER_MAY_NOT', message: `the token "${name}" may not ${what} any more` } as const)
  const usesTerminal = effect.kind === 'shell' || (effect.kind === 'exec' && effect.terminal !== undefined)
  if (usesTerminal && !owner.roles.has('terminal')) return refuse('use terminals')
  if (effect.kind !== 'shell' && !owner.roles.has('run')) return refuse('run sessions')
  // Another agent has perhaps taken over the dialogue by now, and a child session has a definition of its own: each of these definitions must be allowed.
  const definitions = [definition, engine.view.definition, effect.kind === 'child' ? effect.definition : undefined]
  const forbidden = definitions.find(each => each !== undefined && !mayGoOn(owner, each))
  if (forbidden !== undefined) return refuse(`run ${forbidden}`)
  const place = rowOf(effect).place(effect)
  return place === undefined || mayReach(owner, place) ? undefined : refuse(`use "${place}"`)
}

/** Refuses a definition that the caller's token does not allow, as if it did not exist. @param definition as `agents/helper` @throws DEFINITION_NOT_FOUND */
export function requireAllowed (caller: Caller, definition: string): void {
  if (mayGoOn(caller, definition)) return
  const [kind = '', path = ''] = definition.split('/')
  throw definitionNotFound(KINDS.find(({ name }) => name === kind)?.noun ?? kind, path, [])
}

/**
 * Refuses to go on with a session if the caller's token does not allow its definition, target or workspace. A start of a session checks the same.
 * @throws DEFINITION_NOT_FOUND, TARGET_NOT_FOUND, WORKSPACE_NOT_FOUND
 */
export function requireUsable (caller: Caller, { start }: Session): void {
  requireAllowed(caller, start.definition)
  const place = placeOfSession(start)
  if (place !== undefined && !mayReach(caller, place)) throw start.definition.startsWith('plans/') ? workspaceNotFound(place, []) : targetNotFound(place, [])
}

/** Whether a caller is allowed to approve actions of a session. An approver's token can be limited to some definitions, targets and workspaces. */
export function isApprover (caller: Caller, { start }: Session): boolean {
  const place = placeOfSession(start)
  return caller.roles.has('approve') && mayGoOn(caller, start.definition) && (place === undefined || mayReach(caller, place))
}

/** Whether a session belongs to the caller. An admin counts as an owner of every session. @param session of which only the owner is read */
export function isOwn (caller: Caller, { start: { owner } }: { readonly start: Pick<Start, 'owner'> }): boolean {
  return owner === caller.name || caller.roles.has('admin')
}

/**
 * Loads a session that belongs to the caller.
 * @throws SESSION_NOT_FOUND, also for a session of somebody else, and for one that is not of the wanted kind
 */
export async function ownSession (runner: Pick<SessionRunner, 'load'>, caller: Caller, id: string, wanted: Wanted = 'any'): Promise<Session> {
  const session = isSessionId(id) ? await runner.load(id) : undefined
  if (session === undefined || !isOwn(caller, session) || !isWanted(session, wanted)) throw sessionNotFound(id)
  return session
}

/** Checks that a session belongs to the caller, reading only the beginning of its log. @returns the name of its owner @throws SESSION_NOT_FOUND */
export async function requireOwn (runner: Pick<SessionRunner, 'ownerOf'>, caller: Caller, id: string): Promise<string> {
  const owner = isSessionId(id) ? await runner.ownerOf(id) : undefined
  if (owner === undefined || !isOwn(caller, { start: { owner } })) throw sessionNotFound(id)
  return owner
}

/** Whether a text has the form of a session's id. It is checked first, as ids become names of files and keys. */
export function isSessionId (id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id)
}

/** Whether a caller's token allows a target or a workspace. */
function mayReach ({ targets }: Pick<Caller, 'targets'>, place: string): boolean {
  return targets?.allows(place) ?? true
}

/** The target (machine) or workspace (folder) on which a session works; `undefined` for none. */
function placeOfSession ({ setting }: Start): string | undefined {
  if (!isJsonObject(setting)) return undefined
  const { skill, terminal, workspace } = setting
  const on = isJsonObject(skill ?? null) ? skill : terminal
  const place = isJsonObject(on ?? null) ? (on as { readonly target?: unknown }).target : workspace
  return typeof place === 'string' && place !== '' ? place : undefined
}
