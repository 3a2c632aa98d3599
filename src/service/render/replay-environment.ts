import { bundleIncomplete } from '../../base/errors.ts'
import { canonicalJson } from '../../base/json.ts'
import { type EnvironSource } from '../../template/run/environ-source.ts'
import { toolCallKey } from '../../template/run/tool-call.ts'
import { markToolResult, NOTHING, type Value } from '../../template/value.ts'
import { type Bundle, type RecordedCall, type RecordedEnviron } from './bundle.ts'
import { type RenderEnvironment } from './render-environment.ts'

/**
 * Makes an environment for a render that takes all values from a bundle (a recorded render), without calling tools and without the store. A
 * render with other variables may need a value that was not recorded.
 * @throws BUNDLE_INCOMPLETE, when the render asks for a value that is not in the bundle
 */
export function replayEnvironment (bundle: Bundle): RenderEnvironment {
  const calls = new Map(bundle.tools.map(call => [toolCallKey(call.tool, call.arguments), call]))
  return {
    now: new Date(bundle.now),
    environs: replayEnvirons(new Map(bundle.environs.map(entry => [entry.name, entry]))),
    async callTool ({ tool, arguments: values, key }) {
      const call = calls.get(key)
      if (call === undefined) throw bundleIncomplete(`a call of ${tool.name} with ${canonicalJson(values)}`)
      return { value: recordedValue(call), outcome: 'recorded', durationMs: 0 }
    }
  }
}

function replayEnvirons (entries: ReadonlyMap<string, RecordedEnviron>): EnvironSource {
  function answer<Member extends keyof RecordedEnviron> (name: string, member: Member): NonNullable<RecordedEnviron[Member]> {
    const recorded = entries.get(name)?.[member]
    if (recorded === undefined || recorded === null) throw bundleIncomplete(`the shared variable "${name}"`)
    return recorded
  }

  return {
    has: name => answer(name, 'exists'),
    hides: name => entries.get(name)?.hidden === true,
    hasBelow: name => answer(name, 'isBranch'),
    namesBelow: name => answer(name, 'names'),
    segmentsBelow: name => answer(name, 'segments'),
    cached (name) {
      const entry = entries.get(name)
      if (entry?.gone === true) return undefined
      return { value: entry?.value ?? null, bytes: answer(name, 'bytes') }
    },
    // Only names without a value arrive here; all recorded values are in memory already.
    fetch: async () => new Map()
  }
}

/** The result of a recorded tool call, marked as a tool's result. */
export function recordedValue (call: RecordedCall): Value {
  if (call.value === undefined) return NOTHING
  markToolResult(call.value)
  return call.value
}
