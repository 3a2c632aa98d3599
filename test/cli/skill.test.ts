import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readSkillLine } from '../../src/cli/dialogue-commands.ts'
import { runAps, runApsHere, startApsHere } from '../helpers/aps.ts'
import { scratchRepository } from '../helpers/scratch-repository.ts'
import { startService } from '../helpers/service.ts'
import { type AtEnd, shared } from '../helpers/shared.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../helpers/tokens.ts'
import { waitFor } from '../helpers/wait-for.ts'

const WALK = { description: 'Walks.', body: 'Walk.', params: [{ name: 'day', required: true }] }
const HERE = { description: 'Is somewhere.', body: 'Look.', target: 'here' }

const REPLIES = [
  { system: 'Skill: walk', last: 'day: monday', reply: '[MESSAGE] Walking.' },
  { system: 'Skill: walk', last: 'Continue after', reply: '[CMD] pwd; printf one' },
  { system: 'Skill: walk', last: ['Command output', 'edited'], reply: '[DONE] Edited.' },
  { system: 'Skill: walk', last: ['Command output', 'pasted', 'Exit code: 3'], reply: '[DONE] Pasted.' },
  { system: 'Skill: walk', last: 'Command output', reply: '[ASK] Again?' },
  { system: 'Skill: walk', last: 'skipped', reply: '[ASK:optional] Why?' },
  { system: 'Skill: walk', last: 'User response: env', reply: '[CMD] env' },
  { system: 'Skill: walk', last: 'User response: hidden', reply: '[CMD] echo a\u202eb\u3164\u00a0\u001b[2K' },
  { system: 'Skill: walk', last: 'User response:', reply: '[DONE] Walked.' },
  { system: 'Skill: here', last: 'Step 1', reply: '[CMD] echo $((6 * 7)); exit 4' },
  { system: 'Skill: here', last: 'Command output:\n42\n[Exit code: 4]', reply: '[CMD] echo fast' },
  { system: 'Skill: here', reply: '[DONE] Looked.' }
]

interface Place {
  readonly folder: TemporaryFolder
  /** Of the program in process. */
  readonly environment: Readonly<Record<string, string>>
  /** Of a service. */
  readonly served: Readonly<Record<string, string>>
}

async function place (t: AtEnd): Promise<Place> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('store/skills/walk.json', JSON.stringify(WALK))
  await folder.write('store/skills/here.json', JSON.stringify(HERE))
  await folder.write('replies.yaml', JSON.stringify(REPLIES))
  await folder.write('work/file.txt', 'x')
  await folder.write('operator.yaml', 'workspaces: { work: { path: work } }\ntargets: { here: { type: local, workspace: work, sandbox: off } }\n')
  const served = { LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml'), OPERATOR_FILE: join(folder.path, 'operator.yaml') }
  return { folder, served, environment: { ...served, STORE_DIR: join(folder.path, 'store'), SESSION_STORE: join(folder.path, 'sessions') } }
}

/** Both ways to use it: in process, and of a service. */
async function openBoth (t: AtEnd): Promise<ReadonlyArray<Readonly<Record<string, string>>>> {
  const { environment, served } = await place(t)
  const service = await startService(t, { 'skills:walk': WALK, 'skills:here': HERE }, served)
  return [environment, { APS_URL: await service.listen() }]
}

const both = shared(openBoth)

/** A service that asks ann and cyd, who run skills, and bob for their tokens. */
const guarded = shared(async t => {
  const { served } = await place(t)
  const tokens = [tokenEntry('ann', 'read+run'), tokenEntry('cyd', 'read+run+approve'), tokenEntry('bob', 'approve')].join(',')
  const service = await startService(t, { 'skills:here': HERE }, { ...served, API_TOKENS: tokens })
  return { service, url: await service.listen() }
})

const WALKING = ['skill', 'run', 'walk', '-p', 'day=monday']

const sessionIn = (stderr: string): string => /session (\w{32})/.exec(stderr)?.[1] ?? assert.fail(stderr)

const lines: ReadonlyArray<readonly [line: string, word: string, said: ReturnType<typeof readSkillLine>]> = [
  ['hello', 'waiting_user', { text: 'hello' }],
  ['', 'waiting_user', { text: '' }],
  [' skill:cancel ', 'waiting_user', 'cancel'],
  ['SKILL:SKIP', 'waiting_user', { action: { name: 'skip', data: {} } }],
  ['skill:again', 'waiting_user', { action: { name: 'again', data: {} } }],
  ['', 'idle', { action: { name: 'continue', data: {} } }]
]

describe('a line of aps skill', () => {
  for (const [line, word, said] of lines) it(`${JSON.stringify(line)} in ${word} is ${JSON.stringify(said)}`, () => { assert.deepEqual(readSkillLine(line, word), said) })
})

