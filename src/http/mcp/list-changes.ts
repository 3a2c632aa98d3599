import { type ServerEventBus, type ServerEvent } from '@modelcontextprotocol/server'
import { contentHash } from '../../base/json.ts'
import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons } from '../../access/environ-view.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { type Environs } from '../../registry/kinds/environ/environs.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { argumentsOf } from './prompt-arguments.ts'
import { runnablePrompts } from './prompts.ts'
import { callableTools } from './tools.ts'

/** How often a client is told of changes at most, in ms. */
const PAUSE = 1000

/** What a client follows: the generations as one caller sees them. */
export interface Followed {
  readonly generation: Generation
  readonly environs: Environs
  /** Calls back after each generation that is published; gives the way to end that. */
  onPublished (listener: (generation: Generation) => void): () => void
  /** @throws TOKEN_UNKNOWN, ROLE_MISSING */
  callerNow (): Caller
  /** Ends the client's stream: its token is gone. */
  end (): void
}

/**
 * The source of `list_changed` for one client's stream. It tells that a list has changed when the list of this caller would say
 * something else, so nobody learns of changes in what is hidden from him.
 */
export function listChanges ({ generation, environs, onPublished, callerNow, end }: Followed): ServerEventBus {
  return {
    publish () {},
    subscribe (listener) {
      let [latest, timer]: [Generation, NodeJS.Timeout | undefined] = [generation, undefined]
      let told = listsOf(generation, callerNow(), environs)
      const look = () => {
        timer = undefined
        try {
          const caller = callerNow()
          const now = listsOf(visibleGeneration(latest, caller), caller, environs)
          for (const kind of ['prompts', 'tools'] as const) if (now[kind] !== told[kind]) listener({ kind: `${kind}_list_changed` } satisfies ServerEvent)
          told = now
        } catch {
          end()
        }
      }
      const unsubscribe = onPublished(published => {
        latest = published
        timer ??= setTimeout(look, PAUSE).unref()
      })
      return () => {
        clearTimeout(timer)
        unsubscribe()
      }
    }
  }
}

/** A hash of each list as the caller would be answered. */
function listsOf (generation: Generation, caller: Caller, environs: Environs): Record<'prompts' | 'tools', string> {
  const shared = visibleEnvirons(environs, caller)
  const prompts = runnablePrompts(generation).map(prompt => [prompt.id, prompt.entry.definition.source['description'] ?? null, argumentsOf(prompt, generation, shared).map(({ name, required }) => [name, required === true])])
  const tools = callableTools(generation, caller).map(({ id, definition }) => [id, definition.revision])
  return { prompts: contentHash(prompts), tools: contentHash(tools) }
}
