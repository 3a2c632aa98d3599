import { type TestContext } from 'node:test'
import { createBaseUrls } from '../../src/tool/base-urls.ts'
import { createEgress } from '../../src/tool/egress.ts'
import { type Operator } from '../../src/tool/operator.ts'
import { parseToolDefinition } from '../../src/tool/parse-definition.ts'
import { DEFAULT_POLICY } from '../../src/tool/policy.ts'
import { type RegisteredTool } from '../../src/tool/registered-tool.ts'
import { NO_SECRETS } from '../../src/tool/secrets.ts'
import { SYSTEM_TLS } from '../../src/tool/tls.ts'
import { createToolCaller, type ToolCaller, type ToolCallerOptions } from '../../src/tool/tool-caller.ts'
import { type ToolDefinition } from '../../src/tool/definition.ts'
import { type ToolOutcome } from '../../src/tool/outcome.ts'
import { type Json, type JsonObject } from '../../src/template/value.ts'

/** An operator who grants what is usual, changed where a test says so. */
export function createOperator (changes: Partial<Operator> = {}): Operator {
  return {
    egress: createEgress({ mode: 'internal', allow: [] }),
    secrets: NO_SECRETS,
    baseUrls: createBaseUrls({ byModule: new Map(), modules: { has: () => false, get: async () => undefined } }),
    commands: new Map(),
    tls: SYSTEM_TLS,
    policy: DEFAULT_POLICY,
    ...changes
  }
}

/** Reads a registration under the key `shenma:tools:test:tool`, or the id given, which must be good. */
export function define (registration: unknown, operator = createOperator(), id = 'test.tool'): ToolDefinition {
  const { definition, diagnostics } = parseToolDefinition(id.replaceAll('.', '_'), id, registration as Json, operator)
  if (definition === undefined) throw new Error(diagnostics.map(({ message }) => message).join('; '))
  return definition
}

/** What a test does with tools. */
export interface ToolRoom {
  readonly caller: ToolCaller
  readonly operator: Operator
  /** What was logged. */
  readonly warnings: object[]
  /** Reads a good registration. */
  define (registration: object, id?: string): ToolDefinition
  /** Registers one tool in place of all before. */
  register (registration: JsonObject | object): RegisteredTool
  /** Calls a tool with one argument object. */
  call (tool: RegisteredTool, values?: JsonObject, signal?: AbortSignal): Promise<ToolOutcome>
}

/** Makes a caller that ends with the test. */
export function createToolRoom (test: Pick<TestContext, 'after'>, changes: Partial<Operator> = {}, options: Partial<ToolCallerOptions> = {}): ToolRoom {
  const operator = createOperator(changes)
  const warnings: object[] = []
  const caller = createToolCaller({ operator, log: { warn: fields => warnings.push(fields) }, ...options })
  test.after(() => caller.close())
  return {
    caller,
    operator,
    warnings,
    define: (registration, id) => define(registration, operator, id),
    register: registration => caller.register([define(registration, operator)])[0] as RegisteredTool,
    call: (tool, values = {}, signal = new AbortController().signal) =>
      caller.call(tool, tool.mapArguments([values], {}), { signal, requestId: 'request-1' })
  }
}

/** Waits until something that happens in the background has happened; the test's own time limit is the only one. */
export async function until (condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!await condition()) await new Promise(resolve => setTimeout(resolve, 5))
}
