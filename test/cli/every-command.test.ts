import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { runApsHere, startAps } from '../helpers/aps.ts'
import { PAGES } from '../docs/printed-commands.ts'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

// Every command of the program is on a page, and is run here with pipes for its streams, against a service that answers.

/** A run of a command: its words, what its stdin has, and what it ends with. */
interface Run { readonly args: string, readonly input?: string, readonly code?: number, readonly stdout?: RegExp }

const PROMPT = 'Say hello to {{variables.name}}'
const AGENT = '{ "mode": "tools", "system": "x", "tools": [] }'
const SKILL = '---\nname: walk\ndescription: Walks.\n---\nWalk.'
const CASES = '- vars: { name: Ada }\n  assert: [{ type: contains, value: Ada }]'

/** The commands that every kind has, for one of them. */
const ofKind = (group: string, id: string, entry: string, listed = new RegExp(`^${id}\\t?`, 'm')): ReadonlyArray<readonly [string, Run]> => [
  [`${group} add`, { args: `${group} add ${id} -d -`, input: entry }],
  [`${group} list`, { args: `${group} list`, stdout: listed }],
  [`${group} get`, { args: `${group} get ${id}`, stdout: /\S/ }],
  [`${group} edit`, { args: `${group} edit ${id}` }],
  [`${group} apply`, { args: `${group} apply -f {folder}` }]
]

