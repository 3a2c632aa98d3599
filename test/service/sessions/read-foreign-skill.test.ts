import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { type LocalTarget, NOTHING_OFFERED, type Workspace } from '../../../src/config/operator.ts'
import { Executors } from '../../../src/exec/executors.ts'
import { foreignSkillReader, type SkillSource } from '../../../src/service/sessions/read-foreign-skill.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

const skill = (name: string): string => `---\nname: ${name}\ndescription: d\ntemplate: true\n---\nDo {{it}}.`

/** Reads a skill of a workspace. */
async function project (t: TestContext, files: Readonly<Record<string, string>>, hasSkills = true, links: Readonly<Record<string, string>> = {}): Promise<(name: string, source?: SkillSource) => Promise<string | undefined>> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('secret/SKILL.md', skill('secret'))
  for (const [path, text] of Object.entries(files)) await folder.write(`shop/${path}`, text)
  for (const [path, target] of Object.entries(links)) await symlink(target, `${folder.path}/shop/${path}`)
  const workspace: Workspace = { name: 'shop', path: `${folder.path}/shop`, hasSkills, checks: new Map(), logs: new Map() }
  const target: LocalTarget = { type: 'local', name: 'here', workspace, sandbox: 'off', hasNetwork: false, mayRunUnasked: false, environment: [] }
  const executors = new Executors({ operator: { ...NOTHING_OFFERED, workspaces: new Map([['shop', workspace]]), targets: new Map([['here', target]]) }, environment: {}, hidden: [], mayRunAsRoot: true, log: { debug () {}, info () {}, warn () {}, error () {} } })
  t.after(() => executors.close())
  const read = foreignSkillReader(executors)
  return async (name, source = 'project') => (await read(target, source, name))?.name
}

describe('A skill that nobody has registered', () => {
  for (const folder of ['.kosmos-panel', '.agents', '.claude']) {
    it(`is found in ${folder}/skills`, async t => {
      const read = await project(t, { [`${folder}/skills/deploy/SKILL.md`]: skill('deploy') })
      assert.equal(await read('deploy'), 'deploy')
    })
  }

  it('is the first of those of one name, and may be in a nested folder', async t => {
    const read = await project(t, { '.claude/skills/a/b/SKILL.md': skill('last'), '.kosmos-panel/skills/a/b/SKILL.md': skill('first') })
    assert.equal(await read('a/b'), 'first')
  })

  it('is not there where the operator does not offer the skills of a workspace', async t => {
    const read = await project(t, { '.agents/skills/deploy/SKILL.md': skill('deploy') }, false)
    assert.equal(await read('deploy'), undefined)
  })

  for (const name of ['../../secret', '/etc', '.', 'a/../deploy', '~', '', 'deploy/', 'a b']) {
    it(`is not there under the name ${JSON.stringify(name)}`, async t => {
      const read = await project(t, { '.agents/skills/deploy/SKILL.md': skill('deploy') })
      assert.equal(await read(name), undefined)
    })
  }

  for (const [what, link, target] of [['its file', '.agents/skills/x/SKILL.md', '../../../../secret/SKILL.md'], ['its folder', '.agents/skills/secret', '../../../secret'], ['a protected file', '.agents/skills/x/SKILL.md', '../../../.env']] as const) {
    it(`is not there where a link leads to ${what}`, async t => {
      const read = await project(t, { '.agents/skills/x/notes': 'x', '.env': skill('env') }, true, { [link]: target })
      assert.deepEqual([await read('x'), await read('secret')], [undefined, undefined])
    })
  }

  it('is not looked for in a home, which is for remote machines', async t => {
    const read = await project(t, { '~/.config/kosmos-panel/skills/deploy/SKILL.md': skill('deploy') })
    assert.equal(await read('nope', 'remote'), undefined)
  })
})
