import { type TestContext } from 'node:test'
import { type Log } from '../../src/runtime/telemetry.ts'
import { loadConfig } from '../../src/config/config.ts'
import { Environs } from '../../src/registry/kinds/environ-kind.ts'
import { KINDS } from '../../src/registry/kind-table.ts'
import { Registry, type RegistryOptions } from '../../src/registry/registry.ts'
import { operatorFrom } from '../../src/service/from-config.ts'
import { goLanguage } from '../../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../../src/template/handlebars/handlebars-language.ts'
import { createToolCaller } from '../../src/tool/tool-caller.ts'
import { createToolReader } from '../../src/tool/tool-reader.ts'
import { TOOL_TYPES } from '../../src/tool/tool-types.ts'
import { quietLog } from './quiet-log.ts'
import { createMemoryStore, type MemoryStore } from './memory-store.ts'

/** Values by key without its prefix `shenma:`; what is not a text is stored as JSON. */
export type Registrations = Readonly<Record<string, unknown>>

export interface Registered {
  readonly registry: Registry
  readonly store: MemoryStore
  /** Stores values and waits until the registry has read them. */
  write (registrations: Registrations): Promise<void>
  /** Deletes keys and waits until the registry has seen it. */
  remove (...keys: string[]): Promise<void>
}

/** What the registry warned of. */
export type RecordedLog = Log & { readonly lines: Array<{ details: object, message: string }> }

export function recordedLog (): RecordedLog {
  const lines: RecordedLog['lines'] = []
  const record = (details: object, message: string) => { lines.push({ details, message }) }
  return { lines, ...quietLog({ info: record, warn: record }) }
}

/** A store in memory that holds them. */
export function storeWith (registrations: Registrations): MemoryStore {
  return createMemoryStore(Object.entries(registrations).map(([key, value]) => [`shenma:${key}`, asText(value)]))
}

/** A registry over a store in memory, stopped after the test. */
export async function registered (t: TestContext, registrations: Registrations, options: Partial<RegistryOptions> = {}): Promise<Registered> {
  const store = storeWith(registrations)
  const environs = new Environs({ store, prefix: 'shenma:environs:' })
  const operator = operatorFrom(loadConfig({ STORE_DIR: 'unused' }), environs, {})
  const log = recordedLog()
  const tools = createToolCaller({ types: TOOL_TYPES, operator, log })
  const registry = new Registry({
    kinds: KINDS,
    store,
    environs,
    toolReader: createToolReader(TOOL_TYPES, operator),
    registerTools: tools.register,
    keyPrefix: 'shenma:',
    languages: [handlebarsLanguage, goLanguage],
    pollInterval: 3_600_000,
    emptyHold: 600_000,
    log,
    ...options
  })
  await registry.start()
  t.after(async () => {
    await registry.stop()
    await tools.close()
  })
  return {
    registry,
    store,
    async write (more) {
      for (const [key, value] of Object.entries(more)) store.set(`shenma:${key}`, asText(value))
      await registry.refresh()
    },
    async remove (...keys) {
      for (const key of keys) store.delete(`shenma:${key}`)
      await registry.refresh()
    }
  }
}

function asText (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
