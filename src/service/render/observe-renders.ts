import { ServiceError } from '../../base/errors.ts'
import { lookUpPrompt, type RenderPrompt } from './render-prompt.ts'

/** Wraps the render function, so that every render is reported to logs, metrics and traces. */
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
