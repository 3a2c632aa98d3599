import { ServiceError } from '../../base/errors.ts'
import { lookUpPrompt, type RenderPrompt } from './render-prompt.ts'

/** Wraps a renderer, so that it reports every render to the request's activity. */
export function observeRenders (renderPrompt: RenderPrompt): RenderPrompt {
  return async request => {
    const { activity, generation, id, chosen } = request
    if (activity === undefined) return await renderPrompt(request)
    const prompt = chosen?.prompt ?? lookUpPrompt(generation, id)
    const watch = activity.beginRender(prompt?.id ?? id, prompt?.revision, chosen?.version, chosen?.label)
    try {
      const rendering = await renderPrompt(request)
      watch.ended('ok', rendering.passes)
      return rendering
    } catch (error) {
      watch.ended(error instanceof ServiceError ? error.code : 'INTERNAL')
      throw error
    }
  }
}
