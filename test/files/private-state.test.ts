import assert from 'node:assert/strict'
import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { remember } from '../../src/files/memory-files.ts'
import { writeTrace } from '../../src/files/workspaces.ts'
import { createDirectorySessionStore } from '../../src/session/store/directory-session-store.ts'
import { quietLog } from '../helpers/quiet-log.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { append, newId } from '../session/store/session-appends.ts'
import { createWorkspace } from './change/workspace.ts'

/** The modes of all that is below a folder, and of the folder itself, each once. */
async function modesOf (folder: string): Promise<string[]> {
  const modes = new Set([`folder ${await modeOf(folder)}`])
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) modes.add(`${entry.isFile() ? 'file' : 'folder'} ${await modeOf(join(entry.parentPath, entry.name))}`)
  return [...modes].sort()
}

async function modeOf (path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8)
}

async function workspaceOf (t: TestContext) {
  const workspace = await createWorkspace()
  t.after(() => workspace.remove())
  return workspace
}

describe('Nobody else on the machine reads', () => {
  it('sessions, open or ended, also in a folder that was there', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const path = join(folder.path, 'state/sessions')
    await mkdir(path, { recursive: true })
    await chmod(path, 0o777)
    const store = createDirectorySessionStore({ path, keep: 60_000, log: quietLog() })
    await append(store, newId())
    await append(store, newId(), undefined, { status: 'failed' })
    assert.equal((await readdir(path, { recursive: true })).filter(name => name.endsWith('.jsonl')).length, 2)
    await store.close()
    assert.deepEqual(await modesOf(path), ['file 600', 'folder 700'])
  })

  it('the journal of changes', async t => {
    const workspace = await workspaceOf(t)
    await workspace.put('src/a.ts', 'one')
    assert.equal((await workspace.apply([{ kind: 'UPDATE_FILE', path: 'src/a.ts', content: 'two' }])).kind, 'result')
    assert.deepEqual(await modesOf(workspace.journal), ['file 600', 'folder 700'])
  })

  it('what is remembered of an owner', async t => {
    const { files, root, journal } = await workspaceOf(t)
    const state = join(root, '../state')
    await remember({ files, state, owner: 'ann' }, { 'user.ask_budget': 1 }, journal, AbortSignal.timeout(10_000))
    assert.deepEqual(await modesOf(state), ['file 600', 'folder 700'])
  })

  it('traces', async t => {
    const { files, root } = await workspaceOf(t)
    await writeTrace(files, 'a', '{}')
    assert.equal(await modeOf(join(root, '.papa-yu/traces/a.json')), '600')
  })
})
