import { requestInvalid } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { type Static, type TSchema, Type } from '../../schema/builder.ts'
import { MAX_SIDE } from '../../exec/executor.ts'
import { nearMatches } from '../../base/near-matches.ts'
import { EXECUTIONS } from '../../registry/kinds/skill-definition.ts'
import { checkOf } from '../validation.ts'
import { nullable, oneOf } from '../schemas.ts'

// Like a request's body, a frame holds what its schema names, and nothing else.

const text = Type.String()
const optional = nullable(text)
const source = nullable(oneOf(['project', 'remote']))

const side = Type.Integer({ minimum: 1, maximum: MAX_SIDE })

/** If another approval waits than the client was shown, the frame is refused. */
const approvalFields = { approvalId: Type.Optional(text), digest: Type.Optional(text) }

const SCHEMAS = {
  terminal_open: frame({ target: text, cols: Type.Optional(side), rows: Type.Optional(side) }),
  // Whoever takes the seat sees the terminal in the size of his window.
  terminal_attach: frame({ terminalId: text, cols: side, rows: side }),
  data: frame({ data: text }),
  resize: frame({ cols: side, rows: side }),
  close: frame({}),
  subscribe: frame({ sessionId: text, after: Type.Optional(Type.Integer({ minimum: 0 })) }),
  unsubscribe: frame({ sessionId: text }),
  skill_invoke: frame({
    name: optional,
    path: optional,
    source,
    params: nullable(Type.Object({}, { additionalProperties: true })),
    prompt: optional,
    target: optional,
    terminalSessionId: optional,
    execution: Type.Optional(oneOf(EXECUTIONS))
  }),
  skill_resume: frame({ sessionId: text }),
  skill_user_input: frame({ text, ...approvalFields }),
  skill_command_result: frame({ stdout: optional, stderr: optional, exitCode: nullable(Type.Integer()) }),
  skill_approve: frame({ ...approvalFields, command: Type.Optional(text) }),
  skill_reject: frame(approvalFields),
  skill_skip: frame(approvalFields),
  skill_cancel: frame({}),
  skills_list: frame({ target: optional }),
  skill_get_content: frame({ name: optional, path: optional, source, target: optional }),
  // Clients say where the skill shall stand; here every skill is registered.
  skill_create: frame({ name: optional, path: optional, source, content: optional })
}

type FrameType = keyof typeof SCHEMAS

export type FrameOf<Type extends FrameType> = { readonly [Each in Type]: { readonly type: Each } & Static<typeof SCHEMAS[Each]> }[Type]

export type ClientFrame = FrameOf<FrameType>

export const FRAMES: Readonly<Record<string, TSchema>> = SCHEMAS

const CHECKS = new Map(Object.entries(FRAMES).map(([type, schema]) => [type, checkOf('frame', schema)]))

/** @param frame empty for a message that was no JSON object @throws REQUEST_INVALID */
export function readFrame (frame: JsonObject): ClientFrame {
  const { type } = frame
  const check = typeof type === 'string' ? CHECKS.get(type) : undefined
  if (check === undefined) throw requestInvalid(`expected a frame as docs/skills.md has them: a JSON object with a type, ${likely(type)}`, { part: 'frame' })
  return check(frame) as ClientFrame
}

function likely (type: unknown): string {
  const [near] = typeof type === 'string' ? nearMatches(type, CHECKS.keys()) : []
  return near === undefined ? 'such as subscribe or skill_invoke' : `such as ${near}`
}

function frame<Members extends Parameters<typeof Type.Object>[0]> (members: Members) {
  return Type.Object({ type: text, ...members })
}
