import type { Caller } from '../../access/caller.ts'
import { requestInvalid, roleMissing, sessionBusy } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import type { Generation } from '../../registry/generation.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { skillKind } from '../../registry/kinds/skill-kind.ts'
import { wholeSkillText } from '../../registry/kinds/skill-definition.ts'
import type { Service } from '../../service.ts'
import { findDefinition, seekDefinition } from '../../service/choose-prompt.ts'
import type { SeenApproval, RequestContext } from '../../service/sessions/session-service.ts'
import { MANUAL } from '../../service/sessions/skill-sessions.ts'
import { isForeignPath } from '../../service/sessions/offers.ts'
import { resultOf } from '../../session/engine.ts'
import type { FeedItem } from '../../session/follow.ts'
import { ENDED, type Notice, type LogEntry } from '../../session/model.ts'
import { toPath } from '../../store/store.ts'
import { catalogueOf } from '../routes/offers.ts'
import type { SocketPeer, SocketConnection } from './socket-connection.ts'
import type { ClientFrame, FrameOf } from './frames.ts'

export type SkillServices = Pick<Service, 'sessions' | 'sessionKinds' | 'publisher' | 'offers' | 'terminals'>

interface SocketSkillOptions {
  readonly connection: SocketConnection
  readonly client: SocketPeer
  readonly services: SkillServices
  /** Begins behind the log entry `after`, ends when the client has left. @throws SESSION_NOT_FOUND */
  readonly follow: (id: string, after: number) => Promise<AsyncGenerator<FeedItem>>
  readonly signal: AbortSignal
  /** The client can no longer follow, although the session has not ended. */
  readonly onLost: (error: unknown, type: 'skill_error') => void
  /** The id of the terminal that the client has open, if any. */
  readonly terminal: () => string | undefined
}

/** For one client over its WebSocket, one skill at a time. */
export class SocketSkill {
  readonly #options: SocketSkillOptions
  #session: string | undefined
  #shown: string | undefined

  constructor (options: SocketSkillOptions) {
    this.#options = options
  }

  /** Handles a frame that concerns skills; others are none of its business. @throws ServiceError */
  async take (frame: ClientFrame): Promise<void> {
    switch (frame.type) {
      case 'skill_invoke': return await this.#invoke(frame)
      case 'skill_resume': return await this.#follow((await this.#sessions.get(this.#skills, this.#caller, frame.sessionId)).id)
      case 'skill_user_input': return await this.#hear(frame)
      case 'skill_command_result': return await this.#report(frame)
      case 'skill_approve': return await this.#approve(frame)
      case 'skill_reject': return await this.#skip(frame)
      case 'skill_skip': return await this.#skip(frame)
      case 'skill_cancel': return await this.#cancel()
      case 'skills_list': return await this.#list(frame)
      case 'skill_get_content': return await this.#show(frame)
      case 'skill_create': await this.#create(frame)
    }
  }

