import { type Caller } from '../../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../../access/environ-view.ts'
import { mayPublish } from '../../access/may-publish.ts'
import { clientClosed, entryForbidden, ServiceError } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { RejectedEntry } from '../../registry/diagnostic/diagnostic.ts'
import { type Generation, type Prompt } from '../../registry/generation/generation.ts'
import { promptKind } from '../../registry/kinds/prompt/prompt-kind.ts'
import { ownTemplates } from '../../registry/entries/template-cache.ts'
import { templateParser } from '../../registry/kinds/prompt/template-entry.ts'
import { type PromptNeeds } from '../../registry/needs/needs.ts'
import { collectNeeds } from '../../registry/needs/prompt-needs.ts'
import { type Activity } from '../../runtime/activity.ts'
import { createSlices } from '../../runtime/slices.ts'
import { toPath } from '../../store/keys.ts'
import { type Language } from '../../template/language.ts'
import { linkCandidates, type LintCandidate } from '../lint/lint-candidate.ts'
import { findUnstorable } from '../publish/check-entry.ts'
import { type Bundle } from '../render/bundle.ts'
import { type Explanation } from '../render/explanation.ts'
import { type Recordings } from '../render/recordings.ts'
import { type RenderPrompt } from '../render/render-prompt.ts'
import { promptOrMessages, type RenderedMessage } from '../render/rendered-messages.ts'
import { type VersionReader } from '../versions/version-reader.ts'
import { knownTools } from './known-tools.ts'
import { type Mistake, mistakeOf, mistakesOfRender } from './mistake.ts'
import { type PlacedExplanation, placeSpans } from './place-spans.ts'

/** A request to preview a prompt that is not stored, with the variables to render it with. */
export interface PreviewRequest {
  readonly generation: Generation
  readonly caller: Caller
  /** The id that the prompt would have. */
  readonly id: string
  /** The text of the prompt, as it would be stored. */
  readonly text: string
  readonly variables: JsonObject
  /** The conversation so far, as messages of the caller, like those of a render. @default none */
  readonly history?: readonly JsonObject[] | undefined
  /**
   * How tools are treated. `live`: they are called, and the reply has a bundle (a recording). `known`: no tool is called; the answers come
   * from the recording in `known`, or are the tools' defaults.
   */
  readonly tools: 'live' | 'known'
  /** A bundle (a recorded render). Its results of tool calls answer the tool calls of this preview; nothing else in it is used. */
  readonly known?: Pick<Bundle, 'tools'> | undefined
  readonly requestId: string
  readonly activity?: Activity | undefined
  /** Tells whether the client has closed the connection, so that nobody waits for the reply. */
  readonly isGone?: () => boolean
}

/** The result of a preview. */
export interface Preview {
  readonly id: string
  /** Errors of the prompt or its variables, then warnings and notes. */
  readonly mistakes: readonly Mistake[]
  /** The variables and tools that the prompt needs; left out when its text cannot be read. */
  readonly needs?: PromptNeeds
  /** The rendered text or messages. This and all further members are left out when there is an error. */
  readonly rendered?: string | readonly RenderedMessage[]
  /** The explanation of the render: what each piece of the output was made from. Left out if the render keeps within its limits only without it. */
  readonly explanation?: PlacedExplanation
  /** The bundle (the recording) of the render; only for a preview that really calls the tools. */
  readonly bundle?: Bundle
}

type Rendered = Pick<Preview, 'rendered' | 'explanation' | 'bundle'>

/** Renders a prompt that is being written, without storing it. @throws ENTRY_FORBIDDEN, LINT_BUSY, RENDER_TIMEOUT, STORE_UNAVAILABLE, CLIENT_CLOSED_REQUEST */
export type PreviewPrompt = (request: PreviewRequest) => Promise<Preview>

