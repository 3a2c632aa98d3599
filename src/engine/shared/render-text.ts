import { type JsonObject } from '../../base/json.ts'
import { handlebarsLanguage } from '../../template/handlebars/handlebars-language.ts'
import { DEFAULT_LIMITS } from '../../template/limits.ts'
import { Run } from '../../template/run/run.ts'
import { ScopeRoot } from '../../template/run/scope.ts'

/**
 * Renders a short text of an agent's definition as a Handlebars template with plain values, without tools, prompts, shared variables or a
 * clock. When the template fails, its source is returned, so that a wrong text never ends a dialogue.
 */
export function renderText (text: string, values: JsonObject): string {
  if (!text.includes('{{')) return text
  const run = new Run({ environs: NO_ENVIRONS, now: new Date(0), limits: DEFAULT_LIMITS })
  try {
    return handlebarsLanguage.compile({ text }).open(run, { links: [], root: new ScopeRoot(run, {}, {}, undefined) })(values)
  } catch {
    return text
  }
}

const NO_ENVIRONS = {
  has: () => false,
  hasBelow: () => false,
  namesBelow: () => [],
  segmentsBelow: () => [],
  cached: () => undefined,
  fetch: async () => new Map()
}
