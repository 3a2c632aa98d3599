import assert from 'node:assert/strict'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type JsonObject } from '../../../src/base/json.ts'
import { FileRefusal } from '../../../src/files/workspace-files.ts'
import { readMemory, remember, type MemoryPlace } from '../../../src/files/memory-files.ts'
import { createWorkspace, type TestWorkspace } from '../change/workspace.ts'

let workspace: TestWorkspace
let place: MemoryPlace

async function keep (patch: JsonObject, at = place): Promise<JsonObject> {
  return await remember(at, patch, workspace.journal, AbortSignal.timeout(10_000))
}

describe('What is remembered', () => {
  beforeEach(async () => {
    workspace = await createWorkspace()
    place = { files: workspace.files, state: join(workspace.root, '../state'), owner: 'ide' }
  })
  afterEach(() => workspace.remove())

  it('is kept in a file of the project and one of the owner, and read again', async () => {
    const outcome = await keep({ 'user.ask_budget': 1, 'project.default_test_command': 'npm test', 'project.src_roots': ['src'] })
    assert.deepEqual(outcome, { remembered: ['user.ask_budget', 'project.default_test_command', 'project.src_roots'], dropped: [], user: { ask_budget: 1 }, project: { default_test_command: 'npm test', src_roots: ['src'] } })
    assert.deepEqual(JSON.parse(await readFile(join(workspace.root, '.papa-yu/project.json'), 'utf8')), { schema_version: 1, project: { default_test_command: 'npm test', src_roots: ['src'] } })
    assert.deepEqual(JSON.parse(await readFile(join(place.state, 'papa-yu/ide/preferences.json'), 'utf8')), { schema_version: 1, user: { ask_budget: 1 } })
  })

  it('belongs to its owner', async () => {
    await keep({ 'user.preferred_style': 'brief' })
    assert.deepEqual((await readMemory({ ...place, owner: 'other' })).user, {})
    await keep({ 'user.preferred_style': 'normal' }, { ...place, owner: '../ide' })
    assert.deepEqual((await readMemory(place)).user, { preferred_style: 'brief' })
  })

  it('is forgotten with null, and kept beside what is remembered later', async () => {
    await keep({ 'project.ci_notes': 'a', 'project.build_command': 'make' })
    assert.deepEqual((await keep({ 'project.ci_notes': null }))['project'], { build_command: 'make' })
  })

  const values: ReadonlyArray<readonly [string, JsonObject[string], boolean]> = [
    ['user.preferred_style', 'brief', true], ['user.preferred_style', 'loud', false], ['user.ask_budget', 2, true], ['user.ask_budget', 3, false], ['user.ask_budget', '1', false],
    ['user.risk_tolerance', 'high', true], ['user.output_format', 'plan', true], ['user.output_format', 'patch_first', true], ['user.output_format', 'x', false], ['user.default_language', 'ru', true],
    ['project.src_roots', ['a'], true], ['project.src_roots', 'a', false], ['project.src_roots', [1], false], ['project.default_test_command', 'x', true], ['project.default_test_command', {}, false],
    ['project.ci_notes', 'x'.repeat(1000), true], ['project.ci_notes', 'x'.repeat(1001), false], ['project.ci_notes', '', false], ['project.ci_notes', '\ud83d', false], ['user.default_language', 'x'.repeat(41), false], ['project.src_roots', [], false],
    ['project.test_command', 'x', false], ['session.current_branch', 'x', false], ['user.__proto__', 'x', false], ['__proto__.polluted', 'x', false], ['user', 'x', false], ['user.ask_budget.x', 1, false]
  ]
  for (const [key, value, isGood] of values) {
    it(`${isGood ? 'may be' : 'is never'} ${key} = ${JSON.stringify(value)?.slice(0, 60)} (${JSON.stringify(value)?.length})`, async () => {
      const { remembered, dropped } = await keep(Object.fromEntries([[key, value]]))
      assert.deepEqual({ remembered, dropped }, isGood ? { remembered: [key], dropped: [] } : { remembered: [], dropped: [key] })
    })
  }

  it('takes names of older files, unless the newer one is there', async () => {
    await workspace.put('.papa-yu/project.json', JSON.stringify({ schema_version: 1, project: { test_command: 'old', lint_command: 'lint', default_test_command: 'new', style: 'x' } }))
    assert.deepEqual((await readMemory(place)).project, { default_lint_command: 'lint', default_test_command: 'new' })
  })

  for (const [title, content] of [['no JSON', '{'], ['of another version', '{"schema_version":2,"project":{}}'], ['of something else', '{"name":"x"}'], ['too large', ' '.repeat(12 * 1024 + 1)]] as const) {
    it(`counts as empty where the file is ${title}; the file is told of and stays as it is`, async () => {
      await workspace.put('.papa-yu/project.json', content)
      const { project, problems } = await readMemory(place)
      assert.deepEqual(project, {})
      assert.match(String(problems), /project\.json cannot be used, and is left as it is/)
      await assert.rejects(keep({ 'project.ci_notes': 'x' }), (error: unknown) => error instanceof FileRefusal && error.code === 'MEMORY_UNUSABLE')
      assert.equal(await workspace.get('.papa-yu/project.json'), content)
    })
  }

  it('has at most 12 KiB', async () => {
    const many = Array.from({ length: 50 }, () => 'x'.repeat(300))
    await assert.rejects(keep({ 'project.src_roots': many }), (error: unknown) => error instanceof FileRefusal && error.code === 'ERR_CONTENT_TOO_LARGE')
  })

  it('is never written through a link', async () => {
    await mkdir(join(workspace.root, '../elsewhere'))
    await symlink('../elsewhere', join(workspace.root, '.papa-yu'))
    await assert.rejects(keep({ 'project.ci_notes': 'x' }), (error: unknown) => error instanceof FileRefusal && error.code === 'MEMORY_UNUSABLE')
  })

  it('loses nothing of an owner who remembers in several workspaces at a time', async () => {
    const keepIn = (folder: string, patch: JsonObject) => remember(place, patch, join(workspace.root, '..', folder), AbortSignal.timeout(10_000))
    await Promise.all([
      keepIn('one', { 'user.ask_budget': 1 }), keepIn('two', { 'user.preferred_style': 'brief' }),
      keepIn('three', { 'user.output_format': 'plan' }), keepIn('four', { 'user.default_language': 'ru' })
    ])
    assert.equal(Object.keys((await readMemory(place)).user).length, 4)
  })

  it('loses nothing when several remember at a time', async () => {
    await Promise.all(['ci_notes', 'build_command', 'package_manager', 'default_lint_command'].map(name => keep({ [`project.${name}`]: name })))
    assert.equal(Object.keys((await readMemory(place)).project).length, 4)
  })
})