  get #caller (): Caller {
    return this.#options.client.caller()
  }

  get #sessions (): Service['sessions'] {
    return this.#options.services.sessions
  }

  get #skills (): Service['sessionKinds']['skills'] {
    return this.#options.services.sessionKinds.skills
  }

  /** `patience: 0`: the client follows the session's events anyway. */
  get #visitor (): RequestContext {
    const { client: { requestId }, signal } = this.#options
    return { caller: this.#caller, requestId, signal, patience: 0 }
  }

  async #invoke ({ name, path, source, params, prompt, target, terminalSessionId, execution }: FrameOf<'skill_invoke'>): Promise<void> {
    const current = this.#session === undefined ? undefined : await this.#sessions.get(this.#skills, this.#caller, this.#session)
    if (current !== undefined && !ENDED.has(current.status)) throw sessionBusy(current.id, current.status, 'a skill is being carried out; cancel it first')
    const generation = this.#options.client.generation()
    const file = named(path)
    const wanted = named(name) ?? file
    if (wanted === undefined) throw unnamed()
    const { session } = await this.#sessions.start(this.#skills, this.#visitor, generation, {
      id: idOfName(generation, wanted) ?? wanted,
      path: file === undefined || isForeignPath(file) ? file : idOfName(generation, file),
      source: source ?? undefined,
      params: (params ?? {}) as JsonObject,
      prompt: prompt ?? '',
      target: terminalSessionId ?? target ?? this.#options.terminal(),
      execution,
      autoContinue: true
    })
    await this.#follow(session.id)
  }

  async #follow (id: string): Promise<void> {
    this.#session = id
    this.#shown = undefined
    const { connection, follow, onLost } = this.#options
    connection.send({ type: 'skill_session', sessionId: id })
    const events = await follow(id, 0)
    const pump = async (): Promise<void> => {
      for await (const each of events) {
        // The client now follows another session over this socket.
        if (this.#session !== id) return
        for (const frame of 'live' in each ? skillFrames.live(each.live) : skillFrames.of(each.transition)) connection.send(frame)
        if ('transition' in each) this.#note(each.transition)
      }
    }
    void pump().catch((error: unknown) => { onLost(error, 'skill_error') })
  }

  #note ({ notices }: LogEntry): void {
    for (const { type, data } of notices) if (type === 'approval') this.#shown = data['decision'] === undefined ? data['id'] as string : undefined
  }

  /** `skill:cancel` ends the skill; `skill:skip` skips the approval named or shown last; any other text goes to the skill. */
  async #hear ({ text, approvalId, digest }: FrameOf<'skill_user_input'>): Promise<void> {
    const word = text.trim().toLowerCase()
    if (word === 'skill:cancel') return await this.#cancel()
    const isNamed = approvalId !== undefined || digest !== undefined
    if (word === 'skill:skip') return await this.#skip(isNamed ? { approvalId, digest } : { approvalId: this.#shown })
    await this.#sessions.say(this.#skills, this.#visitor, this.#current(), { text })
  }

  async #report ({ stdout, stderr, exitCode }: FrameOf<'skill_command_result'>): Promise<void> {
    const { services: { terminals } } = this.#options
    const { terminal } = resultOf(await this.#sessions.getUsable(this.#skills, this.#caller, this.#current()), SKILL)
    const printed = terminals.outputOf(this.#caller, terminal, stdout ?? '')
    const result = { stdout: printed, stderr: stderr ?? '', exitCode: exitCode ?? 0 }
    await this.#sessions.say(this.#skills, this.#visitor, this.#current(), { action: { name: 'command_result', data: result } })
  }

  /** A session's owner may skip; only an approver may let a command run. */
  async #skip ({ approvalId, digest }: SeenApproval): Promise<void> {
    await this.#sessions.refuse(this.#skills, this.#visitor, this.#current(), { action: { name: 'skip', data: {} } }, { approvalId, digest })
  }

  async #approve ({ approvalId, digest, command }: FrameOf<'skill_approve'>): Promise<void> {
    await this.#sessions.approve(this.#skills, this.#visitor, this.#current(), { approvalId, digest, command })
  }

  async #cancel (): Promise<void> {
    await this.#sessions.cancel(this.#skills, this.#caller, this.#current())
  }

  /** @throws SESSION_BUSY when no skill was invoked over this socket */
  #current (): string {
    if (this.#session === undefined) throw sessionBusy('', 'idle', 'no skill is being carried out; send skill_invoke')
    return this.#session
  }

  async #list ({ target }: FrameOf<'skills_list'>): Promise<void> {
    const { client, connection, services: { offers } } = this.#options
    connection.send({ type: 'skills_list', ...catalogueOf(client.generation(), await offers.skills(client.caller(), placeOf(target))) })
  }

  async #show ({ name, path, source, target }: FrameOf<'skill_get_content'>): Promise<void> {
    const { client, connection, services: { offers } } = this.#options
    const [caller, generation] = [client.caller(), client.generation()]
    if (!caller.roles.has('read')) throw roleMissing(caller.name, 'read', [...caller.roles])
    const wanted = named(path) ?? named(name)
    if (wanted === undefined) throw unnamed()
    const skill = seekDefinition(generation, skillKind, idOfName(generation, wanted) ?? wanted) ??
      await offers.skill(caller, placeOf(target), source ?? undefined, wanted) ?? findDefinition(generation, skillKind, wanted)
    connection.send({ type: 'skill_content', name: named(name) ?? wanted, content: wholeSkillText(skill.head, skill.source) })
  }

  async #create ({ name, path, content }: FrameOf<'skill_create'>): Promise<void> {
    const { connection, services: { publisher }, client } = this.#options
    const answer = (error?: string): void => {
      connection.send(error === undefined ? { type: 'skill_create_result', success: true } : { type: 'skill_create_result', success: false, error })
    }
    const id = (named(path) ?? named(name) ?? '').trim()
    const text = content ?? ''
    if (id === '' || text.trim() === '') return answer('Имя и содержимое обязательны')
    if (!this.#caller.roles.has('write')) throw roleMissing(this.#caller.name, 'write', [...this.#caller.roles])
    try {
      await publisher.publish({
        generation: client.generation(),
        caller: this.#caller,
        kind: skillKind,
        id,
        text,
        precondition: { noneMatches: 'any' },
        requestId: client.requestId
      })
      answer()
    } catch (error) {
      connection.fail(error, ({ message }) => ({ type: 'skill_create_result', success: false, error: message }))
    }
  }
}

