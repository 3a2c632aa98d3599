import { LRUCache } from 'lru-cache'
import { type Language, type Syntax, type Template, type TemplateSource } from '../template/language.ts'

/** Source text that may stay compiled, in characters. A source has at most 64 KiB, so that at least 100 templates fit (C-19). */
const MAX_SOURCE_LENGTH = 32 * 1024 * 1024

/** Compiled templates, the least recently used dropped first; a miss costs a compile, not a failure. */
export interface TemplateCache {
  /** @throws TemplateSyntaxError */
  get (syntax: Syntax, source: TemplateSource): Template
}

/** Equal sources share one compiled template, whatever prompt they belong to. */
export function createTemplateCache (languages: readonly Language[]): TemplateCache {
  const bySyntax = new Map(languages.map(language => [language.syntax, language]))
  const templates = new LRUCache<string, Template>({ maxSize: MAX_SOURCE_LENGTH })
  return {
    get (syntax, source) {
      const declared = source.declared === undefined ? '*' : JSON.stringify([...source.declared])
      const key = `${syntax} ${source.explain ?? false ? 'explained' : 'plain'} ${declared} ${source.text}`
      const known = templates.get(key)
      if (known !== undefined) return known
      const language = bySyntax.get(syntax)
      if (language === undefined) throw new Error(`no template language ${syntax}`)
      const template = language.compile(source)
      templates.set(key, template, { size: key.length })
      return template
    }
  }
}
