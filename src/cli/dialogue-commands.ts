import { readFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { type Json, type JsonObject, objectOf, textOf } from '../base/json.ts'
import { commandIn, REMEMBER } from '../engine/plan/plan-input.ts'
import { toPath } from '../store/store.ts'
import { type ApiClient, apiPath, type ApiReply } from './api-client.ts'
import { chooseCommand } from './command-by-hand.ts'
import { type Cli, type GivenParameters, openLines, readParameters, withParameters } from './context.ts'
import { approvalsIn, AT_ONCE, type DialogueInput } from './dialogue.ts'
import { DIFF_ANSWERS, showEdited, showEvent } from './event-printer.ts'
import { CliError, EXIT, usageError } from './output.ts'
import { addLocalOption, addLogOption, addTalkOptions, openLocal, type SessionLaunch, talk, type TalkOptions } from './talk.ts'

export function addAgentCommand (program: Command, cli: Cli): void {
  const command = program.command('agent').description('talk to an agent of a service, or with --local of STORE_DIR or REDIS_URL')
    .argument('<id>', 'the agent')
  addTalkOptions(command).action(async (id: string, options: TalkOptions, self: Command) => {
    await talk(beginAgent(id), { options, cli, command: self, readLine: text => ({ text }) })
  })
}

function beginAgent (id: string): SessionLaunch {
  return {
    definition: `agents/${toPath(id)}`,
    resume: session => `aps agent ${id} --resume ${session}`,
    // An agent that waits for the next question has answered the last one.
    isSettled: () => true,
    hasTurns: true,
    hint: 'type a message; /help and /exit do what they say unless the agent has words of its own, Ctrl-D leaves',
    start: async api => (await api.ask('post', '/api/agents/{id}/sessions', { id }, {}, AT_ONCE)).id
  }
}

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
    start: async api => (await api.ask('post', '/api/plans', {}, body, AT_ONCE)).id
  }
}

async function readReport (file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((error: unknown) => { throw usageError(`--report: ${(error as Error).message}`) })
}

export function readPlanLine (line: string): DialogueInput {
  const action = REMEMBER.test(line) ? { name: 'remember', data: {} } : commandIn(line)
  return action === undefined ? { text: line } : { action }
}

interface SkillFlags extends TalkOptions, GivenParameters {
  readonly target?: string
  readonly execution?: 'manual' | 'approve' | 'auto'
  readonly prompt?: string
  readonly terminal?: string | boolean
}

export function addSkillCommands (program: Command, cli: Cli): void {
  const skill = program.command('skill').description('list skills and carry them out, of a service, or with --local of STORE_DIR or REDIS_URL')

  addLocalOption(skill.command('list').description('list skills'))
    .action(async ({ local: isLocal = false }: Pick<TalkOptions, 'local'>, command: Command) => {
      const { output } = cli.open(command)
      const skills = await listSkills(cli, command, isLocal)
      if (output.wantsJson) return await output.json(skills)
      await output.rows(['id', 'description'], skills.map(row => typeof row === 'string' ? [row] : [row.id, textOf(row.description as Json)]))
    })

  const run = skill.command('run').argument('<id>', 'the skill').description('carry out a skill; each command is shown, and run when you say so')
    .option('--target <name>', 'where commands run, as the operator\'s file names it; manual: here, by you')
    .addOption(new Option('--execution <how>', 'who runs commands').choices(['manual', 'approve', 'auto']))
    .option('--terminal [id]', 'run its commands in an open terminal of yours; without an id in the only one')
    .option('--prompt <text>', 'in place of "Execute skill: ..."')
  addLogOption(withParameters(run)).action(async (id: string, options: SkillFlags, command: Command) => {
    if (options.local === true && options.terminal !== undefined) throw usageError('--terminal: expected a service that holds terminals, got --local')
    await talk(beginSkill(id, options, await readParameters(options, cli.stdin, cli.signal)), { options, cli, command, readLine: readSkillLine })
  })

  addLogOption(skill.command('resume').argument('[session]', 'the last one without it').description('go on with a skill'))
    .action(async (session: string | undefined, options: TalkOptions, command: Command) => {
      await talk(beginSkill('', {}, {}), { options: { ...options, resume: session ?? true }, cli, command, readLine: readSkillLine })
    })

  skill.command('approve').argument('<session>', 'the session').description('decide about the commands that wait in a session of a service, whoever owns it')
    .action(async (session: string, _options: object, command: Command) => { await approve(session, cli, command) })
}

