import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError, loadConfig } from '../../src/config/config.ts'
import { readScript } from '../../src/llm/read-script.ts'
import { createModels, modelOfSkills } from '../../src/service/from-config.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { quietLog } from '../helpers/quiet-log.ts'

const log = quietLog()

describe('createModels', () => {
  it('gives none without a model', async () => {
    assert.equal(await createModels(loadConfig({ STORE_DIR: 'x' }), {}, log), undefined)
  })

  it('names the variable of a URL that holds credentials', async () => {
    const config = loadConfig({ STORE_DIR: 'x', LLM_BASE_URL: 'https://me:secret@example.com/v1' })
    await assert.rejects(createModels(config, {}, log), (error: Error) => error instanceof ConfigError && error.message.startsWith('LLM_BASE_URL: ') && !error.message.includes('secret@'))
  })

  it('names the variable of a file that is not there', async () => {
    const config = loadConfig({ STORE_DIR: 'x', LLM_PROVIDERS_FILE: '/nowhere.yaml' })
    await assert.rejects(createModels(config, {}, log), { name: 'ConfigError', message: /^LLM_PROVIDERS_FILE: / })
  })

  it('takes keys from the environment that the file refers to', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('providers.json', JSON.stringify({ providers: [{ name: 'one', baseUrl: 'https://example.com/v1', apiKeyEnv: 'ONE_KEY' }] }))
    const config = loadConfig({ STORE_DIR: 'x', LLM_PROVIDERS_FILE: join(folder.path, 'providers.json'), LLM_MODEL: 'm' })
    await assert.rejects(createModels(config, {}, log), { message: /ONE_KEY is not set/ })
    const models = await createModels(config, { ONE_KEY: 'k' }, log)
    assert.deepEqual(models?.models(), [{ id: 'm', provider: 'one' }])
    await models.close()
  })

  it('asks an API of its own for the model of skills, CHEAP by default', async () => {
    const only = await createModels(loadConfig({ STORE_DIR: 'x', AI_KOSMOS_MODEL_BASE_URL: 'http://127.0.0.1:1/v1' }), {}, log)
    assert.deepEqual(only?.models(), [{ id: 'CHEAP', provider: 'skills' }])
    const config = loadConfig({ STORE_DIR: 'x', LLM_BASE_URL: 'builtin:echo', AI_KOSMOS_MODEL_BASE_URL: 'http://127.0.0.1:1/v1', AI_MODEL: 'small' })
    const both = await createModels(config, {}, log)
    assert.deepEqual(both?.models(), [{ id: 'echo', provider: 'default' }, { id: 'small', provider: 'skills' }])
    assert.deepEqual([modelOfSkills(config), modelOfSkills(loadConfig({ STORE_DIR: 'x' }))], ['small', ''])
    assert.throws(() => loadConfig({ STORE_DIR: 'x', AI_KOSMOS_MODEL_BASE_URL: 'nowhere' }), { message: /^AI_KOSMOS_MODEL_BASE_URL: expected an http/ })
    await Promise.all([only?.close(), both.close()])
  })

  it('asks for the file of builtin:script', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('providers.yaml', 'providers: [{ name: one, baseUrl: builtin:script }]')
    const expected = 'builtin:script needs LLM_SCRIPT_FILE, the path of a YAML file with its replies'
    for (const [variable, value] of [['LLM_BASE_URL', 'builtin:script'], ['LLM_PROVIDERS_FILE', join(folder.path, 'providers.yaml')]] as const) {
      await assert.rejects(createModels(loadConfig({ STORE_DIR: 'x', [variable]: value }), {}, log), { name: 'ConfigError', message: `${variable}: ${expected}` })
    }
  })

  it('names the file of builtin:script, the place and what was expected', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('replies.yaml', '- last: x\n  reply: 5')
    const file = join(folder.path, 'replies.yaml')
    const start = (path: string) => createModels(loadConfig({ STORE_DIR: 'x', LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: path }), {}, log)
    await assert.rejects(start(file), { name: 'ConfigError', message: `LLM_SCRIPT_FILE: ${file}: line 2: rules[0].reply must be string` })
    await assert.rejects(start('/nowhere.yaml'), { name: 'ConfigError', message: /^LLM_SCRIPT_FILE: ENOENT.*nowhere\.yaml/ })
  })

  it('reads the replies of a folder by name, and refuses links in it', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('replies/b.yaml', '- reply: two')
    await folder.write('replies/a.json', '[{ "reply": "one" }]')
    assert.deepEqual(readScript(join(folder.path, 'replies')), [{ reply: 'one' }, { reply: 'two' }])
    await symlink(join(folder.path, 'replies/b.yaml'), join(folder.path, 'replies/c.yaml'))
    assert.throws(() => readScript(join(folder.path, 'replies')), { message: /c\.yaml: expected a file, got a link or a folder$/ })
  })

  it('gives providers of a file the replies of builtin:script', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('providers.yaml', 'providers: [{ name: one, baseUrl: builtin:echo, models: [small] }, { name: two, baseUrl: builtin:script }]')
    await folder.write('replies.yaml', '[{ reply: scripted }]')
    const models = await createModels(loadConfig({ STORE_DIR: 'x', LLM_PROVIDERS_FILE: join(folder.path, 'providers.yaml'), LLM_SCRIPT_FILE: join(folder.path, 'replies.yaml') }), {}, log)
    const answers = await Promise.all(['small', 'other'].map(model => models?.ask({ kind: 'chat', request: { model, messages: [{ role: 'user', content: 'x' }] }, call: { signal: new AbortController().signal, requestId: '1' } })))
    assert.deepEqual(answers.map(answer => answer?.value['system_fingerprint']), ['builtin:echo', 'builtin:script'])
  })

  it('refuses two ways to say the same', () => {
    assert.throws(() => loadConfig({ STORE_DIR: 'x', LLM_BASE_URL: 'builtin:echo', LLM_PROVIDERS_FILE: 'x' }), { message: 'LLM_BASE_URL and LLM_PROVIDERS_FILE: expected one of them, got both' })
  })
})
