import { type ServerEventBus, type ServerEvent } from '@modelcontextprotocol/server'
import { contentHash } from '../../base/json.ts'
import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons } from '../../access/environ-view.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { refusalBy } from '../../access/rights-watch.ts'
import { type Environs } from '../../registry/kinds/environ/environs.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { argumentsOf } from './prompt-arguments.ts'
import { runnablePrompts } from '../../registry/generation/offered.ts'
import { callableTools } from './tools.ts'

/** The shortest time between two `list_changed` notices that one client gets, in ms. */
const PAUSE = 1000

/**
 * What is known of one MCP client that wants `list_changed` notices: the snapshot of the entries (the generation) at the time of its
 * request, the shared variables, and the client's rights.
 */
export interface Followed {
  readonly generation: Generation
  readonly environs: Environs
  /** Calls the listener with each new generation (the snapshot of all entries after a change). @returns a function that removes the listener */
  onPublished (listener: (generation: Generation) => void): () => void
  /** Looks up the caller's token again, and gives the caller with the rights that the token has now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  callerNow (): Caller
}

/**
 * Makes the source of `list_changed` notices for one MCP client. A notice is sent only if the list of prompts or tools that this client would
 * get has changed, so that clients learn nothing of changes in entries that are hidden from them.
 */
export function listChanges ({ generation, environs, onPublished, callerNow }: Followed): ServerEventBus {
  return {
    publish () {},
    subscribe (listener) {
      let [latest, timer]: [Generation, NodeJS.Timeout | undefined] = [generation, undefined]
      let told = listsOf(generation, callerNow(), environs)
      const look = () => {
        timer = undefined
        if (refusalBy(callerNow) !== undefined) return
        const caller = callerNow()
        const now = listsOf(visibleGeneration(latest, caller), caller, environs)
        for (const kind of ['prompts', 'tools'] as const) if (now[kind] !== told[kind]) listener({ kind: `${kind}_list_changed` } satisfies ServerEvent)
        told = now
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

/** One hash of the list of prompts and one of the list of tools that the caller would get. A changed hash shows that the list has changed. */
function listsOf (generation: Generation, caller: Caller, environs: Environs): Record<'prompts' | 'tools', string> {
  const shared = visibleEnvirons(environs, caller)
  const prompts = runnablePrompts(generation).map(prompt => [
    prompt.id,
    prompt.entry.definition.source['description'] ?? null,
    argumentsOf(prompt, generation, shared).map(({ name, required }) => [name, required === true])
  ])
  const tools = callableTools(generation, caller).map(({ id, definition }) => [id, definition.revision])
  return { prompts: contentHash(prompts), tools: contentHash(tools) }
}
