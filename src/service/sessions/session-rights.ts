import type { Caller, Role } from '../../access/caller.ts'
import { mayRunDefinition, RELEASES } from '../../access/rights.ts'
import { definitionNotFound, roleMissing, sessionNotFound, targetNotFound, workspaceNotFound } from '../../base/errors.ts'
import { isJsonObject, type Json, objectOf, ownField } from '../../base/json.ts'
import { KINDS } from '../../registry/kind-table.ts'
import { type Outcome, rowOf } from '../../session/effects.ts'
import { type Effect, type Start } from '../../session/model.ts'
import { type SessionRunner } from '../../session/runner.ts'
import { type Session } from '../../session/session.ts'
import { isRequestedKind, type RequestedKind } from './session-kind.ts'
import { MANUAL } from './skill-sessions.ts'
import { definitionsIn } from './kind-table.ts'

export type EffectFailure = Extract<Outcome, { kind: 'failure' }>

interface NeededRights {
  readonly roles: readonly Role[]
  readonly definitions: readonly string[]
  readonly places: readonly string[]
}

/** Where the log says so: the agent that has taken the session over, or the effect that is decided about. */
interface Going {
  readonly engine?: Session['engine'] | undefined
  readonly effect?: Effect | undefined
}

function needsOfOwner (start: Start, going: Going): NeededRights {
  const needs = needsOf(start, going)
  // A child session is there only because of those above it.
  return { ...needs, definitions: [...(start.parent?.line ?? []).map(({ definition }) => definition), ...needs.definitions] }
}

function needsOf (start: Start, { engine, effect }: Going): NeededRights {
  const { definition } = start
  const isTerminal = definition.startsWith('terminals/')
  const role = definition.startsWith(`${RELEASES}/`) ? 'write' : 'run'
  const usesTerminal = isTerminal || terminalOf(start) !== undefined || (effect?.kind === 'exec' && effect.terminal !== undefined)
  return {
    roles: [...isTerminal ? [] : [role] as const, ...usesTerminal ? ['terminal'] as const : []],
    definitions: [definition, engine?.view.definition, effect?.kind === 'child' ? effect.definition : undefined].filter(each => each !== undefined),
    places: [placeOfSession(start), effect === undefined ? undefined : placeOfEffect(start, effect)].filter(each => each !== undefined)
  }
}

function lackOf (
  caller: Caller, { roles, definitions, places }: NeededRights
): { readonly kind: 'role' | 'definition' | 'place', readonly name: string } | undefined {
  const role = roles.find(each => !caller.roles.has(each))
  if (role !== undefined) return { kind: 'role', name: role }
  const definition = definitions.find(each => !mayRunDefinition(caller, each))
  if (definition !== undefined) return { kind: 'definition', name: definition }
  const place = places.find(each => caller.targets?.allows(each) === false)
  return place === undefined ? undefined : { kind: 'place', name: place }
}

const WITH_ROLE: Readonly<Record<string, string>> = { terminal: 'use terminals', write: 'move labels' }

/** The owner's token may allow less now than at the start; `owner` is `undefined` if it has been removed. */
export function refusalOf (owner: Caller | undefined, { start, engine }: Pick<Session, 'start' | 'engine'>, effect: Effect): EffectFailure | undefined {
  if (owner === undefined) return ownerGone(start.owner)
  const lack = lackOf(owner, needsOfOwner(start, { engine, effect }))
  if (lack === undefined) return undefined
  const { kind, name } = lack
  const what = kind === 'place' ? `use "${name}"` : kind === 'definition' ? `run ${name}` : WITH_ROLE[name] ?? 'run sessions'
  return { kind: 'failure', code: 'OWNER_MAY_NOT', message: `the token "${start.owner}" may not ${what} any more` }
}

export function ownerGone (owner: string): EffectFailure {
  return { kind: 'failure', code: 'OWNER_GONE', message: `there is no token "${owner}" any more` }
}

/** What is not allowed does not exist for the caller. @throws ROLE_MISSING, DEFINITION_NOT_FOUND, TARGET_NOT_FOUND, WORKSPACE_NOT_FOUND */
export function requireUsable (caller: Caller, start: Start, going: Going = {}): void {
  const lack = lackOf(caller, needsOfOwner(start, going))
  if (lack === undefined) return
  const { kind, name } = lack
  if (kind === 'role') throw roleMissing(caller.name, name, [...caller.roles])
  if (kind === 'place') throw start.definition.startsWith('plans/') ? workspaceNotFound(name, []) : targetNotFound(name, [])
  const [kindName = '', path = ''] = name.split('/')
  throw definitionNotFound(KINDS.find(each => each.name === kindName)?.noun ?? kindName, path, [])
}

/** An approver's token can be limited to definitions, targets and workspaces: session and action have to be among them. */
export function isApprover (caller: Caller, { start, engine }: Pick<Session, 'start' | 'engine'>, effect?: Effect): boolean {
  return lackOf(caller, { ...needsOf(start, { engine, effect }), roles: ['approve'] }) === undefined
}

/** An admin counts as an owner of every session. */
export function isOwn (caller: Caller, { start: { owner } }: { readonly start: Pick<Start, 'owner'> }): boolean {
  return owner === caller.name || caller.roles.has('admin')
}

/** @throws SESSION_NOT_FOUND, also for a session of somebody else, and for one that is not of the wanted kind */
export async function ownSession (runner: Pick<SessionRunner, 'load'>, caller: Caller, id: string, wanted: RequestedKind = 'any'): Promise<Session> {
  const session = isSessionId(id) ? await runner.load(id) : undefined
  if (session === undefined || !isOwn(caller, session) || !isRequestedKind(session, wanted)) throw sessionNotFound(id)
  return session
}

/** Reads only the beginning of the log. @throws SESSION_NOT_FOUND */
export async function requireOwn (runner: Pick<SessionRunner, 'ownerOf'>, caller: Caller, id: string): Promise<string> {
  const owner = isSessionId(id) ? await runner.ownerOf(id) : undefined
  if (owner === undefined || !isOwn(caller, { start: { owner } })) throw sessionNotFound(id)
  return owner
}

/** Checked first, as ids become names of files and keys. */
export function isSessionId (id: string): boolean {
  return /^[0-9a-f]{32}$/.test(id)
}

/** Also where the user runs the commands by hand. */
function placeOfSession ({ setting }: Pick<Start, 'setting'>): string | undefined {
  const { skill, terminal, workspace } = objectOf(setting)
  if (isJsonObject(skill)) return nameIn(skill['target']) ?? (terminalOf({ setting }) === undefined ? nameIn(skill['terminal']) : undefined)
  return nameIn(isJsonObject(terminal) ? terminal['target'] : workspace)
}

function placeOfEffect (start: Start, effect: Effect): string | undefined {
  const place = rowOf(effect).place(effect)
  if (effect.kind !== 'child' || effect.place !== undefined) return place
  const definitions = definitionsIn(start)
  const found = ownField(definitions, effect.definition)
  return found?.kind === 'skills' ? nameIn(found.skill.options.target) : undefined
}

function terminalOf ({ setting }: Pick<Start, 'setting'>): string | undefined {
  const terminal = ownField(ownField(setting, 'skill'), 'terminal')
  return typeof terminal === 'string' && isSessionId(terminal) ? terminal : undefined
}

function nameIn (value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' && value !== MANUAL ? value : undefined
}
