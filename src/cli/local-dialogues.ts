import { ANYONE } from '../access/caller.ts'
import { ServiceError } from '../base/errors.ts'
import { type Log } from '../base/log.ts'
import { ConfigError, loadConfig } from '../config/config.ts'
import { type Service, openService } from '../service.ts'
import { startOfAgent } from '../service/sessions/start-agent.ts'
import { type Session } from '../session/session.ts'
import { StoreError } from '../store/store.ts'
import { type Dialogues, type DialogueState } from './dialogue.ts'
import { CliError, EXIT, usageError } from './exit-codes.ts'

/**
 * Dialogues with agents in this process: the whole service without HTTP, configured by the same variables.
 * @throws CliError when it cannot be opened
 */
export async function openLocalDialogues (environment: Readonly<Record<string, string | undefined>>, log: Log): Promise<Dialogues> {
  const service = await opened(environment, log)
  const { registry, sessions } = service
  const asked = <T>(work: Promise<T>): Promise<T> => work.catch((error: unknown) => {
    throw error instanceof ServiceError ? new CliError(error.statusCode >= 500 ? EXIT.UNREACHABLE : EXIT.NO, `${error.message} (${error.code})`) : error
  })
  const stateOf = ({ id, status, seq }: Session): DialogueState => ({ id, status, seq })

  return {
    start: agent => asked((async () => {
      const { id, status } = await sessions.start({ caller: ANYONE, start: startOfAgent(registry.generation, agent, {}) })
      return { id, status, seq: 0 }
    })()),
    find: (agent, id) => asked((async () => {
      if (id !== undefined) return stateOf(await sessions.get(ANYONE, id))
      const { heads: [head] } = await sessions.list(ANYONE, { definition: `agents/${agent.replaceAll(':', '.')}`, statuses: ['waiting_input', 'running', 'waiting_approval'], limit: 1 })
      if (head === undefined) throw new CliError(EXIT.NO, `there is no dialogue with "${agent}" to go on with`)
      return stateOf(await sessions.get(ANYONE, head.id))
    })()),
    say: (id, text) => asked((async () => { await sessions.input(ANYONE, id, { text }) })()),
    decide: (id, effect, isAllowed) => asked((async () => { await sessions.decide(ANYONE, id, effect, { decision: isAllowed ? 'approve' : 'reject' }) })()),
    async * events (id, after) {
      for await (const followed of await asked(sessions.follow(ANYONE, id, after, new AbortController().signal))) {
        if ('transition' in followed) yield * followed.transition.notices
      }
    },
    close: () => service.close()
  }
}

async function opened (environment: Readonly<Record<string, string | undefined>>, log: Log): Promise<Service> {
  try {
    return await openService(loadConfig(environment), log)
  } catch (error) {
    if (error instanceof ConfigError || error instanceof StoreError) throw usageError(error.message)
    throw error
  }
}
