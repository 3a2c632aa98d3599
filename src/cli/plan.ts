import { type Command, Option } from 'commander'
import { commandIn, REMEMBER } from '../engine/plan/plan-input.ts'
import { objectOf, textOf } from '../base/json.ts'
import { type Cli } from './context.ts'
import { AT_ONCE, type SessionLaunch, type DialogueInput } from './dialogue.ts'
import { usageError } from './output.ts'
import { addTalkOptions, talk, type TalkOptions } from './talk.ts'
import { DIFF_ANSWERS } from './event-printer.ts'
import { toPath } from '../store/store.ts'

interface PlanOptions extends TalkOptions {
  readonly workspace: string
  readonly mode?: 'plan' | 'apply'
  readonly profile?: string
  readonly report?: string
  readonly fix?: string
  readonly confirm?: 'diff' | 'deletions' | 'none'
  readonly yes?: boolean
}

export function addPlanCommand (program: Command, cli: Cli): void {
  const command = program.command('plan')
    .description('have a model propose changes of files, look at them, apply and undo them')
    .argument('[goal]', 'what is wanted; plan: or apply: in front chooses the mode; may be left out with --fix')
    .option('--workspace <name>', 'the workspace, as the operator\'s file names it')
    .addOption(new Option('--mode <mode>', 'in place of what the goal says').choices(['plan', 'apply']))
    .option('--profile <id>', 'how it is made and checked')
    .option('--report <file>', 'output of a failed check: the files of its tracebacks are read first')
    .option('--fix <check>', 'run this check first: its failure is what the goal is about')
    .addOption(new Option('--confirm <mode>', 'what waits for you before it is written, if stricter than operator and profile')
      .choices(['diff', 'deletions', 'none']))
    .option('--yes', 'agree to each diff once it is shown, but to no deletion and no commit')
  addTalkOptions(command).action(async (goal: string | undefined, options: PlanOptions, self: Command) => {
    await talk(await beginPlan(goal, options), { options, cli, command: self, readLine: readPlanLine, agrees: options.yes === true })
  })
}

async function beginPlan (goal: string | undefined, { workspace, mode, profile, report, fix, confirm, resume }: PlanOptions): Promise<SessionLaunch> {
  const isWhole = (goal !== undefined || fix !== undefined) && workspace !== undefined
  if (resume === undefined && !isWhole) throw usageError('expected a goal, or --fix, and --workspace')
  const body = {
    workspace,
    goal,
    mode,
    profile,
    fix,
    confirm,
    report: report === undefined ? undefined : await readReport(report)
  }
  return {
    // Without `--profile` the service chooses one, so the sessions of all are searched.
    definition: `plans/${profile === undefined ? '' : toPath(profile)}`,
    resume: session => `aps plan --resume ${session}`,
    isSettled: word => word === 'applied' || word === 'undone',
    hint: `${DIFF_ANSWERS}; undo, redo, commit and remember do what they say, Ctrl-D leaves`,
    startAt: async api => textOf(objectOf(await api.post('/api/plans', body, AT_ONCE))['id']),
    start: ({ sessions, sessionKinds: { plans }, registry }, visitor) => sessions.start(plans, visitor, registry.generation, body)
  }
}

async function readReport (file: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return await readFile(file, 'utf8').catch((error: unknown) => { throw usageError(`--report: ${(error as Error).message}`) })
}

export function readPlanLine (line: string): DialogueInput {
  const action = REMEMBER.test(line) ? { name: 'remember', data: {} } : commandIn(line)
  return action === undefined ? { text: line } : { action }
}
