import { Type } from 'typebox'
import { type EntryProblem } from '../../registry/entry-table.ts'
import { type Generation } from '../../registry/generation.ts'
import { type Registry } from '../../registry/registry.ts'
import { type App } from '../app-types.ts'
import { replies } from '../schemas.ts'

const EntryStatus = Type.Object({
  key: Type.Optional(Type.String({ description: 'The key in the store, for an entry that is not served as it is stored' })),
  id: Type.Optional(Type.String({ description: 'The prompt, for one that is listed and cannot run' })),
  state: Type.String({ description: 'rejected; stale: an earlier version is served; noticed: it is served, and something is odd; invalid or unlinked: a listed prompt that cannot run' }),
  diagnostics: Type.Array(Type.Ref('Diagnostic'))
})

/** What is wrong with what others have registered. */
export function statusRoutes (app: App, { registry }: { registry: Registry }): void {
  app.get('/api/status/entries', {
    schema: { tags: ['Status'], operationId: 'listEntryProblems', summary: 'Entries that are rejected, stale or cannot run, with the reasons', response: replies(Type.Array(EntryStatus)) }
  }, request => [...registry.problems().map(describeProblem), ...brokenPrompts(request.generation)])

  app.post('/api/status/reload', {
    schema: { tags: ['Status'], operationId: 'reload', summary: 'Read the store now, and believe it when it is empty', response: replies(Type.Object({ revision: Type.String(), problem: Type.Optional(Type.String()) })) }
  }, async () => {
    await registry.reload()
    const { problem } = registry.status()
    return { revision: registry.generation.revision, ...(problem === undefined ? {} : { problem }) }
  })
}

function describeProblem ({ key, diagnostics, servesLastGood }: EntryProblem) {
  const isFatal = diagnostics.some(diagnostic => diagnostic.severity === 'error')
  return { key, state: servesLastGood ? 'stale' : isFatal ? 'rejected' : 'noticed', diagnostics }
}

function brokenPrompts ({ prompts }: Generation) {
  return [...prompts.values()].filter(prompt => prompt.state !== 'valid').map(({ id, state, diagnostics }) => ({ id, state, diagnostics }))
}
