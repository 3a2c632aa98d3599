import { Type } from '../../base/schema-builder.ts'
import { PLAN_CONFIRMS } from '../../registry/kinds/plan/plan-kind.ts'
import { oneOf } from '../base/schemas.ts'

/**
 * The schema of the name of a workspace (a folder whose files plans may change), as the operator's file has it. A name cannot be a path.
 */
export const WorkspaceName = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Name of a workspace in the operator\'s file', examples: ['shop'] })

/** The body that gives the goal of a plan. */
export const Goal = Type.Object({
  goal: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100_000, description: 'What is wanted; `plan:` or `apply:` in front chooses the mode. May be left out with `fix`' })
  ),
  workspace: WorkspaceName,
  mode: Type.Optional(oneOf(['plan', 'apply'])),
  profile: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Id of a plan profile' })),
  fix: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'A check of the workspace that runs first: its failure is the goal' })),
  confirm: Type.Optional(oneOf(PLAN_CONFIRMS, { description: 'What waits for consent, if stricter than operator and profile' })),
  report: Type.Optional(Type.String({ maxLength: 500_000, description: 'Output of a failed check, a log: the files of its tracebacks are read first' }))
}, { additionalProperties: false, examples: [{ goal: 'plan: исправь тест', workspace: 'shop' }] })

/** The body by which the user agrees to the diff that a plan has shown. */
export const Agreement = Type.Object({
  digest: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: '`confirm.digest` of the diff that was shown; without it the one that waits' }))
}, { additionalProperties: false })

/** The body of the request that commits a plan's change with git: the message of that commit. */
export const CommitMessage = Type.Object({
  message: Type.Optional(Type.String({ maxLength: 4000, description: 'The summary of the change without it' }))
}, { additionalProperties: false })

/** The body that selects which files of a plan's change are undone or redone. */
export const Paths = Type.Object({
  paths: Type.Optional(Type.Array(Type.String({ maxLength: 240 }), { minItems: 1, maxItems: 10_000, description: 'Of the change; all of them without it' })),
  dryRun: Type.Optional(Type.Boolean({ description: 'Only tells what it would come to now: `files` and `conflicts`; nothing is written' }))
})

/** The query parameters that select one page of the files that a plan changes, or the text of one of these files before or after the change. */
export const PreviewQuery = Type.Object({
  after: Type.Integer({ minimum: 0, maximum: 100_000, default: 0, description: 'How many paths come before the first' }),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'A page may have fewer, and says how many come after it' }),
  path: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: 'Of the change: its text is wanted' })),
  side: Type.Optional(oneOf(['before', 'after'], { description: 'Which text; the one that comes without it' }))
})

export const PlanMessage = Type.Object({ text: Type.String({ minLength: 1, maxLength: 100_000 }) })

export const Confirmation = Type.Object({ digest: Type.String({ minLength: 1, maxLength: 100, description: '`confirm.digest` of what was shown' }) })
