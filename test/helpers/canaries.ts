import assert from 'node:assert/strict'

/** A secret that is planted somewhere, to be looked for everywhere. */
export interface Canary {
  readonly name: string
  readonly text: string
  /** Whether replies may hold it, because showing it is what the prompt or the caller asked for. */
  readonly mayBeAnswered: boolean
}

function plant (name: string, mayBeAnswered = false): Canary {
  return { name, text: `canary-${name}-7f3a9c`, mayBeAnswered }
}

/** Fourteen secrets, by where they are planted. */
export const CANARIES = {
  // Configuration
  modelKey: plant('model-key'),
  toolSecret: plant('tool-secret'),
  redisPassword: plant('redis-password'),
  exportHeader: plant('export-header'),
  // The service itself has only its hash
  apiToken: plant('api-token'),
  // Shared variables
  printedEnviron: plant('printed-environ', true),
  passedEnviron: plant('passed-environ', true),
  unusedEnviron: plant('unused-environ'),
  // Variables of the caller
  printedVariable: plant('printed-variable', true),
  passedVariable: plant('passed-variable', true),
  refusedVariable: plant('refused-variable'),
  // Headers of the caller
  authorization: plant('authorization'),
  cookie: plant('cookie'),
  wrongToken: plant('wrong-token')
} satisfies Record<string, Canary>

/** What a service has let out. */
export interface Outlets {
  readonly logLines: readonly string[]
  readonly replies: readonly string[]
  readonly metrics: readonly string[]
  /** Bodies of exports. */
  readonly traces: readonly string[]
}

/** Fails with the name of every canary that is where it must not be. */
export function assertNoCanaries (outlets: Outlets): void {
  const escaped = Object.entries(outlets).flatMap(([outlet, texts]) => Object.values(CANARIES)
    .filter(({ mayBeAnswered }) => outlet !== 'replies' || !mayBeAnswered)
    .flatMap(({ name, text }) => (texts as readonly string[]).filter(each => holds(each, text)).map(each => `${name} in ${outlet}: ${each.slice(0, 500)}`)))
  assert.deepEqual(escaped, [])
}

/** As it is, and as it is often written in another form. */
export function holds (text: string, secret: string): boolean {
  return [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').replace(/=+$/, ''), Buffer.from(secret).toString('hex')].some(form => text.includes(form))
}
