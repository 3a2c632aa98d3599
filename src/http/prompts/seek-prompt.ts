import { type FastifyReply, type FastifyRequest } from 'fastify'
import { isUnlimited } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { type Registry } from '../../registry/registry.ts'
import { lookUpPrompt } from '../../service/render/render-prompt.ts'
import { type App } from '../base/app-types.ts'
import { promptKind } from '../../registry/kinds/prompt/prompt-kind.ts'
import { toPath } from '../../store/keys.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { resolveId } from '../../service/versions/choose-prompt.ts'

/**
 * Looks for an unknown prompt in the store before a request fails: an entry stored a moment ago may not have reached this process yet. If
 * the prompt is found, the request goes on with the snapshot of entries (the generation) that contains it. What is hidden from the caller
 * stays hidden.
 */
export async function seekPrompt (request: FastifyRequest, reply: FastifyReply, registry: Registry, id: string): Promise<void> {
  const { generation, caller } = request
  const path = toPath(resolveId(id).id)
  if (isKnown(generation, id) || caller.prompts?.allows(path) === false) return
  if (!await registry.seek(promptKind, path)) return
  request.generation = visibleGeneration(registry.generation, caller)
  if (isUnlimited(caller)) reply.header('x-registry-revision', request.generation.revision)
}

/** Adds a hook that looks for an unknown prompt in the store, on every route with `seeksPrompt`. */
export function seekPrompts (app: App, registry: Registry): void {
  app.addHook('preHandler', (request, reply, done) => {
    if (request.routeOptions.config.seeksPrompt !== true) return done()
    const { id } = request.params as { readonly id: string }
    if (isKnown(request.generation, id)) return done()
    seekPrompt(request, reply, registry, id).then(() => done(), done)
  })
}

/**
 * Whether this id names a loaded prompt: by the prompt's own id, or with a version (`id@3`) or a label (`id@production`) behind it. A prompt
 * counts as loaded also when only its versions and labels are.
 */
function isKnown (generation: Generation, id: string): boolean {
  if (lookUpPrompt(generation, id) !== undefined) return true
  const named = resolveId(id)
  return (named.id !== id && lookUpPrompt(generation, named.id) !== undefined) || generation.releases.has(toPath(named.id))
}
