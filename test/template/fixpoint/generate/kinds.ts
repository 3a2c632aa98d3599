import { type Json } from '../../../../src/base/json.ts'
import { type Environ, type World } from '../program.ts'
import { type Random } from './random.ts'

/**
 * What an expression is generated to give. Most programs keep to it, so that most renders succeed; `item` is an object
 * with the members of `MEMBERS`, some of which may be missing.
 */
export type Kind = 'text' | 'number' | 'flag' | 'texts' | 'items' | 'item'

export const KINDS: readonly Kind[] = ['text', 'number', 'flag', 'texts', 'items', 'item']

export const MEMBERS: Readonly<Record<Kind, string>> = { text: 'name', number: 'size', flag: 'on', texts: 'tags', items: 'items', item: 'inner' }

const leaf = (name: string, inner: Json = null): Json => ({ name, on: name.length > 2, size: name.length, tags: [name], items: [], inner })
const item = (name: string): Json => ({ name, on: true, size: 1, tags: ['p', 'q'], items: [leaf('one', leaf('x')), leaf('to', leaf('y'))], inner: leaf('in', leaf('z')) })

const VALUES: Readonly<Record<Kind, readonly Json[]>> = {
  text: ['red', 'blue sky', '', '{{x}}'],
  number: [0, 1, 2, 3],
  flag: [true, false],
  texts: [['a', 'b'], [], ['c']],
  items: [[item('i'), leaf('j', leaf('w'))], [], [item('k')]],
  item: [item('m'), item('n'), leaf('o', leaf('v')), { name: 'bare' }]
}

/** Where values of a kind are found from the root on. The last of each leads nowhere. */
export const PATHS: Readonly<Record<Kind, ReadonlyArray<readonly string[]>>> = {
  text: [['variables', 't1'], ['variables', 't2'], ['vscode', 'lang'], ['topic'], ['variables', 'item', 'name'], ['notes', 'a'], ['t1'], ['variables', 'd1'], ['variables', 'gone']],
  number: [['variables', 'n1'], ['vscode', 'size'], ['variables', 'item', 'size'], ['vscode', 'gone']],
  flag: [['variables', 'y1'], ['variables', 'y2'], ['vscode', 'on'], ['chat', 'on'], ['variables', 'item', 'gone']],
  texts: [['variables', 'ts'], ['vscode', 'tags'], ['notes'], ['chat', 'inner', 'tags'], ['gone']],
  items: [['variables', 'is'], ['codebase', 'files'], ['chat', 'items'], ['codebase', 'gone', 'deep']],
  item: [['variables', 'item'], ['codebase', 'main'], ['chat'], ['chat', 'inner'], ['gone', 'deep']]
}

/** Data for one program: every path of `PATHS` but those that lead nowhere. */
export function makeWorld (random: Random): World {
  const value = (kind: Kind): Json => random.pick(VALUES[kind])
  const environ = (name: string, kind: Kind): Environ => ({ name, value: value(kind), state: random.pick(STATES) })
  return {
    salt: random.below(1000),
    variables: { t1: value('text'), t2: value('text'), n1: value('number'), y1: value('flag'), y2: value('flag'), ts: value('texts'), is: value('items'), item: value('item') },
    environs: [
      environ('topic', 'text'),
      environ('vscode.lang', 'text'), environ('vscode.size', 'number'), environ('vscode.on', 'flag'), environ('vscode.tags', 'texts'),
      environ('codebase.files', 'items'), environ('codebase.main', 'item'),
      environ('notes.a', 'text'), environ('notes.b', 'text'),
      environ('chat.name', 'text'), environ('chat.size', 'number'), environ('chat.on', 'flag'), environ('chat.tags', 'texts'),
      environ('chat.items', 'items'), environ('chat.inner', 'item'), environ('chat.inner.name', 'text')
    ]
  }
}

const STATES: ReadonlyArray<Environ['state']> = ['cached', 'cached', 'cached', 'stored', 'stored', 'stored', 'stored', 'stored', 'stored', 'gone']

/** What a value of the kind may be written as. */
export function literals (kind: Kind): ReadonlyArray<string | number | boolean> {
  return LITERALS[kind]
}

const LITERALS: Readonly<Record<Kind, ReadonlyArray<string | number | boolean>>> = {
  text: ['x', 'red', ''],
  number: [0, 1, 2],
  flag: [true, false],
  texts: [],
  items: [],
  item: []
}
