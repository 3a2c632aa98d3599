import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { type JsonObject } from '../../base/json.ts'
import { type Bundle, checkBundle, sealBundle, throughJson } from './bundle.ts'
import { recordEnvironment } from './record-environment.ts'
import { findPrompt, type Rendering, type RenderPrompt, type RenderRequest } from './render-prompt.ts'
import { type RenderEnvironment } from './render-environment.ts'
import { replayEnvironment } from './replay-environment.ts'
import { stubTools } from './stub-tools.ts'

export interface RecordingsOptions {
  readonly renderPrompt: RenderPrompt
  readonly environs: VisibleEnvirons
  readonly callTool: RenderEnvironment['callTool']
  /** The largest body of a request, in bytes: a bundle has to fit in. */
  readonly maxBody: number
}

/** A request to render a bundle again. Variables and a history may be given in place of the recorded ones. */
export interface ReplayRequest extends Omit<RenderRequest, 'variables' | 'environment'> {
  readonly bundle: Bundle
  readonly variables: JsonObject | undefined
}

/** Renders that are recorded, replayed, or made without calling tools. */
export interface Recordings {
  /** Renders with the live service, and gives a bundle of everything that the result depended on. */
  record (request: RenderRequest): Promise<Rendering & { readonly bundle: Bundle }>
  /** Renders from a bundle alone. @throws BUNDLE_INVALID, BUNDLE_STALE, BUNDLE_INCOMPLETE */
  replay (request: ReplayRequest): Promise<Rendering>
  /** Renders with the defaults of all tools. */
  stub (request: RenderRequest): Promise<Rendering>
}

/** Wraps the renderer; how prompts are rendered does not change. */
export function createRecordings ({ renderPrompt, environs, callTool, maxBody }: RecordingsOptions): Recordings {
  const environmentFor = (caller: Caller, tools: RenderEnvironment['callTool']): RenderEnvironment => ({
    environs: visibleEnvirons(environs, caller),
    callTool: tools
  })

  return {
    async record (request) {
      const history = throughJson([...request.history ?? []])
      const { environment, learned } = recordEnvironment(environmentFor(request.caller, callTool), maxBody)
      const variables = throughJson(request.variables)
      const rendering = await renderPrompt({ ...request, variables, history, environment })
      const { id, revision } = rendering.prompt
      const bundle = sealBundle({ version: 2, prompt: { id, revision }, variables, history, caller: request.caller.facts, ...learned() }, maxBody)
      return { ...rendering, bundle }
    },
    async replay ({ bundle, variables = bundle.variables, history = bundle.history, ...request }) {
      checkBundle(bundle, request.chosen?.prompt ?? findPrompt(request.generation, request.id), request.caller)
      const caller = { ...request.caller, facts: bundle.caller }
      return renderPrompt({ ...request, caller, history, variables: throughJson(variables), environment: replayEnvironment(bundle) })
    },
    stub: request => renderPrompt({ ...request, environment: environmentFor(request.caller, stubTools(request.generation)) })
  }
}
