import { type Position } from '../../template/position.ts'
import { type Prompt } from '../generation.ts'
import { type PromptLookup } from '../needs/needs.ts'

/** A call of a partial that is made whenever the text around it is rendered. */
export interface CertainCall extends Position { readonly id: string, readonly message: number }

/**
 * The calls of partials in a prompt's own text that no block lies around. With an inline partial in force, the one that
 * is called may not call those that it names.
 */
export function certainCalls ({ entry, messages }: Prompt): CertainCall[] {
  return entry.compiled.messages.flatMap(({ references }, message) => references.flatMap(({ calls, line, column }, index) => {
    const link = messages[message]?.links[index]
    const isCertain = calls?.some(({ isConditional, inlines }) => !isConditional && (inlines?.size ?? 0) === 0) === true
    return link?.kind === 'partial' && isCertain ? [{ id: link.id, message, line, column }] : []
  }))
}

interface Frame { readonly id: string, readonly targets: readonly string[], next: number }

/** Finds prompts that can never end, since their partials include each other with no condition on the way. */
export class PartialCycles {
  readonly #prompts: PromptLookup
  /** Whether a prompt never ends, for those that have been looked at. */
  readonly #endless = new Map<string, boolean>()

  constructor (prompts: PromptLookup) {
    this.#prompts = prompts
  }

  /** The way from a prompt into a circle, ending with the id that closes it; `undefined` when it ends. */
  find (id: string): readonly string[] | undefined {
    if (!this.isEndless(id)) return undefined
    const way = [id]
    for (let last = id; ;) {
      const next = this.#targets(last).find(target => this.isEndless(target)) as string
      const isClosed = way.includes(next)
      way.push(next)
      if (isClosed) return way
      last = next
    }
  }

  /** Each prompt is walked once, however often this is asked. Not recursive: a chain of partials can be as long as the registry. */
  isEndless (id: string): boolean {
    const known = this.#endless.get(id)
    if (known !== undefined) return known
    const stack = [this.#frame(id)]
    const onStack = new Set([id])
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      const target = frame.targets[frame.next++]
      if (target === undefined) {
        this.#endless.set(frame.id, false)
        onStack.delete(frame.id)
        stack.pop()
      } else if (onStack.has(target) || this.#endless.get(target) === true) {
        for (const each of onStack) this.#endless.set(each, true)
        return true
      } else if (!this.#endless.has(target)) {
        stack.push(this.#frame(target))
        onStack.add(target)
      }
    }
    return false
  }

  #frame (id: string): Frame {
    return { id, targets: this.#targets(id), next: 0 }
  }

  #targets (id: string): readonly string[] {
    const prompt = this.#prompts.get(id)
    return prompt === undefined ? [] : certainCalls(prompt).map(call => call.id)
  }
}

const cycles = new WeakMap<PromptLookup, PartialCycles>()

/** The cycles among those prompts, remembered with them. */
export function cyclesOf (prompts: PromptLookup): PartialCycles {
  const known = cycles.get(prompts) ?? new PartialCycles(prompts)
  cycles.set(prompts, known)
  return known
}
