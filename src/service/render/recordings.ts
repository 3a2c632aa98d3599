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
  /** The largest body of a request, in bytes: a recording must fit into one. */
  readonly maxBody: number
}

/** A request to render again from a bundle (a recorded render). Its variables and conversation, if there are any, replace the recorded ones. */
export interface ReplayRequest extends Omit<RenderRequest, 'variables' | 'environment'> {
  readonly bundle: Bundle
  readonly variables: JsonObject | undefined
}

/** Three special ways to render: to record all that a render reads, to replay such a recording, and to use the defaults of tools. */
export interface Recordings {
  /** Renders with live tools and variables, and gives a bundle: a recording of everything that the result depended on. */
  record (request: RenderRequest): Promise<Rendering & { readonly bundle: Bundle }>
  /** Renders from a bundle (a recorded render), without calling a tool or reading a variable. @throws BUNDLE_INVALID, BUNDLE_STALE, BUNDLE_INCOMPLETE */
  replay (request: ReplayRequest): Promise<Rendering>
  /** Renders with the default of each tool in place of its result. No tool is called. */
  stub (request: RenderRequest): Promise<Rendering>
}

/** Makes the functions that record renders, replay them, and use defaults of tools. All of them call the ordinary render function, `renderPrompt`. */
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
