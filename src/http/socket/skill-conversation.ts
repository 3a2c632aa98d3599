import { type FastifyRequest } from 'fastify'
import { requestInvalid, roleMissing, ServiceError, sessionBusy } from '../../base/errors.ts'
import { type Json, type JsonObject } from '../../base/json.ts'
import { type Generation } from '../../registry/generation.ts'
import { skillKind } from '../../registry/kinds/skill/skill-kind.ts'
import { wholeSkillText } from '../../registry/kinds/skill/skill-text.ts'
import { type Execution, EXECUTIONS } from '../../registry/kinds/skill/skill-options.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { type Publisher } from '../../service/publish/publish-entry.ts'
import { type Sessions } from '../../service/sessions/sessions.ts'
import { type Offers } from '../../service/sessions/offers.ts'
import { isForeignPath, type SkillSource } from '../../service/sessions/skill-places.ts'
import { missingDefinition } from '../../service/missing-entries.ts'
import { MANUAL, type StartOfSkill } from '../../service/sessions/start-skill.ts'
import { catalogueOf } from '../skills/skill-catalogue.ts'
import { type Caller } from '../../access/caller.ts'
import { ENDED } from '../../session/model.ts'
import { openIn, type Session } from '../../session/session.ts'
import { objectOf, textOf } from './frame-fields.ts'
import { skillErrorText } from '../skills/skill-envelope.ts'
import { skillFrames } from './skill-frames.ts'
import { type SocketConnection } from './socket-connection.ts'

/** What skills over sockets need of the service. */
export interface SkillServices {
  readonly sessions: Sessions
  readonly publisher: Publisher
  readonly startOfSkill: StartOfSkill
  readonly offers: Offers
}

export interface SkillConversationOptions {
  readonly connection: SocketConnection
  readonly request: FastifyRequest
  readonly services: SkillServices
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal
}

/** One client that carries out one skill at a time, in the frames of the protocol (S-31 to S-34). */
export class SkillConversation {
  readonly #options: SkillConversationOptions
  #session: string | undefined

  constructor (options: SkillConversationOptions) {
    this.#options = options
  }

  /** @returns whether the frame is one of skills @throws ServiceError */
  async take (frame: JsonObject): Promise<boolean> {
    const { type } = frame
    const take = typeof type === 'string' && Object.hasOwn(this.#frames, type) ? this.#frames[type] : undefined
    await take?.(frame)
    return take !== undefined
  }

  readonly #frames: Readonly<Record<string, (frame: JsonObject) => Promise<void> | void>> = {
    skill_invoke: frame => this.#invoke(frame),
    skill_resume: async ({ sessionId }) => { await this.#follow(await this.#sessions.get(this.#caller, textOf(sessionId, 'sessionId'))) },
    skill_user_input: ({ text }) => this.#hear(textOf(text, 'text')),
    skill_command_result: async ({ stdout = '', stderr = '', exitCode = 0 }) => { await this.#act('command_result', { stdout, stderr, exitCode }) },
    skill_approve: ({ command }) => this.#decide('approve', command === undefined ? undefined : textOf(command, 'command')),
    skill_reject: () => this.#skip(),
    skill_skip: () => this.#skip(),
    skill_cancel: () => this.#cancel(),
    skills_list: frame => this.#list(frame),
    skill_get_content: frame => this.#show(frame),
    skill_create: frame => this.#create(frame)
  }

  get #caller (): Caller {
    return this.#options.request.caller
  }

  get #sessions (): Sessions {
    return this.#options.services.sessions
  }