/** The parts of the service that a preview needs. */
export interface PreviewerOptions {
  /** Checks the prompt. Its texts are parsed in a process that only previews use. */
  readonly lintCandidate: LintCandidate
  readonly languages: readonly Language[]
  readonly versions: Pick<VersionReader, 'pinned'>
  readonly environs: VisibleEnvirons
  readonly renderPrompt: RenderPrompt
  readonly recordings: Pick<Recordings, 'record'>
}

/**
 * Makes the function that previews a prompt: it renders the prompt without storing it, for callers who may publish it. A separate process
 * parses the prompt first and can be killed, since some texts take too long to parse. After that the prompt is rendered like a registered
 * one, within the same limits.
 */
export function createPreviewer ({ lintCandidate, languages, versions, environs, renderPrompt, recordings }: PreviewerOptions): PreviewPrompt {
  async function read (generation: Generation, path: string, text: string): Promise<Prompt | undefined> {
    try {
      const entry = await templateParser('', ownTemplates(languages)).parse(path, text, createSlices())
      return (await linkCandidates(generation, [entry], await versions.pinned(generation, [entry]))).get(path)
    } catch (error) {
      // The lint of the prompt has reported already why the text cannot be parsed.
      if (error instanceof RejectedEntry) return undefined
      throw error
    }
  }

  /** Renders the prompt with an explanation. If that is too much for one render (RENDER_BUDGET), renders again without, unless tools are really called. */
  async function renderAsFarAsExplained (request: PreviewRequest, candidate: Prompt): Promise<Rendered> {
    try {
      return await render(request, candidate, true)
    } catch (error) {
      if (request.tools === 'live' || !(error instanceof ServiceError) || error.code !== 'RENDER_BUDGET') throw error
      return await render(request, candidate, false)
    }
  }

  async function render (request: PreviewRequest, candidate: Prompt, isExplained: boolean): Promise<Rendered> {
    const { generation, caller, variables, history, tools, known, requestId, activity } = request
    let explanation: Explanation | undefined
    const onExplained = isExplained ? (found: Explanation) => { explanation = found } : undefined
    const asked = { generation, caller, id: candidate.id, candidate, variables, history, requestId, activity, onExplained }
    const renderWithKnown = () => renderPrompt({
      ...asked,
      environment: { environs: visibleEnvirons(environs, caller), callTool: knownTools(generation, known?.tools ?? []) }
    })
    const { messages, bundle } = tools === 'live' ? await recordings.record(asked) : { bundle: undefined, ...await renderWithKnown() }
    return {
      rendered: promptOrMessages(candidate, messages),
      ...(explanation === undefined ? {} : { explanation: placeSpans(explanation, candidate) }),
      ...(bundle === undefined ? {} : { bundle })
    }
  }

  return async function previewPrompt (request) {
    const { generation, caller, text, isGone } = request
    const id = toPath(request.id)
    if (!mayPublish(promptKind, id, caller)) throw entryForbidden(caller.name, promptKind.key, id)
    const unstorable = findUnstorable(id, text)
    if (unstorable.length > 0) return { id, mistakes: unstorable.map(mistakeOf) }
    const found = await lintCandidate(generation, { kind: promptKind.key, id, text }, caller)
    if (isGone?.() === true) throw clientClosed()
    const mistakes = found.map(mistakeOf)
    // A prompt that was too complex for the process that checked it is not parsed in this one.
    if (found.some(({ code, severity }) => code === 'TOO_COMPLEX' && severity === 'error')) return { id, mistakes }
    const prompt = await read(generation, id, text)
    if (prompt === undefined || prompt.state === 'invalid') return { id, mistakes }
    const needs = collectNeeds(prompt, generation.everyPrompt, visibleEnvirons(environs, caller))
    if (found.some(({ severity }) => severity === 'error')) return { id, mistakes, needs }
    try {
      return { id, mistakes, needs, ...await renderAsFarAsExplained(request, prompt) }
    } catch (error) {
      const failed = error instanceof ServiceError ? mistakesOfRender(error) : undefined
      if (failed === undefined) throw error
      return { id, mistakes: [...failed, ...mistakes], needs }
    }
  }
}