describe('aps skill run, with commands that its user runs', () => {
  it('shows each, runs it, and goes on with what it printed', async () => {
    for (const environment of await both()) {
      const { code, stdout } = await runApsHere(WALKING, environment, 'y\nno more\n')
      assert.equal(stdout, `Walking.\n$ pwd; printf one\n${process.cwd()}\none\nAgain?\nWalked.\n`)
      assert.equal(code, 0)
    }
  })

  it('runs it in the folder that its user is in', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const [, served] = await both()
    const { code, stdout } = await runAps(WALKING, served, 'y\nno more\n', folder.path)
    assert.deepEqual([code, stdout.split('\n')[2]], [0, folder.path])
  })

  it('runs what its user makes of it', async () => {
    for (const environment of await both()) assert.match((await runApsHere(WALKING, environment, 'e\necho edited\n')).stdout, /\nedited\nEdited\.\n$/)
  })

  it('takes what it printed elsewhere', async () => {
    for (const environment of await both()) assert.match((await runApsHere(WALKING, environment, 'p\npasted\n.\n3\n')).stdout, /\nexit code|\nPasted\.\n$/)
  })

  for (const word of ['s', 'skill:skip']) {
    it(`skips it for ${word}, and an optional question for an empty line`, async () => {
      for (const environment of await both()) assert.match((await runApsHere(WALKING, environment, `${word}\n\n`)).stdout, /\nWhy\?\nWalked\.\n$/)
    })
  }

  for (const input of ['c\n', 'skill:cancel\n', 'y\nskill:cancel\n']) {
    it(`ends it with 1 for ${JSON.stringify(input)}`, async () => {
      for (const environment of await both()) {
        const { code, stderr } = await runApsHere(WALKING, environment, input)
        assert.deepEqual([code, stderr.trim().split('\n').at(-1)], [1, 'aps: the dialogue has ended: cancelled'])
      }
    })
  }

  it('asks until the answer is a clear one', async t => {
    const { environment } = await place(t)
    const { stderr } = await runApsHere(WALKING, environment, 'yy\n\nq\ns\n\n')
    assert.equal(stderr.match(/^run it here\? /gm)?.length, 4)
  })

  it('asks again when a question that needs an answer gets none', async () => {
    for (const environment of await both()) {
      const { code, stdout, stderr } = await runApsHere(WALKING, environment, 'y\n\nno more\n')
      assert.match(stderr, /^text: expected an answer, got nothing/m)
      assert.deepEqual([code, stdout.endsWith('\nWalked.\n')], [0, true])
    }
  })

  it('gives it nothing of the environment of the service', async t => {
    const { environment } = await place(t)
    const { stdout } = await runApsHere(WALKING, { ...environment, LLM_API_KEY: 'canary-1', APS_TOKEN: 'canary-2', MY_SECRET: 'canary-3', USER: 'ann' }, 'y\nenv\ny\nno more\n')
    assert.match(stdout, /^USER=ann$/m)
    assert.doesNotMatch(stdout, /canary|REPLIES|LLM_|STORE_DIR/)
  })

  it('shows what hides in it', async t => {
    const { environment } = await place(t)
    const { stdout } = await runApsHere(WALKING, environment, 'y\nhidden\n')
    assert.match(stdout, /^\$ echo a\\u\{202e\}b\\u\{3164\}\\u\{a0\}\\u\{1b\}\[2K$/m)
  })
})

