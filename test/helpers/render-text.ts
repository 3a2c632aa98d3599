import { renderToFixpoint, RenderRun } from '../../src/template/run.ts'
import { type Language } from '../../src/template/language.ts'
import { ScopeRoot } from '../../src/template/scope.ts'
import { type JsonObject } from '../../src/base/json.ts'
import { runOptions } from './fake-run.ts'

/** Renders one text, without tools, partials and shared variables. */
export async function renderText (language: Language, text: string, variables: JsonObject): Promise<string> {
  const options = runOptions()
  const run = new RenderRun(options)
  const root = new ScopeRoot(run, variables, {}, undefined)
  const template = language.compile({ text })
  return await renderToFixpoint(run, 'text', () => template.open(run, { links: [], root })(root), options)
}
