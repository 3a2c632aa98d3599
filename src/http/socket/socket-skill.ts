import { requestInvalid, roleMissing, sessionBusy } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { skillKind } from '../../registry/kinds/skill/skill-kind.ts'
import { wholeSkillText } from '../../registry/kinds/skill/skill-text.ts'
import { type Execution, EXECUTIONS } from '../../registry/kinds/skill/skill-options.ts'
import { definitionsOf } from '../../registry/generation/offered.ts'
import { type Service } from '../../service.ts'
import { type Shown, type Visitor } from '../../service/sessions/door.ts'
import { isForeignPath, type SkillSource } from '../../service/sessions/offers/skill-places.ts'
import { findDefinition, seekDefinition } from '../../service/find-definition.ts'
import { MANUAL } from '../../service/sessions/kinds/skill.ts'
import { catalogueOf } from '../sessions/skill-catalogue.ts'
import { type Caller } from '../../access/caller.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import { resultOf } from '../../session/engine.ts'
import { type Followed } from '../../session/follow.ts'
import { ENDED, type Transition } from '../../session/model.ts'
import { type Client } from './client.ts'
import { objectOf, textOf } from './frame-fields.ts'
import { skillFrames } from './skill-frames.ts'
import { type SocketConnection } from './socket-connection.ts'
import { toPath } from '../../store/keys.ts'

/** The parts of the service that skills over a WebSocket need. */
export type SkillServices = Pick<Service, 'door' | 'sessionKinds' | 'publisher' | 'offers' | 'terminals'>

/** The unchecked members of a received frame. */
type Frame = Readonly<Record<string, Json | undefined>>

export interface SocketSkillOptions {
  readonly connection: SocketConnection
  readonly client: Client
  readonly services: SkillServices
  /**
   * Follows a session until the client has left, beginning behind the transition (recorded step) with the number `after`.
   * @throws SESSION_NOT_FOUND
   */
  readonly follow: (id: string, after: number) => Promise<AsyncGenerator<Followed>>
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal
  /** Called when the client can no longer follow a session although the session has not ended. */
  readonly onLost: (error: unknown, type: 'skill_error') => void
  /** The id of the terminal that the client has open, if any. */
  readonly terminal: () => string | undefined
}

/** Runs skills for one client over its WebSocket, one skill at a time. */
export class SocketSkill {
  readonly #options: SocketSkillOptions
  #session: string | undefined
  /** The id of the approval that the client was shown last; `undefined` when none was shown, or the last one was decided. */
  #shown: string | undefined

  constructor (options: SocketSkillOptions) {
    this.#options = options
  }

  /** Handles a frame that concerns skills. @returns false for any other frame @throws ServiceError */
  async take (frame: JsonObject): Promise<boolean> {
    const { type } = frame
    const take = typeof type === 'string' && Object.hasOwn(this.#frames, type) ? this.#frames[type] : undefined
    await take?.(frame)
    return take !== undefined
  }

  readonly #frames: Readonly<Record<string, (frame: JsonObject) => Promise<void> | void>> = {
    skill_invoke: frame => this.#invoke(frame),
    skill_resume: async ({ sessionId }) => { await this.#follow((await this.#door.get(this.#skills, this.#caller, textOf(sessionId, 'sessionId'))).id) },
    skill_user_input: frame => this.#hear(textOf(frame['text'], 'text'), frame),
    skill_command_result: frame => this.#report(frame),
    skill_approve: frame => this.#approve(frame),
    skill_reject: frame => this.#skip(frame),
    skill_skip: frame => this.#skip(frame),
    skill_cancel: () => this.#cancel(),
    skills_list: frame => this.#list(frame),
    skill_get_content: frame => this.#show(frame),
    skill_create: frame => this.#create(frame)
  }

  get #caller (): Caller {
    return this.#options.client.caller()
  }

