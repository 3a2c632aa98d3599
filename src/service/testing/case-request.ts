import { type Caller } from '../../access/caller.ts'
import { type VisibleEnvirons } from '../../access/environ-view.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type TestCase } from '../../registry/kinds/tests/test-cases.ts'
import { type Activity } from '../../runtime/activity.ts'
import { type CallerSignal } from '../../runtime/caller-signal.ts'
import { type ChatWithPrompt } from '../chat/chat-with-prompt.ts'
import { type Bundle } from '../render/bundle.ts'
import { type RenderPrompt } from '../render/render-prompt.ts'
import { type ChoosePrompt, type ChosenPrompt } from '../versions/choose-prompt.ts'

/** A request to run one test case of a prompt. */
export interface CaseRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
  /** The version of the prompt that is tested. */
  readonly chosen: ChosenPrompt
  readonly testCase: TestCase
  /** Recorded tool calls, whose results are used in place of calls of tools, if the test case names a file of recorded calls. */
  readonly known?: Pick<Bundle, 'tools'> | undefined
  readonly requestId: string
  readonly activity?: Activity | undefined
  readonly signal: CallerSignal
}

/** The parts of the service that running test cases needs. */
export interface CaseRunnerOptions {
  readonly renderPrompt: RenderPrompt
  readonly chatWithPrompt: ChatWithPrompt
  readonly choosePrompt: ChoosePrompt
  readonly environs: VisibleEnvirons
}
