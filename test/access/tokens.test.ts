import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES } from '../../src/access/caller.ts'
import { hashToken, parseTokens } from '../../src/access/token-table.ts'
import { runApsHere } from '../helpers/aps.ts'

const NO_LIMITS = { requests: undefined, tokens: undefined }
const digest = hashToken('secret')

describe('API_TOKENS', () => {
  it('finds a caller by the token, and nobody by another one or by the hash', () => {
    const { findCaller: find } = parseTokens(`ide:render+chat:${digest}`, NO_LIMITS)
    assert.equal(find('secret')?.name, 'ide')
    assert.deepEqual([find('Secret'), find(''), find(digest)], [undefined, undefined, undefined])
  })

  it('takes entries on lines of their own, with commas, and with hashes in capitals', () => {
    const { findCaller: find } = parseTokens(`a:read:${digest.toUpperCase()}\n  b:chat:${hashToken('two')},c:chat:${hashToken('three')}\n`, NO_LIMITS)
    assert.deepEqual([find('secret')?.name, find('two')?.name, find('three')?.name], ['a', 'b', 'c'])
  })

  it('lets two entries share a name, so that a token can be replaced', () => {
    const { findCaller: find } = parseTokens(`ide:chat:${digest}\nide:chat:${hashToken('next')}`, NO_LIMITS)
    assert.deepEqual([find('secret')?.name, find('next')?.name], ['ide', 'ide'])
  })

  it('gives admin every role, and tells templates the name and the roles as they are written', () => {
    const caller = parseTokens(`ops:admin:${digest}`, NO_LIMITS).findCaller('secret')
    assert.deepEqual([...caller?.roles ?? []], ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin'])
    assert.deepEqual(caller?.facts, { name: 'ops', roles: ['admin'] })
  })

  it('reads patterns and limits, and takes the defaults for limits that are not there', () => {
    const caller = parseTokens(`ide:render:${digest}:prompts=team.*|greet:environs=vscode.*:tokens=500`, { requests: 60, tokens: 9 }).findCaller('secret')
    assert.deepEqual([caller?.prompts?.allows('team.a.b'), caller?.prompts?.allows('greet'), caller?.prompts?.allows('team')], [true, true, false])
    assert.deepEqual([caller?.environs?.allows('vscode.rules'), caller?.environs?.allows('chat.x')], [true, false])
    assert.deepEqual(caller?.limits, { requests: 60, tokens: 500, running: undefined })
  })

  const mistakes = [
    ['no hash', 'ide:render', /entry 1 \("ide"\): expected the SHA-256/],
    ['the token in place of its hash', 'ide:render:aps_abc', /expected the SHA-256/],
    ['an unknown role', `ide:root:${digest}`, /expected roles out of read, render/],
    ['no role', `ide::${digest}`, /expected roles/],
    ['a name with a space in it', `my ide:render:${digest}`, /entry 1 \("my"\): expected roles/],
    ['no name', `:render:${digest}`, /entry 1: expected a name/],
    ['an unknown part', `ide:render:${digest}:prompt=a`, /expected prompts=, environs=/],
    ['a part twice', `ide:render:${digest}:requests=1:requests=2`, /requests= is there twice/],
    ['a limit of zero', `ide:render:${digest}:requests=0`, /expected requests= with a number/],
    ['a name that may be a secret', `${'x'.repeat(17)}:root:${digest}`, /entry 1: expected roles/],
    ['a star within a pattern', `ide:render:${digest}:prompts=a.*.b`, /"a\.\*\.b" is no pattern/],
    ['an empty pattern', `ide:render:${digest}:prompts=a||b`, /"" is no pattern/],
    ['the same hash twice', `a:read:${digest}\nb:read:${digest}`, /entry 2 has the hash of another entry/]
  ] as const
  for (const [mistake, text, message] of mistakes) {
    it(`refuses ${mistake}, and never shows a hash`, () => {
      assert.throws(() => parseTokens(text, NO_LIMITS), (error: Error) => message.test(error.message) && !error.message.includes(digest))
    })
  }
})

describe('aps token', () => {
  async function make (...args: string[]) {
    const { stdout } = await runApsHere(['token', ...args])
    const [, token = '', line = ''] = /\n {2}(\S+)\n.*\n {2}(\S+)\n/.exec(stdout) ?? []
    return { token, line }
  }

  for (const rest of ['', ':render+chat', `:render:${digest}`]) {
    it(`makes a token that is not shown when it is taken for its line, with "${rest}" behind it`, async () => {
      const { token } = await make('render', 'chat')
      assert.throws(() => parseTokens(`${token}${rest}`, NO_LIMITS), { message: 'entry 1: this is a token, which is for its caller; the line that npx ai-prompt-shell token prints below it is meant' })
    })
  }

  it('makes a token and the entry that knows it, named by its roles where no name is given', async () => {
    const { token, line } = await make('render', 'chat', '--prompts', 'team.*')
    assert.ok(token.length > 40)
    const caller = parseTokens(line, NO_LIMITS).findCaller(token)
    assert.deepEqual([caller?.name, caller?.facts.roles, caller?.prompts?.allows('team.x')], ['render-chat', ['chat', 'render'], true])
  })

  it('takes all limits that an entry may have', async () => {
    const limits = { prompts: '*', environs: 'vscode.*|chat.a', runs: 'agents.*', targets: 'web', labels: 'production', serve: 'staging', requests: '600', tokens: '100000', running: '8' }
    const { token, line } = await make('read', '--name', 'ide', ...Object.entries(limits).map(([name, value]) => `--${name}=${value}`))
    const caller = parseTokens(line, NO_LIMITS).findCaller(token)
    assert.deepEqual([caller?.name, caller?.limits, caller?.serve], ['ide', { requests: 600, tokens: 100000, running: 8 }, 'staging'])
    assert.deepEqual(line.split(':').slice(3), Object.entries(limits).map(([name, value]) => `${name}=${value}`))
  })

  it('knows every role there is, joined or apart', async () => {
    assert.equal((await runApsHere(['token', ...ROLES])).code, 0)
    assert.equal((await runApsHere(['token', ROLES.join('+')])).code, 0)
  })

  const mistakes = [
    ['a role that is none', ['read', 'root'], /expected roles out of read, render/],
    ['a limit that is no number', ['read', '--requests', 'abc'], /expected requests= with a number a minute/],
    ['a bound that lets no session run', ['run', '--running', '0'], /expected running= with a number of sessions, 1 or more/],
    ['patterns with commas', ['read', '--prompts', 'a,b'], /"a,b" has a blank, a comma or a colon/],
    ['a pattern that is none', ['read', '--prompts', 'a.*.b'], /"a\.\*\.b" is no pattern/],
    ['a limit that is none', ['read', '--foo', 'bar'], /unknown option '--foo'/],
    ['a name with a space', ['read', '--name', 'my ide'], /"my ide" has a blank/],
    ['no role', [], /missing required argument 'role'/]
  ] as const
  for (const [mistake, given, message] of mistakes) {
    it(`makes none for ${mistake}`, async () => {
      const { code, stdout, stderr } = await runApsHere(['token', ...given])
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, message)
    })
  }
})
