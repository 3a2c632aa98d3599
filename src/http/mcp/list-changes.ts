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

/** The shortest time between two notices of changes to one client, in ms. */
const PAUSE = 1000

/** What one client that follows changes may see: snapshots of the entries (generations), shared variables, and the client's rights. */
export interface Followed {
  readonly generation: Generation
  readonly environs: Environs
  /** Calls the listener after each new generation, the snapshot that follows a change. @returns a function that ends this */
  onPublished (listener: (generation: Generation) => void): () => void
  /** Looks up the caller's token again, and gives the caller with the rights that the token has now. @throws TOKEN_UNKNOWN, ROLE_MISSING */
  callerNow (): Caller
  /** Ends the client's stream when its token has been revoked. */
  end (): void
}

/**
 * Makes the source of `list_changed` notices for one MCP client. A notice is sent only if the list that this client would get has changed,
 * so that clients learn nothing of changes in entries that are hidden from them.
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

/** The hashes of the two lists that the caller would get, to find out whether they have changed. */
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