function named (text: string | null | undefined): string | undefined {
  return text === null || text === '' ? undefined : text
}

function unnamed (): Error {
  return requestInvalid('frame needs "name" or "path"', { part: 'frame' })
}

/** `undefined` also for `manual`: commands that the user runs. */
function placeOf (target: string | null | undefined): string | undefined {
  return target === null || target === MANUAL ? undefined : target
}

function idOfName (generation: Generation, name: string): string | undefined {
  const skills = definitionsOf(generation, skillKind)
  const path = toPath(name)
  return skills.has(path) ? path : [...skills.values()].find(skill => skill.name === name)?.id
}

/** A type of notice that is missing here gives no frame. */
const FRAMES: Partial<Record<Notice['type'], (data: JsonObject, transition: LogEntry) => JsonObject[]>> = {
  step: ({ step = 0, max = 0 }) => [{ type: 'skill_step', step, max }],
  ask: ({ text = '', required = true }) => [{ type: 'skill_message', text, required }],
  message: ({ text = '', isFinal = false }) => [{ type: isFinal === true ? 'skill_complete' : 'skill_info', text }],
  command: ({ phase, command = '', step = 0, reason = '' }, { held, begun, denied }): JsonObject[] => {
    if (phase === 'denied') return [{ type: 'skill_command', command, step, denied: reason }, { type: 'skill_info', text: reason }]
    // The notice `approval` makes the frame: it has all that the person has to see.
    if (phase !== 'proposed' || held.length > 0 || denied.length > 0) return []
    return [{ type: 'skill_command', command, step, ...(begun.some(({ kind }) => kind === 'wait') ? { manual: true } : {}) }]
  },
  approval: (data, { notices }) => {
    if (data['decision'] === 'approve' && data['command'] !== undefined) return [{ type: 'skill_command', command: data['command'], edited: true }]
    if (data['kind'] !== 'exec') return []
    const { effect: _effect, kind: _kind, id = '', ...shown } = data
    const step = notices.find(({ type }) => type === 'command')?.data['step'] ?? 0
    return [{ type: 'skill_command', step, approvalId: id, ...shown }]
  },
  error: ({ code = '', message = '' }) => [{ type: 'skill_error', error: message, code }],
  done: ({ status = '' }): JsonObject[] => [
    ...status === 'cancelled' ? [{ type: 'skill_complete', text: 'Cancelled by user' }] : [],
    { type: 'skill_end', status }
  ]
}

export const skillFrames = {
  of (transition: LogEntry): JsonObject[] {
    return transition.notices.flatMap(({ type, data }) => FRAMES[type]?.(data, transition) ?? [])
  },
  live ({ type, text = '' }: JsonObject): JsonObject[] {
    if (type === 'command.output') return [{ type: 'skill_output', chunk: text }]
    // Somebody has typed in the command's terminal: it waits until that line is empty.
    return type === 'terminal.waiting' ? [{ type: 'skill_info', text, isWaiting: true }] : []
  }
}
