import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Language, type Syntax, type Template, type TemplateSource } from '../template/language.ts'

/** Source text that may stay compiled, in characters. A source has at most 64 KiB, so that at least 100 templates fit (C-19). */
const MAX_SOURCE_LENGTH = 32 * 1024 * 1024

/** Compiled templates, the least recently used dropped first; a miss costs a compile, not a failure. */
export interface TemplateCache {
  /**
   * Gives what finds a source's template from then on, compiled again if it has been dropped. What tells sources apart is
   * worked out once, since a render may ask a thousand times.
   * @returns throws TemplateSyntaxError
   */
  finder (syntax: Syntax, source: TemplateSource): () => Template
}

/** Equal sources share one compiled template, whatever prompt they belong to. */
export function createTemplateCache (languages: readonly Language[]): TemplateCache {
  const bySyntax = new Map(languages.map(language => [language.syntax, language]))
  const templates = new LRUCache<string, Template>({ maxSize: MAX_SOURCE_LENGTH })
  return {
    finder (syntax, source) {
      const language = bySyntax.get(syntax)
      if (language === undefined) throw new Error(`no template language ${syntax}`)
      const key = keyOf(syntax, source)
      return () => {
        const known = templates.get(key)
        if (known !== undefined) return known
        const template = language.compile(source)
        templates.set(key, template, { size: source.text.length + key.length })
        return template
      }
    }
  }
}

function keyOf (syntax: Syntax, { text, declared, explain = false }: TemplateSource): string {
  const names = declared === undefined ? '*' : JSON.stringify([...declared])
  return createHash('sha256').update(`${syntax} ${explain ? 'explained' : 'plain'} ${names} ${text}`).digest('base64')
}
