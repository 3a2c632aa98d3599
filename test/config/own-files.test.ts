import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { placesOf } from '../../src/config/service-files.ts'
import { openService } from '../../src/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'

/** What is tried: where the files are, the variables, and what the start says; `@` stands for the folder of all of it. */
interface Case {
  readonly files?: readonly string[]
  readonly links?: Readonly<Record<string, string>>
  readonly operator?: string
  readonly given: Readonly<Record<string, string>>
  readonly message: string
}

const SHOP = 'workspaces: { shop: { path: shop } }'
const HOST_KEY = `SHA256:${'a'.repeat(43)}`

const refused: Readonly<Record<string, Case>> = {
  'the file of tokens': { files: ['shop/tokens'], given: { API_TOKENS_FILE: '@/shop/tokens' }, message: 'API_TOKENS_FILE: expected a file outside of workspace "shop" (@/shop), got "@/shop/tokens"' },
  'the operator\'s file': { operator: '{ workspaces: { all: { path: . } } }', given: {}, message: 'OPERATOR_FILE: expected a file outside of workspace "all" (@), got "@/operator.yaml"' },
  'the file of providers': { files: ['shop/a/providers'], given: { LLM_PROVIDERS_FILE: '@/shop/a/providers' }, message: 'LLM_PROVIDERS_FILE: expected a file outside of workspace "shop" (@/shop), got "@/shop/a/providers"' },
  'the key for tools': { files: ['shop/key'], given: { TOOL_TLS_KEY_FILE: '@/shop/key' }, message: 'TOOL_TLS_KEY_FILE: expected a file outside of workspace "shop" (@/shop), got "@/shop/key"' },
  'the authorities for tools': { files: ['shop/ca'], given: { TOOL_TLS_CA_FILE: '@/shop/ca' }, message: 'TOOL_TLS_CA_FILE: expected a file outside of workspace "shop" (@/shop), got "@/shop/ca"' },
  'the key of a target': {
    files: ['shop/key'],
    operator: `${SHOP}\ntargets: { web: { type: ssh, host: a, user: b, hostKey: "${HOST_KEY}", keyFile: shop/key } }`,
    given: {},
    message: 'OPERATOR_FILE: targets.web.keyFile: expected a file outside of workspace "shop" (@/shop), got "@/shop/key"'
  },
  'the folder of sessions': { given: { SESSION_STORE: '@/shop/sessions' }, message: 'SESSION_STORE: expected a folder outside of workspace "shop" (@/shop), got "@/shop/sessions"' },
  'the folder of its state': { given: { STATE_DIR: '@/shop/.ai-prompt-shell' }, message: 'STATE_DIR: expected a folder outside of workspace "shop" (@/shop), got "@/shop/.ai-prompt-shell"' },
  'the folder of its state as a whole': { given: { STATE_DIR: '@/shop' }, message: 'STATE_DIR: expected a folder outside of workspace "shop" (@/shop), got "@/shop"' },
  'what a link leads to': { files: ['shop/tokens'], links: { 'etc/tokens': '../shop/tokens' }, given: { API_TOKENS_FILE: '@/etc/tokens' }, message: 'API_TOKENS_FILE: expected a file outside of workspace "shop" (@/shop), got "@/etc/tokens", which leads through "@/shop/tokens"' },
  'a link to what is elsewhere': { files: ['etc/tokens'], links: { 'shop/tokens': '../etc/tokens' }, given: { API_TOKENS_FILE: '@/shop/tokens' }, message: 'API_TOKENS_FILE: expected a file outside of workspace "shop" (@/shop), got "@/shop/tokens"' },
  'a folder on the way to what is elsewhere': { files: ['tokens', 'shop/a/x'], given: { API_TOKENS_FILE: '@/shop/a/../../tokens' }, message: 'API_TOKENS_FILE: expected a file outside of workspace "shop" (@/shop), got "@/shop/a/../../tokens", which leads through "@/shop"' },
  'what is there by a linked folder': { files: ['shop/a/tokens'], links: { 'etc/in': '../shop/a' }, given: { API_TOKENS_FILE: '@/etc/in/tokens' }, message: 'API_TOKENS_FILE: expected a file outside of workspace "shop" (@/shop), got "@/etc/in/tokens", which leads through "@/shop/a/tokens"' },
  'a folder of it in which the workspace lies': { operator: '{ workspaces: { shop: { path: state/shop } } }', files: ['state/shop/x'], given: {}, message: 'STATE_DIR: expected a folder without workspace "shop" (@/state/shop) in it, got "@/state"' }
}

describe('a start is refused where a workspace holds', () => {
  for (const [what, { message, ...given }] of Object.entries(refused)) {
    it(what, async t => {
      const { config, path } = await prepared(t, given)
      await assert.rejects(openService(config, SILENT), { name: 'ConfigError', message: message.replaceAll('@', path) })
    })
  }
})

describe('a start is not refused', () => {
  it('where all of it lies beside the workspaces', async t => {
    const { config } = await prepared(t, { files: ['tokens', 'shop-2/providers', 'shop/x'], given: { API_TOKENS_FILE: '@/tokens', SESSION_STORE: '@/sessions' } })
    const service = await openService(config, SILENT)
    await service.close()
  })
})

describe('the places on the way of a path', () => {
  it('end with its own, also behind links that go round', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await symlink('b', join(folder.path, 'a'))
    await symlink('a', join(folder.path, 'b'))
    await symlink('nowhere/x', join(folder.path, 'c'))
    assert.equal(placesOf(join(folder.path, 'c')).at(-1), join(folder.path, 'nowhere/x'))
    assert.equal(placesOf(join(folder.path, 'a')).length < 100, true)
    assert.equal(placesOf('/').at(-1), '/')
  })
})

const SILENT = { debug () {}, info () {}, warn () {}, error () {} }

async function prepared (t: TestContext, { files = [], links = {}, operator = SHOP, given }: Omit<Case, 'message'>) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  for (const name of ['shop', 'etc', 'store']) await mkdir(join(folder.path, name))
  for (const file of files) await folder.write(file, '')
  for (const [link, target] of Object.entries(links)) await symlink(target, join(folder.path, link))
  await folder.write('operator.yaml', operator)
  const variables = { STORE_DIR: '@/store', STATE_DIR: '@/state', SESSION_STORE: 'memory', OPERATOR_FILE: '@/operator.yaml', ...given }
  return { path: folder.path, config: loadConfig(Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, value.replaceAll('@', folder.path)]))) }
}
