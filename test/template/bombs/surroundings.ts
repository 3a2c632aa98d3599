import { type JsonObject } from '../../../src/base/json.ts'
import { type ArmedBomb, arm } from './bomb.ts'
import { LOAD_BOMBS } from './load-bombs.ts'
import { RENDER_BOMBS } from './render-bombs.ts'

/** All bombs. */
export const BOMBS: readonly ArmedBomb[] = [...arm(RENDER_BOMBS), ...arm(LOAD_BOMBS)]

/** A prompt that must go on working among them, and what it renders to. */
export const NEIGHBOUR = { id: 'neighbour', text: 'still here' }

const environs = (below: string, count: number) => Array.from({ length: count }, (_, index) => [`environs:${below}:key${index}`, index] as const)

/** Everything that a service among bombs has registered, by key: the bombs, a tool that nobody answers for, shared variables. */
export const BOMB_REGISTRATIONS: Readonly<Record<string, unknown>> = {
  'templates:neighbour': { userPrompt: NEIGHBOUR.text } satisfies JsonObject,
  'tools:bombs:echo': { name: 'echo', type: 'restful', restful: { url: 'http://127.0.0.1:9/', method: 'POST' }, parameters: { type: 'object', properties: { value: {} } } },
  ...Object.fromEntries([...environs('bombs', 1500), ...environs('few:a', 900)]),
  ...Object.assign({}, ...BOMBS.map(({ registrations }) => registrations)) as JsonObject
}
