import { type Command, Option } from 'commander'
import { apiPath } from './api-client.ts'
import { type Cli } from './cli.ts'
import { type Beginning, type DialogueEvent, type Said } from './dialogue.ts'
import { objectOf, textOf } from './json-members.ts'
import { readParameters } from './parameters.ts'
import { runHere } from './run-here.ts'
import { addTalkOptions, readVerdict, talk, type TalkOptions } from './talk.ts'

interface SkillOptions extends TalkOptions {
  readonly param?: readonly string[]
  readonly args?: string
  readonly prompt?: string
  readonly target?: string
  readonly execution?: 'manual' | 'approve' | 'auto'
}

/** Adds `aps skill …`. */
export function addSkillCommands (program: Command, cli: Cli): void {
  const skill = program.command('skill').description('list skills, and carry them out')

  skill.command('list').description('list skills')
    .action(async (_options: object, command: Command) => {
      const { api, output } = cli.open(command)
      const skills = await api.list('/api/skills', {})
      if (output.wantsJson) return await output.json(skills)
      const columns = ['id', 'description']
      await output.rows(columns, skills.map(row => columns.map(column => textOf(objectOf(row)[column]))))
    })

  addTalkOptions(skill.command('run').description('carry a skill out, step by step; without --url and APS_URL in this process')
    .argument('<id>', 'the skill')
    .option('-p, --param <name=value>', 'a parameter: its text, @file or @- for stdin; may be there several times', (value: string, before: readonly string[] = []) => [...before, value])
    .option('-v, --args <object>', 'parameters as JSON or YAML, @file or @- for stdin')
    .option('--prompt <text>', 'in place of "Execute skill: ..."')
    .option('--target <name>', 'where commands run, as the operator\'s file names it; without it you are asked to run them here')
    .addOption(new Option('--execution <mode>', 'who runs commands').choices(['manual', 'approve', 'auto'])))
    .action(async (id: string, options: SkillOptions, self: Command) => { await carryOut(id, options, cli, self) })

  skill.command('resume').description('go on with a skill, or the last one')
    .argument('<id>', 'the skill')
    .argument('[session]', 'its session')
    .action(async (id: string, session: string | undefined, _options: object, self: Command) => { await carryOut(id, { resume: session ?? true }, cli, self) })
}

async function carryOut (id: string, options: SkillOptions, cli: Cli, command: Command): Promise<void> {
  await talk(await beginSkill(id, options, cli), { options, cli, command, readLine: (line, asked) => readSkillLine(line, asked, cli), hint })
}

async function beginSkill (id: string, { target = 'manual', execution, prompt = '', ...given }: SkillOptions, cli: Cli): Promise<Beginning> {
  const params = await readParameters(given, cli.stdin, cli.signal)
  return {
    definition: `skills/${id.replaceAll(':', '.')}`,
    request: { path: apiPath('api', 'skills', 'start'), body: { terminalSessionId: target, skillId: id, params, prompt, autoContinue: true, ...(execution === undefined ? {} : { execution }) }, idOf: reply => textOf(objectOf(reply['data'])['skillSessionId']) },
    async start ({ registry: { generation }, startOfSkill }) {
      const { ANYONE } = await import('../access/caller.ts')
      return await startOfSkill({ generation, caller: ANYONE, id, params, prompt, target, execution, autoContinue: true, requestId: '' })
    }
  }
}

/** The command that waits, if one does. */
function commandOf (asked: DialogueEvent | undefined): string | undefined {
  return asked?.type === 'command' && asked.data['phase'] === 'proposed' ? textOf(asked.data['command']) : undefined
}

function hint (asked: DialogueEvent | undefined): string | undefined {
  if (commandOf(asked) !== undefined) return 'run it here? y, n to skip it, e and another command, or c to cancel'
  return asked?.type === 'ask' && asked.data['required'] === false ? '(an empty line skips it)' : undefined
}

/** What is typed where a command waits is about the command; everything else is an answer (S-42). */
async function readSkillLine (line: string, asked: DialogueEvent | undefined, cli: Cli): Promise<Said> {
  if (/^\s*skill:cancel\s*$/i.test(line)) return 'cancel'
  const command = commandOf(asked)
  if (command === undefined) return { text: line }
  const verdict = readVerdict(line, true)
  if (verdict === 'cancel') return verdict
  if (verdict.decision === 'reject') return { action: { name: 'skip', data: {} } }
  return { action: { name: 'command_result', data: await runHere(verdict.command ?? command, cli) } }
}