  async #invoke ({ name, path, source, params, prompt, target, execution }: JsonObject): Promise<void> {
    const current = this.#session === undefined ? undefined : await this.#sessions.get(this.#caller, this.#session)
    if (current !== undefined && !ENDED.has(current.status)) throw sessionBusy(current.id, current.status, 'a skill is being carried out; cancel it first')
    const { generation, id: requestId } = this.#options.request
    const named = textOf(path, 'path', '')
    const wanted = textOf(name ?? path, 'name')
    const start = await this.#options.services.startOfSkill({
      generation,
      caller: this.#caller,
      id: idOfName(generation, wanted) ?? wanted,
      path: isForeignPath(named) ? named : idOfName(generation, named),
      source: sourceOf(source),
      params: objectOf(params, 'params'),
      prompt: textOf(prompt, 'prompt', ''),
      target: target === undefined ? undefined : textOf(target, 'target'),
      execution: execution === undefined ? undefined : executionOf(textOf(execution, 'execution')),
      autoContinue: true,
      requestId
    })
    await this.#follow(await this.#sessions.start({ caller: this.#caller, start }))
  }

  async #follow ({ id }: Session): Promise<void> {
    this.#session = id
    const { connection, signal, request } = this.#options
    connection.send({ type: 'skill_session', sessionId: id })
    const events = await this.#sessions.follow(this.#caller, id, 0, signal)
    const pump = async (): Promise<void> => {
      for await (const each of events) {
        // Another one was invoked since.
        if (this.#session !== id) return
        for (const frame of 'live' in each ? skillFrames.live(each.live) : skillFrames.of(id, each.transition)) connection.send(frame)
      }
    }
    void pump().catch((error: unknown) => {
      request.log.warn({ err: error }, 'a skill could not be followed')
      if (error instanceof ServiceError) connection.send({ type: 'skill_error', error: skillErrorText(error), code: error.code })
      connection.close(1011, 'the skill could not be followed')
    })
  }

  /** What is typed may be a command to the service itself (S-42). */
  async #hear (text: string): Promise<void> {
    const word = text.trim().toLowerCase()
    if (word === 'skill:cancel') return await this.#cancel()
    if (word === 'skill:skip') return await this.#skip()
    await this.#sessions.input(this.#caller, this.#current(), { text })
  }

  async #act (name: string, data: JsonObject): Promise<void> {
    await this.#sessions.input(this.#caller, this.#current(), { action: { name, data } })
  }

  /** Whoever owns a session may do without a command; to let it run is for those who approve. */
  async #skip (): Promise<void> {
    if (await this.#held() === undefined) await this.#act('skip', {})
    else await this.#decide('reject', undefined)
  }

  async #decide (decision: 'approve' | 'reject', command: string | undefined): Promise<void> {
    const caller = this.#caller
    if (decision === 'approve' && !caller.roles.has('approve')) throw roleMissing(caller.name, 'approve', [...caller.roles])
    const held = await this.#held()
    const id = this.#current()
    if (held === undefined) throw sessionBusy(id, 'running', 'no command waits for an approval')
    await this.#sessions.decide(caller, id, held, { decision, command })
  }

  async #held (): Promise<string | undefined> {
    const session = await this.#sessions.get(this.#caller, this.#current())
    return openIn(session, 'held').find(({ effect }) => effect.kind === 'exec')?.effect.id
  }

  async #cancel (): Promise<void> {
    await this.#sessions.cancel(this.#caller, this.#current())
  }

  /** @throws SESSION_BUSY when no skill was invoked over this socket */
  #current (): string {
    if (this.#session === undefined) throw sessionBusy('', 'idle', 'no skill is being carried out; send skill_invoke')
    return this.#session
  }

  async #list ({ target }: JsonObject): Promise<void> {
    const { request: { generation, caller }, connection, services: { offers } } = this.#options
    connection.send({ type: 'skills_list', ...catalogueOf(generation, await offers.skills(caller, placeOf(target))) })
  }

  async #show ({ name, path, source, target }: JsonObject): Promise<void> {
    const { request: { generation, caller }, connection, services: { offers } } = this.#options
    const named = textOf(path ?? name, 'name')
    const skill = definitionsOf(generation, skillKind).get(idOfName(generation, named) ?? '') ?? await offers.skill(caller, placeOf(target), sourceOf(source), named)
    if (skill === undefined) throw missingDefinition(generation, skillKind, named)
    connection.send({ type: 'skill_content', name: name ?? named, content: wholeSkillText(skill.head, skill.source) })
  }

  async #create ({ name, path, content }: JsonObject): Promise<void> {
    const { connection, services: { publisher }, request: { generation } } = this.#options
    const answer = (error?: string): void => { connection.send({ type: 'skill_create_result', success: error === undefined, ...(error === undefined ? {} : { error }) }) }
    const id = textOf(path ?? name, 'name', '').trim()
    const text = textOf(content, 'content', '')
    if (id === '' || text.trim() === '') return answer('Имя и содержимое обязательны')
    if (!this.#caller.roles.has('write')) throw roleMissing(this.#caller.name, 'write', [...this.#caller.roles])
    try {
      await publisher.publish({ generation, caller: this.#caller, kind: skillKind, id, text, precondition: { noneMatches: 'any' } })
      answer()
    } catch (error) {
      answer((error as Error).message)
    }
  }
}

/** Where to look for a skill that is not registered; `undefined` for nowhere. */
function sourceOf (source: Json | undefined): SkillSource | undefined {
  return source === 'project' || source === 'remote' ? source : undefined
}

/** The target whose skills are meant; `undefined` where none is named. @throws REQUEST_INVALID */
function placeOf (target: Json | undefined): string | undefined {
  return target === undefined || target === null || target === MANUAL ? undefined : textOf(target, 'target')
}

/** @throws REQUEST_INVALID */
function executionOf (text: string): Execution {
  const execution = EXECUTIONS.find(each => each === text)
  if (execution === undefined) throw requestInvalid(`execution: expected ${EXECUTIONS.join(', ')}, got ${JSON.stringify(text)}`, { part: 'frame' })
  return execution
}

/** The id of the skill that is called so: by its id, or by its name. */
function idOfName (generation: Generation, name: string): string | undefined {
  const skills = definitionsOf(generation, skillKind)
  const path = name.replaceAll(':', '.')
  return skills.has(path) ? path : [...skills.values()].find(skill => skill.name === name)?.id
}
