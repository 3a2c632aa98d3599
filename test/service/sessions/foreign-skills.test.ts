import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE, type Caller, NamePatterns } from '../../../src/access/caller.ts'
import { type LocalTarget, NOTHING_OFFERED, type Workspace } from '../../../src/config/operator.ts'
import { Executors } from '../../../src/exec/executors.ts'
import { Offers, placeOfSkills, type SkillSource } from '../../../src/service/sessions/offers.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

const skill = (name: string): string => `---\nname: ${name}\ndescription: d\ntemplate: true\n---\nDo {{it}}.`

const MISNAMED = 'expected a folder of its own, named with letters from A to Z, digits, _ and -, at most 64 of them'
const LINK = 'it is a link, and links are not followed'

type Files = Readonly<Record<string, string>>

/** The skills of a workspace. */
async function project (t: TestContext, files: Files, hasSkills = true) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('secret/SKILL.md', skill('secret'))
  for (const [path, text] of Object.entries(files)) await folder.write(`shop/${path}`, text)
  await mkdir(`${folder.path}/shop`, { recursive: true })
  const workspace: Workspace = { name: 'shop', path: `${folder.path}/shop`, hasSkills, mayCommit: false, checks: new Map(), logs: new Map(), confirm: 'deletions' }
  const target: LocalTarget = { type: 'local', name: 'here', workspace, sandbox: 'off', hasNetwork: false, mayRunUnasked: false, environment: [] }
  const executors = new Executors({ operator: { ...NOTHING_OFFERED, workspaces: new Map([['shop', workspace]]), targets: new Map([['here', target]]) }, environment: {}, secrets: [], mayRunAsRoot: true, log: { debug () {}, info () {}, warn () {}, error () {} } })
  t.after(() => executors.close())
  const skills = new Offers(NOTHING_OFFERED, executors)
  return {
    path: workspace.path,
    target,
    find: async (name: string, source: SkillSource = 'project', caller: Caller = ANYONE) => (await skills.find(target, source, name, caller))?.name,
    async optionsOf (name: string) {
      return (await skills.find(target, 'project', name, ANYONE))?.options ?? assert.fail('it is not found')
    },
    async list (caller: Caller = ANYONE) {
      const { skills: found, problems } = await skills.list(target, caller)
      return { found: found.map(({ place, skill: { name } }) => [place.name, place.path, name]), problems }
    }
  }
}

describe('A skill that nobody has registered', () => {
  for (const folder of ['.kosmos-panel', '.agents', '.claude']) {
    it(`is found in ${folder}/skills`, async t => {
      const { find } = await project(t, { [`${folder}/skills/deploy/SKILL.md`]: skill('deploy') })
      assert.equal(await find('deploy'), 'deploy')
    })
  }

  it('is the first of those of one name, and may be in a nested folder', async t => {
    const { find } = await project(t, { '.claude/skills/a/b/SKILL.md': skill('last'), '.kosmos-panel/skills/a/b/SKILL.md': skill('first') })
    assert.equal(await find('a/b'), 'first')
  })

  it('S-28 speaks in texts, and runs commands for 30 s, whatever it says', async t => {
    const { optionsOf } = await project(t, { '.agents/skills/deploy/SKILL.md': '---\ndescription: d\nprotocol: tools\ntimeout: 600\n---\nDo it.' })
    const { protocol, timeout } = await optionsOf('deploy')
    assert.deepEqual([protocol, timeout], ['text', 30])
  })

  for (const path of ['.claude/skills/a/b/SKILL.md', '/.claude/skills/a/b/SKILL.md', './.claude/skills/a/b']) {
    it(`is the one that its path names: ${path}`, async t => {
      const { find } = await project(t, { '.claude/skills/a/b/SKILL.md': skill('last'), '.kosmos-panel/skills/a/b/SKILL.md': skill('first') })
      assert.equal(await find(path), 'last')
    })
  }

  it('is not there where the operator does not offer the skills of a workspace', async t => {
    const { find, list } = await project(t, { '.agents/skills/deploy/SKILL.md': skill('deploy') }, false)
    assert.deepEqual([await find('deploy'), await list()], [undefined, { found: [], problems: [] }])
  })

  for (const name of ['../../secret', '/etc', '.', 'a/../deploy', '~', '', 'deploy/', 'a b', '.agents/skills/../../../secret', '.agents/skills/../../../secret/SKILL.md', '.agents/skills/', 'secret/SKILL.md']) {
    it(`is not there under the name ${JSON.stringify(name)}`, async t => {
      const { find } = await project(t, { '.agents/skills/deploy/SKILL.md': skill('deploy') })
      assert.equal(await find(name), undefined)
    })
  }

  for (const [what, link, target] of [['its file', '.agents/skills/x/SKILL.md', '../../../../secret/SKILL.md'], ['its folder', '.agents/skills/secret', '../../../secret'], ['a protected file', '.agents/skills/x/SKILL.md', '../../../.env'], ['a file of the project', '.agents/skills/x/SKILL.md', '../../../docs/SKILL.md'], ['a folder of the project', '.agents/skills/secret', '../../docs']] as const) {
    it(`is not there where a link leads to ${what}`, async t => {
      const { find, path } = await project(t, { '.agents/skills/x/notes': 'x', '.env': skill('env'), 'docs/SKILL.md': skill('docs') })
      await symlink(target, `${path}/${link}`)
      assert.deepEqual([await find('x'), await find('secret')], [undefined, undefined])
    })
  }

  it('is not looked for in a home, which is for remote machines', async t => {
    const { find } = await project(t, { '~/.config/kosmos-panel/skills/deploy/SKILL.md': skill('deploy') })
    assert.equal(await find('nope', 'remote'), undefined)
  })

  it('is told to be unusable, with the reason', async t => {
    const { find } = await project(t, { '.agents/skills/deploy/SKILL.md': '---\nname: deploy\n---\nDo.' })
    await assert.rejects(find('deploy'), { code: 'DEFINITION_NOT_FOUND', message: 'There is no skill "deploy" that can be used; of .agents/skills/deploy/SKILL.md: needs "description", a text' })
  })

  it('is there for callers whose patterns name it', async t => {
    const { find, list } = await project(t, { '.agents/skills/git/deploy/SKILL.md': skill('deploy') })
    const callerOf = (pattern: string): Caller => ({ ...ANYONE, runs: new NamePatterns([pattern]) })
    assert.deepEqual([await find('git/deploy', 'project', callerOf('skills.project.*')), await find('git/deploy', 'project', callerOf('skills.team.*'))], ['deploy', undefined])
    assert.deepEqual([(await list(callerOf('skills.project.git.*'))).found.length, (await list(callerOf('agents.*'))).found.length], [1, 0])
  })
})

