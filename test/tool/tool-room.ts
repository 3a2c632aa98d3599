import { type TestContext } from 'node:test'
import { createOperator, type Operator } from '../../src/tool/operator.ts'
import { createToolReader } from '../../src/tool/tool-reader.ts'
import { TOOL_TYPES } from '../../src/tool/tool-types.ts'
import type { RegisteredTool, ToolOutcome } from '../../src/tool/registered-tool.ts'
import { createToolCaller, type ToolCaller, type ToolCallerOptions } from '../../src/tool/tool-caller.ts'
import { type ToolDefinition } from '../../src/tool/definition.ts'
import { type Json, type JsonObject } from '../../src/base/json.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { quietLog } from '../helpers/quiet-log.ts'

/** An operator who has set nothing, changed where a test says so. */
export function createTestOperator (changes: Partial<Operator> = {}): Operator {
  const settings = { egress: 'internal', egressAllow: '', baseUrls: '', baseUrl: '', secrets: '', stdioCommands: '', environment: {} } as const
  return { ...createOperator(settings, { has: () => false, get: async () => undefined }), ...changes }
}

/** Reads a registration under the key `shenma:tools:test:tool`, or the id given, which must be good. */
export function define (registration: unknown, operator = createTestOperator(), id = 'test.tool'): ToolDefinition {
  const { definition, diagnostics } = createToolReader(TOOL_TYPES, operator).read(id.replaceAll('.', '_'), id, registration as Json)
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
  const operator = createTestOperator(changes)
  const warnings: object[] = []
  const caller = createToolCaller({ types: TOOL_TYPES, operator, log: quietLog({ warn: fields => warnings.push(fields) }), ...options })
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

/** Waits until something that happens in the background has happened. */
export async function until (condition: () => boolean | Promise<boolean>): Promise<void> {
  await waitFor('what happens in the background', condition)
}
