import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import { type GivenParameters, readParameters } from '../../src/cli/context.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../helpers/temporary-folder.ts'

const { signal } = new AbortController()
const none = () => new Readable({ read () { assert.fail('stdin was read') } })

const READ: ReadonlyArray<readonly [what: string, given: GivenParameters, expected: object]> = [
  ['nothing', {}, {}],
  ['a text', { param: ['name=Ada'] }, { name: 'Ada' }],
  ['a text with further signs', { param: ['sum=a=b@c'] }, { sum: 'a=b@c' }],
  ['an empty text', { param: ['name='] }, { name: '' }],
  ['a text that looks like a number', { param: ['n=5'] }, { n: '5' }],
  ['the last of two texts', { param: ['name=Ada', 'name=Bob'] }, { name: 'Bob' }],
  ['JSON with every digit', { args: '{"n": 12345678901234567890}' }, { n: 12345678901234567890n }],
  ['YAML in braces', { args: '{files: [a, b], n: 5}' }, { files: ['a', 'b'], n: 5 }],
  ['YAML in lines', { args: 'name: Ada\nat: 12345678901234567890' }, { name: 'Ada', at: 12345678901234567890n }],
  ['a text over an object', { param: ['b=3'], args: '{"a": 1, "b": 2}' }, { a: 1, b: '3' }]
]

const REFUSED: ReadonlyArray<readonly [what: string, given: GivenParameters, message: RegExp]> = [
  ['a name without a value', { param: ['name'] }, /^-p: expected name=value, name=@file or name=@-, got "name"$/],
  ['a value without a name', { param: ['=x'] }, /^-p: expected name=value/],
  ['a file that is not there', { param: ['a=@/nowhere/a.txt'] }, /^-p a: \/nowhere\/a\.txt cannot be read: ENOENT$/],
  ['arguments that are no object', { args: '[1]' }, /^--args: expected an object of variables, as JSON or YAML$/],
  ['arguments that are a text', { args: 'Ada' }, /^--args: expected an object/],
  ['broken arguments', { args: '{"a": [' }, /^--args: expected JSON or YAML: /],
  ['empty arguments', { args: '' }, /^--args: expected JSON or YAML: /],
  ['stdin twice', { param: ['a=@-'], args: '@-' }, /^-p a: stdin can be read once, and --args has it$/]
]

describe('the parameters of a command', () => {
  let folder: TemporaryFolder
  before(async () => {
    folder = await createTemporaryFolder()
    await folder.write('main.go', 'package main\n')
    await folder.write('vars.yaml', '# of a review\nname: Ada\n')
    await folder.write('latin.txt', Buffer.from([0xe9]))
  })
  after(() => folder.remove())

  for (const [what, given, expected] of READ) {
    it(`are ${what}`, async () => {
      assert.deepEqual(await readParameters(given, none(), signal), expected)
    })
  }

  for (const [what, given, message] of REFUSED) {
    it(`are refused for ${what}`, async () => {
      await assert.rejects(readParameters(given, Readable.from([Buffer.from('{}')]), signal), { name: 'CliError', exitCode: 2, message })
    })
  }

  it('come from files, byte for byte', async () => {
    assert.deepEqual(await readParameters({ param: [`code=@${join(folder.path, 'main.go')}`], args: `@${join(folder.path, 'vars.yaml')}` }, none(), signal), { name: 'Ada', code: 'package main\n' })
  })

  it('come from stdin where it is asked for', async () => {
    assert.deepEqual(await readParameters({ param: ['code=@-'] }, Readable.from([Buffer.from('ä'), Buffer.from('\n')]), signal), { code: 'ä\n' })
  })

  it('wait for stdin until the user interrupts', async () => {
    const interrupt = new AbortController()
    const reading = readParameters({ param: ['code=@-'] }, new Readable({ read () { interrupt.abort() } }), interrupt.signal)
    await assert.rejects(reading, { name: 'AbortError' })
  })

  it('are refused in another encoding than UTF-8', async () => {
    await assert.rejects(readParameters({ param: [`code=@${join(folder.path, 'latin.txt')}`] }, none(), signal), { exitCode: 2, message: '-p code: expected UTF-8' })
  })

  it('may be called as members of every object are', async () => {
    const variables = await readParameters({ param: ['__proto__=x', 'constructor=y'] }, none(), signal)
    assert.deepEqual(Object.entries(variables), [['__proto__', 'x'], ['constructor', 'y']])
  })
})