const RUNS: ReadonlyMap<string, Run> = new Map<string, Run>([
  ['diff', { args: 'diff {folder}', code: 1, stdout: /^--- / }],
  ...ofKind('tool', 'crm.find', '{ "url": "http://127.0.0.1:9/x", "method": "GET", "parameters": [], "default": "nobody" }'),
  ...ofKind('environ', 'team.tone', '"dry"'),
  ['environ set', { args: 'environ set team.limit 5' }],
  ...ofKind('prompt', 'greet', PROMPT),
  ...ofKind('extension', 'pack', '{ "name": "pack", "contributes": { "prompts": [{ "name": "one", "userPrompt": "One" }] } }'),
  ...ofKind('agents', 'desk', AGENT),
  ...ofKind('skills', 'walk', SKILL),
  ...ofKind('plans', 'careful', '{ "description": "x" }'),
  ...ofKind('tests', 'greet', CASES),
  ['tool call', { args: 'tool call crm.find', code: 1, stdout: /^nobody\n$/ }],
  ['tool used-by', { args: 'tool used-by crm.find', stdout: /^$/ }],
  ['environ used-by', { args: 'environ used-by team.tone', stdout: /^$/ }],
  ['prompt used-by', { args: 'prompt used-by greet', stdout: /^$/ }],
  ['prompt needs', { args: 'prompt needs greet', stdout: /^variable\tvariables\.name\trequired\t1:16\n$/ }],
  ['prompt render', { args: 'prompt render greet -p name=@-', input: 'Ada', stdout: /^Say hello to Ada\n$/ }],
  ['prompt chat', { args: 'prompt chat greet --args {"name":"Ada"}', stdout: /^Say hello to Ada\n$/ }],
  ['prompt versions', { args: 'prompt versions greet', stdout: /^1\tlatest\t/ }],
  ['prompt label', { args: 'prompt label greet staging 1' }],
  ['prompt rollback', { args: 'prompt rollback greet staging', code: 1 }],
  ['prompt restore', { args: 'prompt restore greet 1' }],
  ['test', { args: 'test greet', stdout: /^ok {3}greet: case 1 / }],
  ['token', { args: 'token render chat', stdout: /^Token, for the caller:\n {2}aps_/ }],
  ['status', { args: 'status', stdout: /^prompts\t/m }],
  ['types', { args: 'types', stdout: /"greet": \{/ }],
  ['lint', { args: 'lint {folder} --server', stdout: /^$/ }],
  ['push', { args: 'push {folder} --yes --overwrite', stdout: /^$/ }],
  ['pull', { args: 'pull {folder} --yes', stdout: /^$/ }],
  ['session list', { args: 'session list', stdout: /^$/ }],
  ['session show', { args: 'session show none', code: 1 }],
  ['session follow', { args: 'session follow none', code: 1 }],
  ['session redrive', { args: 'session redrive none', code: 1 }],
  ['session cancel', { args: 'session cancel none', code: 1 }],
  ['session tree', { args: 'session tree none', code: 1 }],
  ['terminal', { args: 'terminal none', code: 1 }],
  ['notices list', { args: 'notices list', stdout: /^$/ }],
  ['notices test', { args: 'notices test nobody', code: 1 }],
  ['notices resend', { args: 'notices resend msg_none', code: 1 }],
  ['usage', { args: 'usage --by model', stdout: /^echo\t\d+\t\d+\t\d+\tunknown\n$/ }],
  ['import dotprompt', { args: 'import dotprompt {folder}/hello.prompt -o {folder}/imported' }],
  ['import langfuse', { args: 'import langfuse - -o {folder}/imported', input: '[{ "name": "greeting", "type": "text", "prompt": "Hi {{name}}", "version": 1, "labels": [], "tags": [], "config": {} }]' }],
  ['export promptfoo', { args: 'export promptfoo greet', stdout: /^description: / }],
  ['approvals list', { args: 'approvals list', stdout: /^$/ }],
  ['approvals get', { args: 'approvals get none', code: 1 }],
  ['approvals approve', { args: 'approvals approve none --digest x', code: 1 }],
  ['approvals reject', { args: 'approvals reject none', code: 1 }],
  ['agent', { args: 'agent desk', input: '/exit\n' }],
  ['skill list', { args: 'skill list' }],
  ['skill approve', { args: 'skill approve none', code: 1 }],
  ['login', { args: 'login --token-stdin', input: 'a-token' }],
  ['init', { args: 'init {folder}/new', stdout: /^wrote / }],
  ['completion', { args: 'completion bash', stdout: /complete -o default/ }],
  ...['tests', 'plans', 'skills', 'agents', 'extension', 'environ', 'tool'].map((group): readonly [string, Run] => [`${group} remove`, { args: `${group} remove ${{ tests: 'greet', plans: 'careful', skills: 'walk', agents: 'desk', extension: 'pack', environ: 'team.tone', tool: 'crm.find' }[group] ?? ''}` }]),
  ['prompt remove', { args: 'prompt remove other' }]
])

/** Run by tests of their own, since they go on until somebody ends them, or need a place where commands may run. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([['serve', 'test/cli/serve.test.ts'], ['dev', 'test/cli/dev.test.ts'], ['plan', 'test/cli/plan.test.ts'], ['skill run', 'test/cli/skill.test.ts'], ['skill resume', 'test/cli/skill.test.ts']])

describe('Every command of aps', () => {
  const open = shared(async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    for (const [path, text] of Object.entries({ 'templates/other.yaml': 'userPrompt: x\n', 'hello.prompt': 'Hello {{name}}\n', 'tools/a/b.yaml': 'url: http://127.0.0.1:9/x\n', 'environs/a.yaml': '1\n', 'extensions/e.yaml': 'name: e\ncontributes: { prompts: [] }\n', 'agents/a.json': AGENT, 'skills/talk/SKILL.md': SKILL.replace('walk', 'talk'), 'plans/p.yaml': 'description: x\n', 'tests/other.yaml': '[]\n' })) await folder.write(path, text)
    const service = await startService(t, {}, { LOG_LEVEL: 'silent', VERSIONS: 'http', LLM_BASE_URL: 'builtin:echo' })
    const environment = { APS_URL: await service.listen(), EDITOR: 'true', HOME: folder.path }
    return (words: string, input: string) => runApsHere(words.split(' ').map(word => word.replace('{folder}', folder.path)), environment, input)
  })

  for (const [name, { args, input, code = 0, stdout = /^/ }] of RUNS) {
    it(`${name} runs in a pipe`, async () => {
      const aps = await open()
      const run = await aps(args, input ?? '')
      assert.equal(run.code, code, run.stderr)
      assert.match(run.stdout, stdout)
      assert.equal(run.stdout.includes('\u001b'), false, 'colour in a pipe')
    })
  }

  it('ends with 0 when whoever reads what it prints has gone', async () => {
    const child = startAps(['--help'])
    child.stdout.destroy()
    assert.deepEqual(await once(child, 'exit'), [0, null])
  })

  it('is run here, or by a test that is there', async () => {
    assert.deepEqual([...ELSEWHERE.values()].filter(file => !existsSync(file)), [])
    assert.deepEqual((await commandsOf([])).filter(name => !RUNS.has(name) && !ELSEWHERE.has(name)), [])
  })

  it('is on a page', async () => {
    const pages = PAGES.map(page => readFileSync(page, 'utf8')).join('\n')
    const isTold = (name: string) => {
      const [last = '', ...above] = name.split(' ').reverse()
      return new RegExp(`\\b(?:aps|ai-prompt-shell) ${above.map(word => `${word} `).join('')}(?:[a-z-]+\\|)*${last}\\b|\`${last}\\b`).test(pages)
    }
    assert.deepEqual((await commandsOf([])).filter(name => !isTold(name)), [])
  })

  /** The commands that the help names, the words of each with blanks between them. */
  async function commandsOf (path: readonly string[]): Promise<readonly string[]> {
    const { stdout } = await runApsHere([...path, '--help'])
    // The commands of aps itself stand in groups. Options are a list too, but begin with a dash.
    const lists = Array.from(stdout.matchAll(/^(?!Arguments)[A-Z].*:\n((?: {2}.*\n)+)/gm), ([, list]) => list as string).join('')
    const names = Array.from(lists.matchAll(/^ {2}([a-z][a-z-]*)/gm), ([, name]) => name as string).filter(name => name !== 'help')
    if (names.length === 0) return [path.join(' ')]
    return (await Promise.all(names.map(name => commandsOf([...path, name])))).flat()
  }
})