describe('aps skill run, with commands on a target', () => {
  it('runs what its user allows, and shows what it prints before it goes on', async () => {
    for (const environment of await both()) {
      const { code, stdout, stderr } = await runApsHere(['skill', 'run', 'here'], environment, 'y\ny\n')
      assert.deepEqual([code, stdout], [0, '$ echo $((6 * 7)); exit 4\n42\n$ echo fast\nfast\nLooked.\n'])
      assert.match(stderr, /on here in \S+\/work: echo \$\(\(6 \* 7\)\); exit 4\nrun it\? y \(run\), e \(edit\), s \(skip\), c \(cancel\)\n/)
      assert.match(stderr, /^exit code 4$/m)
    }
  })

  it('tells which targets there are in place of one that is not', async () => {
    for (const environment of await both()) {
      for (const [target, names] of [['her', 'near matches: "here"'], ['nowhere', 'offered are "here"']]) {
        const { code, stderr } = await runApsHere([...WALKING, '--target', target as string], environment, '')
        assert.equal(code, 1, stderr)
        assert.ok(stderr.includes(`There is no target "${target}"; ${names}`), stderr)
      }
    }
  })

  it('runs what its user makes of it', async () => {
    for (const environment of await both()) assert.match((await runApsHere(['skill', 'run', 'here'], environment, 'e\necho edited; ls\n')).stdout, /\nedited: \$ echo edited; ls\nedited\nfile\.txt\nLooked\.\n$/)
  })

  it('goes on without it, or ends', async () => {
    for (const environment of await both()) {
      assert.equal((await runApsHere(['skill', 'run', 'here'], environment, 's\n')).stdout, '$ echo $((6 * 7)); exit 4\nLooked.\n')
      assert.equal((await runApsHere(['skill', 'run', 'here'], environment, 'c\n')).code, 1)
    }
  })

  it('shows what commands print that run unasked, and tells of one that a rule denies', async t => {
    const { folder, environment, served } = await place(t)
    const operator = 'workspaces: { work: { path: work } }\ntargets: { here: { type: local, workspace: work, sandbox: off, auto: true } }\npolicy: [{ effect: deny, on: exec, command: "rm *" }]\n'
    await folder.write('operator.yaml', operator)
    await folder.write('replies.yaml', JSON.stringify([{ last: 'Step 1 ', reply: '[CMD] echo $((6 * 7))' }, { last: 'Step 2 ', reply: '[CMD] env rm file.txt' }, { last: 'denied: rule', reply: '[CMD] ls' }, { reply: '[DONE] Looked.' }]))
    const service = await startService(t, { 'skills:here': HERE }, served)
    for (const each of [environment, { APS_URL: await service.listen() }]) {
      const { code, stdout, stderr } = await runApsHere(['skill', 'run', 'here', '--execution', 'auto'], each, '')
      assert.deepEqual([code, stdout], [0, '$ echo $((6 * 7))\n42\n$ env rm file.txt\n$ ls\nfile.txt\nLooked.\n'])
      assert.match(stderr, /^denied: rule "rm \*"$/m)
    }
  })

  it('shows what a command prints while it runs, of a service too', async t => {
    const { folder, environment, served } = await place(t)
    await folder.write('operator.yaml', 'workspaces: { work: { path: work } }\ntargets: { here: { type: local, workspace: work, sandbox: off, auto: true } }\n')
    await folder.write('replies.yaml', JSON.stringify([{ last: 'Step 1 ', reply: '[CMD] echo one; until test -e go; do sleep 0.05; done; rm go; echo two' }, { reply: '[DONE] Looked.' }]))
    const service = await startService(t, { 'skills:here': HERE }, served)
    for (const each of [environment, { APS_URL: await service.listen() }]) {
      const { printed, ended } = startApsHere(['skill', 'run', 'here', '--execution', 'auto'], each)
      await waitFor('the first line', () => printed.stdout.endsWith('\none\n'))
      await folder.write('work/go', '')
      assert.match((await ended).stdout, /\none\ntwo\nLooked\.\n$/)
    }
  })

  it('commits with git-quick-commit after one question and one approval', async t => {
    const { environment, log } = await scratchRepository(t)
    const { code, stdout, stderr } = await runApsHere(['skill', 'run', 'git-quick-commit', '--target', 'here'], environment, 'words\ny\n')
    assert.deepEqual([code, log()], [0, ['fix: update skills API']])
    assert.match(stdout, /Введи сообщение коммита:\n\$ git add \. && git commit [^]*\nКоммит успешно создан\.\n$/)
    assert.match(stderr, /commands are approved one by one: on here in \S+: git add \. && git commit/)
  })

  it('leaves it to the user with --target manual', async t => {
    const { environment } = await place(t)
    assert.match((await runApsHere(['skill', 'run', 'here', '--target', 'manual'], environment, 's\n')).stderr, /run it here\?/)
  })
})

describe('aps skill resume', () => {
  it('shows again what was asked, and goes on', async () => {
    for (const environment of await both()) {
      await runApsHere(WALKING, environment, '')
      assert.equal((await runApsHere(['skill', 'resume'], environment, 's\n')).stdout, 'Walking.\n$ pwd; printf one\nWhy?\n')
      assert.equal((await runApsHere(['skill', 'resume'], environment, '\n')).stdout, 'Why?\nWalked.\n')
      const { stderr } = await runApsHere(['skill', 'run', 'here'], environment, '')
      const { stdout } = await runApsHere(['skill', 'resume', sessionIn(stderr)], environment, 'y\ns\n')
      assert.equal(stdout, '$ echo $((6 * 7)); exit 4\n42\n$ echo fast\nLooked.\n')
    }
  })
})

