import assert from 'node:assert/strict'
import { realpath, symlink } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { SshExecutor } from '../../../src/exec/ssh-executor.ts'
import { noSshd, startOpenSsh } from '../../helpers/sshd.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

const LINK = 'it is a link, and links are not followed'

describe('A search for files over SFTP', { skip: noSshd }, () => {
  it('finds those of one name in nested folders, behind no link, and nothing where there is nothing', async t => {
    const server = await startOpenSsh()
    t.after(() => server.stop())
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const path = await realpath(folder.path)
    for (const name of ['shop/.agents/skills/deploy/SKILL.md', 'shop/.agents/skills/git/commit/SKILL.md', 'shop/.agents/skills/git/README.md', 'secret/SKILL.md']) await folder.write(name, 'x')
    await symlink('../../../secret', `${path}/shop/.agents/skills/linked`)
    await symlink('.agents', `${path}/shop/.claude`)
    const { port, user, hostKey, keyFile } = server
    const executor = new SshExecutor({ type: 'ssh', name: 't', host: '127.0.0.1', port, user, hostKey, keyFile, cwd: `${path}/shop`, hasSkills: true, mayRunUnasked: false }, undefined)
    t.after(() => executor.close())
    const find = (from: string) => executor.findFiles(from, 'SKILL.md', AbortSignal.timeout(10_000))
    assert.deepEqual(await find('.agents/skills'), { paths: ['.agents/skills/deploy/SKILL.md', '.agents/skills/git/commit/SKILL.md'], others: [{ path: '.agents/skills/linked', reason: LINK }], isWhole: true })
    assert.deepEqual(await find('.claude/skills'), { paths: [], others: [{ path: '.claude', reason: LINK }], isWhole: true })
    for (const nothing of ['.kosmos-panel/skills', '~/.config/no-such-program/skills']) assert.deepEqual(await find(nothing), { paths: [], others: [], isWhole: true })
  })
})
