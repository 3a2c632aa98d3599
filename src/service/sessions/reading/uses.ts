import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { type Fact, type Transition } from '../../../session/model.ts'

/** How often a session has used one thing: a model for one purpose, a tool, a check, a target, a workspace or a definition. */
export interface Use {
  /** The kind of the effects (actions) that used it: `llm`, `tool`, `exec`, `check`, `read`, `apply`, … */
  readonly kind: string
  /** The purpose for which a model was asked, the id of a tool, or the name of a check, a target, a workspace or a definition such as `agents/helper`. */
  readonly name: string
  readonly calls: number
  readonly failures: number
  readonly tokens: number
}

/** The most things (models, tools, targets …) whose use is listed; an ordinary session uses far fewer. */
const MAX_USES = 500

/** The members of a recorded effect (an action) that can name what the effect used. The first of these members that the effect has counts. */
const NAMES = ['purpose', 'tool', 'check', 'target', 'workspace', 'definition']

/** Counts what a session has used, in the order of first use. @param log all transitions of the session */
export async function usesIn (log: AsyncIterable<Transition>): Promise<readonly Use[]> {
  const uses = new Map<string, Use>()
  const keys = new Map<string, string>()
  for await (const { fact, begun } of log) {
    if ('effect' in fact && fact.kind !== 'decided') {
      const use = uses.get(keys.get(fact.effect) ?? '')
      if (use !== undefined) uses.set(keyOf(use), { ...use, failures: use.failures + (hasFailed(fact) ? 1 : 0), tokens: use.tokens + tokensOf(fact) })
      keys.delete(fact.effect)
    }
    for (const { id, kind, subject } of begun) {
      const name = nameOf(subject)
      if (name === undefined) continue
      const key = keyOf({ kind, name })
      const use = uses.get(key) ?? { kind, name, calls: 0, failures: 0, tokens: 0 }
      if (!uses.has(key) && uses.size === MAX_USES) continue
      uses.set(key, { ...use, calls: use.calls + 1 })
      keys.set(id, key)
    }
  }
  return [...uses.values()]
}

function keyOf ({ kind, name }: Pick<Use, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

function nameOf (subject: JsonObject | undefined): string | undefined {
  const found = NAMES.find(name => subject !== undefined && Object.hasOwn(subject, name))
  const name = found === undefined ? undefined : subject?.[found]
  return typeof name === 'string' ? name : undefined
}

/** Whether an effect (an action) of a session has failed. A command whose exit code is not 0, and a check that does not pass, count as failed, too. */
function hasFailed (fact: Fact): boolean {
  if (fact.kind !== 'result') return true
  const result: Json = fact.result
  return isJsonObject(result) && ((typeof result['exitCode'] === 'number' && result['exitCode'] !== 0) || result['passed'] === false)
}

function tokensOf (fact: Fact): number {
  return fact.kind === 'result' && fact.usage !== undefined ? fact.usage.input + fact.usage.output : 0
}