async function listSkills (cli: Cli, command: Command, isLocal: boolean): Promise<ApiReply<'get', '/api/skills'>> {
  const query = { detail: 'true' }
  if (!isLocal) return await cli.open(command).api.list('/api/skills', query)
  const { api, close } = await openLocal(cli, line => cli.open(command).output.words(line))
  try {
    return await api.list('/api/skills', query)
  } finally {
    await close()
  }
}

function beginSkill (id: string, { target, execution, prompt = '', terminal }: SkillFlags, params: JsonObject): SessionLaunch {
  return {
    definition: id === '' ? 'skills/' : `skills/${toPath(id)}`,
    resume: session => `aps skill resume ${session}`,
    isSettled: () => false,
    hint: 'type an answer; skill:cancel ends the skill, Ctrl-D leaves',
    async start (api) {
      const wishes = { params, prompt, autoContinue: true, execution }
      const place = terminal === undefined ? target ?? await targetOf(id, api) : await terminalFor(terminal, target, api)
      const body = { skillId: id, terminalSessionId: place, ...wishes }
      return (await api.ask('post', '/api/skills/start', {}, body, AT_ONCE)).data.skillSessionId
    }
  }
}

/** The given id, or the only open terminal. @throws CliError */
async function terminalFor (given: string | boolean, target: string | undefined, api: ApiClient): Promise<string> {
  if (typeof given === 'string') return given
  const { terminals } = await api.ask('get', '/api/terminals', {})
  const open = terminals.filter(each => target === undefined || each.target === target)
  if (open.length === 1 && open[0] !== undefined) return open[0].terminalId
  const found = open.length === 0 ? 'you have none open; aps terminal opens one' : `you have ${open.map(({ terminalId }) => terminalId).join(', ')}`
  throw usageError(`--terminal: expected the id of a terminal, for ${found}`)
}

/** A start has to name a target; `manual`: the user runs the commands. @throws CliError */
async function targetOf (id: string, api: ApiClient): Promise<string> {
  const { readSkillOptions } = await import('../registry/kinds/skill-definition.ts')
  const { target } = readSkillOptions(objectOf(await api.get(apiPath('api', 'skills', 'definitions', id))))
  return target === '' ? 'manual' : target
}

/** In the state `idle` any line lets the skill go on. */
export function readSkillLine (line: string, word: string): DialogueInput {
  switch (line.trim().toLowerCase()) {
    case 'skill:cancel': return 'cancel'
    case 'skill:skip': return { action: { name: 'skip', data: {} } }
    case 'skill:again': return { action: { name: 'again', data: {} } }
    default: return word === 'idle' ? { action: { name: 'continue', data: {} } } : { text: line }
  }
}

async function approve (session: string, cli: Cli, command: Command): Promise<void> {
  const { api, output } = cli.open(command)
  const waiting = (await approvalsIn(api, session)).filter(({ data }) => data['kind'] === 'exec')
  if (waiting.length === 0) throw new CliError(EXIT.NO, `no command waits for an approval in session ${session}`)
  const lines = openLines(cli, output)
  try {
    for (const event of waiting) {
      await showEvent(event, output)
      const proposed = textOf(event.data['command'])
      const choice = await chooseCommand(proposed, 'run it?', ['run', 'edit', 'skip'], { lines, output })
      if (choice === undefined) return await output.words(`nothing was decided about it; to go on: aps skill approve ${session}`)
      if (choice.kind === 'run' && choice.command !== proposed) await showEdited(choice.command, output)
      const digest = textOf(event.data['digest'])
      const edited: JsonObject = choice.kind === 'run' && choice.command !== proposed ? { command: choice.command } : {}
      const decided = { decision: choice.kind === 'run' ? 'approve' : 'reject', digest, ...edited }
      const { status } = await api.ask('post', '/api/approvals/{id}', { id: `${session}:${textOf(event.data['effect'])}` }, decided)
      await output.words(`session ${session} is ${status}`)
    }
  } finally {
    lines.close()
  }
}
