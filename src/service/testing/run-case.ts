import { visibleEnvirons } from '../../access/environ-view.ts'
import { clientClosed, requestInvalid, ServiceError } from '../../base/errors.ts'
import { readReply } from '../../llm/history.ts'
import { UpstreamRefusal } from '../../llm/upstream-error.ts'
import { type Assertion } from '../../registry/kinds/tests/test-cases.ts'
import { inTurn } from '../../runtime/fairness.ts'
import { knownTools } from '../preview/known-tools.ts'
import { type RenderEnvironment } from '../render/render-environment.ts'
import { type RenderRequest } from '../render/render-prompt.ts'
import { type CaseRequest, type CaseRunnerOptions } from './case-request.ts'
import { checkOutput, type Output, type PlainAssertion, type Verdict } from './check-output.ts'
import { judgeOutput } from './judge-output.ts'
import { messageText } from './message-text.ts'

/** The result of one assertion of a test case. */
export interface AssertionResult extends Verdict {
  /** The type of the assertion as the test case writes it, such as `not-contains`. */
  readonly type: string
}

/** The result of a test case. */
export interface CaseResult {
  readonly pass: boolean
  /** How long the render or the model took, in ms; the time of judging models does not count. */
  readonly durationMs: number
  /** The output that the assertions checked; left out when there was none. */
  readonly output?: string
  readonly checks: readonly AssertionResult[]
  /** The error because of which there was no output to check. */
  readonly error?: { readonly code: string, readonly message: string }
}

/** Runs a test case. @throws CLIENT_CLOSED, REQUEST_INVALID when the request lacks the recorded calls; any other failure is a result */
export type RunCase = (request: CaseRequest) => Promise<CaseResult>

/** Makes the function that runs test cases: it renders the prompt or asks its model once, and then checks all assertions on the same output. */
export function createCaseRunner (options: CaseRunnerOptions): RunCase {
  return async function runCase (request) {
    const { testCase, signal } = request
    const environment = environmentOf(request, options)
    const startedAt = performance.now()
    const elapsed = () => Math.round(performance.now() - startedAt)
    try {
      const text = testCase.run === 'chat' ? await ask(request, environment, options) : await render(request, environment, options)
      const output: Output = { text, durationMs: elapsed() }
      const checks: AssertionResult[] = []
      for (const assertion of testCase.assertions) checks.push({ type: typeOf(assertion), ...await check(assertion, output, request, options) })
      return { pass: checks.every(({ pass }) => pass), durationMs: output.durationMs, output: text, checks }
    } catch (error) {
      if (signal.aborted) throw clientClosed()
      return { pass: false, durationMs: elapsed(), checks: [], error: failureOf(error) }
    }
  }
}

/**
 * The environment in which the prompt of a test case is rendered: a tool call gives its recorded result, or else the default of the tool;
 * `undefined` if the tools are really called.
 * @throws REQUEST_INVALID
 */
function environmentOf ({ testCase: { tools }, generation, caller, known }: CaseRequest, { environs }: CaseRunnerOptions): RenderEnvironment | undefined {
  if (tools === 'live') return undefined
  if (tools !== 'stub' && known === undefined) {
    throw requestInvalid(`body: the calls of the file ${tools} are expected in known; aps test reads it from the folder`, { part: 'body', field: 'known' })
  }
  return { environs: visibleEnvirons(environs, caller), callTool: knownTools(generation, known?.tools ?? []) }
}

function renderOf (request: CaseRequest, environment: RenderEnvironment | undefined): RenderRequest {
  const { generation, caller, id, chosen, testCase: { variables }, requestId, activity } = request
  return { generation, caller, id, chosen, variables, requestId, activity, ...(environment === undefined ? {} : { environment }) }
}

async function render (request: CaseRequest, environment: RenderEnvironment | undefined, { renderPrompt }: CaseRunnerOptions): Promise<string> {
  const { messages } = await renderPrompt(renderOf(request, environment))
  return messages.map(messageText).join('\n\n')
}

async function ask (request: CaseRequest, environment: RenderEnvironment | undefined, { chatWithPrompt }: CaseRunnerOptions): Promise<string> {
  const { chosen, testCase: { model }, signal } = request
  // A tool that a model calls has no default, so such a chat needs live tools.
  if (environment !== undefined && chosen.prompt.entry.chat.toolLoop !== undefined) {
    throw requestInvalid('the model of this prompt calls tools itself: a case with run: chat needs tools: live', { part: 'body', field: 'case' })
  }
  const { value } = await chatWithPrompt.complete({ ...renderOf(request, environment), fields: model === undefined ? {} : { model }, signal })
  const { text, refusal } = readReply(value, {})
  return text === '' ? refusal : text
}

async function check (assertion: Assertion, output: Output, request: CaseRequest, options: CaseRunnerOptions): Promise<Verdict> {
  if (isPlain(assertion)) return await inTurn(() => checkOutput(assertion, output))
  try {
    return await judgeOutput(assertion, output, request, options)
  } catch (error) {
    if (request.signal.aborted) throw error
    const { code, message } = failureOf(error)
    return { pass: false, reason: `${request.testCase.judge} cannot judge: ${message} (${code})` }
  }
}

function isPlain (assertion: Assertion): assertion is PlainAssertion {
  return assertion.kind !== 'llm-rubric'
}

function typeOf ({ kind, isNegated }: Assertion): string {
  return isNegated ? `not-${kind}` : kind
}

/** Turns an expected failure into the error of a result. @throws any other error unchanged */
function failureOf (error: unknown): { readonly code: string, readonly message: string } {
  if (error instanceof ServiceError) return { code: error.code, message: error.message }
  if (error instanceof UpstreamRefusal) return { code: 'LLM_UPSTREAM', message: error.inWords }
  throw error
}
