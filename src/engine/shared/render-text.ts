import { type JsonObject } from '../../base/json.ts'
import { handlebarsLanguage } from '../../template/handlebars/handlebars-language.ts'
import { DEFAULT_LIMITS } from '../../template/limits.ts'
import { Run } from '../../template/run/run.ts'
import { ScopeRoot } from '../../template/run/scope.ts'

/**
 * Writes a short text of a definition, a Handlebars template over plain values: no tools, no prompts, no shared variables
 * and no clock. A text that fails is given as it is written.
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
