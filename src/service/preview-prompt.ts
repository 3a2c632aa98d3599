import type { Caller } from '../access/caller.ts'
import { visibleEnvirons, type VisibleEnvirons } from '../access/views.ts'
import { mayPublish } from '../access/rights.ts'
import {
  clientClosed, describeText, entryForbidden, type MissingPath, type PartProblem, ServiceError, type TextName, type Violation
} from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { placed, type PlacedDiagnostic } from '../registry/diagnostic-table.ts'
import { type Diagnostic, RejectedEntry } from '../registry/diagnostic.ts'
import { ownTemplates } from '../registry/entries/template-cache.ts'
import type { Generation, Prompt } from '../registry/generation.ts'
import { promptKind, templateParser } from '../registry/kinds/prompt-kind.ts'
import type { PromptNeeds } from '../registry/needs/needs-walk.ts'
import { collectNeeds } from '../registry/needs/prompt-needs.ts'
import type { Activity } from '../observe/activity.ts'
import { createSlices } from '../runtime/event-loop.ts'
import { toPath } from '../store/store.ts'
import type { OutputSpan } from '../template/provenance.ts'
import type { Language } from '../template/language.ts'
import { scanTags, type Tag } from '../template/tags.ts'
import { linkCandidates, type LintCandidate } from './lint/lint-candidate.ts'
import { findUnstorable } from './publish-entry.ts'
import { type Bundle, knownTools, type Recordings } from './recordings.ts'
import { type ExplainedMessage, type Explanation, type MessageSpan, promptOrMessages, type RenderedMessage } from './rendered-messages.ts'
import type { RenderPrompt } from './render-prompt.ts'
import type { VersionReader } from './version-reader.ts'

interface PreviewRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
  readonly text: string
  readonly variables: JsonObject
  /** Messages of the caller, like those of a render. @default none */
  readonly history?: readonly JsonObject[] | undefined
  /** `live`: tools are called, and the reply has a bundle. `known`: answers are those of `known`, or the tools' defaults. */
  readonly tools: 'live' | 'known'
  readonly known?: Pick<Bundle, 'tools'> | undefined
  readonly requestId: string
  readonly activity?: Activity | undefined
  readonly isGone?: () => boolean
}

interface Preview {
  readonly id: string
  readonly mistakes: readonly Mistake[]
  /** Left out when the prompt's text cannot be read. */
  readonly needs?: PromptNeeds
  readonly rendered?: string | readonly RenderedMessage[]
  readonly explanation?: PlacedExplanation
  readonly bundle?: Bundle
}

/** @throws ENTRY_FORBIDDEN, LINT_BUSY, RENDER_TIMEOUT, STORE_UNAVAILABLE, CLIENT_CLOSED_REQUEST */
export type PreviewPrompt = (request: PreviewRequest) => Promise<Preview>