  get #door (): Service['door'] {
    return this.#options.services.door
  }

  get #skills (): Service['sessionKinds']['skills'] {
    return this.#options.services.sessionKinds.skills
  }

  /**
   * Describes the client as the sender of a frame. With `patience: 0` a call returns without waiting for its result, since the client follows
   * the session's events anyway.
   */
  get #visitor (): Visitor {
    const { client: { requestId }, signal } = this.#options
    return { caller: this.#caller, requestId, signal, patience: 0 }
  }

  async #invoke ({ name, path, source, params, prompt, target, terminalSessionId, execution }: JsonObject): Promise<void> {
    const current = this.#session === undefined ? undefined : await this.#door.get(this.#skills, this.#caller, this.#session)
    if (current !== undefined && !ENDED.has(current.status)) throw sessionBusy(current.id, current.status, 'a skill is being carried out; cancel it first')
    const generation = this.#options.client.generation()
    const named = textOf(path, 'path', '')
    const wanted = textOf(name ?? path, 'name')
    const place = terminalSessionId ?? target
    const { session } = await this.#door.start(this.#skills, this.#visitor, generation, {
      id: idOfName(generation, wanted) ?? wanted,
      path: isForeignPath(named) ? named : idOfName(generation, named),
      source: sourceOf(source),
      params: objectOf(params, 'params'),
      prompt: textOf(prompt, 'prompt', ''),
      target: place === undefined ? this.#options.terminal() : textOf(place, terminalSessionId === undefined ? 'target' : 'terminalSessionId'),
      execution: execution === undefined ? undefined : executionOf(textOf(execution, 'execution')),
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

  #note ({ notices }: Transition): void {
    for (const { type, data } of notices) if (type === 'approval') this.#shown = data['decision'] === undefined ? data['id'] as string : undefined
  }

  /**
   * Handles a text that the client has typed. The text `skill:cancel` ends the skill. The text `skill:skip` skips an approval: the one that
   * the frame names or, if the frame names none, the approval that the client was shown last. Any other text goes to the skill.
   */
  async #hear (text: string, { approvalId, digest }: JsonObject): Promise<void> {
    const word = text.trim().toLowerCase()
    if (word === 'skill:cancel') return await this.#cancel()
    const isNamed = approvalId !== undefined || digest !== undefined
    if (word === 'skill:skip') return await this.#skip(isNamed ? { approvalId, digest } : { approvalId: this.#shown })
    await this.#door.say(this.#skills, this.#visitor, this.#current(), { text })
  }

  /** Gives the skill the result of a command that the client has run itself, in place of the service. */
  async #report ({ stdout = '', stderr = '', exitCode = 0 }: JsonObject): Promise<void> {
    const { services: { terminals } } = this.#options
    const { terminal } = resultOf(await this.#door.getUsable(this.#skills, this.#caller, this.#current()), SKILL)
    const printed = typeof stdout === 'string' ? terminals.outputOf(this.#caller, terminal, stdout) : stdout
    await this.#door.say(this.#skills, this.#visitor, this.#current(), { action: { name: 'command_result', data: { stdout: printed, stderr, exitCode } } })
  }

  /** Skips the proposed command. The owner of a session may do that; only an approver may let a command run. */
  async #skip (frame: Frame): Promise<void> {
    await this.#door.refuse(this.#skills, this.#visitor, this.#current(), { action: { name: 'skip', data: {} } }, shownIn(frame))
  }

  /** Approves the command that the client was shown, or another command in its place. */
  async #approve (frame: Frame): Promise<void> {
    const command = optional(frame['command'], 'command')
    await this.#door.approve(this.#skills, this.#visitor, this.#current(), { ...shownIn(frame), command })
  }

  async #cancel (): Promise<void> {
    await this.#door.cancel(this.#skills, this.#caller, this.#current())
  }

  /** The id of the skill's session. @throws SESSION_BUSY when no skill was invoked over this socket */
  #current (): string {
    if (this.#session === undefined) throw sessionBusy('', 'idle', 'no skill is being carried out; send skill_invoke')
    return this.#session
  }

  async #list ({ target }: JsonObject): Promise<void> {
    const { client, connection, services: { offers } } = this.#options
    connection.send({ type: 'skills_list', ...catalogueOf(client.generation(), await offers.skills(client.caller(), placeOf(target))) })
  }

  async #show ({ name, path, source, target }: JsonObject): Promise<void> {
    const { client, connection, services: { offers } } = this.#options
    const [caller, generation] = [client.caller(), client.generation()]
    if (!caller.roles.has('read')) throw roleMissing(caller.name, 'read', [...caller.roles])
    const named = textOf(path ?? name, 'name')
    const skill = seekDefinition(generation, skillKind, idOfName(generation, named) ?? named) ??
      await offers.skill(caller, placeOf(target), sourceOf(source), named) ?? findDefinition(generation, skillKind, named)
    connection.send({ type: 'skill_content', name: name ?? named, content: wholeSkillText(skill.head, skill.source) })
  }

  async #create ({ name, path, content }: JsonObject): Promise<void> {
    const { connection, services: { publisher }, client } = this.#options
    const answer = (error?: string): void => {
      connection.send({ type: 'skill_create_result', success: error === undefined, ...(error === undefined ? {} : { error }) })
    }
    const id = textOf(path ?? name, 'name', '').trim()
    const text = textOf(content, 'content', '')
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

/** Reads which approval a frame decides about. @throws REQUEST_INVALID */
function shownIn ({ approvalId, digest }: Frame): Shown {
  return { approvalId: optional(approvalId, 'approvalId'), digest: optional(digest, 'digest') }
}

/** Reads an optional text field of a frame. @throws REQUEST_INVALID */
function optional (value: Json | undefined, name: string): string | undefined {
  return value === undefined ? undefined : textOf(value, name)
}

/** Reads where to look on a target for a skill that is not registered: in a project or in a user's home; `undefined` if the frame names neither. */
function sourceOf (source: Json | undefined): SkillSource | undefined {
  return source === 'project' || source === 'remote' ? source : undefined
}

/**
 * Reads the target (a machine) whose skills are meant; `undefined` if the frame names none, or names `manual`, which stands for commands that
 * the user runs. @throws REQUEST_INVALID
 */
function placeOf (target: Json | undefined): string | undefined {
  return target === undefined || target === null || target === MANUAL ? undefined : textOf(target, 'target')
}

/** Reads who runs the commands of a skill: the user, or the service with or without approval. @throws REQUEST_INVALID */
function executionOf (text: string): Execution {
  const execution = EXECUTIONS.find(each => each === text)
  if (execution === undefined) throw requestInvalid(`execution: expected ${EXECUTIONS.join(', ')}, got ${JSON.stringify(text)}`, { part: 'frame' })
  return execution
}

/** Finds the id of a registered skill. @param name the skill's id or its name */
function idOfName (generation: Generation, name: string): string | undefined {
  const skills = definitionsOf(generation, skillKind)
  const path = toPath(name)
  return skills.has(path) ? path : [...skills.values()].find(skill => skill.name === name)?.id
}
