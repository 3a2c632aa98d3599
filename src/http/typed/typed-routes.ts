import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { contentHash } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { LATEST } from '../../registry/kinds/release/release-record.ts'
import { type App } from '../base/app-types.ts'
import { entityTag, readPrecondition } from '../base/entity-tags.ts'
import { rowsOf, selectIds } from '../base/listing.ts'
import { ListQuery } from '../base/schemas.ts'
import { WishQuery } from '../prompts/prompt-choice.ts'
import { describePrompts } from './prompts-document.ts'

const { prefix, after } = ListQuery.properties
const { label } = WishQuery.properties

const DocumentQuery = Type.Object({ prefix, after, label, limit: Type.Integer({ minimum: 1, maximum: 1000, default: 1000, description: 'Most prompts of one page' }) })

const DocumentReply = Type.Unknown({ description: 'An OpenAPI document' })

/** The route that describes the caller's prompts as an OpenAPI document, from which tools generate typed clients. */
export function typedRoutes (app: App, { environs }: { readonly environs: VisibleEnvirons }): void {
  app.get('/api/openapi/prompts.json', {
    config: { role: 'read', headers: ['etag', 'link'] },
    schema: {
      tags: ['Registry'],
      operationId: 'describePrompts',
      summary: 'Describe the prompts as typed calls',
      description: 'An OpenAPI 3.1 document with a render and a chat operation for each prompt that can run, in the types of its own parameters; of a prompt without, the names that its text reads. ' +
        'It changes with what is registered: `If-None-Match` with its ETag is 304 while it does not. With `label` it is of the versions that the label means. Many prompts come page by page, with the next one in the Link header.',
      querystring: DocumentQuery,
      response: { 200: DocumentReply, 304: Type.Null() }
    }
  }, async (request, reply) => {
    const { generation, query, caller } = request
    const prompts = servedUnder(generation, query.label ?? LATEST)
    // An id with a lone surrogate cannot be written in a URL.
    const { prefix, after, limit } = query
    const ids = selectIds(prompts, { prefix, after, limit }, ({ id, state }) => state === 'valid' && !/\p{Surrogate}/u.test(id))
    const page = ids.slice(0, query.limit).map(id => [id, prompts.get(id) as Prompt] as const)
    const { text, count } = await describePrompts(page, generation, visibleEnvirons(environs, caller))
    rowsOf(request, reply, count, ids, id => id)
    // The tag is a hash of the text, not the revision of the registry: names of shared variables change the text, too, and do not change
    // the revision.
    const tag = contentHash(text)
    reply.header('etag', entityTag(tag))
    const { noneMatches } = readPrecondition(request.headers)
    if (noneMatches === 'any' || noneMatches?.includes(tag) === true) return reply.code(304).send(null)
    return reply.type('application/json; charset=utf-8').send(text)
  })
}

/**
 * The prompts in which this label points to a version, each as that version. If the label is divided among several versions, the version with
 * most of the requests is taken.
 */
function servedUnder ({ prompts, releases }: Generation, label: string): ReadonlyMap<string, Prompt> {
  if (label === LATEST) return prompts
  const served = new Map<string, Prompt>()
  for (const [id, { labels }] of releases) {
    const [first, ...others] = labels.get(label) ?? []
    if (first !== undefined) served.set(id, others.reduce((most, each) => each.weight > most.weight ? each : most, first).prompt)
  }
  return served
}