/** Renders without storing; a killable process parses the prompt first, since some texts take too long to parse. */
export function createPreviewer ({ lintCandidate, languages, versions, environs, renderPrompt, recordings }: {
  /** Parses in a process that only previews use. */
  readonly lintCandidate: LintCandidate
  readonly languages: readonly Language[]
  readonly versions: Pick<VersionReader, 'pinned'>
  readonly environs: VisibleEnvirons
  readonly renderPrompt: RenderPrompt
  readonly recordings: Pick<Recordings, 'record'>
}): PreviewPrompt {
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

  /** Renders again without an explanation if RENDER_BUDGET is exceeded, unless tools are really called. */
  async function renderAsFarAsExplained (request: PreviewRequest, candidate: Prompt) {
    try {
      return await render(request, candidate, true)
    } catch (error) {
      if (request.tools === 'live' || !(error instanceof ServiceError) || error.code !== 'RENDER_BUDGET') throw error
      return await render(request, candidate, false)
    }
  }

  async function render (request: PreviewRequest, candidate: Prompt, isExplained: boolean) {
    const { generation, caller, variables, history, tools, known, requestId, activity } = request
    let explanation: Explanation | undefined
    const onExplained = isExplained ? (found: Explanation) => { explanation = found } : undefined
    const chosen = { prompt: candidate, version: undefined, label: undefined }
    const asked = { generation, caller, id: candidate.id, chosen, variables, history, requestId, activity, onExplained }
    const renderWithKnown = () => renderPrompt({
      ...asked,
      environment: { environs: visibleEnvirons(environs, caller), callTool: knownTools(generation, known?.tools ?? []) }
    })
    const { messages, bundle } = tools === 'live' ? await recordings.record(asked) : { bundle: undefined, ...await renderWithKnown() }
    return {
      rendered: promptOrMessages(candidate, messages),
      explanation: explanation === undefined ? undefined : placeSpans(explanation, candidate),
      bundle
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

interface Mistake extends PlacedDiagnostic {
  readonly in?: string
  readonly path?: string
  /** An existing name that the author perhaps meant. */
  readonly near?: string
  /** A JSON pointer (RFC 6901); left out for a mistake that has a line in a text. */
  readonly field?: string
}

function mistakeOf (diagnostic: Diagnostic): Mistake {
  const { field, line } = diagnostic
  return { ...placed(diagnostic), field: field === undefined || line !== undefined ? undefined : pointerOf(field) }
}

function pointerOf (steps: ReadonlyArray<string | number>): string {
  return steps.map(step => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

interface Facts extends Pick<TextName, 'part' | 'member'> {
  readonly missing?: readonly MissingPath[]
  readonly violations?: readonly Violation[]
  readonly problems?: readonly PartProblem[]
  readonly line?: number
  readonly column?: number
  readonly messageIndex?: number | undefined
  readonly in?: string | undefined
}

/** `undefined` if the state of the service was the cause: a timeout, or a store that cannot be reached. */
function mistakesOfRender (error: ServiceError): readonly Mistake[] | undefined {
  const { code, message, statusCode } = error
  if (statusCode === 503 && code !== 'RENDER_BUDGET') return undefined
  const { missing = [], violations = [], problems = [], ...place } = (error.details ?? {}) as Facts
  const found = [
    ...missing.map(({ path, near, ...at }) => {
      const advice = near === undefined ? { hint: 'give it a value' } : { near, hint: `${near} is there` }
      return { ...mistake(code, `${path} is missing`, at), path, ...advice }
    }),
    ...violations.map(({ path, message: problem }) => ({ ...mistake(code, `${path} ${problem}`), path, hint: 'correct the value' })),
    ...problems.map(({ reason, ...at }) => ({ ...mistake(code, `${describeText(at).join(', ')} ${reason}`, at), hint: 'correct the value' }))
  ]
  return found.length > 0 ? found : [mistake(code, message, place)]
}

function mistake (code: string, message: string, place: Omit<Facts, 'missing' | 'violations' | 'problems'> = {}): Mistake {
  const { line = 1, column = 1, messageIndex, part, member, in: partial } = place
  return {
    severity: 'error',
    code,
    message,
    hint: '',
    line,
    column,
    messageIndex,
    part,
    member,
    in: partial
  }
}

/** Offsets in UTF-16 units; `to` is after the last unit. */
interface Stretch {
  readonly from: number
  readonly to: number
}

/** With its ranges, so that an editor can highlight both. */
interface PlacedSpan extends MessageSpan {
  readonly output: Stretch
  readonly source?: Stretch
}

interface PlacedExplanation extends Omit<Explanation, 'messages'> {
  readonly messages: ReadonlyArray<Omit<ExplainedMessage, 'spans'> & { readonly spans: readonly PlacedSpan[] }>
}

function placeSpans (explanation: Explanation, { entry: { definition, compiled } }: Prompt): PlacedExplanation {
  return {
    ...explanation,
    messages: explanation.messages.map(({ spans, ...message }, index) => {
      let text: MessageSpan | undefined
      let places = new TemplatePlaces('', 'either')
      let from = 0
      return {
        ...message,
        spans: spans.map((span): PlacedSpan => {
          if (text === undefined || span.part !== text.part || span.member !== text.member) {
            text = span
            const source = definition.texts.find(({ message: of, where }) => of === index && where?.part === span.part && where?.member === span.member)
            places = new TemplatePlaces(source?.text ?? '', compiled.syntax ?? 'either')
            from = 0
          }
          const output = { from, to: from + span.text.length }
          from = output.to
          return span.partial === undefined ? { ...span, output, source: places.writerOf(span) } : { ...span, output }
        })
      }
    })
  }
}

class TemplatePlaces {
  readonly #text: string
  readonly #lines: readonly number[]
  readonly #tags: readonly Stretch[]

  constructor (text: string, rules: Parameters<typeof scanTags>[1]) {
    this.#text = text
    this.#lines = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
    this.#tags = Array.from(scanTags(text, rules), tag => ({ from: tag.start, to: endOf(text, tag) }))
  }

  writerOf ({ line, column, text }: OutputSpan): Stretch {
    const offset = Math.min((this.#lines[line - 1] ?? 0) + column - 1, this.#text.length)
    const index = this.#lastTagAt(offset)
    const tag = this.#tags[index]
    if (tag !== undefined && offset < tag.to) return tag
    const end = this.#tags[index + 1]?.from ?? this.#text.length
    return { from: offset, to: this.#text.startsWith(text, offset) ? offset + text.length : end }
  }

  #lastTagAt (offset: number): number {
    let low = -1
    let high = this.#tags.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#tags[middle] as Stretch).from <= offset) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** A tag that begins with three braces ends with three, too. */
function endOf (text: string, { start, inner }: Tag): number {
  const end = Math.min(start + inner.length + 4, text.length)
  return inner.startsWith('{') && text[end] === '}' ? end + 1 : end
}
