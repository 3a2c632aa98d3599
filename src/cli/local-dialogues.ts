import { ANYONE } from '../access/caller.ts'
import { ServiceError } from '../base/errors.ts'
import { type JsonObject } from '../base/json.ts'
import { type Log } from '../runtime/telemetry.ts'
import { ConfigError, loadConfig } from '../config/config.ts'
import { openService as open, type Service } from '../service.ts'
import { type RequestContext } from '../service/sessions/session-service.ts'
import { type SessionBranch } from '../service/sessions/session-tree.ts'
import { approvalId, approvalsIn, describeApproval } from '../session/approvals.ts'
import { eventsOf } from '../session/follow.ts'
import { PLAN } from '../engine/plan/plan-state.ts'
import { resultOf } from '../session/engine.ts'
import { type Session } from '../session/session.ts'
import { StoreError } from '../store/store.ts'
import { exitCodeOf } from './api-client.ts'
import { type Cli } from './context.ts'
import { type SessionLaunch, type Dialogues, type DialogueView, LAST_MESSAGES, LOOKED_AT } from './dialogue.ts'
import { CliError, EXIT, usageError } from './output.ts'

const MAX_PAGE = 500

/** The whole service without HTTP; streams of events end when the signal aborts. @throws CliError */
export async function openLocalDialogues (
  beginning: SessionLaunch, { environment, signal }: Pick<Cli, 'environment' | 'signal'>, log: Log
): Promise<Dialogues> {
  const { definition, start } = beginning
  const service = await openService(environment, log)
  const { sessions, planPreviews } = service
  const visitor: RequestContext = { caller: ANYONE, requestId: '', signal, patience: 0 }
  const asked = <T>(work: Promise<T>): Promise<T> => work.catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error
    const hint = error.code === 'SESSIONS_UNAVAILABLE' ? '; a service that keeps its sessions there is asked with --url' : ''
    throw new CliError(exitCodeOf(error.statusCode, error.code), `${error.message} (${error.code})${hint}`)
  })

  return {
    start: () => asked((async () => {
      const { session } = await start(service, visitor)
      return { ...stateOf(session), seq: 0, asked: [] }
    })()),
    find: id => asked((async () => {
      if (id !== undefined) return await withBelow(await sessions.get('any', ANYONE, id))
      const only = definition.endsWith('/') ? {} : { definition }
      const { heads } = await sessions.list(ANYONE, { ...only, statuses: ['waiting_input', 'running', 'waiting_approval'], limit: LOOKED_AT })
      const head = heads.find(each => each.definition.startsWith(definition))
      if (head === undefined) throw new CliError(EXIT.NO, `there is no session of ${definition} to go on with`)
      return await withBelow(await sessions.get('any', ANYONE, head.id))
    })()),
    say: (id, said) => asked((async () => { await (said === 'cancel' ? sessions.cancel('any', ANYONE, id) : sessions.say('any', visitor, id, said)) })()),
    decide: (id, effect, { decision, ...shown }) => asked((async () => {
      const named = { ...shown, approvalId: approvalId(id, effect) }
      await (decision === 'approve' ? sessions.approve('any', visitor, id, named) : sessions.refuse('any', visitor, id, undefined, named))
    })()),
    preview: (id, query) => asked((async () => {
      const session = await planPreviews.planFor(ANYONE, id)
      const part = 'path' in query ? await planPreviews.text(session, query.path, query.side) : await planPreviews.page(session, query.after, MAX_PAGE)
      const { held } = resultOf(session, PLAN)
      return { ...part, confirm: held === undefined ? undefined : { kind: 'diff', digest: held.digest } } as unknown as JsonObject
    })()),
    lastMessages: id => asked((async () => (await sessions.lastMessages(ANYONE, id, LAST_MESSAGES)).messages.map(message => ({ ...message })))()),
    printed: (id, { seq, n }) => asked((async () => {
      const { messages: [message] } = await sessions.messages(ANYONE, id, { seq, n: n - 1 }, 1)
      return message?.output ?? ''
    })()),
    async * events (id, after) {
      for await (const followed of await asked(sessions.follow(() => ANYONE, id, after, signal))) {
        if ('transition' in followed) yield * eventsOf(followed.transition).map((event, n) => ({ ...event, place: { seq: followed.transition.seq, n } }))
        else yield { type: 'live', data: followed.live }
      }
    },
    close: () => service.close()
  }

  /** With open questions of child sessions, each as an event `live`. */
  async function withBelow (session: Session): Promise<DialogueView> {
    const state = stateOf(session)
    if (session.status !== 'running') return state
    const waiting = waitingIn(await sessions.tree(ANYONE, session.id))
    const asked = await Promise.all(waiting.map(async ({ id }) => {
      const child = await sessions.get('any', ANYONE, id)
      const { start: { parent, definition: of }, status, engine } = child
      const ask: JsonObject = status === 'waiting_approval'
        ? { approvals: approvalsIn(child).map(approval => ({ ...describeApproval(approval) })) }
        : { word: engine.view.stateName, text: '' }
      return { type: 'live', data: { type: 'child', session: id, path: [...(parent?.line ?? []).map(each => each.definition), of], status, ask } }
    }))
    return { ...state, asked: [...state.asked, ...asked] }
  }

  function stateOf (session: Session): DialogueView {
    const { id, status, seq, engine: { view: { stateName } } } = session
    const held = approvalsIn(session).map(({ effect, rule, digest, content }) => ({ type: 'approval', data: { effect, digest, rule, ...content } }))
    return { id, status, word: stateName, seq, asked: held }
  }
}

function waitingIn ({ children }: SessionBranch): Array<SessionBranch['head']> {
  return children.flatMap(child => {
    const { head } = child
    const isWaiting = head.status === 'waiting_approval' || head.status === 'waiting_input'
    return [...isWaiting ? [head] : [], ...waitingIn(child)]
  })
}

/** @throws CliError when it cannot be opened */
export async function openService (environment: Readonly<Record<string, string | undefined>>, log: Log): Promise<Service> {
  try {
    // The check against a server as root is off: this process belongs to its user.
    return await open({ ...loadConfig(environment), ALLOW_ROOT: true }, log, { logsSessions: false })
  } catch (error) {
    if (error instanceof ConfigError || error instanceof StoreError) throw usageError(error.message)
    throw error
  }
}