describe('aps skill, whose input ends', () => {
  it('ends with 1 where something waits, and says how to go on', async () => {
    for (const environment of await both()) {
      for (const [args, input] of [[WALKING, ''], [WALKING, 's\n'], [['skill', 'run', 'here'], '']] as const) {
        const { code, stderr } = await runApsHere(args, environment, input)
        assert.deepEqual([code, stderr.split('\n').at(-2)], [1, `aps: the session waits for an answer; to go on: aps skill resume ${sessionIn(stderr)}${environment['APS_URL'] === undefined ? ' --local' : ''}`])
      }
    }
  })

  it('refuses to go on with a skill that has ended', async () => {
    for (const environment of await both()) {
      const id = sessionIn((await runApsHere(['skill', 'run', 'here'], environment, 's\n')).stderr)
      const { code, stderr } = await runApsHere(['skill', 'resume', id], environment, '')
      assert.deepEqual([code, stderr.split('\n').at(-2)], [1, `aps: session ${id} has ended: completed`])
    }
  })
})

describe('aps skill approve', () => {
  it('lets somebody with the role decide, while whoever started the skill waits', async () => {
    const { service, url } = await guarded()
    const [ann, bob] = ['ann', 'bob'].map(name => ({ APS_URL: url, APS_TOKEN: `${name}-token` }))
    const { stdin, printed, ended } = startApsHere(['skill', 'run', 'here'], ann)
    stdin.write('y\ny\n')
    await waitFor('the refusal', () => printed.stderr.includes('aps skill approve'))
    assert.equal((await service.get('/api/sessions', bearer('ann'))).json['sessions']?.[0 as never]?.['status'], 'waiting_approval')
    const approve = ['skill', 'approve', sessionIn(printed.stderr)]
    assert.equal((await runApsHere(approve, ann, 'y\n')).code, 4)
    assert.equal((await runApsHere(approve, bob, 'y\n')).code, 0)
    await waitFor('the next command', () => printed.stdout.includes('42\n$ echo fast\n'))
    const edited = await runApsHere(approve, bob, 'e\necho bob\n')
    assert.match(edited.stderr, /on here in \S+\/work: echo fast/)
    assert.match((await ended).stdout, /edited: \$ echo bob\nbob\nLooked\.\n$/)
    assert.equal((await runApsHere(approve, bob, 'y\n')).code, 1)
  })

  it('tells who was first when somebody else has decided, and goes on', async () => {
    const { service, url } = await guarded()
    const { stdin, printed, ended } = startApsHere(['skill', 'run', 'here'], { APS_URL: url, APS_TOKEN: 'cyd-token' })
    await waitFor('the question', () => printed.stderr.includes('run it?'))
    const asked = (await service.get('/api/approvals', bearer('bob'))).json['approvals']?.['0']
    await service.post(`/api/approvals/${String(asked?.['id'])}`, { decision: 'reject' }, bearer('bob'))
    stdin.write('y\n')
    const { stdout, stderr } = await ended
    assert.match(stdout, /Looked\.\n$/)
    assert.match(stderr, /has been decided: reject, at \S+ by bob/)
  })
})

describe('aps skill', () => {
  it('lists skills', async () => {
    for (const environment of await both()) {
      assert.equal((await runApsHere(['skill', 'list'], environment)).stdout, 'here\tIs somewhere.\nwalk\tWalks.\n')
      assert.deepEqual(JSON.parse((await runApsHere(['skill', 'list', '--json=id'], environment)).stdout), [{ id: 'here' }, { id: 'walk' }])
    }
  })

  const refused = [
    ['a skill that is not there', ['run', 'nobody'], 1],
    ['a parameter that is missing', ['run', 'walk'], 2],
    ['a target that is not there', [...WALKING.slice(1), '--target', 'moon'], 1],
    ['an execution that is none', ['run', 'walk', '--execution', 'no'], 2],
    ['a session that is not there', ['resume', '0'.repeat(32)], 1]
  ] as const
  for (const [what, args, code] of refused) {
    it(`ends with ${code} for ${what}`, async () => {
      for (const environment of await both()) {
        const ended = await runApsHere(['skill', ...args], environment, '')
        assert.equal(ended.code, code, ended.stderr)
      }
    })
  }

  it('ends with 1 for no session to go on with', async t => {
    for (const environment of await openBoth(t)) assert.equal((await runApsHere(['skill', 'resume'], environment, '')).code, 1)
  })

  it('ends with 2 without a store', async () => {
    assert.equal((await runApsHere(['skill', 'run', 'walk', '--local'], {}, '')).code, 2)
  })

  it('writes the detailed log into a file', async t => {
    const { folder, environment } = await place(t)
    const { stderr } = await runApsHere([...WALKING, '--log', join(folder.path, 'log')], environment, '')
    assert.doesNotMatch(stderr, /skill_start/)
    assert.match(await readFile(join(folder.path, 'log'), 'utf8'), /^\S+Z info \[skill\] skill_start step=0$/m)
  })
})
