import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'
import { Type } from '../../base/schema-builder.ts'
import { whyNotRunnable } from '../../service/render/render-prompt.ts'
import { type App } from '../base/app-types.ts'
import { CHOOSES_PROMPT } from '../base/route-errors.ts'
import { partPlace, PromptId } from '../base/schemas.ts'
import { type ChoosePrompt } from '../../service/versions/choose-prompt.ts'
import { choose, WishQuery } from '../prompts/prompt-choice.ts'

const place = {
  line: Type.Integer(),
  column: Type.Integer(),
  messageIndex: Type.Optional(Type.Integer({ description: 'Which message, from 0, when the text has several' })),
  ...partPlace,
  in: Type.Optional(Type.String({ description: 'The partial whose text it is in; missing for the prompt\'s own' }))
}
const path = Type.String({ description: 'From the scope root; `*` is any name or index', examples: ['variables.user.name', 'chat.*'] })
const use = Type.String({ description: 'used: it reaches the output or a function; tested: it may be absent; possible: which path it is depends on a value' })

const reference = {
  name: Type.String({ description: 'As the prompt writes it' }),
  id: Type.Optional(Type.String({ description: 'What it stands for now; missing when nothing is registered under that name' })),
  arguments: Type.Array(Type.String(), { description: 'The argument expressions as written' }),
  ...place
}

/** The schema of a prompt's needs: the variables, shared variables, tools and partials that its templates read. */
export const Needs = Type.Object({
  variables: Type.Array(Type.Object({
    path,
    use,
    required: Type.Boolean({ description: 'Whether a render without it is refused: a required parameter, or used where nothing tests it, and without a default' }),
    default: Type.Optional(Type.Unknown()),
    ...place,
    line: Type.Optional(Type.Integer({ description: 'Missing for a required parameter that no text reads' })),
    column: Type.Optional(Type.Integer())
  }), { description: 'What the caller gives' }),
  environs: Type.Array(Type.Object({ path, use, registered: Type.Boolean({ description: 'Whether a shared variable is there, above it or below it' }), ...place }), { description: 'Shared variables' }),
  caller: Type.Array(Type.Object({ path, use, ...place }), { description: 'Facts about the identity of the caller' }),
  tools: Type.Array(Type.Object({
    ...reference,
    line: Type.Optional(Type.Integer({ description: 'Missing for a tool that the prompt offers its model in `toolLoop`' })),
    column: Type.Optional(Type.Integer())
  })),
  partials: Type.Array(Type.Object(reference)),
  complete: Type.Boolean({ description: 'False when there was too much in it, or in its partials, to look at all of it' })
})

const NeedsReply = Type.Object({ id: Type.String(), revision: Type.String(), ...Needs.properties })

/**
 * The route that tells what a prompt needs to be rendered: variables, shared variables, tools, and partials (prompts that it includes).
 */
export function needsRoutes (app: App, { environs, choosePrompt }: { environs: VisibleEnvirons, choosePrompt: ChoosePrompt }): void {
  app.get('/api/prompts/:id/needs', {
    config: { role: 'read', fails: CHOOSES_PROMPT, headers: ['x-prompt-revision', 'x-prompt-version', 'x-prompt-label'] },
    schema: { tags: ['Registry'], operationId: 'getPromptNeeds', summary: 'What a prompt needs: variables, shared variables, tools, partials', params: PromptId, querystring: WishQuery, response: { 200: NeedsReply } }
  }, async (request, reply) => {
    const { prompt } = await choose(choosePrompt, request, reply, request.params.id, request.query)
    const error = whyNotRunnable(prompt, request.generation)
    if (prompt.state === 'invalid' && error !== undefined) throw error
    return { id: prompt.id, revision: prompt.revision, ...collectNeeds(prompt, request.generation.everyPrompt, visibleEnvirons(environs, request.caller)) }
  })
}
