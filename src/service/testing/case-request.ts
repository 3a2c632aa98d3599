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

/** A request to run one case of a prompt's tests. */
export interface CaseRequest {
  readonly generation: Generation
  readonly caller: Caller
  readonly id: string
  /** The version that is tested. */
  readonly chosen: ChosenPrompt
  readonly testCase: TestCase
  /** The recorded tool calls of the file that the case names. */
  readonly known?: Pick<Bundle, 'tools'> | undefined
  readonly requestId: string
  readonly activity?: Activity | undefined
  readonly signal: CallerSignal
}

/** The services that cases are run with. */
export interface CaseRunnerOptions {
  readonly renderPrompt: RenderPrompt
  readonly chatWithPrompt: ChatWithPrompt
  readonly choosePrompt: ChoosePrompt
  readonly environs: VisibleEnvirons
}