describe('The skills that stand on a target', () => {
  it('S-44 are listed from all folders, nested ones too, with what cannot be used and why', async t => {
    const { list } = await project(t, {
      '.kosmos-panel/skills/git/quick/commit/SKILL.md': skill('commit'),
      '.kosmos-panel/skills/SKILL.md': skill('none'),
      '.agents/skills/deploy/SKILL.md': skill('deploy'),
      '.agents/skills/deploy/nested/SKILL.md': skill('nested'),
      '.agents/skills/.hidden/SKILL.md': skill('hidden'),
      '.agents/skills/deploy/README.md': 'x',
      '.claude/skills/mute/SKILL.md': 'Do it.',
      '.claude/skills/large/SKILL.md': 'x'.repeat(300_000)
    })
    assert.deepEqual(await list(), {
      found: [['git/quick/commit', '.kosmos-panel/skills/git/quick/commit/SKILL.md', 'commit'], ['deploy', '.agents/skills/deploy/SKILL.md', 'deploy'], ['deploy/nested', '.agents/skills/deploy/nested/SKILL.md', 'nested']],
      problems: [
        { target: 'here', path: '.kosmos-panel/skills/SKILL.md', source: 'project', reason: MISNAMED },
        { target: 'here', path: '.claude/skills/large/SKILL.md', source: 'project', reason: 'it cannot be read: expected a file in UTF-8 of at most 262144 bytes, and no link' },
        { target: 'here', path: '.claude/skills/mute/SKILL.md', source: 'project', reason: 'there is no front matter' }
      ]
    })
  })

  it('are not looked for behind links', async t => {
    const { list, path } = await project(t, { '.agents/skills/deploy/SKILL.md': skill('deploy') })
    await symlink('../../secret', `${path}/.agents/skills/linked`)
    await mkdir(`${path}/.claude`)
    await symlink('../..', `${path}/.claude/skills`)
    const { found, problems } = await list()
    assert.deepEqual(found.map(([name]) => name), ['deploy'])
    assert.deepEqual(problems.map(({ path, reason }) => [path, reason]), [['.agents/skills/linked', LINK], ['.claude/skills', LINK]])
  })

  for (const [what, file, reason] of [
    ['a blank', '.agents/skills/my skill/SKILL.md', MISNAMED], ['a dot', '.agents/skills/v1.2/SKILL.md', MISNAMED], ['Cyrillic letters', '.agents/skills/выкат/SKILL.md', MISNAMED], ['too long a name', `.agents/skills/${'x'.repeat(65)}/SKILL.md`, MISNAMED], ['small letters', '.agents/skills/deploy/skill.md', 'expected the name SKILL.md']
  ] as const) {
    it(`tell of one with ${what}, which cannot be started`, async t => {
      const { list, find } = await project(t, { [file]: skill('deploy') })
      assert.deepEqual(await list(), { found: [], problems: [{ target: 'here', path: file, source: 'project', reason }] })
      assert.equal(await find(file), undefined)
    })
  }

  it('tell of none that the caller may not run', async t => {
    const { list } = await project(t, { '.agents/skills/my skill/SKILL.md': skill('deploy') })
    assert.deepEqual((await list({ ...ANYONE, runs: new NamePatterns(['skills.team.*']) })).problems, [])
  })

  it('are 200 at most, and the rest is counted', async t => {
    const { list } = await project(t, Object.fromEntries(Array.from({ length: 210 }, (_, n) => [`.${n % 2 === 0 ? 'agents' : 'claude'}/skills/s${n}/SKILL.md`, skill(`s${n}`)])))
    const { found, problems } = await list()
    assert.deepEqual([found.length, problems], [200, [{ target: 'here', reason: '10 more are left out: at most 200 are read, and 4194304 characters' }]])
  })

  it('are those of the one target that has some, where none is named', async t => {
    const { target } = await project(t, {})
    const [other, third] = [{ ...target, name: 'other' }, { ...target, name: 'third', workspace: { ...target.workspace, hasSkills: false } }]
    const of = (...targets: LocalTarget[]) => ({ targets: new Map(targets.map(each => [each.name, each])) })
    assert.deepEqual([placeOfSkills(of(target, third), undefined)?.name, placeOfSkills(of(target, other), undefined)?.name, placeOfSkills(of(target, other), 'other')?.name], ['here', undefined, 'other'])
  })
})
